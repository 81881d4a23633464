/** A call as shown to people: one value per call, computed from its events alone. */
import type { JsonObject, JsonValue } from '../base/json.ts';
import type { ConfirmationStatus } from '../call/call.ts';
import type { ArgumentComparison, ArtifactArgument, InputForm } from '../call/event.ts';
import type { Ask, CallEvent, ConfirmationDecision, DecidedBy, LogLine, Preview } from '../call/event.ts';
import type { ToolLate, ToolResolved, ToolUndone } from '../call/event.ts';
import type { MissingSeat } from '../call/quorum.ts';
import type { FallenVote, Vote } from '../call/vote.ts';
import type { ToolOutcome, UndoHandle } from '../call/outcome.ts';
import type { ToolMode, ToolModeOrigin } from '../tool/mode.ts';
import type { ToolRisk } from '../tool/name-words.ts';
import type { Principal } from '../tool/tool-context.ts';
import type { OutcomeWord } from './outcome-words.ts';

/** Status of a call, in one word. */
export type DisplayStatus = 'requested' | 'held' | 'running' | OutcomeWord | 'undone';

/** Everything a page can show about a call. Inputs and outputs are redacted, as stored. */
export type ToolCallView = {
  /** Session and call id in one string: the identity of the call. */
  readonly key: string;
  /** Undefined if the source does not say, as with a framework's message parts. */
  readonly sessionId: string | undefined;
  readonly callId: string;
  readonly toolName: string;
  readonly displayName: string;
  readonly status: DisplayStatus;
  readonly mode: ToolMode;
  /** Origin of the mode: `default` means that neither the tool nor its name determined it. */
  readonly modeOrigin: ToolModeOrigin;
  /** The risk of the tool, as recorded. Absent: none known. */
  readonly risk?: ToolRisk | undefined;
  readonly principal: Principal | undefined;
  /** As the model requested it; undefined if the request was not seen. */
  readonly requestedInput: JsonValue | undefined;
  /** As the tool body receives it. */
  readonly input: JsonValue | undefined;
  /** `typed`: the input is a rendering of a value that JSON cannot hold. Undefined if the events do not say. */
  readonly inputForm: InputForm | undefined;
  /** Arguments as accepted by the schema. An edit starts from these. */
  readonly acceptedInput: JsonValue | undefined;
  /** Artifacts used in the arguments. */
  readonly artifacts: readonly ArtifactArgument[];
  /** Paths of redacted values. */
  readonly hidden: readonly string[];
  readonly wasCoerced: boolean;
  /** A person replaced the requested arguments. */
  readonly wasEdited: boolean;
  /** Preview of the tool's effect. While a question is open, the revision that the question is about. */
  readonly preview: ShownPreview | undefined;
  /** Comparison with the last call on the same resource. Only for a safe write that ran without a question and a preview. */
  readonly comparison: ArgumentComparison | 'none' | undefined;
  readonly confirmation: ShownConfirmation | undefined;
  readonly attempts: readonly ShownAttempt[];
  /** Time of the next attempt, if a behavior asked for a retry. */
  readonly nextAttemptAt: number | undefined;
  readonly decidedBy: DecidedBy | undefined;
  /** The grant that approved the call in place of a person. */
  readonly grantId: string | undefined;
  readonly outcome: ToolOutcome | undefined;
  /** The effect may have happened, and the call has no resolution yet. */
  readonly unresolved: boolean;
  readonly resolution: ToolResolved | undefined;
  readonly late: readonly ToolLate[];
  /** Present while the call can be undone. */
  readonly undo: UndoHandle | undefined;
  readonly undone: ToolUndone | undefined;
  /** Destinations that an external tool reported. */
  readonly reached: readonly string[];
  readonly log: readonly LogLine[];
  /** Milliseconds since 1970, by the ledger's clock. */
  readonly requestedAt: number | undefined;
  readonly startedAt: number | undefined;
  readonly settledAt: number | undefined;
  /** In order. Empty if the source has no events. */
  readonly events: readonly CallEvent[];
};

export type ShownPreview = {
  readonly revision: number;
  /** True for the final revision, which shows exactly what the call would do. */
  readonly ready: boolean;
  readonly preview: Preview;
  readonly snapshot: JsonObject | undefined;
  /** Expiry of the preview. */
  readonly expiresAt: number | undefined;
};

/** A question to a person and, once given, the answer. */
export type ShownConfirmation = {
  readonly confirmationId: string;
  readonly description: string;
  readonly asks: readonly Ask[];
  readonly risk: readonly string[];
  /** Digest that an answer is bound to. Undefined for a framework's approval, which is bound to nothing. */
  readonly inputDigest: string | undefined;
  readonly revision: number | undefined;
  /** Comparison with the last call on the same resource, if the tool has no preview. */
  readonly comparison: ArgumentComparison | undefined;
  readonly expiresAt: number | undefined;
  /** Effect of an expired question. */
  readonly timeoutEffect: 'block' | 'allow';
  readonly status: ConfirmationStatus;
  readonly decision: ConfirmationDecision | undefined;
  readonly by: DecidedBy | undefined;
  readonly reason: string | undefined;
  readonly response: string | undefined;
  /** What each person has said so far, if a rule needs several. */
  readonly votes: readonly Vote[];
  /** Votes that are void, because their rights ended before the quorum was complete. */
  readonly fallen: readonly FallenVote[];
  /** What an open question still needs. */
  readonly missing: readonly MissingSeat[];
  /** Is the question still open? */
  readonly isOpen: boolean;
  /** Are the arguments and the preview of exactly this question present? If not, a person should not approve it. */
  readonly isComplete: boolean;
  /** Answers that the asking side accepts. */
  readonly answers: readonly ConfirmationDecision[];
};

/** One run of the tool's body. */
export type ShownAttempt = {
  /** Starts at 1. */
  readonly attempt: number;
  readonly startedAt: number | undefined;
  readonly endedAt: number | undefined;
  /** Outcome of the attempt; undefined while it runs. */
  readonly outcome: ToolOutcome | undefined;
};

/** Identity of a call. Call ids are unique only within a session. */
export const toolCallKey = (sessionId: string | undefined, callId: string): string =>
  JSON.stringify([sessionId ?? null, callId]);
