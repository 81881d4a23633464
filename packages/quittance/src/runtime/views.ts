/**
 * What people see: calls, questions, grants, unresolved calls, open counts, and the filter of events. Also the exchange
 * with `onConfirm`: the request and its answer.
 */
import type { JsonValue, Awaitable, JsonObject } from '../base/json.ts';
import type { Call, ConfirmationStatus, Confirmation } from '../call/call.ts';
import { acceptedInputOf } from '../call/call.ts';
import type {
  ArtifactArgument,
  InputForm,
  Provenance,
  DecidedBy,
  ArgumentComparison,
} from '../call/events/gate-event.ts';
import type { Identity, DirectIdentity } from '../call/identity.ts';
import type { ToolMode, ToolModeOrigin } from '../tool/mode.ts';
import type { Principal } from '../tool/tool-context.ts';
import type { Grant } from '../call/grant.ts';
import { grantCounter, isPast } from '../call/grant.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { ToolLate } from '../call/events/attempt-event.ts';
import type { ToolOutcome } from '../call/outcome.ts';
import { QuittanceError } from '../base/error.ts';
import type { OpenCounts } from './telemetry.ts';
import { isJsonObject } from '../base/json.ts';
import type { Ask, ConfirmationDecision } from '../call/events/confirmation-event.ts';
import { readDirectIdentity, selfAsserted } from '../call/identity.ts';
import type { MissingSeat } from '../call/quorum.ts';
import type { Vote, FallenVote } from '../call/vote.ts';
import type { Preview } from '../tool/preview.ts';
import { missingOf } from '../call/quorum.ts';
import { readCounters } from '../ledger/reads.ts';
import { findConfirmations, readTallies } from '../ledger/reads.ts';

/** A call as shown to people. Inputs are in their stored form. */
export type CallView = {
  readonly sessionId: string;
  readonly turnId: string;
  readonly callId: string;
  readonly toolName: string;
  readonly displayName: string;
  readonly mode: ToolMode;
  readonly modeOrigin: ToolModeOrigin;
  /** As the model requested it. */
  readonly requestedInput: JsonValue;
  /** As the body receives it. */
  readonly effectiveInput: JsonValue;
  /** `typed`: the effective input is a rendering. Undefined in ledgers of earlier versions: the schema may change it. */
  readonly inputForm: InputForm | undefined;
  /** As the schema accepted it. An edit is written like this. */
  readonly acceptedInput: JsonValue;
  /** Artifacts used in the arguments. */
  readonly artifacts: readonly ArtifactArgument[];
  /** Paths of redacted values. */
  readonly hidden: readonly string[];
  readonly policyVersion: string | undefined;
  /** On whose behalf the call is made, and which model asked for it. */
  readonly principal: Principal | undefined;
  readonly provenance: Provenance | undefined;
  /** How the calling program was identified, if recorded. */
  readonly askedBy: Identity | undefined;
  /** The trace of the call, as a `traceparent` of the W3C. */
  readonly traceparent: string | undefined;
};

export const viewCall = (call: Call): CallView => ({
  sessionId: call.sessionId,
  turnId: call.turnId,
  callId: call.callId,
  toolName: call.toolName,
  displayName: call.displayName,
  mode: call.mode,
  modeOrigin: call.modeOrigin,
  requestedInput: call.requestedInput,
  effectiveInput: call.effectiveInput ?? call.requestedInput,
  inputForm: call.inputForm,
  acceptedInput: acceptedInputOf(call),
  artifacts: call.artifacts,
  hidden: call.hidden,
  policyVersion: call.policyVersion,
  principal: call.principal,
  provenance: call.provenance,
  askedBy: call.askedBy,
  traceparent: call.traceparent,
});

/** A grant in its current state. */
export type GrantView = Grant & {
  readonly status: GrantStatus;
  /** Why it does not apply, if it is suspended. */
  readonly why?: string;
  /** How many calls it approved. */
  readonly used: number;
};

/** `suspended`: a giver has lost the right to give it. It applies again if they get the right back. */
export type GrantStatus = 'active' | 'used_up' | 'expired' | 'revoked' | 'suspended';

export async function toGrantViews(
  ledger: Pick<Ledger, 'query' | 'now'>,
  grants: readonly Grant[],
): Promise<readonly GrantView[]> {
  if (grants.length === 0) return [];
  const counters = await readCounters(
    ledger,
    grants.map(({ sessionId, grantId }) => grantCounter(sessionId, grantId)),
  );
  const now = ledger.now();
  return grants.map((grant, index) => {
    const counter = counters[index] ?? { used: 0, reserved: 0 };
    const used = counter.used + counter.reserved;
    return { ...grant, used, status: statusOf(grant, used, now) };
  });
}

function statusOf(grant: Grant, used: number, now: number): GrantStatus {
  if (grant.revoked !== undefined) return 'revoked';
  if (isPast(grant, now)) return 'expired';
  return grant.uses !== undefined && used >= grant.uses ? 'used_up' : 'active';
}

/** A call whose effect is unknown until a person finds it out. Inputs are in their stored form. */
export type UnresolvedCall = CallView & {
  readonly inputDigest: string | undefined;
  /** The outcome that the caller got. */
  readonly outcome: ToolOutcome;
  readonly attempts: number;
  /** When its last attempt started, when it was due, and when it was given up. */
  readonly startedAt: number;
  readonly deadlineMs: number | undefined;
  readonly settledAt: number;
  /** The key that the service got, if the tool made one. */
  readonly idempotencyKey: string | undefined;
  /** The worker that had claimed it, if any. */
  readonly worker: string | undefined;
  /** Results and errors after the call had ended. */
  readonly late: readonly ToolLate[];
  /** True if the tool can be asked with `runtime.calls.reconcile(call, { ask: 'tool', by })`. */
  readonly canAskTool: boolean;
};

/** Undefined for a call without an outcome. */
export function toUnresolvedCall(call: Call, canAskTool: boolean): UnresolvedCall | undefined {
  const { settled, started } = call;
  if (settled === undefined) return undefined;
  return {
    ...viewCall(call),
    inputDigest: call.inputDigest,
    outcome: settled.outcome,
    attempts: call.attempt,
    startedAt: started?.at ?? call.requestedAt,
    deadlineMs: started?.deadlineMs,
    settledAt: settled.at,
    idempotencyKey: started?.idempotencyKey,
    worker: call.handedTo?.worker,
    late: call.late,
    canAskTool,
  };
}

/**
 * A filter of the events of a behavior. By dotted path of a field, e.g. `error.reason`: a value, a list of alternatives, a
 * prefix or a predicate.
 */
export type Where = { readonly [path: string]: FieldMatch | readonly FieldMatch[] };

export type FieldMatch =
  | string
  | number
  | boolean
  | null
  | { readonly prefix: string }
  | ((value: unknown, event: object) => boolean);

/** May throw an error from a predicate. */
export type Matches = (event: object) => boolean;

const anything: Matches = () => true;

/** Refuses a filter that can match nothing. */
export function compileWhere(where: Where | undefined, behavior: string): Matches {
  if (where === undefined) return anything;
  if (typeof where !== 'object' || where === null || Array.isArray(where))
    throw new QuittanceError(
      'config.invalid',
      `Behavior "${behavior}": where must be an object, e.g. { 'error.reason': ['tool.timeout'] }.`,
    );
  const fields = Object.entries(where).map(([path, wanted]) => compileField(path, wanted, behavior));
  return (event) => fields.every((matches) => matches(event));
}

function compileField(path: string, wanted: FieldMatch | readonly FieldMatch[], behavior: string): Matches {
  const steps = path.split('.');
  const tests = (Array.isArray(wanted) ? (wanted as readonly FieldMatch[]) : [wanted as FieldMatch]).map(
    (match) => compileMatch(match, path, behavior),
  );
  if (tests.length === 0)
    throw new QuittanceError(
      'config.invalid',
      `Behavior "${behavior}": where.${path} is an empty list, which nothing matches.`,
    );
  return (event) => {
    const value = readPath(event, steps);
    return tests.some((test) => test(value, event));
  };
}

function compileMatch(
  match: FieldMatch,
  path: string,
  behavior: string,
): (value: unknown, event: object) => boolean {
  if (typeof match === 'function') return (value, event) => match(value, event) === true;
  if (typeof match !== 'object' && match !== undefined) return (value) => value === match;
  if (match === null) return (value) => value === null;
  const prefix = match?.prefix;
  if (typeof prefix === 'string' && prefix !== '' && Object.keys(match).length === 1)
    return (value) => typeof value === 'string' && value.startsWith(prefix);
  throw new QuittanceError(
    'config.invalid',
    `Behavior "${behavior}": where.${path} must be a value, a list of values, { prefix: "…" } or a function, found ${JSON.stringify(match) ?? 'undefined'}.`,
  );
}

/** Own properties only: an event has no `constructor`. */
function readPath(event: object, steps: readonly string[]): unknown {
  let at: unknown = event;
  for (const step of steps) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, step)) return undefined;
    at = (at as Record<string, unknown>)[step];
  }
  return at;
}

/** Limit of the count of held calls, because counting costs time for each. */
const mostHeld = 1_000;

export async function readOpenCounts(ledger: Pick<Ledger, 'query'>): Promise<OpenCounts> {
  const held = await findConfirmations(ledger, { status: 'pending', limit: mostHeld });
  const tallies = await readTallies(ledger, { by: ['mode'] });
  return {
    held: held.rows.length,
    indeterminate: tallies.reduce((sum, { unresolved }) => sum + unresolved, 0),
  };
}

/** A held call as shown to the person who decides. Inputs are in their stored form. */
export type ConfirmationRequest = {
  readonly confirmationId: string;
  readonly sessionId: string;
  readonly turnId: string;
  readonly callId: string;
  readonly toolName: string;
  readonly displayName: string;
  readonly mode: ToolMode;
  /** The input of the body: the schema's result. */
  readonly arguments: JsonObject;
  /** `typed`: `arguments` is a rendering of a value that JSON cannot hold. */
  readonly inputForm: InputForm;
  /** The arguments that the schema accepted. An edit has this form. */
  readonly accepted: JsonObject;
  /** Artifacts used in the arguments. */
  readonly artifacts: readonly ArtifactArgument[];
  readonly inputDigest: string;
  readonly description: string;
  /** Revision of the preview that is shown, if any. */
  readonly revision: number | undefined;
  readonly asks: readonly Ask[];
  /** The votes so far, if a rule needs several approvers. `onConfirm` is asked again after each answer that counts. */
  readonly votes: readonly Vote[];
  readonly missing: readonly MissingSeat[];
  readonly principal: Principal | undefined;
};

/** A decision needs a name: `by` is the person who made it. */
export type ConfirmationAnswer = {
  readonly by: string;
  /** How the host knows this person. Without it, the name counts as self-asserted. */
  readonly identity?: DirectIdentity;
  readonly reason?: string;
} & (
  | { readonly decision: 'approve' | 'deny' }
  /** Approves the call with other arguments. */
  | { readonly decision: 'edit'; readonly arguments: JsonObject }
  /** Answers the model instead of running the tool. */
  | { readonly decision: 'respond'; readonly response: string }
);

/** Asks a person. Anything but a well-formed decision is a denial. */
export type OnConfirm = (request: ConfirmationRequest) => Awaitable<ConfirmationAnswer>;

/** A parsed decision. `mistake`: the host's mistake, for the log of the call. */
export type ReadAnswer = {
  readonly by: DecidedBy;
  readonly reason: string | undefined;
  readonly mistake?: string;
} & (
  | { readonly decision: 'approve' | 'deny' }
  | { readonly decision: 'edit'; readonly arguments: JsonObject }
  | { readonly decision: 'respond'; readonly response: string }
);

/** Parses the result of `onConfirm`. Anything but a complete decision by a named person denies. */
export function readConfirmationAnswer(answer: unknown): ReadAnswer {
  const { decision, by, identity, reason, ...given } = (answer ?? {}) as Partial<Record<string, unknown>>;
  const known = identity === undefined ? selfAsserted : readDirectIdentity(identity);
  if (known === undefined)
    return denyFor('the identity of the decider is not one that can be recorded; see DirectIdentity.');
  const person: DecidedBy | undefined =
    typeof by === 'string' && by.trim() !== '' ? { type: 'person', name: by, identity: known } : undefined;
  const because = typeof reason === 'string' && reason !== '' ? reason : undefined;
  if (decision === 'approve' && person !== undefined) return { decision, by: person, reason: because };
  if (decision === 'deny') return { decision, by: person ?? hook, reason: because };
  const { arguments: edited, response } = given;
  if (decision === 'edit' && person !== undefined && isJsonObject(edited))
    return { decision, by: person, reason: because, arguments: edited };
  if (decision === 'respond' && person !== undefined && typeof response === 'string' && response !== '')
    return { decision, by: person, reason: because, response };
  return denyFor(describeMistake(decision, person));
}

function describeMistake(decision: unknown, person: DecidedBy | undefined): string {
  if (decision === 'approve' || decision === 'edit' || decision === 'respond') {
    if (person === undefined)
      return decision === 'approve'
        ? 'the approval has no name; return {decision: "approve", by: "<who>"} from onConfirm.'
        : `the decision has no name; return {decision: "${decision}", by: "<who>", …} from onConfirm.`;
    if (decision === 'edit')
      return 'an edit needs arguments: the object to run with instead; return {decision: "edit", by, arguments} from onConfirm.';
    if (decision === 'respond')
      return 'a response needs a text for the model; return {decision: "respond", by, response} from onConfirm.';
  }
  return 'onConfirm must return {decision: "approve" | "deny", by: "<who>"}.';
}

const hook: DecidedBy = { type: 'hook', name: 'onConfirm' };

/** The denial if no person could be asked because of a mistake of the host. The model does not see the mistake. */
export const denyFor = (mistake: string, reason: string = 'the decision could not be used.'): ReadAnswer => ({
  decision: 'deny',
  by: hook,
  reason,
  mistake,
});

/** The text of a denial for the model and the record. */
export const describeDenial = ({ by, reason }: Pick<ReadAnswer, 'by' | 'reason'>): string => {
  const because = reason === undefined ? '.' : `: ${reason}`;
  return by.type === 'person' ? `Denied by ${by.name}${because}` : `It was not approved${because}`;
};

/** A question to a person, as listed and shown. Inputs are in their stored form. */
export type ConfirmationView = CallView & {
  readonly confirmationId: string;
  /** A decision must name it, so that it applies to this input only. */
  readonly inputDigest: string;
  readonly description: string;
  /** The gates, hooks, rules and workflow stages that ask, with their reasons. */
  readonly asks: readonly Ask[];
  readonly preview: PreviewView | undefined;
  /** The source of the shown effect: the tool's preview, the runtime's comparison, or none. */
  readonly previewSource: 'tool' | 'comparison' | 'none';
  /** Comparison with the last call on the same resource, if the tool has no preview. */
  readonly comparison: ArgumentComparison | undefined;
  readonly risk: readonly string[];
  readonly createdAt: number;
  readonly expiresAt: number | undefined;
  /** The effect of an expiry without a decision. */
  readonly timeoutEffect: 'block' | 'allow';
  readonly status: ConfirmationStatus;
  readonly decision: ConfirmationDecision | undefined;
  readonly by: DecidedBy | undefined;
  readonly reason: string | undefined;
  readonly decidedAt: number | undefined;
  /** The votes so far, if a rule needs several approvers. */
  readonly votes: readonly Vote[];
  /** Votes that are void, because their rights ended before the quorum was complete. */
  readonly fallen: readonly FallenVote[];
  /** The approvals still missing before the call may run. Empty once it is decided. */
  readonly missing: readonly MissingSeat[];
};

export type PreviewView = {
  readonly operationId: string;
  readonly revision: number;
  readonly ready: boolean;
  readonly preview: Preview;
  readonly snapshot: JsonObject;
  readonly expiresAt: number | undefined;
};

/** The current question of the call. Undefined if it has none. */
export function toConfirmationView(call: Call): ConfirmationView | undefined {
  const { confirmation } = call;
  if (confirmation === undefined) return undefined;
  // After an edit that needs more approvals, the preview is about the earlier input.
  const preview = confirmation.inputDigest === confirmation.judgedDigest ? call.preview : undefined;
  return {
    ...viewCall(call),
    confirmationId: confirmation.confirmationId,
    inputDigest: confirmation.inputDigest,
    description: confirmation.description,
    asks: confirmation.asks,
    preview:
      preview === undefined
        ? undefined
        : {
            operationId: preview.operationId,
            revision: preview.revision,
            ready: preview.ready,
            preview: preview.preview,
            snapshot: preview.snapshot,
            expiresAt: preview.expiresAt,
          },
    previewSource:
      preview !== undefined ? 'tool' : confirmation.comparison === undefined ? 'none' : 'comparison',
    comparison: preview === undefined ? confirmation.comparison : undefined,
    risk: confirmation.risk,
    createdAt: confirmation.askedAt,
    expiresAt: confirmation.expiresAt,
    timeoutEffect: confirmation.timeoutEffect,
    status: confirmation.status,
    decision: confirmation.decision,
    by: confirmation.by,
    reason: confirmation.reason,
    decidedAt: confirmation.decidedAt,
    votes: confirmation.votes,
    fallen: confirmation.fallen,
    missing: confirmation.status === 'pending' ? missingOf(confirmation, confirmation.votes) : [],
  };
}

/**
 /** Maximum delay of an expiry by an incomplete request. */
export const longestArrivalMs = 10_000;

type Arriving = {
  /** Undefined if the request names it only at its end. */
  readonly confirmationId: string | undefined;
  readonly receivedAt: number;
  readonly ended: Promise<void>;
};

/**
 * Decisions whose request is still arriving. One of them may be a denial, which counts from the start of its request.
 * So a question does not expire while such a request is open, for a limited time.
 */
export class ArrivingDecisions {
  readonly #open = new Set<Arriving>();

  /**
   * Notes a request that is arriving. Call the returned function once it was handled, refused or given up.
   */
  note(confirmationId: string | undefined, receivedAt: number): () => void {
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const arriving = { confirmationId, receivedAt, ended };
    this.#open.add(arriving);
    return () => {
      this.#open.delete(arriving);
      resolve();
    };
  }

  /** Resolves once a request ended that could still deny this question. Undefined if there is none. */
  mayDeny(
    { confirmationId, expiresAt }: Pick<Confirmation, 'confirmationId' | 'expiresAt'>,
    now: number,
  ): Promise<void> | undefined {
    if (expiresAt === undefined || now >= expiresAt + longestArrivalMs) return undefined;
    for (const arriving of this.#open)
      if (
        arriving.receivedAt < expiresAt &&
        (arriving.confirmationId === undefined || arriving.confirmationId === confirmationId)
      )
        return arriving.ended;
    return undefined;
  }
}
