/** The words for where a call stands: what is shown, and what is read out when it changes. */
import { shownId } from '../base/safe-id.ts';
import { describeDecider } from '../call/describe-identity.ts';
import { troubleOf, userMessageOf } from '../call/outcome.ts';
import { outcomeLabel, outcomeTitle } from './outcome-words.ts';
import type { DisplayStatus, ToolCallView } from './tool-call-view.ts';

/** How much attention a status asks for. */
export type StatusTone = 'quiet' | 'active' | 'attention' | 'good' | 'bad' | 'unsure';

/** One or two words and a tone for every status. */
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

/** Where the call stands, in one or two words. A held call that was answered needs no approval any more. */
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

/** What there is to say about how a call stands, in a sentence; undefined where its status says everything. */
export function statusSentence(call: ToolCallView): string | undefined {
  const { outcome, confirmation, undone } = call;
  if (undone !== undefined) return `Undone by ${describeDecider(undone.by)}${because(undone.reason)}`;
  if (outcome !== undefined) return userMessageOf(outcome) ?? troubleOf(outcome);
  const failed = call.attempts.at(-1);
  if (failed?.outcome !== undefined)
    return `Attempt ${failed.attempt} ${outcomeLabel(failed.outcome)}; it may be tried again.`;
  // Once it runs, what was asked before is history.
  if (confirmation === undefined || call.status === 'running') return undefined;
  const { status, by, reason, description } = confirmation;
  switch (status) {
    case 'pending':
      return description;
    case 'withdrawn':
      return `The question was withdrawn${because(reason)}`;
    case 'expired':
      return 'Nobody answered in time.';
    case 'approved':
    case 'denied':
    case 'answered':
      return `${confirmationWords[status]}${by === undefined ? '' : ` by ${describeDecider(by)}`}${because(reason)}`;
  }
}

const because = (reason: string | undefined): string =>
  reason === undefined || reason === '' ? '.' : `: ${reason}`;

/** What was found out about a call in doubt. */
export const resolutionWords = {
  succeeded: 'It did happen',
  failed: 'It did not happen',
  safe_to_retry: 'Running it again does no harm',
} as const;

/** What is read out when the status of a call changes: which call, and where it stands. */
export function announcement(call: ToolCallView): string {
  const sentence = statusSentence(call);
  const label = `${shownId(call.displayName || call.toolName || 'Tool call')}: ${statusLabel(call)}`;
  return sentence === undefined ? `${label}.` : `${label}. ${sentence}`;
}
