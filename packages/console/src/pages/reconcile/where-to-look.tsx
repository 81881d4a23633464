import type { ReactNode } from 'react';
import type { UnresolvedCall } from 'quittance/internal/runtime/views';
import { addressOf } from '../../route.ts';
import { CopyButton } from '../../ui/copy-button.tsx';
import { Link } from '../../ui/link.tsx';
import { formatTime } from '../../ui/time.tsx';
import { ForeignId, ForeignText } from '../../ui/foreign-text.tsx';

type Props = { readonly call: UnresolvedCall; readonly reached: readonly string[] };

/** Facts for finding the effect in the other system: key, time, principal and destination. */
export function WhereToLook({ call, reached }: Props): ReactNode {
  const { idempotencyKey, startedAt, settledAt, attempts, worker, principal, sessionId, late } = call;
  return (
    <section className="card">
      <header>
        <h3>Where to look</h3>
      </header>
      <dl className="facts body">
        {idempotencyKey !== undefined && (
          <>
            <dt>Idempotency key</dt>
            <dd className="digest">
              <code>
                <ForeignId id={idempotencyKey} />
              </code>
              <CopyButton text={idempotencyKey} label="Copy idempotency key" />
            </dd>
          </>
        )}
        <dt>When</dt>
        <dd>
          <time dateTime={new Date(startedAt).toISOString()}>{formatTime(startedAt)}</time> to{' '}
          <time dateTime={new Date(settledAt).toISOString()}>{formatTime(settledAt)}</time>
        </dd>
        {reached.length > 0 && (
          <>
            <dt>Reached</dt>
            <dd>
              <ForeignText text={reached.join(', ')} />
            </dd>
          </>
        )}
        <dt>Attempts</dt>
        <dd>{attempts}</dd>
        {worker !== undefined && (
          <>
            <dt>Worker</dt>
            <dd>
              <ForeignText text={worker} />
            </dd>
          </>
        )}
        <dt>Principal</dt>
        <dd>
          <ForeignText text={principal?.userId ?? principal?.serviceId ?? 'not given'} />
        </dd>
        <dt>Session</dt>
        <dd>
          <Link to={addressOf(['sessions', sessionId])}>
            <ForeignId id={sessionId} />
          </Link>
        </dd>
        {late.length > 0 && (
          <>
            <dt>Late results</dt>
            <dd>{late.length}, shown below</dd>
          </>
        )}
      </dl>
    </section>
  );
}
