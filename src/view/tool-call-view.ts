/** A call as it is shown to people: one value per call, made from its events and from nothing else. */
import type { JsonObject, JsonValue } from '../base/json.ts';
import type { ConfirmationStatus } from '../call/call.ts';
import type { ArgumentComparison, ArtifactArgument, InputForm } from '../call/event.ts';
import type { Ask, CallEvent, ConfirmationDecision, DecidedBy, LogLine, Preview } from '../call/event.ts';
import type { ToolLate, ToolResolved, ToolUndone } from '../call/event.ts';
import type { ToolOutcome, UndoHandle } from '../call/outcome.ts';
import type { ToolMode, ToolModeOrigin } from '../tool/mode.ts';
import type { Principal } from '../tool/tool-context.ts';
import type { OutcomeWord } from './outcome-words.ts';

/** Where a call stands, in one word. */
export type DisplayStatus = 'requested' | 'held' | 'running' | OutcomeWord | 'undone';

/** Everything there is to show about a call. Inputs and outputs are in their kept form. */
export type ToolCallView = {
  /** Session and call id in one text: what tells two calls apart. */
  readonly key: string;
  /** Undefined where the source does not say, as with the message parts of a framework. */
  readonly sessionId: string | undefined;
  readonly callId: string;
  readonly toolName: string;
  readonly displayName: string;
  readonly status: DisplayStatus;
  readonly mode: ToolMode;
  /** How we came to know the mode: `default` means that nobody said. */
  readonly modeOrigin: ToolModeOrigin;
  readonly principal: Principal | undefined;
  /** As the model asked; undefined where that was not seen. */
  readonly requestedInput: JsonValue | undefined;
  /** As the body would get it, or got it. */
  readonly input: JsonValue | undefined;
  /** `typed`: the input is a rendering of a value that JSON cannot hold. Undefined where nobody said. */
  readonly inputForm: InputForm | undefined;
  /** The arguments as the schema accepted them: what an edit starts from. */
  readonly acceptedInput: JsonValue | undefined;
  /** The artifacts that stand in the arguments. */
  readonly artifacts: readonly ArtifactArgument[];
  /** Paths whose values are not shown. */
  readonly hidden: readonly string[];
  readonly wasCoerced: boolean;
  /** A person put other arguments in the place of those that were asked for. */
  readonly wasEdited: boolean;
  /** What the tool says it would do, or would have done; the version a person is asked about, while one is. */
  readonly preview: ShownPreview | undefined;
  readonly confirmation: ShownConfirmation | undefined;
  readonly attempts: readonly ShownAttempt[];
  /** When it is tried again, where a behaviour asked for that. */
  readonly nextAttemptAt: number | undefined;
  readonly decidedBy: DecidedBy | undefined;
  /** The standing permission that answered for a person. */
  readonly grantId: string | undefined;
  readonly outcome: ToolOutcome | undefined;
  /** The effect may have happened, and nobody has found out. */
  readonly unresolved: boolean;
  readonly resolution: ToolResolved | undefined;
  readonly late: readonly ToolLate[];
  /** There while what the call did can be taken back. */
  readonly undo: UndoHandle | undefined;
  readonly undone: ToolUndone | undefined;
  /** Where an external tool said it went. */
  readonly reached: readonly string[];
  readonly log: readonly LogLine[];
  /** Milliseconds since 1970 by the ledger's clock. */
  readonly requestedAt: number | undefined;
  readonly startedAt: number | undefined;
  readonly settledAt: number | undefined;
  /** In the order they happened. Empty where the source has none. */
  readonly events: readonly CallEvent[];
};

export type ShownPreview = {
  readonly revision: number;
  /** The last version: what it shows is what would be done. */
  readonly ready: boolean;
  readonly preview: Preview;
  readonly snapshot: JsonObject | undefined;
  /** When it goes stale. */
  readonly expiresAt: number | undefined;
};

/** A question to a person, and the answer where there is one. */
export type ShownConfirmation = {
  readonly confirmationId: string;
  readonly description: string;
  readonly asks: readonly Ask[];
  readonly risk: readonly string[];
  /** What an answer is bound to. Undefined where a framework asks, which binds to nothing. */
  readonly inputDigest: string | undefined;
  readonly revision: number | undefined;
  /** With the last call on the same resource, where the tool shows no preview. */
  readonly comparison: ArgumentComparison | undefined;
  readonly expiresAt: number | undefined;
  /** What happens when nobody answers in time. */
  readonly timeoutEffect: 'block' | 'allow';
  readonly status: ConfirmationStatus;
  readonly decision: ConfirmationDecision | undefined;
  readonly by: DecidedBy | undefined;
  readonly reason: string | undefined;
  readonly response: string | undefined;
  /** Whether an answer is still awaited. */
  readonly isOpen: boolean;
  /**
   * Whether what is asked about is here to be seen: the arguments and the preview of exactly this question. Without
   * them nobody should say yes.
   */
  readonly isComplete: boolean;
  /** The answers whoever asks can take. */
  readonly answers: readonly ConfirmationDecision[];
};

/** One run of the tool's body. */
export type ShownAttempt = {
  /** From 1. */
  readonly attempt: number;
  readonly startedAt: number | undefined;
  readonly endedAt: number | undefined;
  /** How it ended; undefined while it runs. */
  readonly outcome: ToolOutcome | undefined;
};

/** What tells two calls apart: call ids are unique in a session only. */
export const toolCallKey = (sessionId: string | undefined, callId: string): string =>
  JSON.stringify([sessionId ?? null, callId]);
