/**
 * Takes over one call whose owner is gone, and ends it or continues it.
 *
 * 1. A call without an intent never ran. It is cancelled, unless it was submitted or held; then it continues.
 * 2. An attempt without an end runs again only if the tool declares that safe. Otherwise the tool is asked.
 *    Without an answer, the outcome says that the effect is unknown.
 * 3. The takeover is recorded before any code of the host or the tool runs for the call. A call that ended
 *    too many processes is given up: see `isGivenUp`.
 * 4. Every step is a compare-and-set on the call: of two recoveries one wins, and a slow owner is overtaken.
 */
import { QuittanceError } from '../base/error.ts';
import type { Call } from '../call/call.ts';
import { isHandoff } from '../call/call.ts';
import type { ToolOutcome } from '../call/outcome.ts';
import type { StoredCall } from '../ledger/journal.ts';
import { alteredStop, logProblem } from './active-call.ts';
import { awaitReport } from './await-report.ts';
import type { ActiveCall, CallContext, CallTerms, CheckedCall } from './active-call.ts';
import { CallObserver } from './call-observer.ts';
import type { CallReply } from './call-reply.ts';
import { clean } from './call-input.ts';
import type { RuntimeState, Recovery, RecoveredCall } from './runtime-state.ts';
import { callKey } from './turn-state.ts';
import { endDue, isDue, readOpenCalls } from './claim-handoff.ts';
import { notAsked } from './until-decided.ts';
import { LedgerTrouble } from './ledger-trouble.ts';
import { isSurelyRead, lostRuns, overtaken, settle, settleStopped, keepEnd } from './settle.ts';
import { isForOthers, isOver, planRecovery, readOpen } from './orphans.ts';
import type { PreparedCall } from './take-over.ts';
import {
  prepareInput,
  preparesByCode,
  recordTakeover,
  takeOver,
  unusable,
  askTool,
  judgeFound,
  judgePoison,
  judgeUnknown,
  lostAttempt,
} from './take-over.ts';
import { notEnded, importSpills } from './recall.ts';
import { cancelStop } from './gates.ts';
import { watchResult } from './end-turn.ts';
import type { ToolResponded } from '../call/events/attempt-event.ts';
import { continueCall, runAttempts } from './run-call.ts';
import { continueRetrying, judgementOf, recordOf } from './retry-attempt.ts';
import { knownCost } from './gate-checks.ts';
import type { FoundCall } from './orphans.ts';

/** Takes one call over. A concurrent repeat of the same call joins it. */
export function recoverCall(
  state: RuntimeState,
  stored: StoredCall,
  call: Call,
  /** Waits before the intent of a body that never ran. */
  waitForSlot?: CallTerms['waitForSlot'],
): Promise<Recovery> {
  const key = callKey(call);
  // A second recovery of the same call waits for the result of the first.
  const underWay = state.recovering.get(key);
  if (underWay !== undefined) return underWay;
  const recovering = activate(state, stored, call, waitForSlot).finally(() => state.recovering.delete(key));
  state.recovering.set(key, recovering);
  return recovering;
}

async function activate(
  state: RuntimeState,
  stored: StoredCall,
  call: Call,
  waitForSlot: CallTerms['waitForSlot'],
): Promise<Recovery> {
  const { engine } = state;
  const asker = state.callsInProgress.get(callKey(call))?.active.signals;
  const active = await takeOver(state, stored, call, waitForSlot, asker);
  // Checked before any caller can join: a caller that waited here for another process would wait for ever.
  if (isForOthers(engine, active.tool, call)) return { how: 'left', reply: undefined };
  const key = callKey(call);
  watchResult(state, active.turn);
  active.journal.observer = CallObserver.start(active, call.traceparent);
  const recovery = recordAndEnd(active, stored, call);
  // Only a caller that joins follows the call to its end, which another process may reach much later. Without a caller,
  // the record must not state that one got the outcome.
  let reply: Promise<CallReply> | undefined;
  const follow = (): Promise<CallReply> =>
    (reply ??= recovery.then(
      (found) => found.reply ?? overtaken(active),
      (error: unknown) => notEnded(active, call, error),
    ));
  const isOurs = !state.callsInProgress.has(key);
  if (isOurs)
    state.callsInProgress.set(key, {
      active: active.context,
      get reply() {
        return follow();
      },
    });
  const forget = forgetting(state, active.context, isOurs);
  try {
    const { how, reply: found } = await recovery;
    if (found?.type === 'held') forgetAfter(found.rest, forget);
    else forget(found);
    return { how, reply: found };
  } catch (error) {
    forget(undefined);
    throw error;
  }
}

function forgetAfter(rest: Promise<ToolOutcome>, forget: (answer: CallReply | undefined) => void): void {
  void rest.then(forget, () => forget(undefined));
}

/** What ends the work on a call. A call may wait for days, so it keeps no more of it. */
const forgetting =
  (state: RuntimeState, context: CallContext, isOurs: boolean) =>
  (answer: CallReply | undefined): void => {
    context.journal.observer?.end(answer);
    if (isOurs) state.callsInProgress.delete(callKey(context));
  };

async function recordAndEnd(active: ActiveCall, stored: StoredCall, call: Call): Promise<Recovery> {
  if (mustRecord(active, stored, call) && !(await recordTakeover(active)))
    return { how: 'overtaken', reply: undefined };
  return endByStatus(active, stored, active.journal.call ?? call);
}

/** True if code could run for the call before its next intent is stored. */
function mustRecord(active: ActiveCall, stored: StoredCall, call: Call): boolean {
  switch (planRecovery(active.engine, call)) {
    case 'settle':
    case 'wait':
      return false;
    case 'ask':
    case 'go_on':
      return true;
    case 'rerun':
      return call.failed !== undefined || preparesByCode(active, stored, call);
  }
}

async function endByStatus(active: ActiveCall, stored: StoredCall, call: Call): Promise<Recovery> {
  const givenUp = active.takenOver?.givenUp === true;
  if (givenUp) endWithoutCode(active, call);
  switch (call.status) {
    case 'requested':
      if (call.submitted && givenUp)
        return { how: 'failed', reply: await settleStopped(active, poison(call)) };
      if (call.submitted && active.request.input.ok && active.tool !== undefined)
        return { how: 'resumed', reply: await continueCall(active, call) };
      return {
        how: 'cancelled',
        reply: await settleStopped(active, cancelStop('the process that made it is gone')),
      };
    case 'held':
    case 'approved':
      return endHeld(active, stored, call, givenUp);
    case 'running':
      return isHandoff(call) ? endHandoff(active) : endAttempt(active, stored, call, givenUp);
    case 'settled':
      return { how: 'overtaken', reply: undefined };
  }
}

async function endHeld(
  active: ActiveCall,
  stored: StoredCall,
  call: Call,
  givenUp: boolean,
): Promise<Recovery> {
  // The host is not asked about a call that was given up.
  const host = givenUp ? { ...notAsked, confirmationId: call.confirmation?.confirmationId } : notAsked;
  // An expired call ends without the tool. Any other continues in a process that has the same tool.
  if (isOver(call, active.engine.ledger.now()))
    return { how: 'resumed', reply: await continueCall(active, call, host) };
  if (givenUp && call.status === 'approved')
    return { how: 'failed', reply: await settleStopped(active, poison(call)) };
  if (givenUp) return { how: 'resumed', reply: await continueCall(active, call, host) };
  const prepared = await prepareInput(active, { stored });
  if (prepared.type !== 'ready') return { how: 'cancelled', reply: await settleVoid(active, prepared) };
  return { how: 'resumed', reply: await continueCall(prepared.active, call, host, prepared.restored) };
}

/** No more code of the host or the tool runs for the call, so its preview is not released. */
function endWithoutCode(active: ActiveCall, { preview }: Call): void {
  if (preview === undefined || active.tool?.cancel === undefined) return;
  active.preview.cancelled = preview.operationId;
  logProblem(active, `cancel of ${preview.operationId} was not called: ${countOf(active.journal.call)}.`);
}

/** Without the input that was shown, the call can never run as shown: the question is void. */
function settleVoid(
  active: ActiveCall,
  prepared: Exclude<PreparedCall, { type: 'ready' }>,
): Promise<ToolOutcome> {
  const { problem, altered } = prepared.type === 'unusable' ? prepared : unusable;
  const asked = active.journal.call?.confirmation;
  if (asked?.status === 'pending')
    active.journal.apply({
      type: 'withdraw',
      confirmationId: asked.confirmationId,
      reason: clean(active, problem),
    });
  if (altered) return settleStopped(active, alteredStop);
  return settleStopped(active, {
    type: 'deny',
    reason: 'expired',
    code: 'confirmation.expired',
    details: clean(active, `The call cannot run as it was shown: ${problem}.`),
  });
}

/** A hand-off is not lost with its caller. This process waits for the report instead. */
async function endHandoff(active: ActiveCall): Promise<Recovery> {
  const { call } = active.journal;
  if (call === undefined || !isDue(active.engine, call)) {
    const rest = awaitReport(active);
    rest.catch(() => undefined); // callers of the call get the error
    return { how: 'resumed', reply: { type: 'held', confirmationId: undefined, rest } };
  }
  const outcome = await endDue(active);
  if (outcome === undefined) return { how: 'overtaken', reply: undefined };
  if (outcome.type === 'ToolTimeout') return { how: 'timed_out', reply: outcome };
  return {
    how: 'code' in outcome && outcome.code === 'tool.indeterminate' ? 'indeterminate' : 'reconciled',
    reply: outcome,
  };
}

/** An attempt without an end. */
async function endAttempt(
  active: ActiveCall,
  stored: StoredCall,
  call: Call,
  givenUp: boolean,
): Promise<Recovery> {
  const { failed, started } = call;
  if (failed !== undefined) {
    const prepared = givenUp ? undefined : await prepareInput(active, { stored });
    const waiting = Promise.withResolvers<'waits'>();
    // Without the same tool and input, no process retries it.
    const ending =
      prepared?.type === 'ready'
        ? attemptNext(prepared.active, failed, () => waiting.resolve('waits'))
        : endAsFailed(active, failed);
    const outcome = await Promise.race([ending, waiting.promise]);
    if (outcome === undefined) return { how: 'overtaken', reply: undefined };
    if (outcome !== 'waits') return { how: 'resumed', reply: kept(active, outcome) };
    const rest = ending.then((last) => {
      if (last !== undefined) return kept(active, last);
      return active.signals.left ? leave(active) : overtaken(active);
    });
    rest.catch(() => undefined); // callers of the call get the error
    return { how: 'resumed', reply: { type: 'held', confirmationId: undefined, rest } };
  }
  if (givenUp) return giveUp(active, call);
  const mayAsk = started?.mayRerun === true || active.tool?.reconcile !== undefined;
  const prepared = mayAsk ? await prepareInput(active, { stored }) : unusable;
  if (prepared.type === 'ready' && started?.mayRerun === true && prepared.active.tool.mayRerun) {
    const reply = await attemptAgain(prepared.active);
    return reply === undefined ? { how: 'overtaken', reply } : { how: 'rerun', reply: kept(active, reply) };
  }
  const found = prepared.type === 'ready' ? await askTool(prepared.active, call) : unknown;
  if (prepared.type !== 'ready' || found.status === 'unknown') {
    const reply = await settle(active, judgeUnknown(active), lostAttempt(active));
    return { how: 'indeterminate', reply: kept(active, reply) };
  }
  const judgement = await judgeFound(prepared.active, found);
  return {
    how: 'reconciled',
    reply: kept(active, await settle(prepared.active, judgement, lostAttempt(active))),
  };
}

const unknown = { status: 'unknown' } as const;

/**
 * Every process that worked on this call ended. An effect may have happened, so a person must find out. A
 * read had no effect, but a repeat would end this process too.
 */
async function giveUp(active: ActiveCall, call: Call): Promise<Recovery> {
  const why = countOf(call);
  const isRead = isSurelyRead(call);
  const judgement = isRead ? judgePoison(active, `${why}.`) : judgeUnknown(active, why);
  const reply = kept(active, await settle(active, judgement, lostAttempt(active)));
  return { how: isRead ? 'failed' : 'indeterminate', reply };
}

/** The stop of a call whose body never started, but whose checks ended every process that recovered it. */
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

/**
 * Runs the body again after an attempt whose end was not recorded. Undefined if another process was first.
 * The reservation of the lost attempt stays and is charged with this one.
 */
async function attemptAgain(active: CheckedCall): Promise<ToolOutcome | undefined> {
  const { engine, tool, journal } = active;
  const budgetMs = tool.timeoutMs ?? engine.defaultTimeoutMs;
  const deadlineMs = engine.clock.now() + budgetMs;
  const { reserved = [], stages = [] } = journal.call?.started ?? {};
  const costMicros = knownCost(active);
  const lostCostMicros = reserved.find(({ metric }) => metric === 'cost_micros')?.amount ?? 0;
  journal.apply({
    type: 'start',
    idempotencyKey: active.toolKey === undefined ? undefined : clean(active, active.toolKey),
    deadlineMs,
    mayRerun: tool.mayRerun,
    stages,
    reserved,
  });
  const { status } = await journal.flush();
  return status === 'appended'
    ? runAttempts(active, { budgetMs, deadlineMs, costMicros, lostCostMicros }, true)
    : undefined;
}

/**
 * Continues a call whose owner died between two attempts: retries it if a behavior asks for that, and
 * otherwise ends it with its last failure. Undefined if another process was first. `onWait` is called before a wait for
 * the due time of the retry.
 */
async function attemptNext(
  active: CheckedCall,
  failed: ToolResponded,
  onWait: () => void,
): Promise<ToolOutcome | undefined> {
  const next = await continueRetrying(active, failed, onWait);
  switch (next.type) {
    case 'overtaken':
      return undefined;
    case 'none':
      return endAsFailed(active, failed);
    case 'attempt':
      return runAttempts(next.active, next.terms, true);
  }
}

/** Ends a call with its last failure. Undefined if another process continues it. */
async function endAsFailed(active: ActiveCall, failed: ToolResponded): Promise<ToolOutcome | undefined> {
  const judgement = judgementOf(failed);
  return (await keepEnd(active, judgement, recordOf(failed))) ? judgement.outcome : undefined;
}

/** This runtime was closed. The next runtime on the ledger makes the attempt when it is due. */
function leave(active: ActiveCall): never {
  active.journal.owned = false;
  throw new QuittanceError(
    'call.pending',
    `Call ${active.callId} waits for its next attempt, and this runtime was closed. Ask again with the same id in another runtime on the same ledger.`,
    { callId: active.callId },
  );
}

/** Throws if the end could not be stored. The call then stays open for the next recovery. */
function kept(active: ActiveCall, outcome: ToolOutcome): ToolOutcome {
  if (active.journal.unkept === undefined) return outcome;
  throw new LedgerTrouble('neither the ledger nor its spill file could store the end of the call');
}

/**
 * Ends the open calls of a ledger that was restored from a backup.
 *
 * The original ledger may have continued after the backup was taken. A call that was held, approved or waiting then may
 * have run there since, so this copy must not run it. Only an attempt that its tool declared safe to run again stays open.
 * `backupAt`: the time of the backup, by the ledger's clock.
 */
export async function endRestored(state: RuntimeState, backupAt: number): Promise<readonly RecoveredCall[]> {
  await importSpills(state.engine);
  const open: { readonly sessionId: string; readonly callId: string }[] = [];
  for await (const { sessionId, callId } of readOpenCalls(state.engine.ledger))
    open.push({ sessionId, callId });
  const ended: RecoveredCall[] = [];
  for (const ref of open) {
    const found = await readOpen(state, ref);
    if (found === undefined) continue;
    const how = await endOne(state, found, backupAt);
    ended.push({ ...ref, toolName: found.call.toolName, how });
  }
  return ended;
}

async function endOne(
  state: RuntimeState,
  { stored, call }: FoundCall,
  backupAt: number,
): Promise<RecoveredCall['how']> {
  const active = await takeOver(state, stored, call);
  const when = new Date(backupAt).toISOString();
  if (call.status === 'running') return endRestoredAttempt(active, call, when);
  const asked = call.confirmation;
  const reason = `The ledger was restored from a backup of ${when}`;
  if (asked?.status === 'pending')
    active.journal.apply({
      type: 'withdraw',
      confirmationId: asked.confirmationId,
      reason: clean(active, reason),
    });
  await settleStopped(active, {
    type: 'deny',
    reason: 'ended',
    code: 'turn.ended',
    details: clean(
      active,
      `${reason}. The call has not run since, but it may have run between the backup and the restore. ` +
        'Find out whether it took effect before you request it again.',
    ),
  });
  return 'cancelled';
}

async function endRestoredAttempt(
  active: ActiveCall,
  call: Call,
  when: string,
): Promise<RecoveredCall['how']> {
  if (call.failed !== undefined) {
    await endAsFailed(active, call.failed);
    return 'failed';
  }
  if (call.started?.mayRerun === true && !isHandoff(call)) return 'left';
  const outcome: ToolOutcome = await settle(
    active,
    judgeUnknown(active, `The ledger was restored from a backup of ${when}, when the tool was running`),
    lostAttempt(active),
  );
  return outcome.type === 'ToolFailure' ? 'indeterminate' : 'failed';
}
