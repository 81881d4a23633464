/**
 * The intent of a call: claim, reservations, sealed input and start in one append. Only then may the body run.
 *
 * A read without limits changes and reserves nothing, so its request may be stored together with its outcome.
 */
import type { ReservedShare } from '../call/events/attempt-event.ts';
import type { ClaimHolder } from '../ledger/claims.ts';
import type { AppendResult } from '../ledger/journal.ts';
import type { Policy } from '../policy/judge/compile-policy.ts';
import { meetHolder, outOfBudget } from './gate-checks.ts';
import { recordRuling } from './gates.ts';
import { grantIsPast } from './grants.ts';
import { isReserved } from './budget.ts';
import { clean } from './call-input.ts';
import { usedUp } from './contract-rules.ts';
import { isAllowedByExpiry } from './settle.ts';
import type { CheckedCall, Stop } from './active-call.ts';
import type { EntryExtra } from './call-journal.ts';
import { sealInput } from './recorded-input.ts';
import { requireSpill } from './recall.ts';
import type { AttemptTerms } from './retry-attempt.ts';

type Intent =
  | { readonly type: 'stored'; readonly active: CheckedCall; readonly terms: AttemptTerms }
  | { readonly type: 'refused'; readonly active: CheckedCall; readonly stop: Stop }
  /** State read by the gates has changed, so they must run again. */
  | { readonly type: 'changed' }
  /** Another process has changed the call. */
  | { readonly type: 'overtaken' };

export async function storeIntent(active: CheckedCall, deadlineLifted: boolean): Promise<Intent> {
  const { engine, turn, tool, journal } = active;
  const isRecorded = needsIntent(active);
  if (isRecorded) await requireSpill(engine);
  const mark = journal.mark();
  recordRuling(active, undefined);
  const toolMs = tool.timeoutMs ?? engine.defaultTimeoutMs;
  const leftMs = deadlineLifted ? Infinity : turn.deadlineAtMs - engine.clock.monotonicMs();
  const budgetMs = Math.max(0, Math.min(toolMs, leftMs));
  // Other processes use the ledger's clock.
  const deadlineMs = (tool.handoff ? engine.ledger : engine.clock).now() + budgetMs;
  journal.apply({
    type: 'start',
    idempotencyKey: active.toolKey === undefined ? undefined : clean(active, active.toolKey),
    deadlineMs,
    mayRerun: tool.mayRerun,
    handoff: tool.handoff,
    stages: active.workflowSteps.flatMap(({ workflow, ruling: { stageId } }) =>
      stageId === undefined ? [] : [{ workflow: workflow.name, stageId }],
    ),
    reserved: reservedBy(active),
  });
  const terms = { budgetMs, deadlineMs, costMicros: active.costMicros, lostCostMicros: 0 };
  if (grantIsPast(active)) {
    journal.rewind(mark);
    return { type: 'changed' };
  }
  if (isRecorded) {
    const result = await journal.flush(extraOf(active));
    if (result.status !== 'appended') {
      const refusal = await readRefusal(active, result);
      if (refusal.type !== 'overtaken') journal.rewind(mark);
      return refusal;
    }
  }
  return { type: 'stored', active, terms };
}

/** The shares to reserve, and the counts that the end of the call adds. */
const reservedBy = ({ shares, counted }: CheckedCall): readonly ReservedShare[] => [
  ...shares.filter(isReserved).map(({ counter, amount, metric }) => ({ counter, amount, metric })),
  ...counted,
];

/** True unless the call is a read without limits. A call allowed by an expiry needs an intent too: a timely denial counts until then. */
const needsIntent = ({ tool, shares, claimKey, journal, grant, takenOver }: CheckedCall): boolean =>
  !tool.surelyReads ||
  // The body may have ended the previous process, so every further attempt is recorded.
  takenOver !== undefined ||
  isAllowedByExpiry(journal.call?.confirmation) ||
  tool.handoff ||
  shares.length > 0 ||
  claimKey !== undefined ||
  journal.isMoving ||
  grant !== undefined;

/** The other parts of the append: shares of limits, the claim on the key, the sealed input. */
function extraOf(active: CheckedCall): EntryExtra {
  const { claimKey, shares, input, supersedes, grant } = active;
  const sealed = sealInput(active);
  return {
    ...(shares.length > 0 && { reserve: shares }),
    ...(claimKey !== undefined && {
      claim: {
        key: claimKey,
        inputDigest: input.effective.digest,
        ...(supersedes !== undefined && { supersedes }),
      },
    }),
    ...(grant !== undefined && { guards: [grant.guard] }),
    ...(sealed !== undefined && { sealed }),
  };
}

/** Translates a refusal of the intent by the ledger. */
async function readRefusal(
  active: CheckedCall,
  result: Exclude<AppendResult, { status: 'appended' }>,
): Promise<Exclude<Intent, { type: 'stored' }>> {
  switch (result.status) {
    case 'conflict':
      return { type: 'overtaken' };
    case 'displaced':
      throw new TypeError('The ledger refused a cursor that the entry does not have.');
    case 'moved':
      return { type: 'changed' };
    case 'exhausted':
      return exhausted(active, result.counter, result.used);
    case 'claimed':
      return claimed(active, result.holder);
  }
}

async function exhausted(
  active: CheckedCall,
  counter: string,
  used: number,
): Promise<Exclude<Intent, { type: 'stored' }>> {
  const share = active.shares.find((each) => each.counter === counter);
  if (share === undefined)
    throw new TypeError(`The ledger refused a reservation that the entry does not have: ${counter}`);
  // Another call took the last use of the grant, so the gates run again and may ask a person.
  if ('grantId' in share) return { type: 'changed' };
  const refused = { ...active, passages: [] };
  if (!('limits' in share)) return { type: 'refused', active: refused, stop: outOfBudget(share, used) };
  const { stop, mark } = await usedUp(active, active.policy as Policy, share); // a contract's share comes from a policy
  return { type: 'refused', active: { ...refused, rules: [...active.rules, mark] }, stop };
}

async function claimed(
  active: CheckedCall,
  holder: ClaimHolder,
): Promise<Exclude<Intent, { type: 'stored' }>> {
  const { claimKey } = active;
  const refused = { ...active, passages: [] };
  const verdict = claimKey === undefined ? undefined : await meetHolder(active, claimKey, holder);
  if (verdict?.type === 'stopped')
    return { type: 'refused', active: { ...refused, ...verdict.found }, stop: verdict.stop };
  // The key was released or needs a person since the gate. A repeat of the same call handles that.
  return {
    type: 'refused',
    active: refused,
    stop: {
      type: 'deny',
      reason: 'duplicate',
      code: 'call.twin',
      details: `Call ${holder.callId} took the same idempotency key first.`,
    },
  };
}
