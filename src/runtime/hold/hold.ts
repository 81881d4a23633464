/**
 * A call that needs a person. It is held in the ledger first; then anybody with the right may decide, here or in any
 * process that shares the ledger. The first of a decision, an expiry, a withdrawal and a cancellation counts, and an
 * approval skips no check.
 */
import { isQuittanceError, QuittanceError } from '../../base/error.ts';
import type { Call, Confirmation } from '../../call/call.ts';
import type { Ask, DecidedBy } from '../../call/event.ts';
import { selfAsserted } from '../../call/identity.ts';
import type { ToolOutcome } from '../../call/outcome.ts';
import { describeThrown } from '../../tool/describe-thrown.ts';
import type { Acting } from '../host/acting.ts';
import { personOf } from '../host/acting.ts';
import type { CallInHand } from '../state/call-in-hand.ts';
import { clean } from '../input/clean.ts';
import { compareWithLast } from './compare-arguments.ts';
import type { ReadAnswer } from '../host/confirm.ts';
import { denyFor } from '../host/confirm.ts';
import type { Moved } from '../execute/execute.ts';
import { end, execute } from '../execute/execute.ts';
import {
  allowedBy,
  expiryOf,
  isExpired,
  isUsedTooLate,
  settleExpired,
  tellExpired,
} from '../settle/expiry.ts';
import { noteFailedWrite } from '../settle/note-failed-write.ts';
import { firstNews } from './first-news.ts';
import { keepApprovals } from '../rules/follow-workflows.ts';
import { keepDecision } from './keep-decision.ts';
import type { Stop } from '../state/gate.ts';
import { gatesAfterApproval, gatesForOtherInput } from '../gates/gates.ts';
import { foldStored } from '../../ledger/fold-stored.ts';
import { whyForbidden } from '../host/may-decide.ts';
import { riskOf } from './risk.ts';
import { overtaken, settleDenied, settleStopped } from '../settle/settle.ts';
import { sealInput } from '../state/seal-input.ts';
import { takeApproved } from '../accept/take-approved.ts';
import type { HeldCall, Told } from '../state/told.ts';
import { openQuestion } from '../state/told.ts';
import { notAccepted } from '../settle/unavailable.ts';
import { cancelStop } from '../gates/unless-over.ts';
import { answerByGrant } from '../grants/use-grant.ts';
import { rule, walk } from '../gates/walk.ts';

/** Holds the call until somebody decides. */
export async function hold(hand: CallInHand): Promise<Told | Moved> {
  const { engine, asks } = hand;
  const comparison = hand.call?.preview === undefined ? await compareWithLast(hand) : undefined;
  const undecided = hand.mark();
  rule(hand, undefined);
  hand.apply({
    type: 'hold',
    confirmationId: engine.ids.secret('cnf'),
    description: asks.map(({ description }) => description).join(' '),
    asks,
    inputDigest: hand.input.effective.digest,
    revision: hand.call?.preview?.revision,
    ...expiryOf(hand, asks),
    risk: riskOf(hand),
    schemaDigest: hand.knownTool.schemaDigest,
    ...(comparison !== undefined && { comparison }),
  });
  const result = await hand.flush(sealInput(hand));
  if (result.status === 'moved') {
    hand.rewind(undecided);
    return result.status;
  }
  if (result.status !== 'appended') return overtaken(hand);
  return holdOn(hand);
}

/** Waits for the decision about a call that is held. */
export function holdOn(hand: CallInHand): HeldCall {
  const confirmation = questionOf(hand);
  const rest = resolveHold(hand)
    .then((told) => (told.type === 'held' ? told.rest : told))
    .catch((error: unknown) => {
      noteFailedWrite(hand, error);
      return notAccepted(hand, error);
    });
  return {
    type: 'held',
    ...(openQuestion(hand.call) ?? { confirmationId: confirmation.confirmationId }),
    rest,
  };
}

function questionOf(hand: CallInHand): Confirmation {
  const confirmation = hand.call?.confirmation;
  if (confirmation === undefined) throw new TypeError(`Call ${hand.request.id} asks nobody anything.`);
  return confirmation;
}

/** Goes on from whatever the record says about the question. Held again where it asks something else. */
export async function resolveHold(hand: CallInHand): Promise<Told> {
  for (;;) {
    // Of several who took the call over when its owner died, another one was faster.
    if (hand.call?.status === 'running' || hand.call?.status === 'settled') return overtaken(hand);
    const confirmation = questionOf(hand);
    switch (confirmation.status) {
      case 'pending': {
        const outcome = await untilDecided(hand, confirmation);
        if (outcome !== undefined) return outcome;
        break;
      }
      case 'approved':
        return goOn(hand, confirmation);
      case 'denied':
        return settleDenied(hand, confirmation);
      case 'answered':
        return settleStopped(hand, {
          type: 'deny',
          reason: 'write_denied',
          code: 'confirmation.answered',
          details: clean(hand, confirmation.response ?? ''),
        });
      case 'withdrawn':
        return settleEnded(hand, confirmation.reason ?? 'The question was withdrawn.');
      case 'expired':
        return tellExpired(hand);
    }
  }
}

const settleEnded = (hand: CallInHand, details: string): Promise<ToolOutcome> =>
  settleStopped(hand, { type: 'deny', reason: 'ended', code: 'turn.ended', details });

/** Waits once. Undefined where the record says more now than it did. */
async function untilDecided(hand: CallInHand, confirmation: Confirmation): Promise<ToolOutcome | undefined> {
  const { confirmationId } = confirmation;
  const { ledger, arriving } = hand.engine;
  const now = ledger.now();
  if (isExpired(confirmation, now) && arriving.mayDeny(confirmation, now) === undefined)
    return expire(hand, confirmation);
  hand.justTaken = undefined; // it may be long until somebody decides
  const news = await firstNews(hand, confirmation);
  switch (news.type) {
    case 'changed':
      await readAgain(hand);
      return undefined;
    case 'expired':
      return expire(hand, confirmation);
    case 'cancelled':
      hand.apply({ type: 'withdraw', confirmationId, reason: news.reason });
      return end(hand, cancelStop(news.reason));
    case 'withdrawn':
      hand.apply({ type: 'withdraw', confirmationId, reason: news.reason });
      return settleEnded(hand, news.reason);
    case 'answered':
      await keepAnswer(hand, confirmation, await checkRights(hand, news.answer));
      return undefined;
    case 'left':
      return letGo(hand, confirmation);
  }
}

/** This runtime was closed: the call stays held, for whoever comes after, and is not this runtime's any more. */
function letGo(hand: CallInHand, { confirmationId, description }: Confirmation): never {
  hand.owned = false;
  throw new QuittanceError(
    'call.pending',
    `Call ${hand.callId} has not run: it still waits for a person, and this runtime was closed. ${description} Do not make it again.`,
    { callId: hand.callId, confirmationId, waitsFor: description },
  );
}

/** Nobody answered in time: by the rule that asked, the call runs or does not. */
async function expire(hand: CallInHand, confirmation: Confirmation): Promise<ToolOutcome | undefined> {
  if (confirmation.timeoutEffect === 'block') return settleExpired(hand, confirmation);
  const { confirmationId } = confirmation;
  const mark = hand.mark();
  hand.apply({ type: 'expire', confirmationId, effect: 'allow', by: allowedBy(confirmation) });
  await flushOrReadAgain(hand, mark);
  return undefined;
}

/** The host's own decider has no more rights than anybody else: an answer by somebody without the right is a no. */
async function checkRights({ engine, call }: CallInHand, answer: ReadAnswer): Promise<ReadAnswer> {
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

/** The host's own decider said something. Somebody else may have been faster. */
async function keepAnswer(hand: CallInHand, confirmation: Confirmation, answer: ReadAnswer): Promise<void> {
  const { confirmationId, inputDigest, revision } = confirmation;
  const { decision, reason, mistake } = answer;
  const { engine, call } = hand;
  if (mistake !== undefined) hand.aside(mistake);
  const by =
    answer.by.type === 'person' && call !== undefined
      ? personOf(engine.redactor, call, actingOf(answer.by))
      : answer.by;
  if (decision === 'edit' || decision === 'respond') return keepOther(hand, confirmation, answer);
  for (;;) {
    const mark = hand.mark();
    hand.apply({
      type: 'answer',
      confirmationId,
      decision,
      by,
      reason: reason && clean(hand, reason),
      inputDigest,
      revision,
    });
    if (decision === 'approve') await keepApprovals(hand, hand.asks, by);
    if (await flushOrReadAgain(hand, mark)) return;
  }
}

/** Other arguments, or an answer to the model: kept as if whoever decided had come to `runtime.decide`. */
async function keepOther(
  hand: CallInHand,
  { confirmationId, inputDigest, revision }: Confirmation,
  { by, reason, ...answer }: ReadAnswer & { readonly decision: 'edit' | 'respond' },
): Promise<void> {
  const { engine, sessionId, callId } = hand;
  for (;;) {
    const stored = await engine.ledger.journal.readCall(sessionId, callId);
    const call = stored && foldStored(stored);
    const confirmation = call?.confirmation;
    if (stored === undefined || call === undefined) return readAgain(hand);
    // Somebody else was faster.
    if (confirmation?.confirmationId !== confirmationId || confirmation.status !== 'pending')
      return readAgain(hand);
    const who = { by: by.name, inputDigest, ...(reason !== undefined && { reason }) };
    const shown = revision === undefined ? who : { ...who, revision };
    try {
      if (await keepDecision(engine, stored, call, confirmation, { ...shown, ...answer }, actingOf(by)))
        return await readAgain(hand);
    } catch (error) {
      // Other arguments that the tool cannot take are no yes.
      if (!isQuittanceError(error, 'confirmation.mismatch') && !isQuittanceError(error, 'config.invalid'))
        throw error;
      return keepAnswer(
        hand,
        confirmation,
        denyFor(
          `${by.name} gave other arguments. ${error.message}`,
          `${by.name} gave other arguments. The tool cannot take them.`,
        ),
      );
    }
  }
}

/** False where only something beside the call has moved, and the same is to be tried again. */
async function flushOrReadAgain(hand: CallInHand, mark: number): Promise<boolean> {
  const result = await hand.flush();
  if (result.status === 'appended') return true;
  hand.rewind(mark);
  if (result.status === 'moved') return false;
  await readAgain(hand);
  return true;
}

/** Takes up what others wrote about the call meanwhile. */
async function readAgain(hand: CallInHand): Promise<void> {
  const stored = await hand.engine.ledger.journal.readCall(hand.sessionId, hand.callId);
  const call = stored && foldStored(stored);
  if (stored === undefined || call === undefined)
    throw new TypeError(`Call ${hand.callId} is held, and the ledger does not know it.`);
  hand.inherit(call, stored.version);
}

/** After an approval: every check once more; another wish for a person than the ones approved asks again. */
async function goOn(hand: CallInHand, confirmation: Confirmation): Promise<Told> {
  // A check said no after the approval, and whoever made it died before the call could end: the no stands.
  if (hand.call?.ruling === 'deny') return settleStopped(hand, stoppedSince(hand.call));
  for (;;) {
    if (isUsedTooLate(confirmation, hand.engine.ledger.now())) return settleExpired(hand, confirmation);
    hand.asks = [];
    hand.grant = undefined;
    hand.policy = hand.engine.policyInForce();
    const approved = await takeApproved(hand, confirmation);
    const gates = approved.type === 'taken' && approved.isNew ? gatesForOtherInput : gatesAfterApproval;
    const stop = approved.type === 'stop' ? approved.stop : await walk(hand, gates, true);
    if (stop !== undefined) {
      rule(hand, stop);
      return end(hand, stop);
    }
    const news = asksAgain(hand, confirmation, approved.type === 'taken' && approved.differs)
      ? hand.asks
      : hand.asks.filter((ask) => !confirmation.asks.some((known) => sameAsk(known, ask)));
    if (news.length === 0 || (await answerByGrant(hand, news))) {
      hand.asks = [];
      const outcome = await execute(hand, true);
      if (outcome !== 'moved') return outcome;
      continue;
    }
    const told = await hold(hand);
    if (told !== 'moved') return told;
  }
}

function stoppedSince({ decidedBy }: Call): Stop & { type: 'deny' } {
  const details = `After the approval it was stopped by ${decidedBy?.name ?? 'a check'}.`;
  if (decidedBy?.type === 'rule')
    return { type: 'deny', reason: 'contract', code: 'policy.contract', details };
  if (decidedBy?.type === 'hook') return { type: 'deny', reason: 'pre_hook', code: 'policy.hook', details };
  return { type: 'deny', reason: 'expired', code: 'confirmation.expired', details };
}

/**
 * True where what would be done now is not what was approved: whoever asked then asks again, and so do those who ask
 * now. `differs`: the schema gives the tool another value.
 */
function asksAgain(hand: CallInHand, { asks, revision }: Confirmation, differs: boolean): boolean {
  const isOther = hand.call?.preview?.revision !== revision;
  if (!isOther && !differs) return false;
  const again = asks.filter((ask) => !isAboutChange(ask) && !hand.asks.some((other) => sameAsk(other, ask)));
  const changes: Ask[] = [
    ...(differs ? [{ by: { type: 'gate', name: 'validate' }, description: otherValue } as const] : []),
    ...(isOther ? [{ by: { type: 'gate', name: 'preview' }, description: otherPreview } as const] : []),
  ];
  hand.asks = [...changes, ...again, ...hand.asks];
  return true;
}

const isAboutChange = ({ by }: Ask): boolean =>
  by.type === 'gate' && (by.name === 'preview' || by.name === 'validate');

const otherPreview = 'What the tool would do has changed: see its preview.';
const otherValue = 'The tool would now get another value than the one that was approved: see its arguments.';

/** A rule asks the same while it says the same; anything else while it gives the same reason. */
const sameAsk = (left: Ask, right: Ask): boolean =>
  left.by.type === right.by.type &&
  left.by.name === right.by.name &&
  left.digest === right.digest &&
  (left.digest !== undefined || left.description === right.description);
