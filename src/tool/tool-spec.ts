import type { Awaitable } from '../base/json.ts';
import type { ToolMode } from './mode.ts';
import type { InferOutput, InputSchema } from './schema.ts';
import type { SuccessCheck } from './success-check.ts';
import type { ToolResources } from './tool-resources.ts';
import type { ToolContext } from './tool-context.ts';

/** What to do about a call that may not be run again and whose like ended nobody knows how. */
export type RerunPolicy = 'ask' | 'deny' | 'allow';

/** Which calls a tool-made idempotency key is compared with: those of its session, or all of the ledger. */
export type IdempotencyScope = 'session' | 'ledger';

/** Paths whose values are hidden in what is kept, beside what the redactor finds by itself. */
export type ToolRedaction = {
  readonly input?: readonly string[] | undefined;
  readonly output?: readonly string[] | undefined;
};

/** What may be said about a tool beside what it is: `Args` is what its body is given. */
export type ToolTraits<Args> = {
  readonly description?: string | undefined;
  /** For people; the name where none is given. */
  readonly displayName?: string | undefined;
  /** How far its effects reach. Inferred from the name where it is not declared. */
  readonly mode?: ToolMode | undefined;
  /** Running it twice with the same arguments and key does what running it once does. */
  readonly idempotent?: boolean | undefined;
  readonly timeoutMs?: number | undefined;
  /** The longest silence: `context.progress()` gives as long again. */
  readonly idleTimeoutMs?: number | undefined;
  /** Whether a timeout is worth another call. True where nothing is said. */
  readonly retryOnTimeout?: boolean | undefined;
  /** What one attempt costs, in millionths of a unit. */
  readonly costMicros?: number | ((args: Args) => number) | undefined;
  /** How many characters of output a model is shown; more becomes an artifact. */
  readonly inlineLimit?: number | undefined;
  /** How many times in a row the same call may end the same way. */
  readonly loopLimit?: number | undefined;
  readonly rerun?: RerunPolicy | undefined;
  readonly successCheck?: SuccessCheck | undefined;
  /** Two calls with the same key are one effect. */
  readonly idempotencyKey?: ((args: Args) => string) | undefined;
  readonly idempotencyScope?: IdempotencyScope | undefined;
  /** What the call touches: calls that share no key may run side by side. */
  readonly resourceKeys?: ((args: Args) => readonly string[]) | undefined;
  readonly redact?: ToolRedaction | undefined;
  /** Which arguments name paths, commands and urls, for sandbox rules; guessed where nothing is said. */
  readonly resources?: ToolResources | undefined;
  /** Finds out how an attempt ended whose end nobody saw. Asked after a crash; it must change nothing itself. */
  readonly reconcile?: ((attempt: UnseenAttempt<Args>) => Awaitable<Reconciliation>) | undefined;
};

/** An attempt that began and whose end nobody saw. */
export type UnseenAttempt<Args> = {
  readonly args: Args;
  readonly sessionId: string;
  readonly callId: string;
  readonly attempt: number;
  /** The key the body was given. */
  readonly idempotencyKey: string;
  /** In milliseconds since 1970. */
  readonly startedAt: number;
};

/** It happened, and gave this; it did not happen; or nobody can tell. */
export type Reconciliation =
  | { readonly status: 'succeeded'; readonly output: unknown }
  | { readonly status: 'failed'; readonly reason?: string }
  | { readonly status: 'unknown' };

/** A tool as its author writes it. */
export type ToolSpec<
  Name extends string,
  Input extends InputSchema | undefined,
  Output extends InputSchema | undefined,
  Result,
> = ToolTraits<InferOutput<Input>> & {
  readonly name: Name;
  /** What the arguments must be; any object where nothing is said. */
  readonly input?: Input;
  /** What the body must return; checked on every run. */
  readonly output?: Output;
  run(args: InferOutput<Input>, context: ToolContext): Awaitable<Result>;
};

/** A definition whose types have been forgotten. */
export type UntypedSpec = ToolTraits<unknown> & {
  readonly name: string;
  readonly input?: unknown;
  readonly output?: unknown;
  run(args: unknown, context: ToolContext): Awaitable<unknown>;
};
