import type { ReactNode } from 'react';
import type { Job } from '../../../../src/http/api/job.ts';
import type { BacktestReport } from '../../../../src/replay/backtest-report.ts';
import { Ago } from '../../ui/ago.tsx';
import { Banner } from '../../ui/banner.tsx';
import { ForeignText } from '../../ui/foreign-text.tsx';
import { shortDigest } from '../../ui/short-digest.ts';
import { ActionBadge } from './action-badge.tsx';
import { BacktestChanges } from './backtest-changes.tsx';

/** What other rules would have said about the calls of the ledger. */
export function BacktestResult({ job }: { readonly job: Job & { readonly kind: 'backtest' } }): ReactNode {
  const { result, status, error } = job;
  if (result === undefined)
    return (
      <Banner
        tone={status === 'failed' ? 'bad' : 'attention'}
        title={status === 'failed' ? 'It could not be tried' : 'Stopped before anything was known'}
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
    !complete && 'It was stopped before the end: nothing is known about the calls after that.',
    notJudged.never_reached_rules > 0 &&
      `${many(notJudged.never_reached_rules)} never reached the rules: stopped before by a schema, a deadline or a guard.`,
    notJudged.erased > 0 && `What ${many(notJudged.erased)} asked for has been erased.`,
    byKeptForm > 0 &&
      `${many(byKeptForm)} judged by what the ledger shows: what is hidden in it, rules saw as a mask.`,
    unanswered > 0 && `${many(unanswered)} waited for somebody who did not answer in time.`,
  ].filter((note) => note !== false);
  return (
    <Banner
      tone={!complete ? 'attention' : different > 0 ? 'active' : 'good'}
      title={
        different === 0
          ? `Nothing would have been decided otherwise${complete ? '' : ' so far'}`
          : `${many(different)} would have been decided otherwise`
      }
    >
      <p>
        {judged.toLocaleString()} of {many(calls)} judged
        {unjudged === 0 ? '' : `, ${unjudged.toLocaleString()} not`}.
      </p>
      {notes.map((note) => (
        <p key={note} className="muted">
          {note}
        </p>
      ))}
      <p className="muted">
        Rules <code title={policyVersion}>{shortDigest(policyVersion)}</code>
        {job.endedAt !== undefined && (
          <>
            , tried <Ago at={job.endedAt} />
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
        <table>
          <caption className="hidden">Rules that would have fired</caption>
          <thead>
            <tr>
              <th scope="col">Rule</th>
              <th scope="col">Action</th>
              <th scope="col" className="num">
                Calls
              </th>
              <th scope="col" className="num">
                Otherwise
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
                <td>
                  <span className="rule-action">
                    <ActionBadge action={action} />
                    {observed && <span className="chip">observes</span>}
                  </span>
                </td>
                <td className="num">{count.toLocaleString()}</td>
                <td className="num">{different.toLocaleString()}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

const many = (count: number): string => `${count.toLocaleString()} ${count === 1 ? 'call' : 'calls'}`;
