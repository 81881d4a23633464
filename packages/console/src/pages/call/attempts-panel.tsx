import type { ReactNode } from 'react';
import { safeSentence } from 'quittance/internal/base/safe-id';
import { safeJson } from 'quittance/internal/base/safe-text';
import type { CallEvent } from 'quittance/internal/call/event';
import { OutcomeBadge } from '../../ui/outcome-badge.tsx';
import { Cost } from '../../ui/cost.tsx';
import { formatDuration, formatTime } from '../../ui/time.tsx';
import { attemptsOf } from './attempts-of.ts';
import type { Attempt } from './attempts-of.ts';
import { ValueBlock } from '../../ui/value-block.tsx';
import { ForeignId, ForeignText } from '../../ui/foreign-text.tsx';

/** Every attempt: its outcome, destinations and log, and late results. */
export function AttemptsPanel({ events }: { readonly events: readonly CallEvent[] }): ReactNode {
  const attempts = attemptsOf(events);
  if (attempts.length === 0) return <p className="muted">The tool was not executed.</p>;
  return (
    <ol className="attempts">
      {attempts.map((attempt) => (
        <li key={attempt.attempt}>
          <OneAttempt attempt={attempt} isOneOfSeveral={attempts.length > 1} />
        </li>
      ))}
    </ol>
  );
}

function OneAttempt({
  attempt,
  isOneOfSeveral,
}: {
  readonly attempt: Attempt;
  /** The status of a single attempt is that of the call, which the page shows at the top. */
  readonly isOneOfSeveral: boolean;
}): ReactNode {
  const { startedAt, ended, idempotencyKey, reached, log, late } = attempt;
  return (
    <>
      <AttemptHead attempt={attempt} hasStatus={isOneOfSeveral} />
      {ended?.error !== undefined && (
        <p className="attempt-error">
          <code>{ended.error.reason}</code> <ForeignText text={ended.error.message} />
        </p>
      )}
      {idempotencyKey !== undefined && (
        <p className="muted">
          Idempotency key{' '}
          <code>
            <ForeignId id={idempotencyKey} />
          </code>
        </p>
      )}
      {reached.length > 0 && (
        <p>
          <span className="muted">Reached</span>{' '}
          {reached.map((place, index) => (
            <code key={index} className="place">
              <ForeignText text={place} />
            </code>
          ))}
        </p>
      )}
      {log.length > 0 && <AttemptLog log={log} startedAt={startedAt} />}
      {ended?.payloadExtras !== undefined && (
        <ValueBlock label={`Partial output of attempt ${attempt.attempt}`} value={ended.payloadExtras} />
      )}
      {late.map((result) => (
        <LateResult key={result.id} late={result} />
      ))}
    </>
  );
}

function AttemptHead({
  attempt: { attempt, startedAt, ended, costMicros, worker },
  hasStatus,
}: {
  readonly attempt: Attempt;
  readonly hasStatus: boolean;
}): ReactNode {
  const outcome = ended?.outcome;
  const elapsedMs = outcome !== undefined && 'elapsedMs' in outcome ? outcome.elapsedMs : undefined;
  return (
    <div className="attempt-head">
      <strong>Attempt {attempt}</strong>
      {hasStatus && (
        <OutcomeBadge
          call={{
            outcome: outcome?.type,
            status: ended === undefined ? 'running' : 'settled',
            code: outcome !== undefined && 'code' in outcome ? outcome.code : undefined,
            unresolved: false,
          }}
        />
      )}
      <span className="muted">
        {startedAt !== undefined && formatTime(startedAt)}
        {elapsedMs !== undefined && `, ${formatDuration(elapsedMs)}`}
        {costMicros > 0 && (
          <>
            , cost <Cost micros={costMicros} />
          </>
        )}
        {worker !== undefined && (
          <>
            , worker <ForeignText text={worker} />
          </>
        )}
      </span>
    </div>
  );
}

const AttemptLog = ({ log, startedAt }: Pick<Attempt, 'log' | 'startedAt'>): ReactNode => (
  <ol className="log">
    {log.map(({ at, message, fields }, index) => (
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
);

const LateResult = ({
  late: { attempt, elapsedMs, result },
}: {
  readonly late: Attempt['late'][number];
}): ReactNode => (
  <div className="late">
    <p>
      <span className="badge" data-tone="attention">
        late result
      </span>{' '}
      {result.type} after {formatDuration(elapsedMs)}. It is recorded and does not change the outcome.
    </p>
    <ValueBlock
      label={`Late result of attempt ${attempt}`}
      value={result.type === 'returned' ? result.output : result.error}
    />
  </div>
);
