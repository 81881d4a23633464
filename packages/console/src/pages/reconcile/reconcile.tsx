/** Calls with an unknown effect, until a person or the tool resolves them. */
import type { ReactNode } from 'react';
import { useCallback, useMemo } from 'react';
import type { UnresolvedCall } from 'quittance/internal/runtime/views';
import { usePages } from '../../api/use-pages.ts';
import { addressOf, goTo, useRoute } from '../../route.ts';
import { Empty } from '../../ui/empty.tsx';
import { LargeCalls } from '../../ui/large-calls.tsx';
import { Link } from '../../ui/link.tsx';
import { PageHead } from '../../ui/page-head.tsx';
import { Problem } from '../../ui/problem.tsx';
import { SideList } from '../../ui/side-list.tsx';
import { Skeleton } from '../../ui/skeleton.tsx';
import { useFirstSelected } from '../../ui/use-first-selected.ts';
import { useSideKeys } from '../../ui/use-side-keys.ts';
import { DoubtRow } from './doubt-row.tsx';
import { DoubtfulCall } from './doubtful-call.tsx';
import '../../../../react/src/react.css';
import '../../styles/inbox.css';
import '../../styles/reconcile.css';

const pageSize = 100;
const againMs = 5_000;

const keyOf = ({ sessionId, callId }: Pick<UnresolvedCall, 'sessionId' | 'callId'>): string =>
  JSON.stringify([sessionId, callId]);
const addressOfKey = (key: string): string =>
  // Made by `keyOf`.
  addressOf(['reconcile', ...(JSON.parse(key) as readonly string[])]);

export default function Reconcile(): ReactNode {
  const { path } = useRoute();
  const [, sessionId, callId] = path;
  const selected = sessionId === undefined || callId === undefined ? undefined : keyOf({ sessionId, callId });
  const { rows, error, reload, hasMore, loadMore, large } = usePages<UnresolvedCall>(
    '/v1/unresolved',
    { limit: pageSize },
    keyOf,
    { everyMs: againMs },
  );
  const select = useCallback((key: string) => goTo(addressOfKey(key), { replace: true }), []);
  const keys = useMemo(() => rows?.map(keyOf) ?? [], [rows]);
  const { moves, next } = useSideKeys(keys, selected, select);
  const onEnd = useCallback(() => {
    if (hasMore) loadMore();
  }, [hasMore, loadMore]);
  useFirstSelected(rows !== undefined, selected, keys[0], select);
  return (
    <>
      <PageHead
        title="Needs reconciliation"
        about="These calls may or may not have taken effect. Check the target system, then record what you found."
      />
      {error !== undefined && <Problem error={error} onRetry={reload} />}
      <LargeCalls calls={large} />
      {rows === undefined ? (
        error === undefined && <Skeleton rows={8} />
      ) : rows.length === 0 && selected === undefined ? (
        large.length === 0 && <NothingUnknown />
      ) : (
        <div className="split" data-opened={selected !== undefined}>
          <UnresolvedList {...{ rows, hasMore, selected, moves, onEnd }} />
          <div className="split-detail">
            {sessionId === undefined || callId === undefined ? (
              <p className="muted split-none">Select a call to see its facts.</p>
            ) : (
              <>
                <Link to="/reconcile" className="split-back">
                  ← All unresolved calls
                </Link>
                <DoubtfulCall
                  key={selected}
                  sessionId={sessionId}
                  callId={callId}
                  known={rows.find((call) => keyOf(call) === selected)}
                  onResolved={reload}
                  next={
                    next !== undefined &&
                    next !== selected && (
                      <Link className="button" to={addressOfKey(next)}>
                        Next call
                      </Link>
                    )
                  }
                />
              </>
            )}
          </div>
        </div>
      )}
    </>
  );
}

function UnresolvedList({
  rows,
  hasMore,
  selected,
  moves,
  onEnd,
}: {
  readonly rows: readonly UnresolvedCall[];
  readonly hasMore: boolean;
  readonly selected: string | undefined;
  readonly moves: number;
  readonly onEnd: () => void;
}): ReactNode {
  return (
    <section className="split-list" aria-label="Unresolved">
      <header>
        <h2>
          {rows.length}
          {hasMore ? '+' : ''} unresolved
        </h2>
        <span className="muted">newest first</span>
      </header>
      {rows.length === 0 && <p className="muted split-none">No other unresolved calls.</p>}
      <SideList
        label="Unresolved calls"
        items={rows}
        keyOf={keyOf}
        to={(call) => addressOfKey(keyOf(call))}
        toneOf={() => 'unsure'}
        selected={selected}
        moves={moves}
        onEnd={onEnd}
      >
        {(call) => <DoubtRow call={call} />}
      </SideList>
      <p className="muted split-keys">
        <kbd>j</kbd> <kbd>k</kbd> move
      </p>
    </section>
  );
}

const snippet = `defineTool({
  name: 'pay_supplier',
  mode: 'external',
  run: pay,
  // Called before a person is asked.
  reconcile: async ({ idempotencyKey }) => {
    const transfer = await bank.find(idempotencyKey);
    return transfer
      ? { status: 'succeeded', output: transfer }
      : { status: 'failed' };
  },
});`;

function NothingUnknown(): ReactNode {
  return (
    <Empty title="No unresolved calls" snippet={snippet}>
      A call appears here when the tool started and its end is unknown: the process died, or a service hung
      up. A call that is safe to repeat is retried instead. A tool with <code>reconcile</code> is asked first:
    </Empty>
  );
}
