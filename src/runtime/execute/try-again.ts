/**
 * What follows an attempt that failed, where a behaviour might have the call tried again.
 *
 * 1. The failure is kept first, as an end of the attempt and not of the call; then the behaviours are asked.
 * 2. Only what the tool declares lets its body run twice: reading, being idempotent, or saying of this failure that
 *    trying again is safe. Nobody's wish can replace that.
 * 3. Whoever made the call hears one outcome, after the last attempt. A call that is cancelled, out of time, left behind
 *    by a closing runtime or by a turn that has ended ends with the failure it had. What a person was asked about is
 *    its turn's no more.
 * 4. Another attempt costs what an attempt costs, under the same limits, and rules that came since have their say.
 */
import type { ToolResponded } from '../../call/event.ts';
import type { ToolOutcome } from '../../call/outcome.ts';
import { outcomeIsError, retryableButForDoubt } from '../../call/outcome.ts';
import type { Offer } from '../host/behaviors.ts';
import { endCounts, settlementsFor, sharesOf } from '../host/budget.ts';
import type { CallInHand } from '../state/call-in-hand.ts';
import { clean } from '../input/clean.ts';
import { costOf } from '../gates/cost.ts';
import { policyGate } from '../gates/policy.ts';
import type { Judgement } from '../attempt/judgement.ts';
import { LedgerTrouble } from '../../ledger/ledger-trouble.ts';
import { isStale } from '../state/recall-snapshot.ts';
import type { Attempt } from '../settle/settle.ts';
import { toRespondCommand } from '../settle/settle.ts';
import { takeRecorded } from '../accept/take-recorded.ts';
import { walk } from '../gates/walk.ts';

/** How long an attempt may take, and until when. */
export type AttemptTerms = { readonly budgetMs: number; readonly deadlineMs: number };

/** Undefined: the call ends with the failure it has. Overtaken: somebody else goes on with it. */
export type NextAttempt = AttemptTerms | 'overtaken' | undefined;

/** On what terms the call may go on. */
type Terms = {
  /** A person was asked, so neither the turn's deadline nor its end bounds anything any more. */
  readonly heldBefore: boolean;
  /** The body itself said of the failure that trying again is safe. */
  readonly authorSaysRetry: boolean;
};

/**
 * `heldBefore`: a person was asked, so the turn's deadline bounds nothing any more. `onKept` is called once the failure
 * is kept as the end of its attempt.
 */
export async function tryAgain(
  hand: CallInHand,
  judgement: Judgement,
  attempt: Attempt,
  heldBefore: boolean,
  onKept: () => void,
): Promise<NextAttempt> {
  const { behaviors } = hand.engine;
  const mark = hand.mark();
  const event = hand.apply(toRespondCommand(hand, judgement, attempt, false)) as ToolResponded; // what it makes
  if (!behaviors.wantRetry(event)) {
    hand.rewind(mark);
    return undefined;
  }
  const forbidden = whyNot(hand, judgement, heldBefore);
  if (forbidden !== undefined) {
    hand.rewind(mark);
    hand.aside(`Not tried again, although a behavior might have asked for it: ${forbidden}`);
    return undefined;
  }
  const charged = settlementsFor(hand.call?.started?.reserved ?? [], attempt.costMicros);
  const kept = await flushed(hand, mark, {
    ...(charged.length > 0 && { settle: charged }),
  });
  // Where somebody else has ended the call meanwhile, what this attempt gave is late: that is for whoever settles it.
  if (kept !== 'appended') return undefined;
  onKept();
  return askAndWait(hand, event, { heldBefore, authorSaysRetry: judgement.authorSaysRetry });
}

/** Goes on with a call whose owner died between two attempts. */
export async function goOnTrying(hand: CallInHand, failed: ToolResponded): Promise<NextAttempt> {
  // What was safe because the tool said so of all its calls must still be; what its body said of this failure stays said.
  const authorSaysRetry = !failed.unsettledEffect && hand.call?.started?.mayRerun !== true;
  const forbidden = whyNot(hand, { ...judgementOf(failed), authorSaysRetry }, true);
  if (forbidden === undefined) return askAndWait(hand, failed, { heldBefore: true, authorSaysRetry });
  hand.aside(`Not tried again: ${forbidden}`);
  return undefined;
}

/** How a recorded attempt ended, as it is settled with. */
export const judgementOf = ({
  outcome,
  content,
  toolSuccess,
  unsettledEffect,
}: ToolResponded): Judgement => ({
  outcome,
  content,
  toolSuccess,
  // Nothing is in doubt where the tool may be run again or its author said so.
  authorSaysRetry: !unsettledEffect,
});

/** What was kept of a recorded attempt. */
export const attemptOf = ({ reached, log, payloadExtras }: ToolResponded): Attempt => ({
  costMicros: 0, // it was charged when the attempt ended
  reached,
  log,
  payloadExtras,
});

/** Why the body may not run again, whoever asks. */
function whyNot(
  { tool, cancelled, left, turn }: CallInHand,
  { outcome, authorSaysRetry }: Judgement,
  heldBefore: boolean,
): string | undefined {
  if (cancelled !== undefined) return 'the call was cancelled.';
  if (!heldBefore && turn.ended !== undefined) return 'its turn has ended.';
  if (left) return 'the runtime is closing.';
  if (!isRetryable(outcome)) return 'the failure is not one that passes.';
  if (tool === undefined || tool.handoff) return 'its body does not run here.';
  return tool.mayRerun || authorSaysRetry
    ? undefined
    : 'the tool does not say that its calls may run twice (mode read, idempotent, or a ToolError marked retryable).';
}

const isRetryable = (outcome: ToolOutcome): boolean =>
  outcomeIsError(outcome) && retryableButForDoubt(outcome);

async function askAndWait(hand: CallInHand, event: ToolResponded, terms: Terms): Promise<NextAttempt> {
  if (hand.call?.retry === undefined) {
    const { retry, events } = await ask(hand, event, terms);
    // They are kept with whatever follows of the call.
    hand.bring(events);
    if (retry === undefined) return undefined;
    const mark = hand.mark();
    hand.apply({
      type: 'try_again',
      forEvent: event.id,
      attempt: event.attempt + 1,
      notBefore: retry.notBefore,
      by: retry.by,
    });
    const kept = await flushed(hand, mark);
    if (kept !== 'appended') return kept;
  }
  return (await isDue(hand, terms)) ? begin(hand, terms) : undefined;
}

/** What the behaviours say, or nothing as soon as nobody waits for it any more. */
async function ask(hand: CallInHand, event: ToolResponded, terms: Terms): Promise<Offer> {
  const { behaviors, deadlines } = hand.engine;
  const stop = new AbortController();
  const nobody = Promise.withResolvers<Offer>();
  const leave = (): void => {
    stop.abort(new DOMException('The call ends without another attempt.', 'AbortError'));
    nobody.resolve({ retry: undefined, events: [] });
  };
  const leftMs = leftOf(hand, terms);
  if (isGivenUp(hand, terms) || leftMs <= 0) return { retry: undefined, events: [] };
  const watch = leftMs === Number.POSITIVE_INFINITY ? undefined : deadlines.watch(leftMs, leave);
  const stopHearing = whenGivenUp(hand, terms, leave);
  try {
    return await Promise.race([behaviors.offerRetry(event, hand.turn.depth, stop.signal), nobody.promise]);
  } finally {
    watch?.stop();
    stopHearing();
  }
}

/** Whether somebody has cancelled it, its turn has ended, or the runtime closes. */
const isGivenUp = ({ cancelled, left, turn }: CallInHand, { heldBefore }: Terms): boolean =>
  cancelled !== undefined || left || (!heldBefore && turn.ended !== undefined);

/** Has somebody woken when the call is given up, until they say that they need not be. */
function whenGivenUp(hand: CallInHand, { heldBefore }: Terms, wake: () => void): () => void {
  hand.onCancel = wake;
  hand.onLeave = wake;
  const stopHearing = heldBefore ? undefined : hand.turn.whenEnded(wake);
  return () => {
    hand.onCancel = undefined;
    hand.onLeave = undefined;
    stopHearing?.();
  };
}

/** Nothing is kept where the ledger did not take it. */
async function flushed(
  hand: CallInHand,
  mark: number,
  extra: Parameters<CallInHand['flush']>[0] = {},
): Promise<'appended' | 'overtaken' | undefined> {
  try {
    const { status } = await hand.flush(extra);
    if (status === 'appended') return status;
    hand.rewind(mark);
    if (status === 'exhausted') hand.aside('Not tried again: a budget has too little left for it.');
    return status === 'conflict' ? 'overtaken' : undefined;
  } catch (error) {
    if (!(error instanceof LedgerTrouble)) throw error;
    hand.rewind(mark);
    return undefined;
  }
}

/** Waits until the time has come. False where the call is cancelled, its turn over or the runtime closed before. */
async function isDue(hand: CallInHand, terms: Terms): Promise<boolean> {
  const { engine } = hand;
  const { notBefore = 0, at = 0 } = hand.call?.retry ?? {};
  // The ledger's clock may have been set back since: nobody waits longer than was asked for.
  const latest = engine.clock.monotonicMs() + Math.max(0, notBefore - at);
  for (;;) {
    const waitMs = Math.min(notBefore - engine.ledger.now(), latest - engine.clock.monotonicMs());
    if (isGivenUp(hand, terms) || leftOf(hand, terms) <= Math.max(0, waitMs)) return false;
    if (waitMs <= 0) return true;
    await new Promise<void>((resolve) => {
      const watch = engine.deadlines.watch(Math.min(waitMs, longestSleepMs), () => wake());
      const wake = (): void => {
        watch.stop();
        stopHearing();
        resolve();
      };
      const stopHearing = whenGivenUp(hand, terms, wake);
    });
  }
}

const longestSleepMs = 3_600_000;

const leftOf = ({ engine, turn }: CallInHand, { heldBefore }: Terms): number =>
  heldBefore ? Number.POSITIVE_INFINITY : turn.deadlineAtMs - engine.clock.monotonicMs();

/** The intent of the next attempt. */
async function begin(hand: CallInHand, terms: Terms): Promise<NextAttempt> {
  const { engine, turn, call } = hand;
  const objection = (await objectionOf(hand, terms)) ?? unknownBudget(hand);
  if (objection !== undefined) {
    hand.aside(`Not tried again: ${objection}`);
    return undefined;
  }
  const leftMs = leftOf(hand, terms);
  if (isGivenUp(hand, terms) || leftMs <= 0) return undefined;
  const { knownTool: tool } = hand;
  const cost = costOf(hand);
  hand.costMicros = typeof cost === 'number' ? cost : 0;
  hand.lostCostMicros = 0;
  const shares = sharesOf(turn.budgets, hand.costMicros, false, engine.ledger.now());
  const budgetMs = Math.min(tool.timeoutMs ?? engine.defaultTimeoutMs, leftMs);
  const deadlineMs = engine.clock.now() + budgetMs;
  const mark = hand.mark();
  hand.apply({
    type: 'start',
    idempotencyKey: hand.toolKey === undefined ? undefined : clean(hand, hand.toolKey),
    deadlineMs,
    mayRerun: tool.mayRerun,
    stages: call?.started?.stages ?? [],
    reserved: [
      ...shares.map(({ counter, amount, metric }) => ({ counter, amount, metric })),
      ...endCounts(call?.started?.reserved ?? []),
    ],
  });
  const kept = await flushed(hand, mark, shares.length > 0 ? { reserve: shares } : {});
  return kept === 'appended' ? { budgetMs, deadlineMs } : kept;
}

/** What a turn may spend is known to the process that opened it, and to no other. */
function unknownBudget({ call, turn }: CallInHand): string | undefined {
  const isKnown = (counter: string): boolean =>
    turn.budgets.some((budget) =>
      budget.perDay ? counter.startsWith(`${budget.counter}/`) : counter === budget.counter,
    );
  const spent = call?.started?.reserved.find(
    ({ metric, counter }) => metric === 'cost_micros' && !isKnown(counter),
  );
  return spent && `how much may be spent under ${spent.counter} is known only to the process that began it.`;
}

/** What has come up since the last attempt that keeps the body from running. */
async function objectionOf(hand: CallInHand, { authorSaysRetry }: Terms): Promise<string | undefined> {
  const { engine, request } = hand;
  if (isStale(hand)) return 'what the preview showed has gone stale.';
  const taken = await takeRecorded(hand);
  if (taken.type === 'unusable') return `${taken.problem}.`;
  if (taken.type === 'differs') return 'its schema now gives the tool another value.';
  hand.prepared = { ...taken.prepared, changes: hand.input.changes };
  const policy = engine.policyInForce();
  if (policy?.version === hand.call?.policyVersion) return undefined;
  // Other rules are in force than those that let the call run.
  const { workflowSteps, rules } = hand;
  hand.policy = policy;
  hand.tool = engine.undoToolFor(request.name, policy) ?? engine.toolFor(request.name, policy);
  hand.asks = [];
  const stop = await walk(hand, [policyGate], true);
  const approved = hand.call?.confirmation?.asks ?? [];
  const asked = hand.asks.some(
    ({ by, digest }) => !approved.some((known) => known.by.name === by.name && known.digest === digest),
  );
  hand.asks = [];
  hand.workflowSteps = workflowSteps;
  hand.rules = rules;
  if (hand.tool === undefined || !(hand.tool.mayRerun || authorSaysRetry))
    return 'rules have withdrawn that it may run twice.';
  if (stop !== undefined) return 'rules that came since would stop it.';
  return asked ? 'rules that came since would ask a person.' : undefined;
}
