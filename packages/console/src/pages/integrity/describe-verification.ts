import type { JobSummary } from '@quittance/server/internal/http/api/job';
import type { Tone } from '../../ui/outcome-badge.tsx';

type Shown = Pick<JobSummary & { readonly kind: 'verify' }, 'status' | 'error' | 'result'>;

/** The result of a verification, in words. Only a complete verification may say "No problems found". */
export function describeVerification({ status, error, result }: Shown): {
  readonly tone: Tone;
  readonly title: string;
  readonly detail: string;
} {
  const looked =
    result === undefined
      ? ''
      : `${many(result.entries, 'entry', 'entries')} of ${many(result.sessions, 'session')}, ${many(result.calls, 'call')}`;
  if (result !== undefined && result.problems > 0)
    return {
      tone: 'bad',
      title: `${many(result.problems, 'problem')} found`,
      detail:
        status === 'done'
          ? `In ${looked}. The entries below were changed after they were written. First, make a copy of the ledger.`
          : `In ${looked}, read before the verification was stopped.`,
    };
  switch (status) {
    case 'done':
      return { tone: 'good', title: 'No problems found', detail: `Checked: ${looked}.` };
    case 'stopped':
      return {
        tone: 'attention',
        title: 'Stopped before the end',
        detail: `${looked === '' ? 'Nothing was read' : `No problems in the part that was read: ${looked}`}. The rest was not checked.`,
      };
    case 'failed':
      return {
        tone: 'bad',
        title: 'The verification failed',
        detail: error ?? 'The server gave no reason.',
      };
    case 'running':
      return { tone: 'active', title: 'Verifying', detail: '' };
  }
}

export const many = (count: number, one: string, several = `${one}s`): string =>
  `${count.toLocaleString()} ${count === 1 ? one : several}`;
