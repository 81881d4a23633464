/** Delegations: who approves in the place of whom, and until when. */
import type { ReactNode } from 'react';
import { useState } from 'react';
import { safeId } from 'quittance/internal/base/safe-id';
import { describePerson } from 'quittance/internal/call/describe-identity';
import type { DelegationList } from '@quittance/server/internal/http/api/confirmation';
import type { DelegationView } from 'quittance/internal/runtime/delegations';
import type { ApiError } from '../../api/client.ts';
import { pathOf, send } from '../../api/client.ts';
import { toApiError, useAnswer } from '../../api/use-answer.ts';
import { useMay } from '../../api/use-me.ts';
import type { Column } from '../../ui/data-table.tsx';
import { DataTable } from '../../ui/data-table.tsx';
import { Empty } from '../../ui/empty.tsx';
import { ForeignText } from '../../ui/foreign-text.tsx';
import type { Tone } from '../../ui/outcome-badge.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Skeleton } from '../../ui/skeleton.tsx';
import { useToast } from '../../ui/toast.tsx';
import { DelegationForm } from './delegation-form.tsx';

const tones: { readonly [Status in DelegationView['status']]: Tone } = {
  active: 'good',
  ended: 'quiet',
  revoked: 'bad',
};

export function Delegations(): ReactNode {
  const { data, error, reload } = useAnswer<DelegationList>('/v1/delegations', {}, { everyMs: 10_000 });
  const may = useMay('approver');
  const [adding, setAdding] = useState(false);
  const [refusal, setRefusal] = useState<ApiError>();
  const showToast = useToast();
  const revoke = async ({ delegationId, to }: DelegationView): Promise<void> => {
    setRefusal(undefined);
    try {
      await send(pathOf('delegations', delegationId, 'revoke'), {});
      showToast(`Delegation withdrawn. ${safeId(to)} no longer approves in your place.`);
    } catch (thrown) {
      setRefusal(toApiError(thrown));
    }
    reload();
  };
  const rows = data?.rows.toSorted(byUse) ?? [];
  return (
    <>
      {may && (
        <div className="actions">
          <button type="button" className="primary" onClick={() => setAdding(true)}>
            Delegate…
          </button>
        </div>
      )}
      {error !== undefined && <Problem error={error} onRetry={reload} />}
      {refusal !== undefined && <Problem error={refusal} />}
      {data === undefined ? (
        error === undefined && <Skeleton rows={4} />
      ) : rows.length === 0 ? (
        <Empty title="No delegations">
          A delegation lets another person approve in your place until it ends, for example during a holiday.
          You and your delegate count as one person.
        </Empty>
      ) : (
        <div className="card">
          <DataTable
            name="Delegations"
            columns={may ? [...columns, revokeColumn((row) => void revoke(row))] : columns}
            rows={rows}
            keyOf={({ delegationId }) => delegationId}
          />
        </div>
      )}
      {adding && <DelegationForm onClose={() => setAdding(false)} onGiven={reload} />}
    </>
  );
}

/** Active ones first, those that end soonest on top. */
const byUse = (one: DelegationView, other: DelegationView): number =>
  Number(other.status === 'active') - Number(one.status === 'active') || one.until - other.until;

const columns: readonly Column<DelegationView>[] = [
  {
    head: 'State',
    cell: ({ status }) => (
      <span className="badge" data-tone={tones[status]}>
        <span className="dot" aria-hidden="true" />
        {status}
      </span>
    ),
  },
  {
    head: 'In the place of',
    className: 'wraps',
    cell: ({ by, identity }) => <ForeignText text={describePerson({ name: by, identity })} />,
  },
  { head: 'Approves', className: 'wraps', cell: ({ to }) => <ForeignText text={to} /> },
  {
    head: 'Until',
    cell: ({ until }) => (
      <time dateTime={new Date(until).toISOString()}>
        {new Date(until).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' })}
      </time>
    ),
  },
  {
    head: 'Reason',
    className: 'wraps muted roomy',
    cell: ({ reason }) => <ForeignText text={reason ?? ''} />,
  },
];

const revokeColumn = (onRevoke: (row: DelegationView) => void): Column<DelegationView> => ({
  head: 'Withdraw',
  hidden: true,
  className: 'num',
  cell: (row) =>
    row.status === 'active' && (
      <button
        type="button"
        className="danger small"
        onClick={() => onRevoke(row)}
        aria-label={`Withdraw the delegation to ${safeId(row.to)}`}
      >
        Withdraw
      </button>
    ),
});
