import type { Awaitable } from '../base/json.ts';
import type { Jsonified } from './jsonified.ts';
import type { ToolMode } from './mode.ts';
import type { MakePreview } from './make-preview.ts';
import type { CancelledOperation } from './preview.ts';
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
  /** Into the snapshot of a preview. */
  readonly snapshot?: readonly string[] | undefined;
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
  /** Whether arguments that do not fit are changed by the listed rules. What the runtime says where nothing is said. */
  readonly coerce?: boolean | undefined;
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
  /** Shows what a call would do, before anybody is asked about it. It must change nothing. */
  readonly preview?: MakePreview<Args> | undefined;
  /** Told of a preview that nothing comes of, so that what it holds can be let go. */
  readonly cancel?: ((operation: CancelledOperation) => Awaitable<void>) | undefined;
  /** How long after its success a call can be undone; for ever where nothing is said. */
  readonly undoWithinMs?: number | undefined;
  /** How far undoing reaches. `safe_write` where nothing is said. */
  readonly undoMode?: ToolMode | undefined;
  /** Undoing twice does what undoing once does. */
  readonly undoIdempotent?: boolean | undefined;
};

/** Takes back what a call did: `output` is what it gave, as it was kept. */
export type UndoTool<Args, Output> = (args: Args, output: Output, context: ToolContext) => Awaitable<unknown>;

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
  readonly handoff?: false | undefined;
  run(args: InferOutput<Input>, context: ToolContext): Awaitable<Result>;
  /** Takes back what a call did. A destructive tool that can runs without asking. */
  readonly undo?:
    | UndoTool<
        InferOutput<Input>,
        Jsonified<Output extends InputSchema ? InferOutput<Output, NoInfer<Result>> : NoInfer<Result>>
      >
    | undefined;
};

/** A tool whose body is elsewhere: another process takes the call, runs it and reports. */
export type HandoffSpec<
  Name extends string,
  Input extends InputSchema | undefined,
  Output extends InputSchema | undefined,
> = ToolTraits<InferOutput<Input>> & {
  readonly name: Name;
  readonly input?: Input;
  /** What the worker must report; checked as the result of a body is. */
  readonly output?: Output;
  readonly handoff: true;
  readonly run?: undefined;
};

/** A definition whose types have been forgotten. */
export type UntypedSpec = ToolTraits<unknown> & {
  readonly name: string;
  readonly input?: unknown;
  readonly output?: unknown;
  readonly handoff?: boolean | undefined;
  run?(args: unknown, context: ToolContext): Awaitable<unknown>;
  readonly undo?: UndoTool<unknown, unknown> | undefined;
};
