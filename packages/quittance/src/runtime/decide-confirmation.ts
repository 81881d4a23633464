/**
 * Decisions about held calls, in the process that holds the call or in any other that shares the ledger. Also trials of
 * edits, lists of questions, and reminders.
 *
 * 1. A decision applies to one question, one input and one revision of a preview, and names a person with the
 *    permission. Anything that does not match is refused with an explanation.
 * 2. The first decision counts, by compare-and-set on the call. A second one learns who decided and when.
 * 3. Only the host calls this. A model or a tool cannot reach it.
 */
import { QuittanceError, isQuittanceError } from '../base/error.ts';
import { isJsonObject } from '../base/json.ts';
import type { Call, Confirmation } from '../call/call.ts';
import { isAnswerable } from '../call/call.ts';
import { describeDecider } from '../call/describe-identity.ts';
import type { LinkIdentity, DirectIdentity } from '../call/identity.ts';
import { mayStillDeny, decide } from '../call/decide.ts';
import type { StoredCall } from '../ledger/journal.ts';
import type { Acting } from './rights.ts';
import { readIdentity } from './rights.ts';
import { checkKeys, checkObject } from '../base/check-keys.ts';
import { describeMissing, missingOf } from '../call/quorum.ts';
import { earlierVote } from '../call/why-not-approver.ts';
import { approverOf, whyForbidden } from './approvers.ts';
import type { ConfirmationView } from './views.ts';
import { toConfirmationView } from './views.ts';
import type { RuntimeState } from './runtime-state.ts';
import { callKey } from './turn-state.ts';
import { countMakers } from './runtime-state.ts';
import type { Engine } from './engine.ts';
import { isExpired } from './settle.ts';
import { foldStored } from '../ledger/fold-stored.ts';
import type { Decided, PersonDecision } from './keep-decision.ts';
import { keepDecision, readEdit } from './keep-decision.ts';
import { recoverCall } from './recover-call.ts';
import { checkName, checkText, limits, checkPage } from '../call/limits.ts';
import { refuseGranting, draftGrant } from './grants.ts';
import type { JsonObject, JsonPath } from '../base/json.ts';
import { isSameVoter } from '../call/counted-identity.ts';
import type { Page, ConfirmationQuery } from '../ledger/call-query.ts';
import type { DueReminder } from '../call/reminder.ts';
import { nextDue } from '../call/reminder.ts';
import { findConfirmation, statusOfOwner, findConfirmations } from '../ledger/reads.ts';

const decisionNames = [
  'decision',
  'by',
  'identity',
  'reason',
  'inputDigest',
  'revision',
  'arguments',
  'response',
  'receivedAt',
  'notReadToEnd',
  'forSession',
] as const;

export async function decideConfirmation(
  state: RuntimeState,
  confirmationId: string,
  decision: PersonDecision,
  /** Set if the person used a link. */
  link?: LinkIdentity,
): Promise<ConfirmationView> {
  const { engine } = state;
  checkDecision(decision, link);
  const { by } = decision;
  const identity = link ?? readIdentity('runtime.confirmations.decide', decision.identity, engine.redactor);
  const acting = { by, identity };
  for (;;) {
    const { stored, call, confirmation } = await findOpenQuestion(engine, confirmationId, decision);
    const { callId } = call;
    if (isExpired(confirmation, countedFrom(decision, engine.ledger.now()))) {
      await continueWith(state, stored, call);
      throw new QuittanceError('confirmation.expired', `The time to decide about call ${callId} is up.`, {
        confirmationId,
        callId,
      });
    }
    refuseMismatch(confirmation, decision);
    await refuseRepeated(engine, call, confirmation, decision, acting);
    await refuseUnauthorised(engine, call, decision, acting);
    if (decision.forSession !== undefined) await refuseForSession(engine, call, decision, acting);
    const decided = await keepDecision(engine, stored, call, confirmation, decision, acting);
    if (decided === undefined) continue;
    await continueWith(state, decided.stored, decided.call);
    const view = toConfirmationView(decided.call);
    if (view === undefined) throw new TypeError(`Call ${callId} was decided about and asks nothing.`);
    return view;
  }
}

/** A denial counts from its receipt, since it only prevents something. Any other decision counts from now. */
export const countedFrom = (
  { decision, receivedAt = Number.POSITIVE_INFINITY }: Pick<PersonDecision, 'decision' | 'receivedAt'>,
  now: number,
): number => (decision === 'deny' ? Math.min(receivedAt, now) : now);

type OpenQuestion = Decided & { readonly confirmation: Confirmation };

/** The open question for this decision, with its call. Throws if there is none. */
export async function findOpenQuestion(
  { ledger }: Engine,
  confirmationId: string,
  decision?: Pick<PersonDecision, 'decision' | 'receivedAt'>,
): Promise<OpenQuestion> {
  const found = await findConfirmation(ledger, confirmationId);
  if (found === undefined)
    throw new QuittanceError(
      'confirmation.unknown',
      `There is no confirmation ${confirmationId} in this ledger. runtime.confirmations.list({ status: 'pending' }) lists the open ones.`,
      { confirmationId },
    );
  const { sessionId, callId } = found;
  const stored = await ledger.readCall(sessionId, callId);
  const call = stored && foldStored(stored);
  if (stored === undefined || call?.confirmation === undefined)
    throw new TypeError(`Confirmation ${confirmationId} is listed and call ${callId} does not ask it.`);
  return { stored, call, confirmation: refuseDecided(call, confirmationId, decision) };
}

/** The question, if it is still open, or if this is a denial that still counts. */
function refuseDecided(
  call: Call,
  confirmationId: string,
  decision: Pick<PersonDecision, 'decision' | 'receivedAt'> | undefined,
): Confirmation {
  const { confirmation, callId } = call;
  if (
    confirmation?.confirmationId === confirmationId &&
    (confirmation.status === 'pending' || (decision !== undefined && mayStillDeny(call, decision)))
  )
    return confirmation;
  if (confirmation === undefined || confirmation.confirmationId !== confirmationId)
    throw new QuittanceError(
      'confirmation.decided',
      `Confirmation ${confirmationId} was decided, and call ${callId} has asked another question since: ${confirmation?.confirmationId ?? 'none'}.`,
      { confirmationId, callId },
    );
  const { status, by, decidedAt } = confirmation;
  const when = decidedAt === undefined ? '' : ` at ${new Date(decidedAt).toISOString()}`;
  // No decision came in time. A late one gets this error whether or not the expiry is recorded yet.
  if (status === 'expired')
    throw new QuittanceError(
      'confirmation.expired',
      `The time to decide about call ${callId} is up: the question expired${when}.`,
      { confirmationId, callId },
    );
  throw new QuittanceError(
    'confirmation.decided',
    `Call ${callId} was ${status} already${by === undefined ? '' : ` by ${describeDecider(by)}`}${when}.`,
    {
      confirmationId,
      callId,
      status,
      ...(by !== undefined && { by: by.name }),
      ...(decidedAt !== undefined && { decidedAt: String(decidedAt) }),
    },
  );
}

function refuseMismatch(confirmation: Confirmation, decision: PersonDecision): void {
  const { confirmationId } = confirmation;
  const needsBoth = decision.decision === 'approve' || decision.decision === 'edit';
  const mismatch = (
    what: string,
    shown: string | number | undefined,
    held: string | number | undefined,
  ): never => {
    throw new QuittanceError(
      'confirmation.mismatch',
      `The decision is about ${what} ${String(shown ?? '(none)')}, but the held call has ${String(held ?? 'none')}. Read the confirmation again and decide about its current state.`,
      { confirmationId, found: String(shown ?? ''), expected: String(held ?? '') },
    );
  };
  if ((needsBoth || decision.inputDigest !== undefined) && decision.inputDigest !== confirmation.inputDigest)
    mismatch('the input digest', decision.inputDigest, confirmation.inputDigest);
  if ((needsBoth || decision.revision !== undefined) && decision.revision !== confirmation.revision)
    mismatch('the preview revision', decision.revision, confirmation.revision);
}

/** Refuses a second vote of the same person, and states what is missing. */
async function refuseRepeated(
  engine: Engine,
  call: Call,
  confirmation: Confirmation,
  { decision }: PersonDecision,
  acting: Acting,
): Promise<void> {
  if (confirmation.votes.length === 0) return;
  const by = await approverOf(engine, call, acting);
  const earlier = earlierVote(confirmation, { decision, by });
  if (earlier === undefined) return;
  const { confirmationId } = confirmation;
  throw new QuittanceError(
    'confirmation.decided',
    `${earlier.by.name} has ${earlier.decision === 'deny' ? 'denied' : 'approved'} call ${call.callId} already, and one person counts once. Still missing: ${describeMissing(missingOf(confirmation, confirmation.votes))}.`,
    { confirmationId, callId: call.callId, status: confirmation.status, by: earlier.by.name },
  );
}

async function refuseUnauthorised(
  engine: Engine,
  call: Call,
  { by, decision }: PersonDecision,
  acting: Acting,
): Promise<void> {
  const why = await whyForbidden(engine, call, acting, decision);
  if (why === undefined) return;
  const confirmationId = call.confirmation?.confirmationId ?? '';
  throw new QuittanceError(
    'confirmation.forbidden',
    `${by} may not ${decision} call ${call.callId}: ${why}.`,
    { confirmationId, by },
  );
}

/** Refuses a grant for the session if the person may not give it. */
async function refuseForSession(
  engine: Engine,
  call: Call,
  { by, forSession }: PersonDecision,
  { identity }: Acting,
): Promise<void> {
  if (forSession === undefined) return;
  if (call.confirmation?.asks.every(isAnswerable) !== true)
    throw new QuittanceError(
      'confirmation.forbidden',
      'A grant for the session cannot answer this question: it is about a repeated effect or a stage of a workflow.',
      { confirmationId: call.confirmation?.confirmationId ?? '', by },
    );
  const draft = draftGrant(engine, call, {
    until: engine.ledger.now() + forSession.forMs,
    uses: forSession.uses,
  });
  await refuseGranting(engine, by, { ...draft, by, status: 'active', used: 0 }, 'give', identity);
}

/**
 * The owner of the call sees the decision and continues. If the owner is gone, this process continues if it
 * can.
 */
async function continueWith(state: RuntimeState, stored: StoredCall, call: Call): Promise<void> {
  const { engine } = state;
  const { ledger } = engine;
  const isHere = stored.ownerId === ledger.ownerId;
  const isMade = countMakers(ledger, callKey(call)) > 0;
  if (isMade || (!isHere && (await statusOfOwner(ledger, stored.ownerId)) !== 'gone')) return;
  const going: Promise<unknown> = recoverCall(state, stored, call)
    // Its result goes on the record of the call.
    .catch(() => undefined)
    .finally(() => engine.stragglers.delete(going));
  engine.stragglers.add(going);
}

const isCount = (value: unknown, most: number): boolean =>
  Number.isSafeInteger(value) && Number(value) >= 1 && Number(value) <= most;

function checkDecision(decision: PersonDecision, link: LinkIdentity | undefined): void {
  const where = 'runtime.confirmations.decide';
  const refuse = (problem: string): never => {
    throw new QuittanceError('config.invalid', `${where}: ${problem}`);
  };
  if (typeof decision !== 'object' || decision === null)
    refuse('a decision is an object, e.g. { decision: "approve", by: "ada", inputDigest }.');
  checkKeys(where, decision, decisionNames);
  if (!['approve', 'deny', 'edit', 'respond'].includes(decision.decision))
    refuse('decision must be approve, deny, edit or respond.');
  // A link has checked the names it joins.
  if (link === undefined) checkName(where, decision.by);
  checkText(where, 'reason', decision.reason, limits.reasonChars);
  if (decision.receivedAt !== undefined && !Number.isFinite(decision.receivedAt))
    refuse('receivedAt must be a number: milliseconds since 1970.');
  if (decision.notReadToEnd !== undefined && typeof decision.notReadToEnd !== 'boolean')
    refuse('notReadToEnd must be true or false.');
  const { forSession } = decision;
  if (forSession !== undefined) {
    if (decision.decision !== 'approve') refuse('forSession comes with an approval only.');
    if (
      typeof forSession !== 'object' ||
      forSession === null ||
      !isCount(forSession.forMs, limits.forSession.longestMs)
    )
      refuse('forSession.forMs must be a whole number of milliseconds, from 1 to a day.');
    if (!isCount(forSession.uses, limits.forSession.uses))
      refuse(`forSession.uses must be a whole number from 1 to ${limits.forSession.uses}.`);
  }
  if (decision.decision === 'edit' && !isJsonObject(decision.arguments))
    refuse('an edit needs arguments: the object to run with instead.');
  if (decision.decision === 'respond' && (typeof decision.response !== 'string' || decision.response === ''))
    refuse('a response needs a text for the model: response.');
  if (decision.decision === 'respond') checkText(where, 'response', decision.response, limits.responseChars);
}

/** Result of checking edited arguments against the schema and the rules, without a decision. */
export type EditTrial =
  /** Hooks of the host, limits and sandboxes are asked only when the call runs. */
  | { readonly ok: true }
  | {
      readonly ok: false;
      readonly message: string;
      /** Problems of single arguments, by their path. Empty if a rule refuses. */
      readonly problems: readonly { readonly path: JsonPath; readonly message: string }[];
      /** The rule that blocks the arguments. */
      readonly ruleId: string | undefined;
    };

export async function tryEdit(
  engine: Engine,
  confirmationId: string,
  edited: JsonObject,
): Promise<EditTrial> {
  const { call } = await findOpenQuestion(engine, confirmationId);
  try {
    await readEdit(engine, call, edited);
    return { ok: true };
  } catch (error) {
    if (isQuittanceError(error, 'config.invalid'))
      return { ok: false, message: error.message, problems: [], ruleId: undefined };
    if (!isQuittanceError(error, 'confirmation.mismatch')) throw error;
    const { issues, ruleId } = error.facts;
    return {
      ok: false,
      message: error.message,
      problems: issues === undefined ? [] : (JSON.parse(issues) as (EditTrial & { ok: false })['problems']), // written by readEdit
      ruleId,
    };
  }
}

/** The person whose questions are listed. */
export type Asked = { readonly by: string; readonly identity?: DirectIdentity };

/** Open questions that this person may answer now, newest first: they may approve or deny, and have not done so. */
export async function listQuestionsFor(
  engine: Engine,
  { by, identity }: Asked,
  query: Pick<ConfirmationQuery, 'limit' | 'cursor'>,
): Promise<Page<ConfirmationView>> {
  checkPage('runtime.confirmations.listFor', query);
  const acting = { by, identity: readIdentity('runtime.confirmations.listFor', identity, engine.redactor) };
  const { rows, next } = await findConfirmations(engine.ledger, { ...query, status: 'pending' });
  const views: ConfirmationView[] = [];
  for (const { sessionId, callId, confirmationId } of rows) {
    const stored = await engine.ledger.readCall(sessionId, callId);
    const call = stored && foldStored(stored);
    const view = call && toConfirmationView(call);
    if (call === undefined || view?.confirmationId !== confirmationId || view.status !== 'pending') continue;
    if (await mayAnswer(engine, call, acting)) views.push(view);
  }
  return { rows: views, next };
}

/** False for a person who has approved already, although they could still deny. */
async function mayAnswer(engine: Engine, call: Call, acting: Acting): Promise<boolean> {
  const { confirmation } = call;
  if (confirmation !== undefined && confirmation.votes.length > 0) {
    const by = await approverOf(engine, call, acting);
    if (confirmation.votes.some((vote) => isSameVoter(vote.by, by))) return false;
  }
  return (
    (await whyForbidden(engine, call, acting, 'approve')) === undefined ||
    (await whyForbidden(engine, call, acting, 'deny')) === undefined
  );
}

/** Questions in their current state. A question that the call has replaced is no longer listed. */
export async function listConfirmations(
  { ledger }: Pick<Engine, 'ledger'>,
  query: ConfirmationQuery,
): Promise<Page<ConfirmationView>> {
  checkObject('runtime.confirmations.list', query);
  checkPage('runtime.confirmations.list', query);
  const { rows, next } = await findConfirmations(ledger, query);
  const views: ConfirmationView[] = [];
  for (const { sessionId, callId, confirmationId } of rows) {
    const stored = await ledger.readCall(sessionId, callId);
    const call = stored && foldStored(stored);
    const view = call && toConfirmationView(call);
    if (view?.confirmationId === confirmationId) views.push(view);
  }
  return { rows: views, next };
}

/**
 * Records the reminders of an open question that are due: each one set by a rule, and the last of the given times. Returns
 * the next time, or undefined if the question is closed or no time is left. A given time too close to the previous
 * reminder is left out.
 */
export async function remindOf(
  engine: Engine,
  confirmationId: string,
  times: readonly number[],
): Promise<number | undefined> {
  checkTimes(times);
  for (;;) {
    const question = await readQuestion(engine, confirmationId);
    if (question === undefined) return undefined;
    const now = engine.ledger.now();
    const { askedAt, remindedAt = Number.NEGATIVE_INFINITY } = question.confirmation;
    const usable = times.filter((at) => at > askedAt && at >= remindedAt + limits.reminders.leastApartMs);
    // After a long pause only the last due time is recorded.
    const last = Math.max(...usable.filter((at) => at <= now));
    const due = nextDue(
      question.confirmation,
      usable.filter((at) => at > now || at === last),
    );
    if (due === undefined || due.dueAt > now) return due?.dueAt;
    await record(engine, question, due, now);
  }
}

function checkTimes(times: readonly number[]): void {
  const { times: most } = limits.reminders;
  if (Array.isArray(times) && times.length <= most && times.every((at) => Number.isFinite(at))) return;
  throw new QuittanceError(
    'config.invalid',
    `runtime.confirmations.remind: times must be a list of at most ${most} times in milliseconds since 1970.`,
  );
}

async function readQuestion(engine: Engine, confirmationId: string): Promise<OpenQuestion | undefined> {
  try {
    const question = await findOpenQuestion(engine, confirmationId);
    return question.confirmation.status === 'pending' ? question : undefined;
  } catch (error) {
    if (isQuittanceError(error, 'confirmation.decided') || isQuittanceError(error, 'confirmation.expired'))
      return undefined;
    throw error;
  }
}

/** Another process may be faster. The caller reads the question again in any case. */
async function record(
  engine: Engine,
  { stored, call, confirmation }: OpenQuestion,
  due: DueReminder,
  at: number,
): Promise<void> {
  const { sessionId, callId, turnId } = call;
  const missing = missingOf(confirmation, confirmation.votes).map((each) => describeMissing([each]));
  const made = decide(
    call,
    { type: 'remind', confirmationId: confirmation.confirmationId, missing, ...due },
    { sessionId, turnId, callId, at, nextId: engine.nextEventId },
  );
  if (!made.ok) throw new TypeError(`Call ${callId}: ${made.refusal}`);
  await engine.ledger.append({
    entryId: engine.ids.next('ent'),
    sessionId,
    callId,
    expectedVersion: stored.version,
    events: [made.event],
    depth: stored.depth,
  });
}
