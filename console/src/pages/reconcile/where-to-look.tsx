import type { ReactNode } from 'react';
import type { UnresolvedCall } from '../../../../src/runtime/host/unresolved-call.ts';
import { addressOf } from '../../route.ts';
import { CopyButton } from '../../ui/copy-button.tsx';
import { Link } from '../../ui/link.tsx';
import { formatTime } from '../../ui/time.tsx';
import { ForeignId, ForeignText } from '../../ui/foreign-text.tsx';

type Props = { readonly call: UnresolvedCall; readonly reached: readonly string[] };

/** What to search for on the other side: the key it was given, when, from whom, and where it went. */
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
              <CopyButton text={idempotencyKey} label="Copy the idempotency key" />
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
            <dt>It reached</dt>
            <dd>
              <ForeignText text={reached.join(', ')} />
            </dd>
          </>
        )}
        <dt>Attempts</dt>
        <dd>{attempts}</dd>
        {worker !== undefined && (
          <>
            <dt>Run by</dt>
            <dd>
              <ForeignText text={worker} />
            </dd>
          </>
        )}
        <dt>On behalf of</dt>
        <dd>
          <ForeignText text={principal?.userId ?? principal?.serviceId ?? 'nobody named'} />
        </dd>
        <dt>Session</dt>
        <dd>
          <Link to={addressOf(['sessions', sessionId])}>
            <ForeignId id={sessionId} />
          </Link>
        </dd>
        {late.length > 0 && (
          <>
            <dt>Came too late</dt>
            <dd>{late.length === 1 ? 'one result' : `${late.length} results`}, shown below</dd>
          </>
        )}
      </dl>
    </section>
  );
}
