import type { ReactNode } from 'react';
import { useEffect } from 'react';
import type { Job, JobList, JobSummary } from '@quittance/server/internal/http/api/job';
import { useAnswer } from '../../api/use-answer.ts';
import { Ago } from '../../ui/ago.tsx';
import { ForeignText } from '../../ui/foreign-text.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Skeleton } from '../../ui/skeleton.tsx';
import { formatDuration } from '../../ui/time.tsx';
import { describeJob } from './describe-job.ts';

const lookEveryMs = 5_000;

/**
 * The latest verifications and backtests of all users. `current`: the job this page follows, so its changes show at
 * once.
 */
export function JobTable({ current }: { readonly current: Job | undefined }): ReactNode {
  const { data, error, reload } = useAnswer<JobList>('/v1/jobs', { limit: 10 }, { everyMs: lookEveryMs });
  const moment = `${current?.jobId ?? ''} ${current?.status ?? ''}`;
  useEffect(() => {
    if (moment !== ' ') reload();
  }, [moment, reload]);
  return (
    <section className="card" aria-labelledby="jobs">
      <header>
        <h2 id="jobs">Latest checks</h2>
      </header>
      {error !== undefined && (
        <div className="body">
          <Problem error={error} onRetry={reload} />
        </div>
      )}
      {data === undefined ? (
        error === undefined && (
          <div className="body">
            <Skeleton rows={1} />
          </div>
        )
      ) : data.rows.length === 0 ? (
        <p className="body muted">No verification or backtest since the server started.</p>
      ) : (
        <Rows rows={data.rows} />
      )}
    </section>
  );
}

const words: Readonly<Record<Job['kind'], string>> = { verify: 'Verification', backtest: 'Backtest' };

function Rows({ rows }: { readonly rows: readonly JobSummary[] }): ReactNode {
  return (
    <div className="findings" tabIndex={0} role="group" aria-label="Results of the latest checks">
      <table className="card-rows">
        <caption className="hidden">Latest verifications and backtests, newest first</caption>
        <thead>
          <tr>
            <th scope="col">Job</th>
            <th scope="col">Started by</th>
            <th scope="col">Started</th>
            <th scope="col" className="num">
              Duration
            </th>
            <th scope="col">Result</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((job) => {
            const { tone, text } = describeJob(job);
            return (
              <tr key={job.jobId}>
                <td data-label="Job">{words[job.kind]}</td>
                <td data-label="Started by">
                  <ForeignText text={job.startedBy} />
                </td>
                <td data-label="Started">
                  <Ago at={job.startedAt} />
                </td>
                <td className="num" data-label="Duration">
                  {job.endedAt === undefined ? '–' : formatDuration(job.endedAt - job.startedAt)}
                </td>
                <td data-label="Result">
                  <span className="badge" data-tone={tone}>
                    {job.status}
                  </span>{' '}
                  <ForeignText text={text} />
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
