/**
 * The times of an approval policy, with the quiet hours added. They are stored with the question, like its expiry, so
 * every process and the next start see the same times.
 */
import type { QuietTimes } from '../../base/quiet-hours.ts';
import type { ApprovalPolicy, Seat } from '../../call/approval-policy.ts';
import type { Ask } from '../../call/event.ts';

/**
 * Reminders and escalations wait for the end of quiet hours: only waking time counts. `earlier`: asks of an earlier
 * question of the call. Those that are repeated have the quiet hours already.
 */
export function addQuietHours(
  asks: readonly Ask[],
  earlier: readonly Ask[],
  askedAt: number,
  quietTimes: QuietTimes,
): readonly Ask[] {
  const extend = (seconds: number): number =>
    Math.ceil((quietTimes.addWakingTime(askedAt, seconds * 1_000) - askedAt) / 1_000);
  return asks.map((ask) =>
    ask.approval === undefined || earlier.includes(ask)
      ? ask
      : { ...ask, approval: mapTimes(ask.approval, extend) },
  );
}

/** The policy without its times. Whether an approval still counts does not depend on quiet hours. */
export const withoutTimes = (approval: ApprovalPolicy | undefined): ApprovalPolicy | undefined =>
  approval && mapTimes(approval, () => 1);

function mapTimes(
  { reminders, seats, ...policy }: ApprovalPolicy,
  toTime: (seconds: number) => number,
): ApprovalPolicy {
  return {
    ...policy,
    seats: seats.map(({ escalate, ...seat }): Seat =>
      escalate === undefined
        ? seat
        : { ...seat, escalate: escalate.map(({ after, ...added }) => ({ ...added, after: toTime(after) })) },
    ),
    ...(reminders !== undefined && { reminders: reminders.map(toTime) }),
  };
}
