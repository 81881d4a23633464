/**
 * After a failed attempt: may behaviors have the call retried?
 *
 * 1. The failure is stored first, as the end of the attempt and not of the call. Then the behaviors are
 *    asked.
 * 2. Only the tool's declaration allows a second run: it is a read, it is idempotent, or it said of this
 *    failure that a retry is safe. No request replaces that.
 * 3. The caller gets one outcome, after the last attempt. The call ends with its last failure if it is
 *    cancelled, out of time, or if its runtime closes or its turn ends. A call that a person approved no
 *    longer depends on its turn.
 * 4. Each attempt is charged under the same limits, and newer rules apply.
 */
import type { ToolResponded } from '../../call/event.ts';
import type { ToolOutcome } from '../../call/outcome.ts';
import { outcomeIsError, retryableButForDoubt } from '../../call/outcome.ts';
import { mostAttempts } from '../host/retry.ts';
import type { Offer } from '../host/behaviors.ts';
import { endCounts, settlementsFor, sharesOf } from '../host/budget.ts';
import type { AcceptedCall } from '../state/accepted-call.ts';
import type { BoundKey, ReadyCall } from '../state/call-stages.ts';
import { nothingFound, withInput } from '../state/call-stages.ts';
import type { EntryExtra } from '../state/call-journal.ts';
import { aside } from '../state/aside.ts';
import type { AttemptRecord } from '../state/unkept-end.ts';
import { clean } from '../input/clean.ts';
import { knownCost } from '../gates/cost.ts';
import { policyGate } from '../gates/policy.ts';
import type { Judgement } from '../attempt/judgement.ts';
import { LedgerTrouble } from '../host/ledger-trouble.ts';
import { isStale } from '../state/recall-snapshot.ts';
import { toResponseDraft } from '../settle/keep-end.ts';
import { takeRecorded } from '../accept/take-recorded.ts';
import { walk } from '../gates/walk.ts';

/** Time limit, deadline and cost of an attempt. */
export type AttemptTerms = {
  readonly budgetMs: number;
  readonly deadlineMs: number;
  /** The cost of the attempt, unless its body charges another one. */
  readonly costMicros: number;
  /** The cost of an earlier attempt whose end was not recorded. */
  readonly lostCostMicros: number;
};

export type NextAttempt =
  /** The intent of the next attempt is stored: its body may run. */
  | { readonly type: 'attempt'; readonly live: RunnableCall; readonly terms: AttemptTerms }
  /** The call ends with its last failure. */
  | { readonly type: 'none' }
  /** Another process continues the call. */
  | { readonly type: 'overtaken' };

type RunnableCall = ReadyCall & BoundKey;

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

/** `onKept` is called once the failure is stored as the end of its attempt. */
export async function retryAttempt(
  live: RunnableCall,
  judgement: Judgement,
  attempt: AttemptRecord,
  deadlineLifted: boolean,
  onKept: () => void,
): Promise<NextAttempt> {
  const { journal } = live;
  const { behaviors } = live.services;
  const mark = journal.mark();
  const event = journal.apply(toResponseDraft(live, judgement, attempt, false)) as ToolResponded; // its event
  if (!behaviors.wantRetry(event)) {
    journal.rewind(mark);
    return noAttempt;
  }
  const forbidden = whyNot(live, judgement, deadlineLifted);
  if (forbidden !== undefined) {
    journal.rewind(mark);
    aside(live, `Not tried again, although a behavior might have asked for it: ${forbidden}`);
    return noAttempt;
  }
  const charged = settlementsFor(journal.call?.started?.reserved ?? [], attempt.costMicros);
  const kept = await flushed(live, mark, {
    ...(charged.length > 0 && { settle: charged }),
  });
  // If another process has ended the call meanwhile, this attempt's result is late. Settling records it so.
  if (kept.type !== 'appended') return noAttempt;
  onKept();
  return askAndWait(live, event, { deadlineLifted, repeatIsSafe: judgement.repeatIsSafe });
}

/** Continues a call whose owner died between two attempts. */
export async function goOnTrying(
  live: RunnableCall,
  failed: ToolResponded,
  onWait: () => void,
): Promise<NextAttempt> {
  // A declaration of the tool must still hold. The statement of its body about this failure stays valid.
  const repeatIsSafe = !failed.unsettledEffect && live.journal.call?.started?.mayRerun !== true;
  const forbidden = whyNot(live, { ...judgementOf(failed), repeatIsSafe }, true);
  if (forbidden === undefined)
    return askAndWait(live, failed, { deadlineLifted: true, repeatIsSafe, onWait });
  aside(live, `Not tried again: ${forbidden}`);
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

/** Why the body must not run again, whoever asks. */
function whyNot(
  { tool, signals, turn, journal }: ReadyCall,
  { outcome, repeatIsSafe }: Judgement,
  deadlineLifted: boolean,
): string | undefined {
  if (signals.cancelled !== undefined) return 'the call was cancelled.';
  if (!deadlineLifted && turn.ended !== undefined) return 'its turn has ended.';
  if (signals.left) return 'the runtime is closing.';
  if (!isRetryable(outcome)) return 'the failure is not one that passes.';
  if ((journal.call?.attempt ?? 0) >= mostAttempts) return `it was attempted ${mostAttempts} times.`;
  if (tool.handoff) return 'its body does not run here.';
  return tool.mayRerun || repeatIsSafe
    ? undefined
    : 'the tool does not say that its calls may run twice (mode read, idempotent, or a ToolError marked retryable).';
}

const isRetryable = (outcome: ToolOutcome): boolean =>
  outcomeIsError(outcome) && retryableButForDoubt(outcome);

async function askAndWait(live: RunnableCall, event: ToolResponded, terms: Terms): Promise<NextAttempt> {
  const { journal } = live;
  if (journal.call?.retry === undefined) {
    const { retry, events } = await ask(live, event, terms);
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
    const kept = await flushed(live, mark);
    if (kept.type !== 'appended') return kept;
  }
  if (await isDue(live, terms)) return begin(live, terms);
  // A recovered call has no caller to answer: the next runtime continues it.
  return terms.onWait !== undefined && live.signals.left ? { type: 'overtaken' } : noAttempt;
}

/** The answer of the behaviors, or undefined once no caller waits. */
async function ask(live: AcceptedCall, event: ToolResponded, terms: Terms): Promise<Offer> {
  const { deadlines } = live.engine;
  const { behaviors } = live.services;
  const stop = new AbortController();
  const unassigned = Promise.withResolvers<Offer>();
  const leave = (): void => {
    stop.abort(new DOMException('The call ends without another attempt.', 'AbortError'));
    unassigned.resolve({ retry: undefined, events: [] });
  };
  const leftMs = leftOf(live, terms);
  if (isGivenUp(live, terms) || leftMs <= 0) return { retry: undefined, events: [] };
  const watch = leftMs === Number.POSITIVE_INFINITY ? undefined : deadlines.watch(leftMs, leave);
  const stopHearing = whenGivenUp(live, terms, leave);
  try {
    return await Promise.race([
      behaviors.offerRetry(event, live.turn.depth, stop.signal),
      unassigned.promise,
    ]);
  } finally {
    watch?.stop();
    stopHearing();
  }
}

/** Is the call cancelled, its turn ended, or the runtime closing? */
const isGivenUp = ({ signals, turn }: AcceptedCall, { deadlineLifted }: Terms): boolean =>
  signals.cancelled !== undefined || signals.left || (!deadlineLifted && turn.ended !== undefined);

/** Calls `wake` when the call is given up. Returns a function that removes this listener. */
function whenGivenUp(live: AcceptedCall, { deadlineLifted }: Terms, wake: () => void): () => void {
  live.signals.onCancel = wake;
  live.signals.onLeave = wake;
  const stopHearing = deadlineLifted ? undefined : live.turn.whenEnded(wake);
  return () => {
    live.signals.onCancel = undefined;
    live.signals.onLeave = undefined;
    stopHearing?.();
  };
}

/** Events that the ledger did not take are dropped. */
async function flushed(
  live: AcceptedCall,
  mark: number,
  extra: EntryExtra = {},
): Promise<{ readonly type: 'appended' } | Exclude<NextAttempt, { type: 'attempt' }>> {
  const { journal } = live;
  try {
    const { status } = await journal.flush(extra);
    if (status === 'appended') return { type: 'appended' };
    journal.rewind(mark);
    if (status === 'exhausted') aside(live, 'Not tried again: a budget has too little left for it.');
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
async function isDue(live: AcceptedCall, terms: Terms): Promise<boolean> {
  const { engine } = live;
  const { notBefore = 0, at = 0 } = live.journal.call?.retry ?? {};
  // The ledger's clock may have been set back, so the wait is limited to the requested duration.
  const latest = engine.clock.monotonicMs() + Math.max(0, notBefore - at);
  for (;;) {
    const waitMs = Math.min(notBefore - engine.ledger.now(), latest - engine.clock.monotonicMs());
    if (isGivenUp(live, terms) || leftOf(live, terms) <= Math.max(0, waitMs)) return false;
    if (waitMs <= 0) return true;
    terms.onWait?.();
    await new Promise<void>((resolve) => {
      const watch = engine.deadlines.watch(Math.min(waitMs, longestSleepMs), () => wake());
      const wake = (): void => {
        watch.stop();
        stopHearing();
        resolve();
      };
      const stopHearing = whenGivenUp(live, terms, wake);
    });
  }
}

const longestSleepMs = 3_600_000;

const leftOf = ({ engine, turn }: AcceptedCall, { deadlineLifted }: Terms): number =>
  deadlineLifted ? Number.POSITIVE_INFINITY : turn.deadlineAtMs - engine.clock.monotonicMs();

/** Stores the intent of the next attempt. */
async function begin(before: RunnableCall, terms: Terms): Promise<NextAttempt> {
  const { engine, turn, journal } = before;
  const looked = await lookAgain(before, terms);
  const objection = looked.type === 'objection' ? looked.objection : unknownBudget(before);
  if (objection !== undefined) aside(before, `Not tried again: ${objection}`);
  if (objection !== undefined || looked.type === 'objection') return noAttempt;
  const { live } = looked;
  const leftMs = leftOf(live, terms);
  if (isGivenUp(live, terms) || leftMs <= 0) return noAttempt;
  const { tool, toolKey } = live;
  const costMicros = knownCost(live);
  const shares = sharesOf(turn.budgets, costMicros, false, engine.ledger.now());
  const budgetMs = Math.min(tool.timeoutMs ?? engine.defaultTimeoutMs, leftMs);
  const deadlineMs = engine.clock.now() + budgetMs;
  const mark = journal.mark();
  const started = journal.call?.started;
  journal.apply({
    type: 'start',
    idempotencyKey: toolKey === undefined ? undefined : clean(live, toolKey),
    deadlineMs,
    mayRerun: tool.mayRerun,
    stages: started?.stages ?? [],
    reserved: [
      ...shares.map(({ counter, amount, metric }) => ({ counter, amount, metric })),
      ...endCounts(started?.reserved ?? []),
    ],
  });
  const kept = await flushed(live, mark, shares.length > 0 ? { reserve: shares } : {});
  return kept.type === 'appended'
    ? { type: 'attempt', live, terms: { budgetMs, deadlineMs, costMicros, lostCostMicros: 0 } }
    : kept;
}

/** Only the process that opened a turn knows its budget. */
function unknownBudget({ journal: { call }, turn }: AcceptedCall): string | undefined {
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
  | { readonly type: 'ready'; readonly live: RunnableCall }
  /** A change since the last attempt forbids another run. */
  | { readonly type: 'objection'; readonly objection: string };

const object = (objection: string): LookedAgain => ({ type: 'objection', objection });

async function lookAgain(before: RunnableCall, { repeatIsSafe }: Terms): Promise<LookedAgain> {
  const { engine, request, tool, notes, journal } = before;
  if (isStale(before)) return object('what the preview showed has gone stale.');
  const taken = await takeRecorded(before);
  if (taken.type === 'unusable') return object(`${taken.problem}.`);
  if (taken.type === 'differs') return object('its schema now gives the tool another value.');
  const live = withInput(before, tool, { ...taken.prepared, changes: before.input.changes }, notes);
  const policy = engine.policyInForce();
  if (policy?.version === journal.call?.policyVersion) return { type: 'ready', live };
  // The rules in force are no longer the ones that let the call run.
  const now = engine.undoToolFor(request.name, policy) ?? engine.toolFor(request.name, policy);
  if (now === undefined || !(now.mayRerun || repeatIsSafe))
    return object('rules have withdrawn that it may run twice.');
  const next = { ...live, policy, tool: now };
  const walked = await walk(next, [policyGate], nothingFound, { deadlineLifted: true });
  if (walked.type === 'stopped') return object('rules that came since would stop it.');
  const approved = journal.call?.confirmation?.asks ?? [];
  const asks = walked.live.asks.some(
    ({ by, digest }) => !approved.some((known) => known.by.name === by.name && known.digest === digest),
  );
  return asks ? object('rules that came since would ask a person.') : { type: 'ready', live: next };
}
