/**
 * A call that needs an approval. The hold is stored first. Then any person with the permission may decide,
 * here or in any process that shares the ledger. If a rule needs several people, the question stays open until
 * they have approved. The first of a decision, an expiry, a withdrawal and a cancellation counts. An approval
 * skips no check.
 */
import { isSameJson } from '../../base/same-json.ts';
import { isQuittanceError, QuittanceError } from '../../base/error.ts';
import type { Call, Confirmation } from '../../call/call.ts';
import type { Ask, DecidedBy } from '../../call/event.ts';
import { selfAsserted } from '../../call/identity.ts';
import { describeMissing, hasPolicy, missingOf } from '../../call/quorum.ts';
import { nextDue } from '../../call/reminder.ts';
import type { ToolOutcome } from '../../call/outcome.ts';
import { describeThrown } from '../../tool/describe-thrown.ts';
import type { Acting } from '../host/acting.ts';
import { personOf } from '../host/acting.ts';
import type { AcceptedCall } from '../state/accepted-call.ts';
import type {
  AskedCall,
  EndedCall,
  Findings,
  HeldHere,
  JudgedCall,
  Moved,
  Passage,
} from '../state/call-stages.ts';
import { moved, nothingFound, underPolicy } from '../state/call-stages.ts';
import { aside } from '../state/aside.ts';
import type { Taken } from '../input/taken.ts';
import { recordRuling } from '../gates/record-ruling.ts';
import { clean } from '../input/clean.ts';
import { compareWithLast } from './compare-with-last.ts';
import type { ReadAnswer } from '../host/confirm.ts';
import { denyFor } from '../host/confirm.ts';
import { end, endStopped, execute } from '../execute/execute.ts';
import {
  allowedBy,
  expiryOf,
  isExpired,
  isUsedTooLate,
  settleExpired,
  replyExpired,
} from '../settle/expiry.ts';
import { noteFailedWrite } from '../settle/note-failed-write.ts';
import type { HostAnswer } from './await-hold-signal.ts';
import { askHost, awaitHoldSignal } from './await-hold-signal.ts';
import { keepApprovals } from '../rules/ask-workflows.ts';
import { keepDecision } from './keep-decision.ts';
import type { Stop } from '../state/gate.ts';
import { gatesAfterApproval, gatesForOtherInput } from '../gates/gates.ts';
import { foldStored } from '../../ledger/fold-stored.ts';
import { whyForbidden } from '../host/may-decide.ts';
import { riskOf } from './risk.ts';
import { overtaken, settleDenied, settleStopped } from '../settle/settle.ts';
import { sealInput } from '../state/seal-input.ts';
import { takeApproved } from '../accept/take-approved.ts';
import type { CallReply } from '../state/call-reply.ts';
import { openQuestion } from '../state/call-reply.ts';
import { notAccepted } from '../settle/unavailable.ts';
import { cancelStop } from '../gates/wait-unless-ended.ts';
import { answerByGrant } from '../grants/answer-by-grant.ts';
import { walk } from '../gates/walk.ts';

/** Holds the call until a person decides. */
export async function hold(live: JudgedCall): Promise<CallReply | HeldHere | Moved> {
  const { engine, asks, journal, input, tool } = live;
  const comparison = journal.call?.preview === undefined ? await compareWithLast(live) : undefined;
  const undecided = journal.mark();
  recordRuling(live, undefined);
  journal.apply({
    type: 'hold',
    confirmationId: engine.ids.secret('cnf'),
    description: asks.map(({ description }) => description).join(' '),
    asks,
    inputDigest: input.effective.digest,
    revision: journal.call?.preview?.revision,
    ...expiryOf(live, asks),
    risk: riskOf(live),
    schemaDigest: tool.schemaDigest,
    ...(comparison !== undefined && { comparison }),
  });
  const { status } = await journal.flush({ sealed: sealInput(live) });
  if (status === 'moved') {
    journal.rewind(undecided);
    return moved;
  }
  if (status !== 'appended') return overtaken(live);
  return holdOn(live, notAsked);
}

/** The host's own decider has not been asked yet. */
export const notAsked: HostAnswer = Object.freeze({ confirmationId: undefined, answer: undefined });

/** Waits for the decision about a held call. */
export function holdOn(live: AskedCall, asked: HostAnswer): HeldHere {
  const confirmation = questionOf(live);
  live.journal.observer?.note({ type: 'held' });
  const rest = resolveHold(live, asked)
    .then((reply) => (reply.type === 'held' ? reply.rest : reply))
    .catch((error: unknown) => {
      noteFailedWrite(live, error);
      return notAccepted(live, error);
    });
  return {
    type: 'held',
    ...(openQuestion(live.journal.call) ?? { confirmationId: confirmation.confirmationId }),
    rest,
    asked: live,
  };
}

function questionOf({ journal, callId }: AcceptedCall): Confirmation {
  const confirmation = journal.call?.confirmation;
  if (confirmation === undefined) throw new TypeError(`Call ${callId} has no open question.`);
  return confirmation;
}

/**
 * Continues from the recorded state of the question. Holds again if a new question comes up. `just`: the
 * recorded input, if it was just prepared.
 */
export async function resolveHold(live: AskedCall, asked: HostAnswer, just?: Taken): Promise<CallReply> {
  let host = asked;
  let taken = just;
  for (;;) {
    const { call } = live.journal;
    // Several processes may take the call over when its owner dies, and another one was faster.
    if (call?.status === 'running' || call?.status === 'settled') return overtaken(live);
    const confirmation = questionOf(live);
    if (confirmation.status !== 'pending')
      live.journal.observer?.note({ type: 'decided', decision: confirmation.status });
    switch (confirmation.status) {
      case 'pending': {
        taken = undefined; // a decision may take long
        const waited = await untilDecided(live, confirmation, host);
        if (waited.type === 'settled') return waited.outcome;
        ({ host } = waited);
        break;
      }
      case 'approved':
        return goOn(live, confirmation, taken);
      case 'denied':
        return settleDenied(live, confirmation);
      case 'answered':
        return settleStopped(live, {
          type: 'deny',
          reason: 'write_denied',
          code: 'confirmation.answered',
          details: clean(live, confirmation.response ?? ''),
        });
      case 'withdrawn':
        return settleEnded(live, confirmation.reason ?? 'The question was withdrawn.');
      case 'expired':
        return replyExpired(live);
    }
  }
}

const settleEnded = (live: EndedCall, details: string): Promise<ToolOutcome> =>
  settleStopped(live, { type: 'deny', reason: 'ended', code: 'turn.ended', details });

type Waited =
  | { readonly type: 'settled'; readonly outcome: ToolOutcome }
  /** The record has changed. */
  | { readonly type: 'changed'; readonly host: HostAnswer };

/** Waits once. */
async function untilDecided(live: AskedCall, confirmation: Confirmation, last: HostAnswer): Promise<Waited> {
  const { confirmationId } = confirmation;
  const { ledger, arriving } = live.engine;
  const now = ledger.now();
  if (isExpired(confirmation, now) && arriving.mayDeny(confirmation, now) === undefined)
    return expire(live, confirmation, last);
  const due = nextDue(confirmation);
  if (due !== undefined && due.dueAt <= now) {
    await remind(live, confirmation);
    return { type: 'changed', host: last };
  }
  let host = last;
  const ask = (): HostAnswer['answer'] => {
    host = askHost(live, confirmation, last);
    return host.answer;
  };
  const settled = async (outcome: Promise<ToolOutcome>): Promise<Waited> => ({
    type: 'settled',
    outcome: await outcome,
  });
  const heard = await awaitHoldSignal(live, confirmation, ask);
  switch (heard.type) {
    case 'changed':
      await readAgain(live);
      return { type: 'changed', host };
    case 'expired':
      return expire(live, confirmation, host);
    case 'cancelled':
      live.journal.apply({ type: 'withdraw', confirmationId, reason: heard.reason });
      return settled(endStopped(live, cancelStop(heard.reason)));
    case 'withdrawn':
      live.journal.apply({ type: 'withdraw', confirmationId, reason: heard.reason });
      return settled(settleEnded(live, heard.reason));
    case 'due':
      await remind(live, confirmation);
      return { type: 'changed', host };
    case 'answered': {
      const votes = confirmation.votes.length;
      await keepAnswer(live, confirmation, await checkRights(live, heard.answer));
      // The host may have further people to ask. It is not asked again after an answer that did not count.
      const counted = (live.journal.call?.confirmation?.votes.length ?? 0) > votes;
      return { type: 'changed', host: counted ? notAsked : host };
    }
    case 'left':
      return letGo(live, confirmation);
  }
}

/** Records that a time set by a rule has come. One process stores it; the others read that it did. */
async function remind(live: AskedCall, confirmation: Confirmation): Promise<void> {
  const due = nextDue(confirmation);
  if (due === undefined || due.dueAt > live.engine.ledger.now()) return;
  const mark = live.journal.mark();
  const missing = missingOf(confirmation, confirmation.votes).map((each) => describeMissing([each]));
  const { confirmationId } = confirmation;
  live.journal.apply({ type: 'remind', confirmationId, missing, ...due });
  await flushOrReadAgain(live, mark);
}

/** This runtime was closed. The call stays held for another process, and this runtime no longer owns it. */
function letGo(live: AcceptedCall, { confirmationId, description }: Confirmation): never {
  live.journal.owned = false;
  throw new QuittanceError(
    'call.pending',
    `Call ${live.callId} has not run: it still waits for a person, and this runtime was closed. ${description} Do not make it again.`,
    { callId: live.callId, confirmationId, waitsFor: description },
  );
}

/** The question expired: the rule that asked decides whether the call runs. */
async function expire(live: AskedCall, confirmation: Confirmation, host: HostAnswer): Promise<Waited> {
  if (confirmation.timeoutEffect === 'block')
    return { type: 'settled', outcome: await settleExpired(live, confirmation) };
  const { confirmationId } = confirmation;
  const mark = live.journal.mark();
  live.journal.apply({ type: 'expire', confirmationId, effect: 'allow', by: allowedBy(confirmation) });
  await flushOrReadAgain(live, mark);
  return { type: 'changed', host };
}

/**
 * The host's own decider has the same permissions as any person. An answer without the permission is a
 * denial.
 */
async function checkRights(
  { engine, journal: { call } }: AcceptedCall,
  answer: ReadAnswer,
): Promise<ReadAnswer> {
  const { by, decision } = answer;
  if (call === undefined || by.type !== 'person') return answer;
  try {
    const why = await whyForbidden(engine, call, actingOf(by), decision);
    if (why === undefined) return answer;
    const forbidden = `${by.name} may not ${decision} this: ${why}.`;
    return denyFor(forbidden, forbidden);
  } catch (error) {
    return denyFor(`mayDecide threw: ${describeThrown(error)}`);
  }
}

const actingOf = ({ name, identity = selfAsserted }: DecidedBy): Acting => ({ by: name, identity });

/** Stores the answer of the host's own decider. Another person may have been faster. */
async function keepAnswer(live: AcceptedCall, confirmation: Confirmation, answer: ReadAnswer): Promise<void> {
  const { confirmationId, inputDigest, revision } = confirmation;
  const { decision, reason, mistake } = answer;
  const {
    engine,
    journal: { call },
  } = live;
  if (mistake !== undefined) aside(live, mistake);
  const by =
    answer.by.type === 'person' && call !== undefined
      ? personOf(engine.redactor, call, actingOf(answer.by))
      : answer.by;
  const isShared = answer.by.type === 'person' && hasPolicy(confirmation.asks);
  if (isShared || decision === 'edit' || decision === 'respond') return keepOther(live, confirmation, answer);
  for (;;) {
    const mark = live.journal.mark();
    live.journal.apply({
      type: 'answer',
      confirmationId,
      decision,
      by,
      reason: reason && clean(live, reason),
      inputDigest,
      revision,
    });
    if (decision === 'approve') await keepApprovals(live, confirmation.asks, by);
    if (await flushOrReadAgain(live, mark)) return;
  }
}

/**
 * Edited arguments or an answer to the model are stored as if they came through
 * `runtime.confirmations.decide`.
 */
async function keepOther(
  live: AcceptedCall,
  { confirmationId, inputDigest, revision }: Confirmation,
  { by, reason, ...answer }: ReadAnswer,
): Promise<void> {
  const { engine, sessionId, callId } = live;
  for (;;) {
    const stored = await engine.ledger.journal.readCall(sessionId, callId);
    const call = stored && foldStored(stored);
    const confirmation = call?.confirmation;
    if (stored === undefined || call === undefined) return readAgain(live);
    // Another decision was faster.
    if (confirmation?.confirmationId !== confirmationId || confirmation.status !== 'pending')
      return readAgain(live);
    const who = { by: by.name, inputDigest, ...(reason !== undefined && { reason }) };
    const shown = revision === undefined ? who : { ...who, revision };
    try {
      if (await keepDecision(engine, stored, call, confirmation, { ...shown, ...answer }, actingOf(by)))
        return await readAgain(live);
    } catch (error) {
      // Another decision was faster, or this person counts already.
      if (isQuittanceError(error, 'confirmation.decided')) return await readAgain(live);
      // An edit that the tool does not accept is not an approval.
      if (!isQuittanceError(error, 'confirmation.mismatch') && !isQuittanceError(error, 'config.invalid'))
        throw error;
      return keepAnswer(
        live,
        confirmation,
        denyFor(
          `${by.name} gave other arguments. ${error.message}`,
          `${by.name} gave other arguments. The tool cannot take them.`,
        ),
      );
    }
  }
}

/** Returns false if only a related state has moved, and the same append should be tried again. */
async function flushOrReadAgain(live: AcceptedCall, mark: number): Promise<boolean> {
  const result = await live.journal.flush();
  if (result.status === 'appended') return true;
  live.journal.rewind(mark);
  if (result.status === 'moved') return false;
  await readAgain(live);
  return true;
}

/** Reads the events that other processes wrote about the call meanwhile. */
async function readAgain(live: AcceptedCall): Promise<void> {
  const stored = await live.engine.ledger.journal.readCall(live.sessionId, live.callId);
  const call = stored && foldStored(stored);
  if (stored === undefined || call === undefined)
    throw new TypeError(`Call ${live.callId} is held, and the ledger does not know it.`);
  live.journal.inherit(call, stored.version);
}

/** After an approval every check runs again. A reason that was not approved asks again. */
async function goOn(
  asked: AskedCall,
  confirmation: Confirmation,
  just: Taken | undefined,
): Promise<CallReply> {
  const { engine, journal } = asked;
  // After the approval a check denied the call, and the process died before it ended the call: the denial
  // stays.
  if (journal.call?.ruling === 'deny') return settleStopped(asked, stoppedSince(journal.call));
  for (let taken = just; ; taken = undefined) {
    if (isUsedTooLate(confirmation, engine.ledger.now())) return settleExpired(asked, confirmation);
    const current = underPolicy(asked, engine.policyInForce());
    const approved = await takeApproved(current, confirmation, taken);
    if (approved.type === 'stop') return end({ ...current, ...knownOf(asked), ...entry }, approved.stop);
    const gates = approved.isNew ? gatesForOtherInput : gatesAfterApproval;
    const walked = await walk(approved.live, gates, knownOf(asked), { deadlineLifted: true });
    if (walked.type === 'stopped') return end(walked.live, walked.stop);
    const asks = asksNow(walked.live, confirmation, approved.differs);
    const granted = asks.added.length === 0 ? { asks: [] } : await answerByGrant(walked.live, asks.added);
    const reply = await (granted === undefined
      ? hold({ ...walked.live, asks: asks.all })
      : execute({ ...walked.live, ...granted }, true));
    if (reply.type !== 'moved') return reply;
  }
}

/** No gate has judged the call since the approval. */
const entry: Passage = { passages: [], lastGate: 'validate' };

/** Findings of the gates before the approval, which are not asked about again. */
const knownOf = ({ toolKey, claimKey, twins, supersedes, ruled }: AskedCall): Findings => ({
  ...nothingFound,
  toolKey,
  claimKey,
  twins,
  supersedes,
  ruled,
});

function stoppedSince({ decidedBy }: Call): Stop & { type: 'deny' } {
  const details = `After the approval it was stopped by ${decidedBy?.name ?? 'a check'}.`;
  if (decidedBy?.type === 'rule')
    return { type: 'deny', reason: 'contract', code: 'policy.contract', details };
  if (decidedBy?.type === 'hook') return { type: 'deny', reason: 'pre_hook', code: 'policy.hook', details };
  return { type: 'deny', reason: 'expired', code: 'confirmation.expired', details };
}

/**
 * The asks for a person now. If the input differs from the approved one, all earlier asks are repeated;
 * otherwise only new ones count. `differs`: the schema returns another value.
 */
function asksNow(
  { asks: now, journal }: JudgedCall,
  { asks, revision }: Confirmation,
  differs: boolean,
): { readonly all: readonly Ask[]; readonly added: readonly Ask[] } {
  const isOther = journal.call?.preview?.revision !== revision;
  if (!isOther && !differs)
    return { all: now, added: now.filter((ask) => !asks.some((known) => sameAsk(known, ask))) };
  const again = asks.filter((ask) => !isAboutChange(ask) && !now.some((other) => sameAsk(other, ask)));
  const changes: Ask[] = [
    ...(differs ? [{ by: { type: 'gate', name: 'validate' }, description: otherValue } as const] : []),
    ...(isOther ? [{ by: { type: 'gate', name: 'preview' }, description: otherPreview } as const] : []),
  ];
  const all = [...changes, ...again, ...now];
  return { all, added: all };
}

const isAboutChange = ({ by }: Ask): boolean =>
  by.type === 'gate' && (by.name === 'preview' || by.name === 'validate');

const otherPreview = 'What the tool would do has changed: see its preview.';
const otherValue = 'The tool would now get another value than the one that was approved: see its arguments.';

/** A rule's ask is the same if its digest is; any other ask, if its description is. */
const sameAsk = (left: Ask, right: Ask): boolean =>
  isSameJson(left.approval ?? null, right.approval ?? null) &&
  left.by.type === right.by.type &&
  left.by.name === right.by.name &&
  left.digest === right.digest &&
  (left.digest !== undefined || left.description === right.description);
