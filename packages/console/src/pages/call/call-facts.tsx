import { readTraceparent, traceIdsOf } from 'quittance/internal/base/traceparent';
import { hasPolicy, isApproval } from 'quittance/internal/call/quorum';
import type { ReactNode } from 'react';
import { describeDecider, describeIdentity, describePerson } from 'quittance/internal/call/describe-identity';
import type { Identity } from 'quittance/internal/call/identity';
import type { CallDetail, RelatedCall } from '@quittance/server/internal/http/api/call';
import { addressOf } from '../../route.ts';
import { CopyButton } from '../../ui/copy-button.tsx';
import { Link } from '../../ui/link.tsx';
import { digestLabel } from '../../ui/digest-label.ts';
import { Cost } from '../../ui/cost.tsx';
import { formatDuration, formatTime } from '../../ui/time.tsx';
import { ForeignId, ForeignText } from '../../ui/foreign-text.tsx';

/** Basic facts about the call: who, where, when and under which policy. */
export function CallFacts({
  detail: { call, summary, version, traceUrl },
}: {
  readonly detail: CallDetail;
}): ReactNode {
  const { principal, provenance, decidedBy } = call;
  const approvals = describeApprovals(call);
  const facts: readonly (readonly [string, ReactNode])[] = [
    ['Call', <Id key="call" text={call.callId} label="Copy the call id" />],
    [
      'Session',
      <Link key="session" to={addressOf(['sessions', call.sessionId])}>
        <ForeignId id={call.sessionId} />
      </Link>,
    ],
    ['Turn', <ForeignId key="turn" id={call.turnId} />],
    [
      'Tool',
      <Link key="tool" to={addressOf(['tools', call.toolName])}>
        <ForeignId id={call.toolName} />
      </Link>,
    ],
    ['Mode', `${call.mode.replaceAll('_', ' ')} (${call.modeOrigin})`],
    ['Risk', call.risk],
    [
      'Principal',
      principal && (
        <ForeignText
          key="principal"
          text={[
            principal.userId,
            principal.role && `as ${principal.role}`,
            principal.orgId && `of ${principal.orgId}`,
          ]
            .filter(Boolean)
            .join(' ')}
        />
      ),
    ],
    [
      'Model',
      provenance && (
        <ForeignText key="model" text={[provenance.provider, provenance.model].filter(Boolean).join(' ')} />
      ),
    ],
    ['Requested by', call.askedBy && <ForeignText key="asked" text={describeRequester(call.askedBy)} />],
    ['Requested', formatTime(call.requestedAt)],
    ['Settled', call.settled && formatTime(call.settled.at)],
    [
      'Execution time',
      summary.elapsedMs !== undefined && call.attempt > 0 && formatDuration(summary.elapsedMs),
    ],
    ['Attempts', call.attempt === 0 ? 'not executed' : call.attempt],
    ['Cost', summary.costMicros > 0 && <Cost key="cost" micros={summary.costMicros} />],
    ['Approvals', approvals === '' ? undefined : <ForeignText key="approvals" text={approvals} />],
    // A held call is not decided yet: a rule holds it.
    [
      call.status === 'held' ? 'Held by' : 'Decided by',
      decidedBy && <ForeignText key="by" text={describeDecider(decidedBy)} />,
    ],
    [
      'Grant',
      call.grantId && (
        <code key="grant">
          <ForeignId id={call.grantId} />
        </code>
      ),
    ],
    [
      'Policy',
      call.policyVersion && (
        <code key="policy" title={call.policyVersion}>
          {digestLabel(call.policyVersion)}
        </code>
      ),
    ],
    ['Trace', traceOf(call.traceparent, traceUrl)],
    ['Repeated requests', call.recalls > 0 && `${call.recalls} ${call.recalls === 1 ? 'time' : 'times'}`],
    ['Version', version],
  ];
  return (
    <dl className="facts">
      {facts.map(([name, value]) =>
        value === undefined || value === false || value === '' ? null : (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ),
      )}
    </dl>
  );
}

const describeRequester = (by: Identity): string =>
  'name' in by && by.name !== undefined
    ? describePerson({ name: by.name, identity: by })
    : describeIdentity(by);

/** The distributed trace of the call: its id, and a link if the server knows where traces are shown. */
function traceOf(traceparent: string | undefined, url: string | undefined): ReactNode {
  const known = readTraceparent(traceparent);
  if (known === undefined) return undefined;
  const { traceId } = traceIdsOf(known);
  const id = <code key="id">{traceId}</code>;
  return url === undefined ? (
    id
  ) : (
    <a key="trace" href={url} target="_blank" rel="noopener noreferrer">
      {id}
    </a>
  );
}

/** The people whose approvals count so far, if a rule needs several. */
function describeApprovals({ confirmation }: CallDetail['call']): string {
  if (confirmation === undefined || !hasPolicy(confirmation.asks)) return '';
  return [
    ...confirmation.votes.filter(isApproval).map(({ by }) => describeDecider(by)),
    ...confirmation.fallen.map(({ by, why }) => `${describeDecider(by)}, void: ${why}`),
  ].join('; ');
}

const Id = ({ text, label }: { readonly text: string; readonly label: string }): ReactNode => (
  <span className="digest">
    <code>
      <ForeignId id={text} />
    </code>
    <CopyButton text={text} label={label} />
  </span>
);

const relations: { readonly [How in RelatedCall['how']]: string } = {
  caused_by: 'Caused by',
  copied_from: 'Answered from',
  undone_by: 'Undone by',
  undoes: 'Undoes',
  duplicate_of: 'Duplicate of',
  repeats: 'Repeats',
};

/** Related calls, and the event that caused this one. */
export function RelatedCalls({ detail: { related, events } }: { readonly detail: CallDetail }): ReactNode {
  const cause = events.find(({ type }) => type === 'tool.requested')?.cause;
  if (related.length === 0 && cause === undefined) return <p className="muted">No related calls.</p>;
  return (
    <dl className="facts">
      {related.map(({ how, sessionId, callId }) => (
        <div key={`${how} ${sessionId} ${callId}`}>
          <dt>{relations[how]}</dt>
          <dd>
            <Link to={addressOf(['calls', sessionId, callId])}>
              <ForeignId id={callId} />
            </Link>
          </dd>
        </div>
      ))}
      {cause !== undefined && (
        <div>
          <dt>Cause</dt>
          <dd>
            event{' '}
            <code>
              <ForeignText text={cause} />
            </code>
          </dd>
        </div>
      )}
    </dl>
  );
}
