import type { Awaitable } from '../base/json.ts';
import type { Jsonified } from './jsonified.ts';
import type { ToolMode } from './mode.ts';
import type { ToolRisk } from './name-words.ts';
import type { MakePreview } from './make-preview.ts';
import type { CancelledOperation } from './preview.ts';
import type { InferOutput, InputSchema } from './schema.ts';
import type { SuccessCheck } from './success-check.ts';
import type { ToolResources } from './tool-resources.ts';
import type { ToolContext } from './tool-context.ts';

/** What to do about a call that may not be rerun if a similar call ended unresolved. */
export type RerunPolicy = 'ask' | 'deny' | 'allow';

/** Scope of a tool's idempotency key: its session, or the whole ledger. */
export type IdempotencyScope = 'session' | 'ledger';

/** Paths whose values are hidden in stored data, in addition to what the redactor finds. */
export type ToolRedaction = {
  readonly input?: readonly string[] | undefined;
  readonly output?: readonly string[] | undefined;
  /** Into the snapshot of a preview. */
  readonly snapshot?: readonly string[] | undefined;
};

/** Settings of a tool: `Args` is the input of its body. */
export type ToolTraits<Args> = {
  readonly description?: string | undefined;
  /** For people. Default: the name. */
  readonly displayName?: string | undefined;
  /** How far its effects reach. Default: inferred from the name. */
  readonly mode?: ToolMode | undefined;
  /** What a mistake could cost. Default: inferred from the name; `none` if the name misleads. */
  readonly risk?: ToolRisk | 'none' | undefined;
  /** Running it twice with the same arguments and key has the same effect as running it once. */
  readonly idempotent?: boolean | undefined;
  readonly timeoutMs?: number | undefined;
  /** The longest time without progress: `context.progress()` restarts it. */
  readonly idleTimeoutMs?: number | undefined;
  /** Is a retry worthwhile after a timeout? Default: true. */
  readonly retryOnTimeout?: boolean | undefined;
  /** Cost of one attempt, in millionths of a unit. */
  readonly costMicros?: number | ((args: Args) => number) | undefined;
  /** Most characters of output that a model sees; a larger output becomes an artifact. */
  readonly inlineLimit?: number | undefined;
  /** How many times in a row the same call may end the same way. */
  readonly loopLimit?: number | undefined;
  readonly rerun?: RerunPolicy | undefined;
  /** Are mismatching arguments coerced by the listed rules? Default: the runtime's setting. */
  readonly coerce?: boolean | undefined;
  readonly successCheck?: SuccessCheck | undefined;
  /** Two calls with the same key are one effect. */
  readonly idempotencyKey?: ((args: Args) => string) | undefined;
  readonly idempotencyScope?: IdempotencyScope | undefined;
  /** The resources that the call touches: calls without a common key may run in parallel. */
  readonly resourceKeys?: ((args: Args) => readonly string[]) | undefined;
  readonly redact?: ToolRedaction | undefined;
  /** The arguments that name paths, commands and URLs, for sandbox rules. Default: guessed. */
  readonly resources?: ToolResources | undefined;
  /** Finds out how a lost attempt ended. Called after a crash; it must change nothing itself. */
  readonly reconcile?: ((attempt: UnseenAttempt<Args>) => Awaitable<Reconciliation>) | undefined;
  /** Shows what a call would do, before a person is asked about it. It must change nothing. */
  readonly preview?: MakePreview<Args> | undefined;
  /** Called for a preview that will not be carried out, so that its resources can be released. */
  readonly cancel?: ((operation: CancelledOperation) => Awaitable<void>) | undefined;
  /** How long after its success a call can be undone. Default: forever. */
  readonly undoWithinMs?: number | undefined;
  /** How far the undo reaches. Default: `safe_write`. */
  readonly undoMode?: ToolMode | undefined;
  /** Undoing twice has the same effect as undoing once. */
  readonly undoIdempotent?: boolean | undefined;
};

/** Reverses a call: `output` is its stored output. */
export type UndoTool<Args, Output> = (args: Args, output: Output, context: ToolContext) => Awaitable<unknown>;

/** An attempt whose end was not recorded. */
export type UnseenAttempt<Args> = {
  readonly args: Args;
  readonly sessionId: string;
  readonly callId: string;
  readonly attempt: number;
  /** The key that the body received. */
  readonly idempotencyKey: string;
  /** In milliseconds since 1970. */
  readonly startedAt: number;
};

/** It happened, with this result; it did not happen; or it is unknown. */
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
  /** Schema of the arguments. Default: any object. */
  readonly input?: Input;
  /** Schema of the return value; checked on every run. */
  readonly output?: Output;
  readonly handoff?: false | undefined;
  run(args: InferOutput<Input>, context: ToolContext): Awaitable<Result>;
  /** Reverses a call. A destructive tool with `undo` runs without asking. */
  readonly undo?:
    | UndoTool<
        InferOutput<Input>,
        Jsonified<Output extends InputSchema ? InferOutput<Output, NoInfer<Result>> : NoInfer<Result>>
      >
    | undefined;
};

/** A tool whose body is elsewhere: another process claims the call, runs it and reports. */
export type HandoffSpec<
  Name extends string,
  Input extends InputSchema | undefined,
  Output extends InputSchema | undefined,
> = ToolTraits<InferOutput<Input>> & {
  readonly name: Name;
  readonly input?: Input;
  /** Schema of the worker's report; checked like the result of a body. */
  readonly output?: Output;
  readonly handoff: true;
  readonly run?: undefined;
};

/** A definition without its types. */
export type UntypedSpec = ToolTraits<unknown> & {
  readonly name: string;
  readonly input?: unknown;
  readonly output?: unknown;
  readonly handoff?: boolean | undefined;
  run?(args: unknown, context: ToolContext): Awaitable<unknown>;
  readonly undo?: UndoTool<unknown, unknown> | undefined;
};
