import type { FormEvent, ReactNode } from 'react';
import { useState } from 'react';
import { useJob } from '../../api/use-job.ts';
import { useMay } from '../../api/use-me.ts';
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

type Props = { readonly documents: Documents; readonly isValid: boolean };

/** Tests the draft on past calls. */
export function Backtest({ documents, isValid }: Props): ReactNode {
  const mayTest = useMay('operator');
  const { job, error, starting, start, stop } = useJob('backtest');
  const [span, setSpan] = useState('all');
  const [toolName, setToolName] = useState('');
  const [sessionId, setSessionId] = useState('');
  const isRunning = job?.status === 'running';
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
          <button type="submit" className="primary" disabled={!mayTest || !isValid || starting || isRunning}>
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
          <BacktestResult job={job} />
        )}
      </div>
    </section>
  );
}
