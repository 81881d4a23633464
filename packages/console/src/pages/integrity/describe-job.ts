import type { JobSummary } from '@quittance/server/internal/http/api/job';
import type { Tone } from '../../ui/outcome-badge.tsx';
import { many } from './describe-verification.ts';

/** The result of a job, in one line. */
export function describeJob(job: JobSummary): { readonly tone: Tone; readonly text: string } {
  const { status, progress, error } = job;
  switch (status) {
    case 'running':
      return { tone: 'active', text: describeProgress(progress) };
    case 'failed':
      return { tone: 'bad', text: error ?? 'The server gave no reason.' };
    case 'done':
    case 'stopped': {
      const isWhole = status === 'done';
      if (job.result === undefined) return { tone: 'attention', text: 'It had not started.' };
      return job.kind === 'verify'
        ? describeEntries(job.result, isWhole)
        : describeCalls(job.result, isWhole && job.result.complete);
    }
  }
}

const describeProgress = ({ done, total }: JobSummary['progress']): string =>
  total === 0 ? 'Starting.' : `${done.toLocaleString()} of ${total.toLocaleString()}`;

type ResultOf<Kind extends JobSummary['kind']> = NonNullable<
  (JobSummary & { readonly kind: Kind })['result']
>;

/** Makes no statement about entries that were not read. */
function describeEntries(
  { problems, entries }: ResultOf<'verify'>,
  isWhole: boolean,
): { readonly tone: Tone; readonly text: string } {
  const read = `${many(entries, 'entry', 'entries')}${isWhole ? '' : '; the rest was not read'}`;
  if (problems > 0) return { tone: 'bad', text: `${many(problems, 'problem')} in ${read}` };
  return { tone: isWhole ? 'good' : 'attention', text: `No problems in ${read}` };
}

function describeCalls(
  { judged, different }: ResultOf<'backtest'>,
  isWhole: boolean,
): { readonly tone: Tone; readonly text: string } {
  const text = `${different.toLocaleString()} of ${many(judged, 'call')} decided differently${isWhole ? '' : '; the rest was not checked'}`;
  return { tone: isWhole && different === 0 ? 'good' : 'attention', text };
}
