/** The times set for an open question: reminders, and escalations that add approvers. */
import type { Question } from './call.ts';
import type { ConfirmationReminded } from './events/confirmation-event.ts';

export type DueReminder = Pick<ConfirmationReminded, 'kind' | 'dueAt'>;

/**
 * The first time that is not recorded yet, due or not. Undefined if there is none before the question expires. `times`:
 * moments of reminders in addition to those of the rules.
 */
export function nextDue(
  { asks, askedAt, expiresAt, remindedAt }: Question,
  times: readonly number[] = [],
): DueReminder | undefined {
  let next: DueReminder | undefined;
  const consider = (dueAt: number, kind: DueReminder['kind']): void => {
    if (remindedAt !== undefined && dueAt <= remindedAt) return;
    if (expiresAt !== undefined && dueAt >= expiresAt) return;
    if (next === undefined || dueAt < next.dueAt) next = { kind, dueAt };
    // Several rules may set the same time. It is recorded once, as an escalation if one of them is.
    else if (dueAt === next.dueAt && kind === 'escalation') next = { kind, dueAt };
  };
  for (const time of times) consider(time, 'reminder');
  for (const { approval } of asks) {
    for (const seconds of approval?.reminders ?? []) consider(askedAt + seconds * 1_000, 'reminder');
    for (const { escalate = [] } of approval?.seats ?? [])
      for (const { after } of escalate) consider(askedAt + after * 1_000, 'escalation');
  }
  return next;
}
