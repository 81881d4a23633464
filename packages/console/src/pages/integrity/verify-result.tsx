import type { ReactNode } from 'react';
import type { Job, VerifyFinding } from '@quittance/server/internal/http/api/job';
import { addressOf } from '../../route.ts';
import { Ago } from '../../ui/ago.tsx';
import { Banner } from '../../ui/banner.tsx';
import { ForeignId, ForeignText } from '../../ui/foreign-text.tsx';
import { Link } from '../../ui/link.tsx';
import { formatDuration } from '../../ui/time.tsx';
import { describeVerification } from './describe-verification.ts';

/** The findings of a verification. An incomplete one proves nothing. */
export function VerifyResult({ job }: { readonly job: Job & { readonly kind: 'verify' } }): ReactNode {
  const { tone, title, detail } = describeVerification(job);
  const { result, startedAt, endedAt, startedBy } = job;
  return (
    <>
      <Banner tone={tone} title={title}>
        <p>{detail}</p>
        <p className="muted">
          Started by <ForeignText text={startedBy} />
          {endedAt !== undefined && (
            <>
              , ended <Ago at={endedAt} /> after {formatDuration(endedAt - startedAt)}
            </>
          )}
        </p>
      </Banner>
      {result !== undefined && result.findings.length > 0 && (
        <Findings findings={result.findings} problems={result.problems} />
      )}
    </>
  );
}

function Findings({
  findings,
  problems,
}: {
  readonly findings: readonly VerifyFinding[];
  readonly problems: number;
}): ReactNode {
  return (
    <div className="findings" tabIndex={0} role="group" aria-label="Problems">
      <table className="card-rows">
        <caption className="hidden">Problems, in the order found</caption>
        <thead>
          <tr>
            <th scope="col">Kind</th>
            <th scope="col">Problem</th>
            <th scope="col">Session</th>
            <th scope="col">Call</th>
            <th scope="col" className="num">
              Entry
            </th>
          </tr>
        </thead>
        <tbody>
          {findings.map(({ kind, message, sessionId, callId, sequence }, index) => (
            <tr key={index}>
              <td data-label="Kind">
                <span className="badge" data-tone="bad">
                  {kind.replaceAll('_', ' ')}
                </span>
              </td>
              <td data-label="Problem">
                <ForeignText text={message} />
              </td>
              <td data-label="Session">
                {sessionId !== undefined && (
                  <Link to={addressOf(['sessions', sessionId])}>
                    <ForeignId id={sessionId} />
                  </Link>
                )}
              </td>
              <td data-label="Call">
                {sessionId !== undefined && callId !== undefined && (
                  <Link to={addressOf(['calls', sessionId, callId])}>
                    <ForeignId id={callId} />
                  </Link>
                )}
              </td>
              <td data-label="Entry" className="num">
                {sequence}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {problems > findings.length && (
        <p className="muted">
          Showing the first {findings.length.toLocaleString()} of {problems.toLocaleString()}.{' '}
          <code>quittance verify</code> lists all of them.
        </p>
      )}
    </div>
  );
}
