import type { ReactNode } from 'react';
import type { Job } from '@quittance/server/internal/http/api/job';
import { useMay } from '../api/use-me.ts';
import '../charts/charts.css';
import '../styles/job.css';

type Props = {
  readonly job: Job;
  /** Title of the job, for example "Verifying". */
  readonly title: string;
  readonly onStop: () => void;
};

/** Unit counted in each phase of a job, by the server's name of the phase. */
const counted: Readonly<Record<string, string>> = {
  verify: 'entries',
  'read tables': 'calls in the read tables',
  calls: 'calls',
};

/** Progress of a job, with a stop button. */
export function JobProgress({ job: { progress }, title, onStop }: Props): ReactNode {
  const mayStop = useMay('operator');
  const { done, total, label } = progress;
  const isKnown = total > 0;
  const text = isKnown
    ? `${done.toLocaleString()} of ${total.toLocaleString()} ${Object.hasOwn(counted, label) ? counted[label] : label}`
    : 'Starting…';
  return (
    <div className="job-progress">
      <div className="job-progress-text">
        <strong>{title}</strong>
        <span className="muted">{text}</span>
      </div>
      <div
        className="meter"
        data-tone="active"
        role="progressbar"
        aria-label={title}
        aria-valuetext={text}
        {...(isKnown && { 'aria-valuemin': 0, 'aria-valuemax': total, 'aria-valuenow': done })}
      >
        <span style={{ width: `${isKnown ? (100 * done) / total : 0}%` }} />
      </div>
      {mayStop && (
        <button type="button" onClick={onStop}>
          Stop
        </button>
      )}
    </div>
  );
}
