import type { JsonObject, JsonValue } from '../base/json.ts';
import type { ToolMode, ToolModeOrigin } from '../tool/mode.ts';
import type { Principal } from '../tool/tool-context.ts';
import type {
  ArgumentComparison,
  ArtifactArgument,
  Ask,
  ConfirmationDecision,
  DecidedBy,
  InputForm,
  Provenance,
  ToolLate,
  ToolPreviewed,
  RetryRequested,
  ToolReported,
  ToolResolved,
  ToolResponded,
  ToolStarted,
  ToolUndone,
} from './event.ts';
import type { Identity } from './identity.ts';
import type { ToolOutcome } from './outcome.ts';

/** One request to run a tool and everything that happened to it: what its events fold to. */
export type Call = {
  readonly sessionId: string;
  readonly turnId: string;
  readonly callId: string;
  readonly toolName: string;
  readonly displayName: string;
  readonly mode: ToolMode;
  readonly modeOrigin: ToolModeOrigin;
  readonly requestedInput: JsonValue;
  /** Paths the redactor hid in the requested input. */
  readonly hidden: readonly string[];
  readonly requestDigest: string;
  readonly effectiveInput: JsonObject | undefined;
  readonly inputDigest: string | undefined;
  /** How the effective input is written; undefined in ledgers of earlier versions, and before a schema saw it. */
  readonly inputForm: InputForm | undefined;
  /** The arguments as the schema accepted them, where those are not the requested ones: see `acceptedInputOf`. */
  readonly acceptedInput: JsonObject | undefined;
  readonly artifacts: readonly ArtifactArgument[];
  readonly wasCoerced: boolean;
  /** A person put other arguments in the place of those that were asked for. */
  readonly wasEdited: boolean;
  readonly principal: Principal | undefined;
  readonly provenance: Provenance | undefined;
  readonly attrs: JsonObject | undefined;
  /** How the program that asked was identified; undefined where that was not recorded. */
  readonly askedBy: Identity | undefined;
  /** Askers may not approve: the runtime that took the call said so. */
  readonly separateDuties: boolean;
  readonly policyVersion: string | undefined;
  /** What the gates last said. */
  readonly ruling: 'allow' | 'deny' | 'ask' | undefined;
  /** What let the call through, stopped it or asked, most recently. */
  readonly decidedBy: DecidedBy | undefined;
  /** The call whose outcome answered this one, because both carry one tool-made key. */
  readonly copiedFrom: string | undefined;
  readonly submitted: boolean;
  readonly requestedAt: number;
  readonly status: CallStatus;
  readonly attempt: number;
  /** Attempts since the last one whose end was recorded. While an attempt runs, it counts too. */
  readonly attemptsWithoutEnd: number;
  /** Takeovers since the call last got anywhere: asked a person, was decided on, began or ended an attempt. */
  readonly takeovers: number;
  /** When it was last taken over. */
  readonly takenOverAt: number | undefined;
  /** The intent of the last attempt. */
  readonly started: ToolStarted | undefined;
  /** How the last attempt ended, while the call may be tried again. */
  readonly failed: ToolResponded | undefined;
  /** Who wants it tried again, and when. */
  readonly retry: RetryRequested | undefined;
  /** What attempts cost that were not the last. */
  readonly spentMicros: number;
  readonly confirmation: Confirmation | undefined;
  /** The last thing the tool said it would do. */
  readonly preview: ToolPreviewed | undefined;
  /** The standing permission that answered for a person. */
  readonly grantId: string | undefined;
  /** Who has it in hand, where another process runs it. */
  readonly handedTo: ToolReported | undefined;
  readonly undone: ToolUndone | undefined;
  readonly settled: Settled | undefined;
  readonly late: readonly ToolLate[];
  /** What was found out later, where the end was not known. */
  readonly resolution: ToolResolved | undefined;
  readonly recalls: number;
  /** The last event, which causes the next. */
  readonly lastEventId: string;
};

/** requested → (held → approved) → running → settled; every step but the first and the last may be missing. */
export type CallStatus = 'requested' | 'held' | 'approved' | 'running' | 'settled';

/** A held call waiting for a person, and what that person said. */
export type Confirmation = {
  readonly confirmationId: string;
  readonly description: string;
  readonly asks: readonly Ask[];
  readonly inputDigest: string;
  readonly askedAt: number;
  readonly revision: number | undefined;
  readonly expiresAt: number | undefined;
  readonly timeoutEffect: 'block' | 'allow';
  readonly risk: readonly string[];
  readonly schemaDigest: string | undefined;
  readonly comparison: ArgumentComparison | undefined;
  readonly status: ConfirmationStatus;
  readonly decision: ConfirmationDecision | undefined;
  readonly by: DecidedBy | undefined;
  readonly reason: string | undefined;
  /** What the model is told instead. */
  readonly response: string | undefined;
  readonly decidedAt: number | undefined;
};

export type ConfirmationStatus = 'pending' | 'approved' | 'denied' | 'answered' | 'withdrawn' | 'expired';

export type Settled = {
  readonly outcome: ToolOutcome;
  readonly content: string;
  readonly at: number;
  readonly costMicros: number;
  readonly unsettledEffect: boolean;
};

/** The arguments as the schema accepted them, before its defaults and transforms. Kept form. */
export const acceptedInputOf = (call: Call): JsonValue =>
  call.acceptedInput ??
  (call.inputForm === undefined ? (call.effectiveInput ?? call.requestedInput) : call.requestedInput);
