import type { JsonObject, JsonValue } from '../base/json.ts';
import type { ToolMode, ToolModeOrigin } from '../tool/mode.ts';
import type { ToolRisk } from '../tool/name-words.ts';
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
import type { HiddenId } from './events/gate-event.ts';
import type { ToolHeld } from './events/confirmation-event.ts';
import type { Identity } from './identity.ts';
import type { FallenVote, Vote } from './vote.ts';

/** One request to run a tool and everything that happened to it, folded from its events. */
export type Call = CallFacts & CallState;

/**
 * requested → (held → approved) → running → settled. Every step except the first and the last is optional.
 */
export type CallStatus = CallState['status'];

/** The fields of a call in every status. */
export type CallFacts = {
  readonly sessionId: string;
  readonly turnId: string;
  readonly callId: string;
  readonly toolName: string;
  readonly displayName: string;
  readonly mode: ToolMode;
  readonly modeOrigin: ToolModeOrigin;
  /** The risk of the tool, if its author or its name states one. */
  readonly risk?: ToolRisk | undefined;
  readonly requestedInput: JsonValue;
  /** Paths that the redactor hid in the requested input. */
  readonly hidden: readonly string[];
  readonly requestDigest: string;
  readonly effectiveInput: JsonObject | undefined;
  readonly inputDigest: string | undefined;
  /**
   * The form of the effective input. Undefined in ledgers of earlier versions, and before a schema checked
   * it.
   */
  readonly inputForm: InputForm | undefined;
  /**
   * The arguments that the schema accepted, if they differ from the requested ones: see `acceptedInputOf`.
   */
  readonly acceptedInput: JsonObject | undefined;
  readonly artifacts: readonly ArtifactArgument[];
  readonly wasCoerced: boolean;
  /** True if a person replaced the requested arguments. */
  readonly wasEdited: boolean;
  readonly principal: Principal | undefined;
  readonly provenance: Provenance | undefined;
  readonly attrs: JsonObject | undefined;
  /** How the calling program was identified, if recorded. */
  readonly askedBy: Identity | undefined;
  /** Requesters may not approve: the runtime that accepted the call has separate duties. */
  readonly separateDuties: boolean;
  /** Names of the call that repeat a hidden value, so they must not be shown. */
  readonly hiddenIds: readonly HiddenId[];
  /** The trace of the call, as a `traceparent`. */
  readonly traceparent: string | undefined;
  readonly policyVersion: string | undefined;
  /** The last ruling of the gates. */
  readonly ruling: 'allow' | 'deny' | 'ask' | undefined;
  /** The last decider that allowed or stopped the call, or asked for an approval. */
  readonly decidedBy: DecidedBy | undefined;
  /** The call whose outcome answered this one, because both have the same key. */
  readonly copiedFrom: string | undefined;
  readonly submitted: boolean;
  readonly requestedAt: number;
  readonly attempt: number;
  /** Attempts since the last one with a recorded end, including a running one. */
  readonly attemptsWithoutEnd: number;
  /** Takeovers since the call last made progress: was held, was decided on, started or ended an attempt. */
  readonly takeovers: number;
  /** When it was last taken over. */
  readonly takenOverAt: number | undefined;
  /** The cost of all attempts before the last one. */
  readonly spentMicros: number;
  /** The last preview of the tool. */
  readonly preview: ToolPreviewed | undefined;
  /** Comparison with the last call on the same resource, for a safe write that ran without a question and a preview. */
  readonly comparison: ArgumentComparison | undefined;
  /** The grant that approved the call instead of a person. */
  readonly grantId: string | undefined;
  readonly late: readonly ToolLate[];
  readonly recalls: number;
  /** The last event, which causes the next. */
  readonly lastEventId: string;
};

/** The fields of a call that depend on its status. */
export type CallState =
  | ({ readonly status: 'requested'; readonly confirmation: undefined } & Unstarted & Unsettled)
  /** A person is asked, or has denied the call. */
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
      /** The intent of the last attempt. Undefined if the body never ran. */
      readonly started: ToolStarted | undefined;
      readonly settled: Settled;
      readonly undone: ToolUndone | undefined;
      /** The resolution, if the effect was unknown. */
      readonly resolution: ToolResolved | undefined;
    } & Attempts);

type Attempts = {
  /** The end of the last attempt, if the call was or may be retried. */
  readonly failed: ToolResponded | undefined;
  /** The request for a retry, with its time. */
  readonly retry: RetryRequested | undefined;
  /** The worker that has claimed it, if another process runs it. */
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

type ApprovedConfirmation = Question & Extract<Answer, { status: 'approved' }>;

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
  /** The call whose idempotency key an approval passes on. */
  readonly supersedes: ToolHeld['supersedes'];
  /** Digest of the input that the gates judged. Differs from `inputDigest` after an edit that needs more approvals. */
  readonly judgedDigest: string;
  /** The votes, one for each person. */
  readonly votes: readonly Vote[];
  /** Votes that are void, because their rights ended before the quorum was complete. */
  readonly fallen: readonly FallenVote[];
  /** The last time that a reminder or an escalation was recorded for. */
  readonly remindedAt: number | undefined;
};

/** The state of a question. `response`: the text for the model instead of a result. */
export type Answer =
  | ({ readonly status: 'pending' } & Undecided)
  /** By a person. Without a decision: by the rule that lets the call run after the question expired. */
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
  /** With a decision: a person approved in time, but the approval was not used in time. */
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

/** The part of the final event that readers need. */
export type Settled = Pick<ToolResponded, 'outcome' | 'content' | 'at' | 'costMicros' | 'unsettledEffect'>;

/** The arguments that the schema accepted, before its defaults and transforms. Stored form. */
export const acceptedInputOf = (call: Call): JsonValue =>
  call.acceptedInput ??
  (call.inputForm === undefined ? (call.effectiveInput ?? call.requestedInput) : call.requestedInput);

/** True for a running hand-off: a call that another process runs or will run. */
export const isHandoff = ({ status, started }: Call): boolean =>
  status === 'running' && started?.handoff === true;

/** The worker that has claimed the current attempt, if any. */
export const claimedBy = ({ handedTo, attempt }: Call): ToolReported | undefined =>
  handedTo?.attempt === attempt ? handedTo : undefined;

/** True if no worker has claimed the call, so it had no effect. */
export const isUnclaimed = ({ started, handedTo }: Call): boolean =>
  started?.handoff === true && handedTo === undefined;

/** True if the lease has ended, by the ledger's clock. */
export const leaseIsOver = (call: Call, now: number): boolean => {
  const what = claimedBy(call)?.what;
  return what?.type === 'claimed' && what.expiresAt !== undefined && now >= what.expiresAt;
};

/**
 * The time at which a call without a report ends: its deadline or the end of a lease, whichever comes first. If the tool
 * may run again, the end of a lease only frees the call for the next worker.
 */
export function dueAt(call: Call): number {
  const { started } = call;
  const deadlineMs = started?.deadlineMs ?? 0;
  const what = claimedBy(call)?.what;
  const leaseEnds = what?.type === 'claimed' ? what.expiresAt : undefined;
  return started?.mayRerun === true ? deadlineMs : Math.min(deadlineMs, leaseEnds ?? deadlineMs);
}

/** Asks that a grant may answer. Anything not listed here needs a person. */
export function isAnswerable({ by, code, stage }: Ask): boolean {
  if (code !== undefined || stage !== undefined) return false;
  switch (by.type) {
    case 'hook':
    case 'rule':
      return true;
    case 'gate':
      return by.name === 'mode';
    case 'person':
      return false;
  }
}

/** True if the effect is unknown, without a resolution and a late result. */
export const isUnresolved = ({ settled, resolution, late }: Call): boolean =>
  settled?.unsettledEffect === true &&
  resolution === undefined &&
  !late.some(({ result }) => result.type === 'returned');
