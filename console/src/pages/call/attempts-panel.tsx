import type { ReactNode } from 'react';
import { safeSentence } from '../../../../src/base/safe-id.ts';
import { safeJson } from '../../../../src/base/safe-text.ts';
import type { CallEvent } from '../../../../src/call/event.ts';
import { OutcomeBadge } from '../../ui/outcome-badge.tsx';
import { formatCost, formatDuration, formatTime } from '../../ui/time.tsx';
import { attemptsOf } from './attempts-of.ts';
import type { Attempt } from './attempts-of.ts';
import { ValueBlock } from '../../ui/value-block.tsx';
import { ForeignId, ForeignText } from '../../ui/foreign-text.tsx';

/** Every run of the body: how it ended, what it touched and said, and what came after its end. */
export function AttemptsPanel({ events }: { readonly events: readonly CallEvent[] }): ReactNode {
  const attempts = attemptsOf(events);
  if (attempts.length === 0) return <p className="muted">The body never ran.</p>;
  return (
    <ol className="attempts">
      {attempts.map((attempt) => (
        <li key={attempt.attempt}>
          <OneAttempt attempt={attempt} />
        </li>
      ))}
    </ol>
  );
}

function OneAttempt({
  attempt: { attempt, startedAt, ended, ...more },
}: {
  readonly attempt: Attempt;
}): ReactNode {
  const outcome = ended?.outcome;
  const elapsedMs = outcome !== undefined && 'elapsedMs' in outcome ? outcome.elapsedMs : undefined;
  return (
    <>
      <div className="attempt-head">
        <strong>Attempt {attempt}</strong>
        <OutcomeBadge
          call={{
            outcome: outcome?.type,
            status: ended === undefined ? 'running' : 'settled',
            code: outcome !== undefined && 'code' in outcome ? outcome.code : undefined,
            unresolved: false,
          }}
        />
        <span className="muted">
          {startedAt !== undefined && formatTime(startedAt)}
          {elapsedMs !== undefined && `, ${formatDuration(elapsedMs)}`}
          {more.costMicros > 0 && `, cost ${formatCost(more.costMicros)}`}
          {more.worker !== undefined && (
            <>
              , in the hands of <ForeignText text={more.worker} />
            </>
          )}
        </span>
      </div>
      {ended?.error !== undefined && (
        <p className="attempt-error">
          <code>{ended.error.reason}</code> <ForeignText text={ended.error.message} />
        </p>
      )}
      {more.idempotencyKey !== undefined && (
        <p className="muted">
          Idempotency key{' '}
          <code>
            <ForeignId id={more.idempotencyKey} />
          </code>
        </p>
      )}
      {more.reached.length > 0 && (
        <p>
          <span className="muted">Touched</span>{' '}
          {more.reached.map((place, index) => (
            <code key={index} className="place">
              <ForeignText text={place} />
            </code>
          ))}
        </p>
      )}
      {more.log.length > 0 && (
        <ol className="log">
          {more.log.map(({ at, message, fields }, index) => (
            <li key={index}>
              {startedAt !== undefined && (
                <span className="muted num">+{formatDuration(Math.max(0, at - startedAt))}</span>
              )}
              <span>
                <ForeignText text={message} />{' '}
                {fields !== undefined && <code className="muted">{safeSentence(safeJson(fields))}</code>}
              </span>
            </li>
          ))}
        </ol>
      )}
      {ended?.payloadExtras !== undefined && (
        <ValueBlock label={`What attempt ${attempt} left behind`} value={ended.payloadExtras} />
      )}
      {more.late.map((late) => (
        <div key={late.id} className="late">
          <p>
            <span className="badge" data-tone="attention">
              late result
            </span>{' '}
            {late.result.type} after {formatDuration(late.elapsedMs)}. It is kept, and changes nothing about
            the outcome.
          </p>
          <ValueBlock
            label={`Late result of attempt ${attempt}`}
            value={late.result.type === 'returned' ? late.result.output : late.result.error}
          />
        </div>
      ))}
    </>
  );
}
