import type { FormEvent, ReactNode } from 'react';
import { useRef, useState } from 'react';
import type { ContractsCheck } from '@quittance/server/internal/http/api/contract';
import type { Job } from '@quittance/server/internal/http/api/job';
import type { BacktestReport } from 'quittance/internal/replay/backtest-report';
import { useJob } from '../../api/use-job.ts';
import { useMay } from '../../api/use-me.ts';
import { Banner } from '../../ui/banner.tsx';
import { IdInput } from '../../ui/id-input.tsx';
import { JobProgress } from '../../ui/job-progress.tsx';
import { Problem } from '../../ui/problem.tsx';
import { BacktestResult } from './backtest-result.tsx';
import type { Documents } from './use-draft.ts';

const spans: readonly (readonly [string, string, number | undefined])[] = [
  ['all', 'All calls', undefined],
  ['1h', 'Last hour', 3_600_000],
  ['24h', 'Last 24 hours', 86_400_000],
  ['7d', 'Last 7 days', 7 * 86_400_000],
];

type Props = {
  readonly documents: Documents;
  /** Check of these documents; undefined while it is pending. */
  readonly check: ContractsCheck | undefined;
};

/** Tests the draft on past calls. */
export function Backtest({ documents, check }: Props): ReactNode {
  const mayTest = useMay('operator');
  const { job, error, starting, start, stop } = useJob('backtest');
  const [span, setSpan] = useState('all');
  const [toolName, setToolName] = useState('');
  const [sessionId, setSessionId] = useState('');
  const isRunning = job?.status === 'running';
  const isStale = useStale(job?.result, documents, check);
  const begin = (event: FormEvent): void => {
    event.preventDefault();
    const ms = spans.find(([name]) => name === span)?.[2];
    start({
      documents,
      ...(toolName !== '' && { toolName }),
      ...(sessionId !== '' && { sessionId }),
      ...(ms !== undefined && { since: Date.now() - ms }),
    });
  };
  return (
    <section className="card" aria-labelledby="backtest-title">
      <header>
        <h2 id="backtest-title">Backtest</h2>
      </header>
      <div className="body draft-body">
        <form className="backtest-form" onSubmit={begin}>
          <label className="try-field">
            <span>Period</span>
            <select value={span} onChange={(event) => setSpan(event.target.value)}>
              {spans.map(([name, label]) => (
                <option key={name} value={name}>
                  {label}
                </option>
              ))}
            </select>
          </label>
          <label className="try-field">
            <span>Tool</span>
            <IdInput
              value={toolName}
              placeholder="any"
              autoComplete="off"
              spellCheck={false}
              onValue={setToolName}
            />
          </label>
          <label className="try-field">
            <span>Session</span>
            <IdInput
              value={sessionId}
              placeholder="any"
              autoComplete="off"
              spellCheck={false}
              onValue={setSessionId}
            />
          </label>
          <button
            type="submit"
            className="primary"
            disabled={!mayTest || check?.ok !== true || starting || isRunning}
          >
            Run backtest
          </button>
        </form>
        {!mayTest && <p className="muted">Only operators can run a backtest.</p>}
        {error !== undefined && <Problem error={error} />}
        {job === undefined ? (
          <p className="muted">
            Applies the draft to every past call of this ledger and counts the decisions that would change.
            Nothing runs.
          </p>
        ) : isRunning ? (
          <JobProgress job={job} title="Running backtest" onStop={stop} />
        ) : (
          <Result job={job} isStale={isStale} />
        )}
      </div>
    </section>
  );
}

function Result({
  job,
  isStale,
}: {
  readonly job: Job & { readonly kind: 'backtest' };
  readonly isStale: boolean;
}): ReactNode {
  return (
    <>
      {isStale && (
        <Banner tone="attention" title="The draft has changed since this backtest">
          <p>The result below is about an earlier draft. Run the backtest again.</p>
        </Banner>
      )}
      <div className="backtest-result" data-stale={isStale}>
        <BacktestResult job={job} />
      </div>
    </>
  );
}

/**
 * Is the result about an earlier draft? Versions are digests of the documents. Until a changed draft is checked, it
 * counts as different.
 */
function useStale(
  result: BacktestReport | undefined,
  documents: Documents,
  check: ContractsCheck | undefined,
): boolean {
  const key = JSON.stringify(documents);
  const last = useRef<{ readonly key: string; readonly version: string | undefined } | undefined>(undefined);
  if (check !== undefined) last.current = { key, version: check.policyVersion };
  if (result === undefined || last.current === undefined) return false;
  return last.current.key !== key || last.current.version !== result.policyVersion;
}
