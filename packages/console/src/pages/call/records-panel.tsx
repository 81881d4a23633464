import { describeDecider } from 'quittance/internal/call/describe-identity';
import type { ReactNode } from 'react';
import { safeWords } from 'quittance/internal/base/safe-id';
import type { ToolAuditRecord } from 'quittance/internal/call/audit';
import type { ReadEvent } from 'quittance/internal/ledger/unknown-event';
import { formatInstant } from '../../ui/time.tsx';
import { ValueBlock } from '../../ui/value-block.tsx';
import type { JsonValue } from 'quittance/internal/base/json';
import { ForeignText } from '../../ui/foreign-text.tsx';
import { maskedValue } from '../../ui/masked-value.ts';

/** The audit records of the call, in order. */
export function RecordsPanel({ records }: { readonly records: readonly ToolAuditRecord[] }): ReactNode {
  if (records.length === 0) return <p className="muted">No records yet.</p>;
  return (
    <table className="card-rows">
      <thead>
        <tr>
          <th scope="col">When</th>
          <th scope="col">Record</th>
          <th scope="col">Decided by</th>
          <th scope="col">Details</th>
        </tr>
      </thead>
      <tbody>
        {records.map(({ recordId, at, outcome, decidedBy, attempt }) => (
          <tr key={recordId}>
            <td data-label="When" className="muted nowrap">
              {formatInstant(at)}
            </td>
            <th scope="row">
              <code>
                <ForeignText text={outcome.kind} />
              </code>
            </th>
            <td data-label="Decided by">
              {decidedBy === undefined ? (
                <span className="muted">–</span>
              ) : (
                <ForeignText text={describeDecider(decidedBy)} />
              )}
            </td>
            <td data-label="Details">
              <ForeignText text={wordsOf(outcome, attempt)} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function wordsOf(outcome: ToolAuditRecord['outcome'], attempt: number): string {
  switch (outcome.kind) {
    case 'blocked':
    case 'invalidated':
      return outcome.reason;
    case 'requires_confirmation':
      return outcome.description;
    case 'cached':
      return 'Answered from the record; nothing ran.';
    case 'replayed':
      return 'Reported again and answered from the record.';
    case 'completed':
      return attempt === 0
        ? 'Not executed.'
        : `Attempt ${attempt} ${outcome.result.success === false ? 'failed' : 'succeeded'}.`;
    case 'persistence_failed':
      return `${outcome.boundary}: ${outcome.error}`;
    default:
      // A newer version may know more kinds.
      return '';
  }
}

/** All events of the call, as stored. Ids that look like secrets are masked. */
export function EventsPanel({ events }: { readonly events: readonly ReadEvent[] }): ReactNode {
  return (
    <ol className="events">
      {events.map((event) => (
        <li key={event.id}>
          <details>
            <summary>
              <code>
                <ForeignText text={event.type} />
              </code>
              <span className="muted">{formatInstant(event.at)}</span>
              <span className="muted num">
                +{(event.at - (events[0]?.at ?? event.at)).toLocaleString()} ms
              </span>
              <code className="muted clip">
                <ForeignText text={event.id} />
              </code>
            </summary>
            {/* Events arrived as JSON. */}
            <ValueBlock
              label={`Event ${safeWords(event.type)}`}
              value={maskedValue(event as unknown as JsonValue)}
            />
          </details>
        </li>
      ))}
    </ol>
  );
}
