/** A call that needs a person: what it would do, the question, and what became of the question. */
import type { JsonObject } from '../../base/json.ts';
import type { Preview, PreviewField } from '../../tool/preview.ts';
import type { ReasonCode } from '../reason.ts';
import type { CallEventOf } from './event-of.ts';
import type { ArtifactArgument, DecidedBy, InputForm } from './gate-event.ts';

/** What a tool says it would do. A person approves one revision, and the body is given its snapshot. */
export type ToolPreviewed = CallEventOf<
  'tool.previewed',
  {
    operationId: string;
    /** From 1. */
    revision: number;
    /** The last one: what it shows is what would be done. */
    ready: boolean;
    preview: Preview;
    /** What the body needs in order to do exactly this, kept form. Policy sees it as it is. */
    snapshot: JsonObject;
    /** Paths the redactor hid in the snapshot. */
    hidden: readonly string[];
    /** Of the input it was made for: it says nothing about any other. */
    inputDigest: string;
    /** When it goes stale, by the ledger's clock. */
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
    /** The revision of the preview that is shown; undefined where the tool gives none. */
    revision: number | undefined;
    /** When nobody's answer counts any more, by the ledger's clock; never where undefined. */
    expiresAt: number | undefined;
    /** What happens then. */
    timeoutEffect: 'block' | 'allow';
    /** What makes it risky, in words for people. */
    risk: readonly string[];
    /** Of the tool that is to run: another version of it may mean something else by the same arguments. */
    schemaDigest: string | undefined;
    /** Made by the runtime where the tool shows no preview. Undefined where there is nothing to compare with. */
    comparison: ArgumentComparison | undefined;
  }
>;

/** How the arguments of a call differ from those of the last call on the same resource. Kept form. */
export type ArgumentComparison = {
  /** The call they are compared with. */
  readonly callId: string;
  /** When that call was requested. */
  readonly at: number;
  /** Empty where they are the same. */
  readonly fields: readonly PreviewField[];
  /** How many more differences there are. */
  readonly more: number;
};

/** One wish for a person: who asks and why. */
export type Ask = {
  readonly by: DecidedBy;
  readonly description: string;
  readonly code?: ReasonCode;
  /** What the rule that asks says, as a digest: an approval counts only while it says the same. */
  readonly digest?: string;
  /** How long a person has, and what happens then; for as long as it takes where nothing is said. */
  readonly timeoutSeconds?: number;
  readonly timeoutEffect?: 'block' | 'allow';
  /** The stage of a workflow that an approval approves. */
  readonly stage?: { readonly workflow: string; readonly stageId: string };
};

/** Somebody has decided about a held call. The first decision counts. */
export type ConfirmationDecided = CallEventOf<
  'confirmation.decided',
  {
    confirmationId: string;
    decision: ConfirmationDecision;
    /** The person who decided; the hook, where none could be asked. */
    by: DecidedBy;
    reason: string | undefined;
    inputDigest: string;
    revision: number | undefined;
    /** Of an edit: the arguments to run with instead, kept form, and their digest. That is what was approved. */
    editedInput: JsonObject | undefined;
    editedDigest: string | undefined;
    /** Paths the redactor hid in them. */
    editedHidden: readonly string[];
    /** As `inputForm`, `acceptedInput` and `artifacts` of `tool.decided`. No form: no schema has seen the edit yet. */
    editedForm: InputForm | undefined;
    editedAccepted: JsonObject | undefined;
    editedArtifacts: readonly ArtifactArgument[];
    /** What the model is told instead of running. */
    response: string | undefined;
    /**
     * When the decision was received, by the ledger's clock. Recorded for a denial that was received before the
     * question expired and stored afterwards; undefined means that it counts from `at`.
     */
    receivedAt: number | undefined;
  }
>;

/** An edit approves other arguments; a response answers the model without running anything. */
export type ConfirmationDecision = 'approve' | 'deny' | 'edit' | 'respond';

/** The time is up. Under `allow` the rule that says so lets the call run. */
export type ConfirmationExpired = CallEventOf<
  'confirmation.expired',
  { confirmationId: string; effect: 'block' | 'allow'; by: DecidedBy | undefined }
>;

/** The question was taken back before anybody answered. */
export type ConfirmationWithdrawn = CallEventOf<
  'confirmation.withdrawn',
  { confirmationId: string; reason: string }
>;
