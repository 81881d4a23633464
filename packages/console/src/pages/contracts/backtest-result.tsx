import type { ReactNode } from 'react';
import type { Job } from '@quittance/server/internal/http/api/job';
import type { BacktestReport } from 'quittance/internal/replay/backtest-report';
import { Ago } from '../../ui/ago.tsx';
import { Banner } from '../../ui/banner.tsx';
import { ForeignText } from '../../ui/foreign-text.tsx';
import { digestLabel } from '../../ui/digest-label.ts';
import { ActionBadge } from '../../ui/action-badge.tsx';
import { BacktestChanges } from './backtest-changes.tsx';

/** How the draft would have decided about past calls. */
export function BacktestResult({ job }: { readonly job: Job & { readonly kind: 'backtest' } }): ReactNode {
  const { result, status, error } = job;
  if (result === undefined)
    return (
      <Banner
        tone={status === 'failed' ? 'bad' : 'attention'}
        title={status === 'failed' ? 'The backtest failed' : 'Stopped without a result'}
      >
        {error !== undefined && (
          <p>
            <ForeignText text={error} />
          </p>
        )}
      </Banner>
    );
  return (
    <>
      <Summary report={result} job={job} />
      {result.changes.length > 0 && <BacktestChanges changes={result.changes} />}
      {result.rules.length > 0 && <Rules rules={result.rules} />}
    </>
  );
}

function Summary({ report, job }: { readonly report: BacktestReport; readonly job: Job }): ReactNode {
  const { calls, judged, different, notJudged, byKeptForm, unanswered, complete, policyVersion } = report;
  const unjudged = notJudged.never_reached_rules + notJudged.erased;
  const notes = [
    !complete && 'Stopped early: later calls were not checked.',
    notJudged.never_reached_rules > 0 &&
      `${many(notJudged.never_reached_rules)} never reached the rules: a schema, a deadline or a guard stopped them first.`,
    notJudged.erased > 0 && `${many(notJudged.erased)} skipped: their arguments were erased.`,
    byKeptForm > 0 &&
      `${many(byKeptForm)} checked with redacted arguments: the rules saw a mask in place of hidden values.`,
    unanswered > 0 && `${many(unanswered)} expired without an answer.`,
  ].filter((note) => note !== false);
  return (
    <Banner
      tone={!complete ? 'attention' : different > 0 ? 'active' : 'good'}
      title={
        different === 0
          ? `No decision would change${complete ? '' : ' so far'}`
          : `${many(different)} would be decided differently`
      }
    >
      <p>
        {judged.toLocaleString()} of {many(calls)} checked
        {unjudged === 0 ? '' : `, ${unjudged.toLocaleString()} skipped`}.
      </p>
      {notes.map((note) => (
        <p key={note} className="muted">
          {note}
        </p>
      ))}
      <p className="muted">
        Policy <code title={policyVersion}>{digestLabel(policyVersion)}</code>
        {job.endedAt !== undefined && (
          <>
            , tested <Ago at={job.endedAt} />
          </>
        )}
      </p>
    </Banner>
  );
}

function Rules({ rules }: Pick<BacktestReport, 'rules'>): ReactNode {
  return (
    <section className="backtest-changes" aria-label="Rules that would have fired">
      <h3>Rules that would have fired</h3>
      <div className="rule-table card" tabIndex={0} role="group" aria-label="Rules that would have fired">
        <table className="card-rows">
          <caption className="hidden">Rules that would have fired</caption>
          <thead>
            <tr>
              <th scope="col">Rule</th>
              <th scope="col">Action</th>
              <th scope="col" className="num">
                Calls
              </th>
              <th scope="col" className="num">
                Changed
              </th>
            </tr>
          </thead>
          <tbody>
            {rules.map(({ ruleId, action, observed, count, different }) => (
              <tr key={`${ruleId} ${observed}`}>
                <th scope="row" className="rule-name">
                  <code>
                    <ForeignText text={ruleId} />
                  </code>
                </th>
                <td data-label="Action">
                  <span className="rule-action">
                    <ActionBadge action={action} />
                    {observed && <span className="chip">observe</span>}
                  </span>
                </td>
                <td data-label="Calls" className="num">
                  {count.toLocaleString()}
                </td>
                <td data-label="Changed" className="num">
                  {different.toLocaleString()}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

const many = (count: number): string => `${count.toLocaleString()} ${count === 1 ? 'call' : 'calls'}`;
