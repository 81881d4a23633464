/** Standing grants: who gave them, until when, and how often they were used. */
import { describeGivers, describePerson } from 'quittance/internal/call/describe-identity';
import type { ReactNode } from 'react';
import { useState } from 'react';
import { safeId } from 'quittance/internal/base/safe-id';
import { safeJson } from 'quittance/internal/base/safe-text';
import type { GrantList } from '@quittance/server/internal/http/api/confirmation';
import type { GrantStatus, GrantView } from 'quittance/internal/runtime/views';
import { remainingTime } from 'quittance/internal/view/remaining-time';
import { useAnswer } from '../../api/use-answer.ts';
import { useMay } from '../../api/use-me.ts';
import { addressOf, goTo } from '../../route.ts';
import { IdInput } from '../../ui/id-input.tsx';
import type { Column } from '../../ui/data-table.tsx';
import { DataTable } from '../../ui/data-table.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Link } from '../../ui/link.tsx';
import type { Tone } from '../../ui/outcome-badge.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Skeleton } from '../../ui/skeleton.tsx';
import { Age, useServerNow } from '../../ui/time.tsx';
import { GrantForm } from './grant-form.tsx';
import { RevokeForm } from './revoke-form.tsx';
import { ForeignId, ForeignText } from '../../ui/foreign-text.tsx';

const tones: { readonly [Status in GrantStatus]: Tone } = {
  active: 'good',
  used_up: 'quiet',
  expired: 'quiet',
  revoked: 'bad',
  suspended: 'bad',
};

const snippet = `await runtime.grants.give({
  sessionId: 'ticket-42',
  toolName: 'refund',
  where: { 'args.cents': { lte: 5000 } },
  forMs: 3_600_000,
  uses: 3,
  by: 'ada',
});`;

export function Grants({ sessionId }: { readonly sessionId: string }): ReactNode {
  const list = useAnswer<GrantList>(
    '/v1/grants',
    { sessionId: sessionId === '' ? undefined : sessionId },
    { everyMs: 10_000 },
  );
  const may = useMay('approver');
  const [giving, setGiving] = useState(false);
  const [revoking, setRevoking] = useState<GrantView>();
  const { data, error, reload } = list;
  const rows = data?.rows.toSorted(byUse) ?? [];
  return (
    <>
      <div className="actions">
        <label className="grants-session">
          <span className="hidden">Session</span>
          <IdInput
            type="search"
            data-search
            placeholder="Session: exact name"
            value={sessionId}
            onValue={(value) =>
              goTo(addressOf(['inbox'], { tab: 'grants', session: value }), { replace: true })
            }
          />
        </label>
        {may && (
          <button type="button" className="primary" onClick={() => setGiving(true)}>
            Add grant…
          </button>
        )}
      </div>
      {error !== undefined && <Problem error={error} onRetry={reload} />}
      {data === undefined ? (
        error === undefined && <Skeleton rows={5} />
      ) : rows.length === 0 ? (
        <Empty title={sessionId === '' ? 'No grants' : 'This session has no grants'} snippet={snippet}>
          A grant approves matching calls of one tool in one session, for a limited time. Add one here, from a
          question in the inbox, or in code:
        </Empty>
      ) : (
        <div className="card">
          <DataTable
            name="Grants"
            columns={may ? [...columns, revokeColumn(setRevoking)] : columns}
            rows={rows}
            keyOf={(grant) => `${grant.sessionId} ${grant.grantId}`}
          />
        </div>
      )}
      {data?.capped === true && (
        <p className="muted">
          Showing grants of the newest sessions. Enter a session to see all of its grants.
        </p>
      )}
      {giving && (
        <GrantForm
          like={{ sessionId, toolName: '', input: undefined, hidden: [] }}
          onClose={() => setGiving(false)}
          onGiven={reload}
        />
      )}
      {revoking !== undefined && (
        <RevokeForm grant={revoking} onClose={() => setRevoking(undefined)} onRevoked={reload} />
      )}
    </>
  );
}

/** Active grants first, newest on top. */
const byUse = (one: GrantView, other: GrantView): number =>
  Number(other.status === 'active') - Number(one.status === 'active') || other.givenAt - one.givenAt;

const columns: readonly Column<GrantView>[] = [
  {
    head: 'State',
    cell: ({ status }) => (
      <span className="badge" data-tone={tones[status]}>
        <span className="dot" aria-hidden="true" />
        {status.replace('_', ' ')}
      </span>
    ),
  },
  {
    head: 'Tool',
    cell: ({ toolName }) => (
      <code>
        <ForeignId id={toolName} />
      </code>
    ),
  },
  {
    head: 'Condition',
    className: 'wraps',
    cell: ({ where }) =>
      where === undefined ? <span className="muted">any arguments</span> : <code>{safeJson(where)}</code>,
  },
  {
    head: 'Session',
    className: 'wraps',
    cell: ({ sessionId }) => (
      <Link to={addressOf(['sessions', sessionId])}>
        <ForeignId id={sessionId} />
      </Link>
    ),
  },
  {
    head: 'Given by',
    className: 'wraps',
    cell: (grant) => <ForeignText text={describeGivers(grant)} />,
  },
  {
    head: 'Reason',
    className: 'wraps muted roomy',
    cell: ({ reason, revoked, why }) =>
      revoked === undefined ? (
        <ForeignText text={why === undefined ? (reason ?? '') : `Does not apply: ${why}`} />
      ) : (
        <ForeignText
          text={`Revoked by ${describePerson({ name: revoked.by, identity: revoked.identity })}${revoked.reason === undefined ? '' : `: ${revoked.reason}`}`}
        />
      ),
  },
  {
    head: 'Used',
    className: 'num',
    cell: ({ used, uses }) => (uses === undefined ? used : `${used} of ${uses}`),
  },
  { head: 'Left', className: 'num', cell: (grant) => <Left grant={grant} /> },
  { head: 'Age', className: 'num roomy', cell: ({ givenAt }) => <Age at={givenAt} /> },
];

const revokeColumn = (onRevoke: (grant: GrantView) => void): Column<GrantView> => ({
  head: 'Revoke',
  hidden: true,
  className: 'num',
  cell: (grant) =>
    (grant.status === 'active' || grant.status === 'suspended') && (
      <button
        type="button"
        className="danger small"
        onClick={() => onRevoke(grant)}
        aria-label={`Revoke grant for ${safeId(grant.toolName)}`}
      >
        Revoke…
      </button>
    ),
});

function Left({ grant: { status, until } }: { readonly grant: GrantView }): ReactNode {
  const now = useServerNow(1_000);
  return status !== 'active' ? '–' : until === undefined ? 'no limit' : remainingTime(until - now);
}
