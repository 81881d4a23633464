/** From the last gate to the outcome: a place, the claim and the intent in one append, the body, the judgement. */
import type { ReservedShare, StageMark, ToolResponded } from '../../call/event.ts';
import type { ToolOutcome } from '../../call/outcome.ts';
import { outcomeIsError } from '../../call/outcome.ts';
import type { Policy } from '../../policy/judge/compile-policy.ts';
import { isPromiseLike } from '../../base/when-ready.ts';
import { AttemptRun } from './attempt-run.ts';
import { untilReported } from '../handoff/await-report.ts';
import { isTaken } from '../host/budget.ts';
import type { CallInHand } from '../state/call-in-hand.ts';
import { clean } from '../input/clean.ts';
import { usedUp } from '../rules/contract-rules.ts';
import { copyOutcome } from '../settle/copy-outcome.ts';
import { costOf } from '../gates/cost.ts';
import { keepTyped } from '../accept/keep-typed.ts';
import { isAllowedByExpiry, isUsedTooLate, settleExpired } from '../settle/expiry.ts';
import { turnIsOver } from '../gates/deadline.ts';
import type { Stop } from '../state/gate.ts';
import { meetHolder } from '../gates/key.ts';
import { outOfBudget } from '../gates/limits.ts';
import { isStale } from '../state/recall-snapshot.ts';
import { beforeIntent } from '../state/spill.ts';
import { resourceKeysOf } from '../input/resource-keys.ts';
import { keepEnd, overtaken, settle, settleStopped } from '../settle/settle.ts';
import { sealInput } from '../state/seal-input.ts';
import type { AttemptTerms } from './try-again.ts';
import { attemptOf, goOnTrying, judgementOf, tryAgain } from './try-again.ts';
import { cancelStop, unlessOver } from '../gates/unless-over.ts';
import { grantIsPast } from '../grants/use-grant.ts';
import { rule } from '../gates/walk.ts';

/** Something the gates went by has moved since: they must look again. */
export type Moved = 'moved';

/** `heldBefore`: a person was asked, so the turn's deadline bounds the attempt no more. */
export const execute = (hand: CallInHand, heldBefore: boolean): Promise<ToolOutcome | Moved> =>
  hand.takePlace === undefined ? start(hand, heldBefore) : startInPlace(hand, hand.takePlace(), heldBefore);

async function startInPlace(
  hand: CallInHand,
  place: Promise<() => void>,
  heldBefore: boolean,
): Promise<ToolOutcome | Moved> {
  const waited = await unlessOver(hand, place, heldBefore);
  if (waited.type === 'over') {
    void place.then((leave) => leave());
    rule(hand, waited.stop);
    return end(hand, waited.stop);
  }
  const leave = waited.value;
  try {
    return await start(hand, heldBefore);
  } finally {
    leave();
  }
}

async function start(hand: CallInHand, heldBefore: boolean): Promise<ToolOutcome | Moved> {
  const { engine, turn, knownTool: tool } = hand;
  const undecided = hand.mark();
  const asked = hand.call?.confirmation;
  // The checks, or the wait for a place, may have taken longer than the approval was good for.
  if (asked !== undefined && isUsedTooLate(asked, engine.ledger.now())) return settleExpired(hand, asked);
  const stop = lastLook(hand, heldBefore) ?? (hand.input.form === 'json' ? undefined : await keepTyped(hand));
  rule(hand, stop);
  if (stop !== undefined) return end(hand, stop);

  const toolMs = tool.timeoutMs ?? engine.defaultTimeoutMs;
  const leftMs = heldBefore ? Number.POSITIVE_INFINITY : turn.deadlineAtMs - engine.clock.monotonicMs();
  const budgetMs = Math.max(0, Math.min(toolMs, leftMs));
  // Other processes go by the ledger's clock.
  const deadlineMs = (tool.handoff ? engine.ledger : engine.clock).now() + budgetMs;
  hand.apply({
    type: 'start',
    idempotencyKey: hand.toolKey === undefined ? undefined : clean(hand, hand.toolKey),
    deadlineMs,
    mayRerun: tool.mayRerun,
    handoff: tool.handoff,
    ...(hand.workflowSteps.length > 0 && { stages: stagesOf(hand) }),
    reserved: reservedBy(hand),
  });
  if (grantIsPast(hand)) {
    hand.rewind(undecided);
    return 'moved';
  }
  if (needsIntent(hand)) {
    const refused = await appendIntent(hand);
    if (refused === 'overtaken') return overtaken(hand);
    if (refused !== undefined) {
      hand.rewind(undecided);
      if (refused === 'moved') return refused;
      rule(hand, refused);
      return end(hand, refused);
    }
  }
  return attempt(hand, { budgetMs, deadlineMs }, heldBefore);
}

/** What is taken, and what the end of the call counts. */
const reservedBy = ({ shares, counted }: CallInHand): readonly ReservedShare[] => [
  ...shares.filter(isTaken).map(({ counter, amount, metric }) => ({ counter, amount, metric })),
  ...counted,
];

const stagesOf = ({ workflowSteps }: CallInHand): readonly StageMark[] =>
  workflowSteps.flatMap(({ workflow, ruling: { stageId } }) =>
    stageId === undefined ? [] : [{ workflow: workflow.name, stageId }],
  );

/** What may have changed while the call was being judged or waited for its place. */
function lastLook(hand: CallInHand, heldBefore: boolean): Stop | undefined {
  if (hand.cancelled !== undefined) return cancelStop(hand.cancelled);
  if (isStale(hand)) return staleStop;
  return heldBefore ? undefined : turnIsOver(hand);
}

const staleStop: Stop = {
  type: 'deny',
  reason: 'expired',
  code: 'confirmation.expired',
  details: 'What the preview showed had gone stale before the call could run.',
};

export const end = (hand: CallInHand, stop: Stop): Promise<ToolOutcome> =>
  stop.type === 'copy' ? copyOutcome(hand, stop.from) : settleStopped(hand, stop);

/**
 * A read under no limit changes nothing and takes nothing: its request may be kept with its outcome. A call that an
 * expiry allowed needs an intent in any case, because a denial that was received in time counts until then.
 */
const needsIntent = ({
  knownTool: tool,
  shares,
  claimKey,
  isMoving,
  grant,
  mustIntend,
  call,
}: CallInHand): boolean =>
  !tool.surelyReads ||
  mustIntend ||
  isAllowedByExpiry(call?.confirmation) ||
  tool.handoff ||
  shares.length > 0 ||
  claimKey !== undefined ||
  isMoving ||
  grant !== undefined;

/** Undefined where the intent is kept and the body may run. */
async function appendIntent(hand: CallInHand): Promise<Stop | 'overtaken' | Moved | undefined> {
  const ready = beforeIntent(hand.engine);
  if (isPromiseLike(ready)) await ready;
  const { claimKey, shares, input, supersedes, grant } = hand;
  const result = await hand.flush({
    ...(shares.length > 0 && { reserve: shares }),
    ...(claimKey !== undefined && {
      claim: {
        key: claimKey,
        inputDigest: input.effective.digest,
        ...(supersedes !== undefined && { supersedes }),
      },
    }),
    ...(grant !== undefined && { guards: [grant.guard] }),
    ...sealInput(hand),
  });
  switch (result.status) {
    case 'appended':
      return undefined;
    case 'conflict':
      return 'overtaken';
    case 'displaced':
      throw new TypeError('The ledger refused a position nobody named.');
    case 'moved':
      return 'moved';
    case 'exhausted': {
      const share = shares.find(({ counter }) => counter === result.counter);
      if (share === undefined)
        throw new TypeError(`The ledger refused a reservation nobody asked for: ${result.counter}`);
      // Another call took the last use of the grant: a person is asked after all.
      if ('grantId' in share) return 'moved';
      return 'limits' in share
        ? usedUp(hand, hand.policy as Policy, share) // a share of a contract comes of a policy
        : outOfBudget(share, result.used);
    }
    case 'claimed': {
      const stop = claimKey === undefined ? undefined : await meetHolder(hand, claimKey, result.holder);
      // The key came free, or needs a person, between the gate and the claim: the same call asked again finds out.
      return (
        stop ?? {
          type: 'deny',
          reason: 'duplicate',
          code: 'call.twin',
          details: `Call ${result.holder.callId} took the same idempotency key first.`,
        }
      );
    }
  }
}

/**
 * Runs the body of a call once more after an attempt whose end nobody saw. Undefined where somebody else was first.
 * What the lost attempt had reserved stays reserved and is charged with this one.
 */
export async function attemptAgain(hand: CallInHand): Promise<ToolOutcome | undefined> {
  const { engine, knownTool: tool, call } = hand;
  const budgetMs = tool.timeoutMs ?? engine.defaultTimeoutMs;
  const deadlineMs = engine.clock.now() + budgetMs;
  const reserved = call?.started?.reserved ?? [];
  const cost = costOf(hand);
  hand.costMicros = typeof cost === 'number' ? cost : 0;
  hand.lostCostMicros = reserved.find(({ metric }) => metric === 'cost_micros')?.amount ?? 0;
  hand.apply({
    type: 'start',
    idempotencyKey: hand.toolKey === undefined ? undefined : clean(hand, hand.toolKey),
    deadlineMs,
    mayRerun: tool.mayRerun,
    stages: call?.started?.stages ?? [],
    reserved,
  });
  const result = await hand.flush();
  return result.status === 'appended' ? attempt(hand, { budgetMs, deadlineMs }, true) : undefined;
}

/**
 * Goes on with a call between two of its attempts, whose owner died there: it is tried again if somebody asks for it, and
 * otherwise ends as it stands. Undefined where somebody else was first.
 */
export async function attemptNext(hand: CallInHand, failed: ToolResponded): Promise<ToolOutcome | undefined> {
  const next = await goOnTrying(hand, failed);
  if (next === 'overtaken') return undefined;
  return next === undefined ? endAsFailed(hand, failed) : attempt(hand, next, true);
}

/** Ends a call with the failure it has. Undefined where somebody else goes on with it. */
export async function endAsFailed(hand: CallInHand, failed: ToolResponded): Promise<ToolOutcome | undefined> {
  const judgement = judgementOf(failed);
  return (await keepEnd(hand, judgement, attemptOf(failed))) ? judgement.outcome : undefined;
}

async function attempt(hand: CallInHand, first: AttemptTerms, heldBefore: boolean): Promise<ToolOutcome> {
  const { knownTool: tool, turn, engine } = hand;
  hand.resourceKeys = resourceKeysOf(tool, () => hand.handOut());
  if (!tool.surelyReads) turn.recent.noteWrite(hand.resourceKeys);
  if (tool.handoff) return untilReported(hand);
  const { notes } = hand;
  for (let bounds = first; ;) {
    const run = new AttemptRun(hand, bounds);
    const judgement = await run.judgement();
    const kept = await run.kept(judgement);
    const next =
      engine.behaviors.anyRetries && outcomeIsError(judgement.outcome)
        ? await tryAgain(hand, judgement, kept, heldBefore, () => run.over())
        : undefined;
    if (next === undefined) {
      const outcome = await settle(hand, judgement, kept);
      run.over();
      return outcome;
    }
    run.over();
    if (next === 'overtaken') return overtaken(hand);
    bounds = next;
    // What was to be said of the attempt that failed is not to be said of the next one.
    hand.notes = notes;
    hand.outputRules = [];
  }
}
