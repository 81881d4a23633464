import type { JobSummary } from '../../../../src/http/api/job.ts';
import type { Tone } from '../../ui/outcome-badge.tsx';

type Shown = Pick<JobSummary & { readonly kind: 'verify' }, 'status' | 'error' | 'result'>;

/** A verification in words. "As it was written" is said of a whole ledger, or not at all. */
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
          ? `In ${looked}. What is named below is not as it was written: keep a copy of the ledger before anything else.`
          : `In the ${looked} that were read before it was stopped.`,
    };
  switch (status) {
    case 'done':
      return { tone: 'good', title: 'Everything is as it was written', detail: `Checked: ${looked}.` };
    case 'stopped':
      return {
        tone: 'attention',
        title: 'Stopped before the end',
        detail: `${looked === '' ? 'Nothing was read' : `Read until then, and nothing wrong in it: ${looked}`}. Nothing is known about the rest.`,
      };
    case 'failed':
      return {
        tone: 'bad',
        title: 'It could not be verified',
        detail: error ?? 'The server did not say why.',
      };
    case 'running':
      return { tone: 'active', title: 'Verifying', detail: '' };
  }
}

export const many = (count: number, one: string, several = `${one}s`): string =>
  `${count.toLocaleString()} ${count === 1 ? one : several}`;
