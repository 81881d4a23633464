/**
 * Retries of a call at the request of behaviors, after a failed attempt.
 *
 * 1. The failure is stored first, as the end of the attempt and not of the call. Then the behaviors are asked.
 * 2. Only the tool's declaration allows a second run: it is a read, it is idempotent, or it said of this
 *    failure that a retry is safe. No request replaces that.
 * 3. The caller gets one outcome, after the last attempt. The call ends with its last failure if it is
 *    cancelled, out of time, or if its runtime closes or its turn ends. A call that a person approved no
 *    longer depends on its turn.
 * 4. Each attempt is charged under the same limits, and newer rules apply.
 */
import type { ToolResponded } from '../call/events/attempt-event.ts';
import type { ToolOutcome } from '../call/outcome.ts';
import { outcomeIsError, retryableButForDoubt } from '../call/outcome.ts';
import { mostAttempts } from './call-options.ts';
import type { Offer } from './behavior.ts';
import { endCounts, settlementsFor, sharesOf } from './budget.ts';
import type { ActiveCall, CheckedCall } from './active-call.ts';
import { withInput, logProblem } from './active-call.ts';
import type { EntryExtra, AttemptRecord } from './call-journal.ts';
import { clean } from './call-input.ts';
import { knownCost, policyGate } from './gate-checks.ts';
import type { Judgement } from './judgement.ts';
import { LedgerTrouble } from './ledger-trouble.ts';
import { isStale, restoreInput } from './recorded-input.ts';
import { responseCommand } from './settle.ts';
import { recheck } from './gates.ts';

/** Time limit, deadline and cost of an attempt. */
export type AttemptTerms = {
  readonly budgetMs: number;
  readonly deadlineMs: number;
  /** The cost of the attempt, unless its body charges another one. */
  readonly costMicros: number;
  /** The cost of an earlier attempt whose end was not recorded. */
  readonly lostCostMicros: number;
};

type NextAttempt =
  /** The intent of the next attempt is stored: its body may run. */
  | { readonly type: 'attempt'; readonly active: CheckedCall; readonly terms: AttemptTerms }
  /** The call ends with its last failure. */
  | { readonly type: 'none' }
  /** Another process continues the call. */
  | { readonly type: 'overtaken' };

const noAttempt: NextAttempt = Object.freeze({ type: 'none' });

/** The terms for further attempts. */
type Terms = {
  /** A person was asked, so neither the deadline nor the end of the turn applies any more. */
  readonly deadlineLifted: boolean;
  /** The body itself declared a retry after this failure safe. */
  readonly repeatIsSafe: boolean;
  /** Called before the wait for the due time of the retry. */
  readonly onWait?: (() => void) | undefined;
};

/** `onStored` is called once the failure is stored as the end of its attempt. */
export async function retryAttempt(
  active: CheckedCall,
  judgement: Judgement,
  attempt: AttemptRecord,
  deadlineLifted: boolean,
  onStored: () => void,
): Promise<NextAttempt> {
  const { journal } = active;
  const { behaviors } = active.services;
  const mark = journal.mark();
  const event = journal.apply(responseCommand(active, judgement, attempt, false)) as ToolResponded; // its event
  if (!behaviors.wantRetry(event)) {
    journal.rewind(mark);
    return noAttempt;
  }
  const forbidden = whyNot(active, judgement, deadlineLifted);
  if (forbidden !== undefined) {
    journal.rewind(mark);
    logProblem(active, `Not tried again, although a behavior might have asked for it: ${forbidden}`);
    return noAttempt;
  }
  const charged = settlementsFor(journal.call?.started?.reserved ?? [], attempt.costMicros);
  const stored = await flushed(active, mark, {
    ...(charged.length > 0 && { settle: charged }),
  });
  // If another process has ended the call, settling records this attempt's result as late.
  if (stored.type !== 'appended') return noAttempt;
  onStored();
  return askAndWait(active, event, { deadlineLifted, repeatIsSafe: judgement.repeatIsSafe });
}

/** Continues a call whose owner died between two attempts. */
export async function continueRetrying(
  active: CheckedCall,
  failed: ToolResponded,
  onWait: () => void,
): Promise<NextAttempt> {
  // A declaration of the tool must still hold. The statement of its body about this failure stays valid.
  const repeatIsSafe = !failed.unsettledEffect && active.journal.call?.started?.mayRerun !== true;
  const forbidden = whyNot(active, { ...judgementOf(failed), repeatIsSafe }, true);
  if (forbidden === undefined)
    return askAndWait(active, failed, { deadlineLifted: true, repeatIsSafe, onWait });
  logProblem(active, `Not tried again: ${forbidden}`);
  return noAttempt;
}

/** The judgement of a recorded attempt, for settling. */
export const judgementOf = ({
  outcome,
  content,
  toolSuccess,
  unsettledEffect,
}: ToolResponded): Judgement => ({
  outcome,
  content,
  toolSuccess,
  // The effect is not unknown if the tool may run again or its author declared a retry safe.
  repeatIsSafe: !unsettledEffect,
  rules: [],
});

/** The record of an attempt without its outcome. */
export const recordOf = ({ reached, log, payloadExtras }: ToolResponded): AttemptRecord => ({
  costMicros: 0, // it was charged when the attempt ended
  reached,
  log,
  payloadExtras,
});

/** The reason why the body must not run again, for any request. Undefined if it may. */
function whyNot(
  { tool, signals, turn, journal }: CheckedCall,
  { outcome, repeatIsSafe }: Judgement,
  deadlineLifted: boolean,
): string | undefined {
  if (signals.cancelled !== undefined) return 'the call was cancelled.';
  if (!deadlineLifted && turn.ended !== undefined) return 'its turn has ended.';
  if (signals.left) return 'the runtime is closing.';
  if (!isRetryable(outcome)) return 'the failure is not retryable.';
  if ((journal.call?.attempt ?? 0) >= mostAttempts) return `it was attempted ${mostAttempts} times.`;
  if (tool.handoff) return 'its body does not run here.';
  return tool.mayRerun || repeatIsSafe
    ? undefined
    : 'the tool does not say that its calls may run twice (mode read, idempotent, or a ToolError marked retryable).';
}

const isRetryable = (outcome: ToolOutcome): boolean =>
  outcomeIsError(outcome) && retryableButForDoubt(outcome);

async function askAndWait(active: CheckedCall, event: ToolResponded, terms: Terms): Promise<NextAttempt> {
  const { journal } = active;
  if (journal.call?.retry === undefined) {
    const { retry, events } = await ask(active, event, terms);
    // They are stored with the next events of the call.
    journal.bring(events);
    if (retry === undefined) return noAttempt;
    const mark = journal.mark();
    journal.apply({
      type: 'try_again',
      forEvent: event.id,
      attempt: event.attempt + 1,
      notBefore: retry.notBefore,
      by: retry.by,
    });
    const stored = await flushed(active, mark);
    if (stored.type !== 'appended') return stored;
  }
  if (await isDue(active, terms)) return begin(active, terms);
  // A recovered call has no caller to answer: the next runtime continues it.
  return terms.onWait !== undefined && active.signals.left ? { type: 'overtaken' } : noAttempt;
}

/** The answer of the behaviors, or undefined once no caller waits. */
async function ask(active: ActiveCall, event: ToolResponded, terms: Terms): Promise<Offer> {
  const { deadlines } = active.engine;
  const { behaviors } = active.services;
  const stop = new AbortController();
  const unassigned = Promise.withResolvers<Offer>();
  const leave = (): void => {
    stop.abort(new DOMException('The call ends without another attempt.', 'AbortError'));
    unassigned.resolve({ retry: undefined, events: [] });
  };
  const leftMs = leftOf(active, terms);
  if (isGivenUp(active, terms) || leftMs <= 0) return { retry: undefined, events: [] };
  const watch = leftMs === Number.POSITIVE_INFINITY ? undefined : deadlines.watch(leftMs, leave);
  const stopHearing = whenGivenUp(active, terms, leave);
  try {
    return await Promise.race([
      behaviors.offerRetry(event, active.turn.depth, stop.signal),
      unassigned.promise,
    ]);
  } finally {
    watch?.stop();
    stopHearing();
  }
}

/** True if the call is cancelled, its turn has ended, or the runtime is closing. */
const isGivenUp = ({ signals, turn }: ActiveCall, { deadlineLifted }: Terms): boolean =>
  signals.cancelled !== undefined || signals.left || (!deadlineLifted && turn.ended !== undefined);

/** Calls `wake` when the call is given up. Returns a function that removes this listener. */
function whenGivenUp(active: ActiveCall, { deadlineLifted }: Terms, wake: () => void): () => void {
  active.signals.onCancel = wake;
  active.signals.onLeave = wake;
  const stopHearing = deadlineLifted ? undefined : active.turn.whenEnded(wake);
  return () => {
    active.signals.onCancel = undefined;
    active.signals.onLeave = undefined;
    stopHearing?.();
  };
}

/** Events that the ledger did not take are dropped. */
async function flushed(
  active: ActiveCall,
  mark: number,
  extra: EntryExtra = {},
): Promise<{ readonly type: 'appended' } | Exclude<NextAttempt, { type: 'attempt' }>> {
  const { journal } = active;
  try {
    const { status } = await journal.flush(extra);
    if (status === 'appended') return { type: 'appended' };
    journal.rewind(mark);
    if (status === 'exhausted') logProblem(active, 'Not tried again: a budget has too little left for it.');
    return { type: status === 'conflict' ? 'overtaken' : 'none' };
  } catch (error) {
    if (!(error instanceof LedgerTrouble)) throw error;
    journal.rewind(mark);
    return { type: 'none' };
  }
}

/**
 * Waits until the retry is due. Returns false if the call is cancelled, its turn ends or the runtime closes
 * first.
 */
async function isDue(active: ActiveCall, terms: Terms): Promise<boolean> {
  const { engine } = active;
  const { notBefore = 0, at = 0 } = active.journal.call?.retry ?? {};
  // The ledger's clock may have been set back, so the wait is limited to the requested duration.
  const latest = engine.clock.monotonicMs() + Math.max(0, notBefore - at);
  for (;;) {
    const waitMs = Math.min(notBefore - engine.ledger.now(), latest - engine.clock.monotonicMs());
    if (isGivenUp(active, terms) || leftOf(active, terms) <= Math.max(0, waitMs)) return false;
    if (waitMs <= 0) return true;
    terms.onWait?.();
    await new Promise<void>((resolve) => {
      const watch = engine.deadlines.watch(Math.min(waitMs, longestSleepMs), () => wake());
      const wake = (): void => {
        watch.stop();
        stopHearing();
        resolve();
      };
      const stopHearing = whenGivenUp(active, terms, wake);
    });
  }
}

const longestSleepMs = 3_600_000;

const leftOf = ({ engine, turn }: ActiveCall, { deadlineLifted }: Terms): number =>
  deadlineLifted ? Number.POSITIVE_INFINITY : turn.deadlineAtMs - engine.clock.monotonicMs();

/** Stores the intent of the next attempt. */
async function begin(before: CheckedCall, terms: Terms): Promise<NextAttempt> {
  const { engine, turn, journal } = before;
  const looked = await lookAgain(before, terms);
  const objection = looked.type === 'objection' ? looked.objection : unknownBudget(before);
  if (objection !== undefined) logProblem(before, `Not tried again: ${objection}`);
  if (objection !== undefined || looked.type === 'objection') return noAttempt;
  const { active } = looked;
  const leftMs = leftOf(active, terms);
  if (isGivenUp(active, terms) || leftMs <= 0) return noAttempt;
  const { tool, toolKey } = active;
  const costMicros = knownCost(active);
  const shares = sharesOf(turn.budgets, costMicros, false, engine.ledger.now());
  const budgetMs = Math.min(tool.timeoutMs ?? engine.defaultTimeoutMs, leftMs);
  const deadlineMs = engine.clock.now() + budgetMs;
  const mark = journal.mark();
  const started = journal.call?.started;
  journal.apply({
    type: 'start',
    idempotencyKey: toolKey === undefined ? undefined : clean(active, toolKey),
    deadlineMs,
    mayRerun: tool.mayRerun,
    stages: started?.stages ?? [],
    reserved: [
      ...shares.map(({ counter, amount, metric }) => ({ counter, amount, metric })),
      ...endCounts(started?.reserved ?? []),
    ],
  });
  const stored = await flushed(active, mark, shares.length > 0 ? { reserve: shares } : {});
  return stored.type === 'appended'
    ? { type: 'attempt', active, terms: { budgetMs, deadlineMs, costMicros, lostCostMicros: 0 } }
    : stored;
}

/** Only the process that opened a turn knows its budget. */
function unknownBudget({ journal: { call }, turn }: ActiveCall): string | undefined {
  const isKnown = (counter: string): boolean =>
    turn.budgets.some((budget) =>
      budget.perDay ? counter.startsWith(`${budget.counter}/`) : counter === budget.counter,
    );
  const spent = call?.started?.reserved.find(
    ({ metric, counter }) => metric === 'cost_micros' && !isKnown(counter),
  );
  return spent && `how much may be spent under ${spent.counter} is known only to the process that began it.`;
}

type LookedAgain =
  | { readonly type: 'ready'; readonly active: CheckedCall }
  /** A change since the last attempt forbids another run. */
  | { readonly type: 'objection'; readonly objection: string };

const object = (objection: string): LookedAgain => ({ type: 'objection', objection });

async function lookAgain(before: CheckedCall, { repeatIsSafe }: Terms): Promise<LookedAgain> {
  const { engine, request, tool, notes, journal } = before;
  if (isStale(before)) return object('its preview has expired.');
  const restored = await restoreInput(before);
  if (restored.type === 'unusable') return object(`${restored.problem}.`);
  if (restored.type === 'differs') return object('its schema now gives the tool another value.');
  const active = withInput(before, tool, { ...restored.prepared, changes: before.input.changes }, notes);
  const policy = engine.policyInForce();
  if (policy?.version === journal.call?.policyVersion) return { type: 'ready', active };
  // The rules in force are no longer the ones that let the call run.
  const now = engine.undoToolFor(request.name, policy) ?? engine.toolFor(request.name, policy);
  if (now === undefined || !(now.mayRerun || repeatIsSafe))
    return object('rules no longer allow a second run.');
  const next = { ...active, policy, tool: now };
  const passed = await recheck({ ...next, asks: [], rules: [], workflowSteps: [] }, [policyGate]);
  if (passed.type === 'stopped') return object('rules that came since would stop it.');
  const approved = journal.call?.confirmation?.asks ?? [];
  const asks = passed.active.asks.some(
    ({ by, digest }) => !approved.some((known) => known.by.name === by.name && known.digest === digest),
  );
  return asks ? object('rules that came since would ask a person.') : { type: 'ready', active: next };
}
