import type { ReactNode } from 'react';
import type { BacktestReport, BacktestSample } from 'quittance/internal/replay/backtest-report';
import { addressOf } from '../../route.ts';
import { ForeignId, ForeignText } from '../../ui/foreign-text.tsx';
import { Link } from '../../ui/link.tsx';
import { Age } from '../../ui/time.tsx';
import { ActionBadge } from '../../ui/action-badge.tsx';

/** Each kind of change, most frequent first, with sample calls. */
export function BacktestChanges({ changes }: Pick<BacktestReport, 'changes'>): ReactNode {
  return (
    <section className="backtest-changes" aria-label="Changed decisions">
      <h3>Changed decisions</h3>
      {changes.map(({ about, before, after, count, samples }) => (
        <details key={`${about} ${before} ${after}`}>
          <summary>
            <span className="backtest-change">
              <span className="muted">{about === 'call' ? 'call' : 'result'}</span>
              <ActionBadge action={before} />
              <span aria-label="becomes">→</span>
              <ActionBadge action={after} />
              <span className="num">{many(count)}</span>
            </span>
          </summary>
          <Samples samples={samples} />
        </details>
      ))}
    </section>
  );
}

function Samples({ samples }: { readonly samples: readonly BacktestSample[] }): ReactNode {
  return (
    <ul className="backtest-samples">
      {samples.map(({ sessionId, callId, toolName, at, input, ruleId, message }) => (
        <li key={`${sessionId} ${callId}`}>
          <Link to={addressOf(['calls', sessionId, callId])}>
            <ForeignId id={toolName} />
            <span className="hidden">
              , call <ForeignId id={callId} />
            </span>
          </Link>{' '}
          <code className="muted">
            <ForeignText text={input} />
          </code>{' '}
          <span className="muted">
            <Age at={at} />
          </span>
          {ruleId !== undefined && (
            <p className="muted">
              <code>
                <ForeignText text={ruleId} />
              </code>
              {message !== undefined && (
                <>
                  : <ForeignText text={message} />
                </>
              )}
            </p>
          )}
        </li>
      ))}
    </ul>
  );
}

const many = (count: number): string => `${count.toLocaleString()} ${count === 1 ? 'call' : 'calls'}`;
