/** What a call records and takes before its body may run. */
import type { ReservedShare, StageMark } from '../../call/event.ts';
import type { EntryExtra } from '../state/call-journal.ts';
import { nothingMore } from '../state/call-journal.ts';
import { isTaken } from '../host/budget.ts';
import type { JudgedCall } from '../state/call-stages.ts';
import { isAllowedByExpiry } from '../settle/expiry.ts';
import { sealInput } from '../state/seal-input.ts';

/** The shares to reserve, and the counts that the end of the call adds. */
export const reservedBy = ({ shares, counted }: JudgedCall): readonly ReservedShare[] =>
  shares.length === 0
    ? counted
    : [
        ...shares.filter(isTaken).map(({ counter, amount, metric }) => ({ counter, amount, metric })),
        ...counted,
      ];

export const stagesOf = ({ workflowSteps }: JudgedCall): readonly StageMark[] =>
  workflowSteps.flatMap(({ workflow, ruling: { stageId } }) =>
    stageId === undefined ? [] : [{ workflow: workflow.name, stageId }],
  );

/**
 * A read without limits changes and reserves nothing, so its request may be stored together with its outcome.
 * A call that an expiry allowed always needs an intent, because a denial that was received in time counts
 * until then.
 */
export const needsIntent = ({ tool, shares, claimKey, journal, grant, manner }: JudgedCall): boolean =>
  !tool.surelyReads ||
  // The body may have ended the previous process, so from now on every attempt is recorded.
  manner.takenOver !== undefined ||
  isAllowedByExpiry(journal.call?.confirmation) ||
  tool.handoff ||
  shares.length > 0 ||
  claimKey !== undefined ||
  journal.isMoving ||
  grant !== undefined;

/** What the intent takes in the same append: shares of limits, the claim on the key, the sealed input. */
export const intentOf = (live: JudgedCall): EntryExtra => {
  const { claimKey, shares, input, supersedes, grant } = live;
  const sealed = sealInput(live);
  if (claimKey === undefined && shares.length === 0 && grant === undefined && sealed === undefined)
    return nothingMore;
  return {
    reserve: shares.length > 0 ? shares : undefined,
    claim:
      claimKey === undefined
        ? undefined
        : {
            key: claimKey,
            inputDigest: input.effective.digest,
            ...(supersedes !== undefined && { supersedes }),
          },
    guards: grant === undefined ? undefined : [grant.guard],
    sealed,
  };
};
