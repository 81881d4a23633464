import type { ReactNode } from 'react';
import { useEffect, useState } from 'react';
import { safeId } from 'quittance/internal/base/safe-id';
import type { SessionSummary } from 'quittance/internal/ledger/call-query';
import { limits } from 'quittance/internal/call/limits';
import { usePages } from '../../api/use-pages.ts';
import { addressOf } from '../../route.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { ForeignId } from '../../ui/foreign-text.tsx';
import { IdInput } from '../../ui/id-input.tsx';
import { Link } from '../../ui/link.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Skeleton } from '../../ui/skeleton.tsx';
import { Age } from '../../ui/time.tsx';

/** Finds the session to compare with. */
export function CompareButton({ sessionId }: { readonly sessionId: string }): ReactNode {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        Compare with…
      </button>
      {isOpen && <CompareDialog sessionId={sessionId} onClose={() => setOpen(false)} />}
    </>
  );
}

const mostShown = 12;

function CompareDialog({
  sessionId,
  onClose,
}: {
  readonly sessionId: string;
  readonly onClose: () => void;
}): ReactNode {
  const [search, setSearch] = useState('');
  const {
    rows: found,
    error,
    hasMore,
    loadMore,
    reload,
  } = usePages<SessionSummary>('/v1/sessions', { search, limit: mostShown + 1 }, (row) => row.sessionId);
  const rows = found?.filter((row) => row.sessionId !== sessionId).slice(0, mostShown);
  const goesOn = hasMore && rows !== undefined && rows.length < mostShown;
  useEffect(() => {
    if (goesOn) loadMore();
  }, [goesOn, loadMore]);
  return (
    <Dialog title="Compare with another session" onClose={onClose}>
      <div className="compare-dialog">
        <label>
          <span className="hidden">Search sessions</span>
          <IdInput
            type="search"
            placeholder="Search session ids"
            maxLength={limits.searchChars}
            value={search}
            onValue={setSearch}
          />
        </label>
        {error !== undefined && <Problem error={error} onRetry={reload} />}
        {rows === undefined ? (
          error === undefined && <Skeleton rows={4} />
        ) : rows.length === 0 ? (
          <p className="muted">{goesOn ? 'Searching…' : 'No other session matches.'}</p>
        ) : (
          <ul className="compare-choices">
            {rows.map(({ sessionId: other, calls, lastAt }) => (
              <li key={other}>
                <Link to={addressOf(['sessions', sessionId], { compare: other })} title={safeId(other)}>
                  <span className="clip">
                    <ForeignId id={other} />
                  </span>
                  <span className="muted">
                    {calls.toLocaleString()} {calls === 1 ? 'call' : 'calls'} · <Age at={lastAt} />
                  </span>
                </Link>
              </li>
            ))}
          </ul>
        )}
      </div>
    </Dialog>
  );
}
