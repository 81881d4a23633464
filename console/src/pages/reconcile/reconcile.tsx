/** Calls that may have taken effect although nobody can say so, until somebody finds out. */
import type { ReactNode } from 'react';
import { useCallback, useEffect, useMemo, useRef } from 'react';
import type { UnresolvedCall } from '../../../../src/runtime/host/unresolved-call.ts';
import { usePages } from '../../api/use-pages.ts';
import { addressOf, goTo, useRoute } from '../../route.ts';
import { Empty } from '../../ui/empty.tsx';
import { LargeCalls } from '../../ui/large-calls.tsx';
import { Link } from '../../ui/link.tsx';
import { PageHead } from '../../ui/page-head.tsx';
import { Problem } from '../../ui/problem.tsx';
import { SideList } from '../../ui/side-list.tsx';
import { Skeleton } from '../../ui/skeleton.tsx';
import { useSideKeys } from '../../ui/use-side-keys.ts';
import { DoubtRow } from './doubt-row.tsx';
import { DoubtfulCall } from './doubtful-call.tsx';
import '../../../../src/react/react.css';
import '../../styles/inbox.css';
import '../../styles/reconcile.css';

const pageSize = 100;
const againMs = 5_000;

const keyOf = ({ sessionId, callId }: Pick<UnresolvedCall, 'sessionId' | 'callId'>): string =>
  JSON.stringify([sessionId, callId]);
const addressOfKey = (key: string): string =>
  // Made by `recordingKey`.
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
  const [first] = keys;
  const greeted = useRef(false);
  useEffect(() => {
    if (rows === undefined || greeted.current) return;
    greeted.current = true;
    if (selected === undefined && first !== undefined && window.matchMedia('(min-width: 60.01rem)').matches)
      select(first);
  }, [rows, selected, first, select]);
  return (
    <>
      <PageHead
        title="Needs reconciliation"
        about="These may have taken effect, and nobody knows. Find out where the effect would be seen, then say what you found."
      />
      {error !== undefined && <Problem error={error} onRetry={reload} />}
      <LargeCalls calls={large} />
      {rows === undefined ? (
        error === undefined && <Skeleton rows={8} />
      ) : rows.length === 0 && selected === undefined ? (
        large.length === 0 && <NothingUnknown />
      ) : (
        <div className="desk" data-opened={selected !== undefined}>
          <section className="desk-list" aria-label="In doubt">
            <header>
              <h2>
                {rows.length}
                {hasMore ? '+' : ''} in doubt
              </h2>
              <span className="muted">newest first</span>
            </header>
            {rows.length === 0 && <p className="muted desk-none">Nothing else is in doubt.</p>}
            <SideList
              label="Calls in doubt"
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
            <p className="muted desk-keys">
              <kbd>j</kbd> <kbd>k</kbd> move
            </p>
          </section>
          <div className="desk-detail">
            {sessionId === undefined || callId === undefined ? (
              <p className="muted desk-none">Choose a call to see what is known about it.</p>
            ) : (
              <>
                <Link to="/reconcile" className="desk-back">
                  ← All in doubt
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
                        Next in doubt
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

const snippet = `defineTool({
  name: 'pay_supplier',
  mode: 'external',
  run: pay,
  // Asked before people are, wherever it can tell.
  reconcile: async ({ idempotencyKey }) => {
    const transfer = await bank.find(idempotencyKey);
    return transfer
      ? { status: 'succeeded', output: transfer }
      : { status: 'failed' };
  },
});`;

function NothingUnknown(): ReactNode {
  return (
    <Empty title="Nothing is in doubt" snippet={snippet}>
      A call comes here when its body began and nobody saw how it ended: a process died, or a service hung up.
      Calls that may be repeated safely are repeated instead, and a tool that can say what happened is asked
      first:
    </Empty>
  );
}
