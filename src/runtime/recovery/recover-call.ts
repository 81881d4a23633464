/**
 * Takes one call over whose owner is gone, and ends it or goes on with it.
 *
 * 1. A call without an intent never ran: it is cancelled, unless it was handed in or held, then it goes on.
 * 2. An attempt without an end is run again only where the tool says that is safe; else the tool is asked what
 *    happened; else the end is unknown, and the call says so.
 * 3. Before any code of the host or the tool runs for the call, the takeover is on its record. A call that ended too
 *    many processes is given up: see `lost-attempts.ts`.
 * 4. Every step is a compare-and-set on the call: of two that recover it one does, and an owner that was only slow
 *    finds itself overtaken.
 */
import type { Call } from '../../call/call.ts';
import { isHandedOver } from '../../call/handoff.ts';
import type { ToolOutcome } from '../../call/outcome.ts';
import type { StoredCall } from '../../ledger/journal.ts';
import { alteredStop } from '../state/altered-stop.ts';
import { untilReported } from '../handoff/await-report.ts';
import type { CallInHand } from '../state/call-in-hand.ts';
import { clean } from '../input/clean.ts';
import type { Desk } from '../state/desk.ts';
import { keyOf } from '../state/desk.ts';
import { attemptAgain, attemptNext, endAsFailed } from '../execute/execute.ts';
import { endDue, isDue } from '../handoff/handoff-due.ts';
import { resolveHold } from '../hold/hold.ts';
import { LedgerTrouble } from '../../ledger/ledger-trouble.ts';
import { lostRuns } from '../settle/lost-attempts.ts';
import { goOnFrom } from '../turn/make-call.ts';
import type { Recovery } from '../state/recovery.ts';
import { isForOthers, isOver, planRecovery } from './recovery-plan.ts';
import { overtaken, settle, settleStopped } from '../settle/settle.ts';
import { preparesByCode, prepareInput, recordTakeover, takeOver } from '../take-over/take-over.ts';
import { notEnded } from '../settle/unavailable.ts';
import { cancelStop } from '../gates/unless-over.ts';
import { askTool, judgePoison, judgeUnseen, lostAttempt } from '../take-over/unseen-end.ts';

/** Takes one call over. The same call asked for meanwhile joins it. */
export function recoverCall(
  desk: Desk,
  stored: StoredCall,
  call: Call,
  /** Waits before the intent of a body that never ran. */
  takePlace?: CallInHand['takePlace'],
): Promise<Recovery> {
  const key = keyOf(call);
  // Whoever looks while this process is at it waits for what it finds.
  const underWay = desk.recovering.get(key);
  if (underWay !== undefined) return underWay;
  const recovering = takeInHand(desk, stored, call, takePlace).finally(() => desk.recovering.delete(key));
  desk.recovering.set(key, recovering);
  return recovering;
}

async function takeInHand(
  desk: Desk,
  stored: StoredCall,
  call: Call,
  takePlace: CallInHand['takePlace'],
): Promise<Recovery> {
  const { engine } = desk;
  const hand = await takeOver(engine, stored, call, takePlace);
  // Before anybody can join: whoever waited here for another process to take the call would look for one for ever.
  if (isForOthers(engine, hand.tool, call)) return { how: 'left', told: undefined };
  const key = keyOf(call);
  const mine = !desk.inHand.has(key);
  const recovery = recordAndEnd(hand, stored, call);
  // Where no caller joins, none follows the call to its end, which another process may bring about much later, and the
  // record does not say that one was told of it.
  hand.tellWhenAsked(() =>
    recovery.then(
      ({ told }) => told ?? overtaken(hand),
      (error: unknown) => notEnded(hand, call, error),
    ),
  );
  if (mine) desk.inHand.set(key, hand);
  try {
    const { how, told } = await recovery;
    if (told?.type === 'held')
      void told.rest.catch(() => undefined).finally(() => mine && desk.inHand.delete(key));
    else if (mine) desk.inHand.delete(key);
    return { how, told };
  } catch (error) {
    if (mine) desk.inHand.delete(key);
    throw error;
  }
}

async function recordAndEnd(hand: CallInHand, stored: StoredCall, call: Call): Promise<Recovery> {
  if (mustRecord(hand, stored, call) && !(await recordTakeover(hand)))
    return { how: 'overtaken', told: undefined };
  return endByStatus(hand, stored, hand.call ?? call);
}

/** Could code run for the call before its next intent is on record? */
function mustRecord(hand: CallInHand, stored: StoredCall, call: Call): boolean {
  switch (planRecovery(hand.engine, call)) {
    case 'settle':
    case 'wait':
      return false;
    case 'ask':
    case 'go_on':
      return true;
    case 'rerun':
      return call.failed !== undefined || preparesByCode(hand, stored, call);
  }
}

async function endByStatus(hand: CallInHand, stored: StoredCall, call: Call): Promise<Recovery> {
  const { givenUp } = hand;
  if (givenUp) endWithoutCode(hand, call);
  switch (call.status) {
    case 'requested':
      if (call.submitted && givenUp) return { how: 'failed', told: await settleStopped(hand, poison(call)) };
      if (call.submitted && hand.request.input.ok && hand.tool !== undefined)
        return { how: 'resumed', told: await goOnFrom(intending(hand), call) };
      return {
        how: 'cancelled',
        told: await settleStopped(hand, cancelStop('whoever asked for it is gone')),
      };
    case 'held':
    case 'approved':
      // What is over ends without the tool; the rest goes on with a process that has the tool as it was.
      if (isOver(call, hand.engine.ledger.now())) return { how: 'resumed', told: await resolveHold(hand) };
      if (givenUp && call.status === 'approved')
        return { how: 'failed', told: await settleStopped(hand, poison(call)) };
      if (givenUp || (await prepareInput(hand, { stored })))
        return { how: 'resumed', told: await goOnFrom(intending(hand), call) };
      return { how: 'cancelled', told: await settleVoid(hand) };
    case 'running':
      return isHandedOver(call) ? endHandoff(hand) : endAttempt(hand, stored, call);
    case 'settled':
      return { how: 'overtaken', told: undefined };
  }
}

/** No code of the host or the tool is run for the call any more: its preview is not let go of, its host is not asked. */
function endWithoutCode(hand: CallInHand, { preview, confirmation }: Call): void {
  if (preview !== undefined && hand.tool?.cancel !== undefined) {
    hand.letGoOf = preview.operationId;
    hand.aside(`cancel of ${preview.operationId} was not called: ${countOf(hand.call)}.`);
  }
  hand.askedOf = confirmation?.confirmationId;
}

/** Its body may be what ended the process before: from now on every attempt leaves a trace. */
function intending(hand: CallInHand): CallInHand {
  hand.mustIntend = true;
  return hand;
}

/** Without the input that was shown a call can never run as it was shown: the question is void. */
function settleVoid(hand: CallInHand): Promise<ToolOutcome> {
  const { unusable } = hand;
  const problem = unusable?.problem ?? 'its tool cannot be given the input any more';
  const asked = hand.call?.confirmation;
  if (asked?.status === 'pending')
    hand.apply({ type: 'withdraw', confirmationId: asked.confirmationId, reason: clean(hand, problem) });
  if (unusable?.why === 'altered') return settleStopped(hand, alteredStop);
  return settleStopped(hand, {
    type: 'deny',
    reason: 'expired',
    code: 'confirmation.expired',
    details: clean(hand, `The call cannot run as it was shown: ${problem}.`),
  });
}

/** What another process runs is not lost with whoever asked for it: this one waits for the report instead. */
async function endHandoff(hand: CallInHand): Promise<Recovery> {
  if (hand.call === undefined || !isDue(hand.engine, hand.call)) {
    const rest = untilReported(hand);
    rest.catch(() => undefined); // heard by whoever asks for the call
    return { how: 'resumed', told: { type: 'held', confirmationId: undefined, rest } };
  }
  const outcome = await endDue(hand);
  if (outcome === undefined) return { how: 'overtaken', told: undefined };
  if (outcome.type === 'ToolTimeout') return { how: 'timed_out', told: outcome };
  return {
    how: 'code' in outcome && outcome.code === 'tool.indeterminate' ? 'indeterminate' : 'reconciled',
    told: outcome,
  };
}

/** An attempt without an end. */
async function endAttempt(hand: CallInHand, stored: StoredCall, call: Call): Promise<Recovery> {
  const { tool, givenUp } = hand;
  const { failed } = call;
  if (failed !== undefined) {
    // Without its tool and its input as they were it is tried by nobody.
    const outcome =
      !givenUp && tool !== undefined && (await prepareInput(hand, { stored }))
        ? await attemptNext(hand, failed)
        : await endAsFailed(hand, failed);
    return outcome === undefined
      ? { how: 'overtaken', told: undefined }
      : { how: 'resumed', told: kept(hand, outcome) };
  }
  if (givenUp) return giveUp(hand, call);
  const mayAsk = call.started?.mayRerun === true || tool?.reconcile !== undefined;
  const ready = mayAsk && tool !== undefined && (await prepareInput(hand, { stored }));
  if (ready && call.started?.mayRerun === true && tool.mayRerun) {
    const told = await attemptAgain(hand);
    return told === undefined ? { how: 'overtaken', told } : { how: 'rerun', told: kept(hand, told) };
  }
  const found = ready ? await askTool(hand, call) : { status: 'unknown' as const };
  const told = kept(hand, await settle(hand, await judgeUnseen(hand, found), lostAttempt(hand)));
  return { how: found.status === 'unknown' ? 'indeterminate' : 'reconciled', told };
}

/**
 * Every process that had this call in hand ended. An effect may have happened, so a person must find out. A read had no
 * effect, and asking for it again would end this process too.
 */
async function giveUp(hand: CallInHand, call: Call): Promise<Recovery> {
  const why = countOf(call);
  const isRead = call.mode === 'read';
  const judgement = isRead
    ? judgePoison(hand, `${why}.`)
    : await judgeUnseen(hand, { status: 'unknown' }, why);
  const told = kept(hand, await settle(hand, judgement, lostAttempt(hand)));
  return { how: isRead ? 'failed' : 'indeterminate', told };
}

/** Its body never began, but what comes before the body ended every process that came so far. */
const poison = (call: Call): Parameters<typeof settleStopped>[1] => ({
  type: 'fail',
  code: 'tool.cancelled',
  error: `${countOf(call)}. The tool itself was never started.`,
  retryable: false,
});

const countOf = (call: Call | undefined): string =>
  call !== undefined && call.takeovers === 0
    ? `The process ended during each of ${call.attemptsWithoutEnd} attempts to run this tool`
    : `The process ended each of ${call === undefined ? 0 : lostRuns(call)} times while it worked on this call`;

/** Throws where nothing could take the end: then it is as open as before, for whoever recovers it next. */
function kept(hand: CallInHand, outcome: ToolOutcome): ToolOutcome {
  if (hand.unkept === undefined) return outcome;
  throw new LedgerTrouble('neither the ledger nor its spill could take the end of the call');
}
