/** Words for the status of a call, shown on the page and read out by screen readers. */
import { shownId } from '../base/safe-id.ts';
import { describeDecider } from '../call/describe-identity.ts';
import { troubleOf, userMessageOf } from '../call/outcome.ts';
import { outcomeLabel, outcomeTitle } from './outcome-words.ts';
import type { DisplayStatus, ToolCallView } from './tool-call-view.ts';

/** How much attention a status asks for. */
export type StatusTone = 'quiet' | 'active' | 'attention' | 'good' | 'bad' | 'unsure';

/** Label and tone of every status. */
export const statusWords: {
  readonly [Status in DisplayStatus]: { readonly label: string; readonly tone: StatusTone };
} = Object.freeze({
  requested: { label: 'Requested', tone: 'quiet' },
  held: { label: 'Needs approval', tone: 'attention' },
  running: { label: 'Running', tone: 'active' },
  succeeded: { label: outcomeTitle('succeeded'), tone: 'good' },
  failed: { label: outcomeTitle('failed'), tone: 'bad' },
  denied: { label: outcomeTitle('denied'), tone: 'bad' },
  timed_out: { label: outcomeTitle('timed_out'), tone: 'unsure' },
  indeterminate: { label: outcomeTitle('indeterminate'), tone: 'unsure' },
  undone: { label: 'Undone', tone: 'quiet' },
});

/** Label of the call's status. A held call that was answered is no longer labelled "Needs approval". */
export function statusLabel({ status, confirmation }: ToolCallView): string {
  if (status === 'requested' && confirmation?.status === 'approved') return 'Approved';
  if (status !== 'held' || confirmation === undefined) return statusWords[status].label;
  return confirmationWords[confirmation.status];
}

const confirmationWords = {
  pending: statusWords.held.label,
  approved: 'Approved',
  denied: 'Denied',
  answered: 'Answered',
  withdrawn: 'Withdrawn',
  expired: 'Expired',
} as const;

/** One sentence about the state of the call, or undefined if the status label says everything. */
export function statusSentence(call: ToolCallView): string | undefined {
  const { outcome, confirmation, undone } = call;
  if (undone !== undefined) return `Undone by ${describeDecider(undone.by)}${because(undone.reason)}`;
  if (outcome !== undefined) return userMessageOf(outcome) ?? troubleOf(outcome);
  const failed = call.attempts.at(-1);
  if (failed?.outcome !== undefined)
    return `Attempt ${failed.attempt} ${outcomeLabel(failed.outcome)}. It may be retried.`;
  // Once the call runs, the confirmation is history.
  if (confirmation === undefined || call.status === 'running') return undefined;
  const { status, by, reason, description } = confirmation;
  switch (status) {
    case 'pending':
      return description;
    case 'withdrawn':
      return `The question was withdrawn${because(reason)}`;
    case 'expired':
      return 'The question expired without an answer.';
    case 'approved':
    case 'denied':
    case 'answered':
      return `${confirmationWords[status]}${by === undefined ? '' : ` by ${describeDecider(by)}`}${because(reason)}`;
  }
}

const because = (reason: string | undefined): string =>
  reason === undefined || reason === '' ? '.' : `: ${reason}`;

/** Labels for the resolution of an unresolved call. */
export const resolutionWords = {
  succeeded: 'It happened',
  failed: 'It did not happen',
  safe_to_retry: 'Safe to retry',
} as const;

/** Text for screen readers when a call changes status: the call and its new state. */
export function announcement(call: ToolCallView): string {
  const sentence = statusSentence(call);
  const label = `${shownId(call.displayName || call.toolName || 'Tool call')}: ${statusLabel(call)}`;
  return sentence === undefined ? `${label}.` : `${label}. ${sentence}`;
}
