import type { JobSummary } from '../../../../src/http/api/job.ts';
import type { Tone } from '../../ui/outcome-badge.tsx';
import { many } from './describe-verification.ts';

/** What came of a job, in a line. */
export function describeJob(job: JobSummary): { readonly tone: Tone; readonly text: string } {
  const { status, progress, error } = job;
  switch (status) {
    case 'running':
      return { tone: 'active', text: describeProgress(progress) };
    case 'failed':
      return { tone: 'bad', text: error ?? 'The server did not say why.' };
    case 'done':
    case 'stopped': {
      const isWhole = status === 'done';
      if (job.result === undefined) return { tone: 'attention', text: 'It had not begun.' };
      return job.kind === 'verify'
        ? describeEntries(job.result, isWhole)
        : describeCalls(job.result, isWhole && job.result.complete);
    }
  }
}

const describeProgress = ({ done, total }: JobSummary['progress']): string =>
  total === 0 ? 'It begins.' : `${done.toLocaleString()} of ${total.toLocaleString()}`;

type ResultOf<Kind extends JobSummary['kind']> = NonNullable<
  (JobSummary & { readonly kind: Kind })['result']
>;

/** Nothing is said of what was not read. */
function describeEntries(
  { problems, entries }: ResultOf<'verify'>,
  isWhole: boolean,
): { readonly tone: Tone; readonly text: string } {
  const read = `${many(entries, 'entry', 'entries')}${isWhole ? '' : ', and the rest was not read'}`;
  if (problems > 0) return { tone: 'bad', text: `${many(problems, 'problem')} in ${read}` };
  return { tone: isWhole ? 'good' : 'attention', text: `Nothing wrong in ${read}` };
}

function describeCalls(
  { judged, different }: ResultOf<'backtest'>,
  isWhole: boolean,
): { readonly tone: Tone; readonly text: string } {
  const text = `${different.toLocaleString()} of ${many(judged, 'call')} decided otherwise${isWhole ? '' : ', and the rest was not judged'}`;
  return { tone: isWhole && different === 0 ? 'good' : 'attention', text };
}
