import type { JsonObject, JsonValue } from '../base/json.ts';
import type { ToolMode, ToolModeOrigin } from '../tool/mode.ts';
import type { Principal } from '../tool/tool-context.ts';
import type {
  ArgumentComparison,
  ArtifactArgument,
  Ask,
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
export type Call = CallFacts & CallState;

/** requested → (held → approved) → running → settled; every step but the first and the last may be missing. */
export type CallStatus = CallState['status'];

/** The part of a call that is there in every status. */
export type CallFacts = {
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
  /** A person replaced the requested arguments. */
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
  readonly attempt: number;
  /** Attempts since the last one whose end was recorded. While an attempt runs, it counts too. */
  readonly attemptsWithoutEnd: number;
  /** Takeovers since the call last got anywhere: asked a person, was decided on, began or ended an attempt. */
  readonly takeovers: number;
  /** When it was last taken over. */
  readonly takenOverAt: number | undefined;
  /** What attempts cost that were not the last. */
  readonly spentMicros: number;
  /** The last thing the tool said it would do. */
  readonly preview: ToolPreviewed | undefined;
  /** The grant that approved the call in place of a person. */
  readonly grantId: string | undefined;
  readonly late: readonly ToolLate[];
  readonly recalls: number;
  /** The last event, which causes the next. */
  readonly lastEventId: string;
};

/** The part of a call that depends on its status. */
export type CallState =
  | ({ readonly status: 'requested'; readonly confirmation: undefined } & Unstarted & Unsettled)
  /** A person is asked, or has said no. */
  | ({ readonly status: 'held'; readonly confirmation: Confirmation } & Unstarted & Unsettled)
  | ({ readonly status: 'approved'; readonly confirmation: ApprovedConfirmation } & Unstarted & Unsettled)
  | ({
      readonly status: 'running';
      readonly confirmation: ApprovedConfirmation | undefined;
      readonly started: ToolStarted;
    } & Attempts &
      Unsettled)
  | ({
      readonly status: 'settled';
      readonly confirmation: Confirmation | undefined;
      /** The intent of the last attempt; undefined where the body never ran. */
      readonly started: ToolStarted | undefined;
      readonly settled: Settled;
      readonly undone: ToolUndone | undefined;
      /** What was found out later, where the end was not known. */
      readonly resolution: ToolResolved | undefined;
    } & Attempts);

type Attempts = {
  /** How the last attempt ended, where the call was or may be tried again. */
  readonly failed: ToolResponded | undefined;
  /** Who wants it tried again, and when. */
  readonly retry: RetryRequested | undefined;
  /** The worker that has claimed it, where another process runs it. */
  readonly handedTo: ToolReported | undefined;
};

type Unstarted = { readonly started: undefined } & { readonly [Name in keyof Attempts]: undefined };

type Unsettled = {
  readonly settled: undefined;
  readonly undone: undefined;
  readonly resolution: undefined;
};

/** A question to a person about a held call, and the answer. */
export type Confirmation = Question & Answer;

export type ApprovedConfirmation = Question & Extract<Answer, { status: 'approved' }>;

export type Question = {
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
};

/** What became of a question. `response`: what the model is told instead of a result. */
export type Answer =
  | ({ readonly status: 'pending' } & Undecided)
  /** By a person; without a decision by the rule that lets the call run if nobody answers. */
  | {
      readonly status: 'approved';
      readonly decision: 'approve' | 'edit' | undefined;
      readonly by: DecidedBy | undefined;
      readonly reason: string | undefined;
      readonly response: undefined;
      readonly decidedAt: number;
    }
  | {
      readonly status: 'denied';
      readonly decision: 'deny';
      readonly by: DecidedBy;
      readonly reason: string | undefined;
      readonly response: undefined;
      readonly decidedAt: number;
    }
  | {
      readonly status: 'answered';
      readonly decision: 'respond';
      readonly by: DecidedBy;
      readonly reason: string | undefined;
      readonly response: string;
      readonly decidedAt: number;
    }
  | ({ readonly status: 'withdrawn'; readonly reason: string } & Omit<Undecided, 'reason'>)
  /** With a decision: a person approved in time, and the approval was not used in time. */
  | {
      readonly status: 'expired';
      readonly decision: 'approve' | 'edit' | undefined;
      readonly by: DecidedBy | undefined;
      readonly reason: string | undefined;
      readonly response: undefined;
      readonly decidedAt: number;
    };

type Undecided = {
  readonly decision: undefined;
  readonly by: undefined;
  readonly reason: undefined;
  readonly response: undefined;
  readonly decidedAt: undefined;
};

export type ConfirmationStatus = Answer['status'];

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
