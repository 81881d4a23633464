/**
 * Takes over one call whose owner is gone, and ends it or continues it.
 *
 * 1. A call without an intent never ran. It is cancelled, unless it was submitted or held; then it continues.
 * 2. An attempt without an end runs again only if the tool declares that safe. Otherwise the tool is asked.
 *    Without an answer, the outcome says that the effect is unknown.
 * 3. The takeover is recorded before any code of the host or the tool runs for the call. A call that ended
 *    too many processes is given up: see `lost-runs.ts`.
 * 4. Every step is a compare-and-set on the call: of two recoveries one wins, and a slow owner finds itself
 *    overtaken.
 */
import { QuittanceError } from '../../base/error.ts';
import type { Call } from '../../call/call.ts';
import { isHandoff } from '../../call/handoff.ts';
import type { ToolOutcome } from '../../call/outcome.ts';
import type { StoredCall } from '../../ledger/journal.ts';
import { alteredStop } from '../state/altered-stop.ts';
import { awaitReport } from '../handoff/await-report.ts';
import type { AcceptedCall, Manner } from '../state/accepted-call.ts';
import { ActiveCall } from '../state/active-call.ts';
import { CallObserver } from '../state/call-observer.ts';
import type { CallReply } from '../state/call-reply.ts';
import { aside } from '../state/aside.ts';
import type { AskedCall } from '../state/call-stages.ts';
import { clean } from '../input/clean.ts';
import type { RuntimeState } from '../state/runtime-state.ts';
import { callKey } from '../state/call-key.ts';
import { attemptAgain, attemptNext, endAsFailed } from '../execute/make-attempt.ts';
import { endDue, isDue } from '../handoff/handoff-due.ts';
import { resolveHold } from '../hold/hold.ts';
import { notAsked } from '../hold/until-decided.ts';
import { LedgerTrouble } from '../host/ledger-trouble.ts';
import { lostRuns } from '../settle/lost-runs.ts';
import { goOnFrom, neverAsked } from '../turn/go-through-gates.ts';
import type { Recovery } from '../state/recovery.ts';
import { isForOthers, isOver, planRecovery } from './recovery-plan.ts';
import { overtaken, settle, settleStopped } from '../settle/settle.ts';
import type { PreparedCall, TakenOverCall } from '../take-over/take-over.ts';
import { preparesByCode, prepareInput, recordTakeover, takeOver, unusable } from '../take-over/take-over.ts';
import { notEnded } from '../settle/unavailable.ts';
import { cancelStop } from '../gates/wait-unless-ended.ts';
import { askTool, judgeFound, judgePoison, judgeUnknown, lostAttempt } from '../take-over/lost-attempt.ts';

/** Takes one call over. A repeat of the same call meanwhile joins it. */
export function recoverCall(
  state: RuntimeState,
  stored: StoredCall,
  call: Call,
  /** Waits before the intent of a body that never ran. */
  awaitStart?: Manner['awaitStart'],
): Promise<Recovery> {
  const key = callKey(call);
  // A second recovery of the same call waits for the result of the first.
  const underWay = state.recovering.get(key);
  if (underWay !== undefined) return underWay;
  const recovering = activate(state, stored, call, awaitStart).finally(() => state.recovering.delete(key));
  state.recovering.set(key, recovering);
  return recovering;
}

async function activate(
  state: RuntimeState,
  stored: StoredCall,
  call: Call,
  awaitStart: Manner['awaitStart'],
): Promise<Recovery> {
  const { engine } = state;
  const asker = state.activeCalls.get(callKey(call))?.live.signals;
  const live = await takeOver(state, stored, call, awaitStart, asker);
  // Checked before any caller can join: a caller that waited here for another process would wait for ever.
  if (isForOthers(engine, live.tool, call)) return { how: 'left', reply: undefined };
  const key = callKey(call);
  const mine = !state.activeCalls.has(key);
  live.journal.observer = CallObserver.start(live, call.traceparent);
  const recovery = recordAndEnd(live, stored, call);
  const active = new ActiveCall(live);
  // Without a caller, no code here follows the call to its end, which another process may reach much later.
  // The record then does not claim that a caller got the outcome.
  active.replyWhenAsked(() =>
    recovery.then(
      ({ reply }) => reply ?? overtaken(live),
      (error: unknown) => notEnded(live, call, error),
    ),
  );
  if (mine) state.activeCalls.set(key, active);
  try {
    const { how, reply } = await recovery;
    const forget = (answer: CallReply | undefined): void => {
      live.journal.observer?.end(answer);
      if (mine) state.activeCalls.delete(key);
    };
    if (reply?.type === 'held') void reply.rest.catch(() => undefined).then(forget);
    else forget(reply);
    return { how, reply };
  } catch (error) {
    live.journal.observer?.end(undefined);
    if (mine) state.activeCalls.delete(key);
    throw error;
  }
}

async function recordAndEnd(live: TakenOverCall, stored: StoredCall, call: Call): Promise<Recovery> {
  if (mustRecord(live, stored, call) && !(await recordTakeover(live)))
    return { how: 'overtaken', reply: undefined };
  return endByStatus(live, stored, live.journal.call ?? call);
}

/** Could code run for the call before its next intent is on record? */
function mustRecord(live: AcceptedCall, stored: StoredCall, call: Call): boolean {
  switch (planRecovery(live.engine, call)) {
    case 'settle':
    case 'wait':
      return false;
    case 'ask':
    case 'go_on':
      return true;
    case 'rerun':
      return call.failed !== undefined || preparesByCode(live, stored, call);
  }
}

async function endByStatus(live: TakenOverCall, stored: StoredCall, call: Call): Promise<Recovery> {
  const givenUp = live.manner.takenOver?.givenUp === true;
  if (givenUp) endWithoutCode(live, call);
  switch (call.status) {
    case 'requested':
      if (call.submitted && givenUp) return { how: 'failed', reply: await settleStopped(live, poison(call)) };
      if (call.submitted && live.request.input.ok && live.tool !== undefined)
        return { how: 'resumed', reply: await goOnFrom({ ...neverAsked, ...live }, call) };
      return {
        how: 'cancelled',
        reply: await settleStopped(live, cancelStop('the process that made it is gone')),
      };
    case 'held':
    case 'approved':
      return endHeld(live, stored, call, givenUp);
    case 'running':
      return isHandoff(call) ? endHandoff(live) : endAttempt(live, stored, call, givenUp);
    case 'settled':
      return { how: 'overtaken', reply: undefined };
  }
}

async function endHeld(
  live: TakenOverCall,
  stored: StoredCall,
  call: Call,
  givenUp: boolean,
): Promise<Recovery> {
  const asked: AskedCall = { ...neverAsked, ...live };
  // The host is not asked about a call that was given up.
  const host = givenUp ? { ...notAsked, confirmationId: call.confirmation?.confirmationId } : notAsked;
  // An expired call ends without the tool. Any other continues in a process that has the same tool.
  if (isOver(call, live.engine.ledger.now()))
    return { how: 'resumed', reply: await resolveHold(asked, host) };
  if (givenUp && call.status === 'approved')
    return { how: 'failed', reply: await settleStopped(live, poison(call)) };
  if (givenUp) return { how: 'resumed', reply: await goOnFrom(asked, call, host) };
  const prepared = await prepareInput(live, { stored });
  if (prepared.type !== 'ready') return { how: 'cancelled', reply: await settleVoid(live, prepared) };
  const ready = { ...neverAsked, ...prepared.live };
  return { how: 'resumed', reply: await goOnFrom(ready, call, host, prepared.taken) };
}

/** No more code of the host or the tool runs for the call, so its preview is not released. */
function endWithoutCode(live: AcceptedCall, { preview }: Call): void {
  if (preview === undefined || live.tool?.cancel === undefined) return;
  live.preview.letGoOf = preview.operationId;
  aside(live, `cancel of ${preview.operationId} was not called: ${countOf(live.journal.call)}.`);
}

/** Without the input that was shown, the call can never run as shown: the question is void. */
function settleVoid(
  live: TakenOverCall,
  prepared: Exclude<PreparedCall, { type: 'ready' }>,
): Promise<ToolOutcome> {
  const { problem, altered } = prepared.type === 'unusable' ? prepared : unusable;
  const asked = live.journal.call?.confirmation;
  if (asked?.status === 'pending')
    live.journal.apply({
      type: 'withdraw',
      confirmationId: asked.confirmationId,
      reason: clean(live, problem),
    });
  if (altered) return settleStopped(live, alteredStop);
  return settleStopped(live, {
    type: 'deny',
    reason: 'expired',
    code: 'confirmation.expired',
    details: clean(live, `The call cannot run as it was shown: ${problem}.`),
  });
}

/** A hand-off is not lost with its caller. This process waits for the report instead. */
async function endHandoff(live: TakenOverCall): Promise<Recovery> {
  const { call } = live.journal;
  if (call === undefined || !isDue(live.engine, call)) {
    const rest = awaitReport(live);
    rest.catch(() => undefined); // callers of the call get the error
    return { how: 'resumed', reply: { type: 'held', confirmationId: undefined, rest } };
  }
  const outcome = await endDue(live);
  if (outcome === undefined) return { how: 'overtaken', reply: undefined };
  if (outcome.type === 'ToolTimeout') return { how: 'timed_out', reply: outcome };
  return {
    how: 'code' in outcome && outcome.code === 'tool.indeterminate' ? 'indeterminate' : 'reconciled',
    reply: outcome,
  };
}

/** An attempt without an end. */
async function endAttempt(
  live: TakenOverCall,
  stored: StoredCall,
  call: Call,
  givenUp: boolean,
): Promise<Recovery> {
  const { failed, started } = call;
  if (failed !== undefined) {
    const prepared = givenUp ? undefined : await prepareInput(live, { stored });
    const waiting = Promise.withResolvers<'waits'>();
    // Without the same tool and input, no process retries it.
    const ending =
      prepared?.type === 'ready'
        ? attemptNext(prepared.live, failed, () => waiting.resolve('waits'))
        : endAsFailed(live, failed);
    const outcome = await Promise.race([ending, waiting.promise]);
    if (outcome === undefined) return { how: 'overtaken', reply: undefined };
    if (outcome !== 'waits') return { how: 'resumed', reply: kept(live, outcome) };
    const rest = ending.then((last) => {
      if (last !== undefined) return kept(live, last);
      return live.signals.left ? leave(live) : overtaken(live);
    });
    rest.catch(() => undefined); // callers of the call get the error
    return { how: 'resumed', reply: { type: 'held', confirmationId: undefined, rest } };
  }
  if (givenUp) return giveUp(live, call);
  const mayAsk = started?.mayRerun === true || live.tool?.reconcile !== undefined;
  const prepared = mayAsk ? await prepareInput(live, { stored }) : unusable;
  if (prepared.type === 'ready' && started?.mayRerun === true && prepared.live.tool.mayRerun) {
    const reply = await attemptAgain(prepared.live);
    return reply === undefined ? { how: 'overtaken', reply } : { how: 'rerun', reply: kept(live, reply) };
  }
  const found = prepared.type === 'ready' ? await askTool(prepared.live, call) : unknown;
  if (prepared.type !== 'ready' || found.status === 'unknown') {
    const reply = await settle(live, judgeUnknown(live), lostAttempt(live));
    return { how: 'indeterminate', reply: kept(live, reply) };
  }
  const judgement = await judgeFound(prepared.live, found);
  return { how: 'reconciled', reply: kept(live, await settle(prepared.live, judgement, lostAttempt(live))) };
}

const unknown = { status: 'unknown' } as const;

/**
 * Every process that worked on this call ended. An effect may have happened, so a person must find out. A
 * read had no effect, but a repeat would end this process too.
 */
async function giveUp(live: TakenOverCall, call: Call): Promise<Recovery> {
  const why = countOf(call);
  const isRead = call.mode === 'read';
  const judgement = isRead ? judgePoison(live, `${why}.`) : judgeUnknown(live, why);
  const reply = kept(live, await settle(live, judgement, lostAttempt(live)));
  return { how: isRead ? 'failed' : 'indeterminate', reply };
}

/** Its body never started, but the code before the body ended every process that came so far. */
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

/** This runtime was closed. The next runtime on the ledger makes the attempt when it is due. */
function leave(live: AcceptedCall): never {
  live.journal.owned = false;
  throw new QuittanceError(
    'call.pending',
    `Call ${live.callId} waits for its next attempt, and this runtime was closed. Ask again with the same id in another runtime on the same ledger.`,
    { callId: live.callId },
  );
}

/** Throws if the end could not be stored: the call is then still open for the next recovery. */
function kept(live: AcceptedCall, outcome: ToolOutcome): ToolOutcome {
  if (live.journal.unkept === undefined) return outcome;
  throw new LedgerTrouble('neither the ledger nor its spill could take the end of the call');
}
