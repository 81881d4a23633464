/** A call that needs an approval: its preview, the question, and the answer. */
import type { JsonObject } from '../../base/json.ts';
import type { Preview } from '../../tool/preview.ts';
import type { ApprovalPolicy } from '../approval-policy.ts';
import type { SessionBounds } from '../session-bounds.ts';
import type { FallenVote } from '../vote.ts';
import type { ReasonCode } from '../reason.ts';
import type { CallEventOf } from './event-of.ts';
import type { ArgumentComparison, ArtifactArgument, DecidedBy, InputForm } from './gate-event.ts';

/** A preview from the tool. A person approves one revision, and the body gets its snapshot. */
export type ToolPreviewed = CallEventOf<
  'tool.previewed',
  {
    operationId: string;
    /** From 1. */
    revision: number;
    /** True for the final version. Only this one can be approved. */
    ready: boolean;
    preview: Preview;
    /** The data that the body needs to do exactly this. Stored form; policy gets the exact one. */
    snapshot: JsonObject;
    /** Paths that the redactor hid in the snapshot. */
    hidden: readonly string[];
    /** Digest of the input that it was made for. It does not apply to any other. */
    inputDigest: string;
    /** When it expires, by the ledger's clock. */
    expiresAt: number | undefined;
  }
>;

/** The call waits for a person. */
export type ToolHeld = CallEventOf<
  'tool.held',
  {
    confirmationId: string;
    description: string;
    asks: readonly Ask[];
    inputDigest: string;
    /** The revision of the preview that is shown. Undefined without a preview. */
    revision: number | undefined;
    /** When the question expires, by the ledger's clock. Undefined: never. */
    expiresAt: number | undefined;
    /** The effect of the expiry. */
    timeoutEffect: 'block' | 'allow';
    /** Risks, in words for people. */
    risk: readonly string[];
    /** Schema digest of the tool: another version may interpret the same arguments differently. */
    schemaDigest: string | undefined;
    /** Made by the runtime if the tool has no preview. Undefined if there is nothing to compare with. */
    comparison: ArgumentComparison | undefined;
    /** The call that holds the same idempotency key. An approval passes the key on. */
    supersedes: { readonly sessionId: string; readonly callId: string } | undefined;
  }
>;

/** One reason to ask a person: the asking gate, hook or rule, and its text. */
export type Ask = {
  readonly by: DecidedBy;
  readonly description: string;
  readonly code?: ReasonCode;
  /** Digest of the rule that asks: an approval counts only while the rule stays the same. */
  readonly digest?: string;
  /** Time limit for the decision, and the effect of its expiry. Default: no limit. */
  readonly timeoutSeconds?: number;
  readonly timeoutEffect?: 'block' | 'allow';
  /** The workflow stage that an approval approves. */
  readonly stage?: { readonly workflow: string; readonly stageId: string };
  /** Who must approve. Absent: one person who may decide. */
  readonly approval?: ApprovalPolicy;
};

/**
 * A person has approved, edited or denied, and their rule needs more people. The question stays open. An edit
 * replaces the input and voids earlier approvals.
 */
export type ConfirmationVoted = CallEventOf<
  'confirmation.voted',
  {
    confirmationId: string;
    decision: 'approve' | 'edit' | 'deny';
    by: DecidedBy;
    reason: string | undefined;
    inputDigest: string;
    revision: number | undefined;
    /** As in `confirmation.decided`. */
    editedInput: JsonObject | undefined;
    editedDigest: string | undefined;
    editedHidden: readonly string[];
    editedForm: InputForm | undefined;
    editedAccepted: JsonObject | undefined;
    editedArtifacts: readonly ArtifactArgument[];
    /** The person also agrees to a grant for the session within these bounds. */
    session?: SessionBounds;
    /** Earlier votes that are void from now on, because their rights have ended. */
    fallen?: readonly FallenVote[];
  }
>;

/** A reminder or an escalation of an open question is due. Recorded once for each set time. */
export type ConfirmationReminded = CallEventOf<
  'confirmation.reminded',
  {
    confirmationId: string;
    /** `escalation`: further people may approve from now on. */
    kind: 'reminder' | 'escalation';
    /** When it was due, by the ledger's clock. */
    dueAt: number;
    /** The approvals still missing, in words. */
    missing: readonly string[];
  }
>;

/**
 * A person has decided about a held call. If a rule needs several people, this is the decision that completes the
 * quorum, and those before it are `confirmation.voted`.
 */
export type ConfirmationDecided = CallEventOf<
  'confirmation.decided',
  {
    confirmationId: string;
    decision: ConfirmationDecision;
    /** The person who decided, or the hook if no person could be asked. */
    by: DecidedBy;
    reason: string | undefined;
    inputDigest: string;
    revision: number | undefined;
    /** For an edit: the approved arguments in their stored form, and their digest. */
    editedInput: JsonObject | undefined;
    editedDigest: string | undefined;
    /** Paths that the redactor hid in them. */
    editedHidden: readonly string[];
    /**
     * As `inputForm`, `acceptedInput` and `artifacts` of `tool.decided`. No form: no schema has checked the
     * edit yet.
     */
    editedForm: InputForm | undefined;
    editedAccepted: JsonObject | undefined;
    editedArtifacts: readonly ArtifactArgument[];
    /** The text for the model instead of a result. */
    response: string | undefined;
    /**
     * When the decision was received, by the ledger's clock. Recorded for a denial that was received before
     * the question expired and stored afterwards. Undefined: it counts from `at`.
     */
    receivedAt: number | undefined;
    /** The person also agreed to a grant for the session within these bounds. */
    session?: SessionBounds;
    /** Earlier votes that are void from now on, because their rights have ended. */
    fallen?: readonly FallenVote[];
  }
>;

/** `edit` approves other arguments. `respond` answers the model without running the tool. */
export type ConfirmationDecision = 'approve' | 'deny' | 'edit' | 'respond';

/** The question expired. With `allow`, the rule lets the call run. */
export type ConfirmationExpired = CallEventOf<
  'confirmation.expired',
  { confirmationId: string; effect: 'block' | 'allow'; by: DecidedBy | undefined }
>;

/** The question was withdrawn before an answer. */
export type ConfirmationWithdrawn = CallEventOf<
  'confirmation.withdrawn',
  { confirmationId: string; reason: string }
>;
