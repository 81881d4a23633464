/** All calls, filtered by the address and updated as they arrive. */
import type { ReactNode } from 'react';
import { useCallback, useContext, useMemo, useRef, useState } from 'react';
import type { ApiError } from '../../api/client.ts';
import { goTo } from '../../route.ts';
import { Empty } from '../../ui/empty.tsx';
import { PageHead } from '../../ui/page-head.tsx';
import { Problem } from '../../ui/problem.tsx';
import { SkewContext } from '../../ui/skew.ts';
import { Skeleton } from '../../ui/skeleton.tsx';
import { useShortcuts } from '../../ui/use-shortcuts.ts';
import '../../styles/calls.css';
import { CallTable } from './call-table.tsx';
import { readView, toQuery, viewAddress, viewKey } from './calls-view.ts';
import type { CallsView } from './calls-view.ts';
import { FacetPanel } from './facet-panel.tsx';
import { FilterBar } from './filter-bar.tsx';
import { ListEnd } from './list-end.tsx';
import { TailSwitch } from './tail-switch.tsx';
import type { ListedCalls } from './use-call-list.ts';
import { useCallList } from './use-call-list.ts';
import type { Facets } from './use-facets.ts';
import { useFacets } from './use-facets.ts';
import { useTail } from './use-tail.ts';
import { ViewTabs } from './view-tabs.tsx';

export default function Calls({ query: asked }: { readonly query: URLSearchParams }): ReactNode {
  const key = viewKey(readView(asked));
  // The address is the state: the same address always gives the same view.
  const view = useMemo(() => readView(asked), [key]);
  const skewMs = useContext(SkewContext);
  const query = useMemo(() => toQuery(view, Date.now() + skewMs), [view, skewMs]);
  const calls = useCallList(query);
  const facets = useFacets(query);
  const [isPaused, setPaused] = useState(false);
  const isAtTop = useRef(true);
  const [toppings, setToppings] = useState(0);

  const status = useTail((changed) => calls.renew(changed, isAtTop.current && !isPaused));
  const showNew = useCallback((): void => {
    isAtTop.current = true;
    setPaused(false);
    setToppings((before) => before + 1);
    void calls.renew([], true).catch(calls.reload);
  }, [calls.renew, calls.reload]);
  const toggle = (): void => (isPaused ? showNew() : setPaused(true));
  useShortcuts({ p: toggle });

  const { list } = calls;
  const isFound = list.rows.length > 0 || list.next !== undefined;
  // Without any call there is nothing to filter.
  const isEmpty = !isFound && calls.status === 'ready' && Object.keys(view).length === 0;
  return (
    <div className="calls-page">
      <PageHead title="Calls" about={<HowMany calls={calls} facets={facets} />}>
        <TailSwitch status={status} isPaused={isPaused} arrived={calls.arrived} onToggle={toggle} />
      </PageHead>
      <ViewTabs view={view} />
      <FilterBar view={view} />
      <div className="calls-columns" data-alone={isEmpty}>
        {!isEmpty && (
          <Sidebar>
            <FacetPanel view={view} facets={facets} />
          </Sidebar>
        )}
        <div className="calls-list">
          {calls.arrived > 0 && !isPaused && (
            <button type="button" className="arrived" onClick={showNew}>
              ↑ {calls.arrived >= 100 ? '100 or more' : calls.arrived} new
            </button>
          )}
          {list.rows.length > 0 ? (
            <CallTable
              rows={list.rows}
              hasMore={list.next !== undefined}
              onNearEnd={calls.loadMore}
              onTop={(isTop) => {
                const came = isTop && !isAtTop.current;
                isAtTop.current = isTop;
                if (came && calls.arrived > 0 && !isPaused) showNew();
              }}
              topKey={`${key} ${toppings}`}
              foot={<ListEnd calls={calls} view={view} />}
            />
          ) : calls.status === 'loading' ? (
            <Skeleton rows={14} />
          ) : calls.status === 'failed' && calls.error !== undefined ? (
            calls.error.code === 'http.bad_request' ? (
              <BadLink error={calls.error} />
            ) : (
              <Problem error={calls.error} onRetry={calls.reload} />
            )
          ) : list.next !== undefined ? (
            <ListEnd calls={calls} view={view} isAlone />
          ) : (
            <Nothing view={view} />
          )}
        </div>
      </div>
    </div>
  );
}

/** The total from the facet counts. If counting stopped early and the list is complete, from the list. */
function HowMany({ calls, facets }: { readonly calls: ListedCalls; readonly facets: Facets }): ReactNode {
  const isWhole = calls.status === 'ready' && calls.list.next === undefined;
  const total = !facets.isTotalExact && isWhole ? calls.list.rows.length : facets.total;
  // Reserves the line, so that the layout does not jump when the number arrives.
  if (total === undefined) return calls.status === 'failed' ? 'Not counted' : 'Counting calls';
  if (total === 0 && !facets.isTotalExact && !isWhole) return 'No calls found yet';
  return `${facets.isTotalExact || isWhole ? '' : 'At least '}${total.toLocaleString()} ${total === 1 ? 'call' : 'calls'}`;
}

/** Next to the list on wide screens; collapsed above it on narrow ones. */
function Sidebar({ children }: { readonly children: ReactNode }): ReactNode {
  const [isOpen, setOpen] = useState(() => window.matchMedia('(min-width: 60.01rem)').matches);
  return (
    <details className="calls-sidebar" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Filters</summary>
      {children}
    </details>
  );
}

/** A filter of the address is unknown to the server: a mistyped link, or one of another version. */
const BadLink = ({ error }: { readonly error: ApiError }): ReactNode => (
  <>
    <Problem error={error} />
    <Empty title="This view cannot be shown">
      Remove the filter above, or start again.{' '}
      <button type="button" onClick={() => goTo(viewAddress({}))}>
        Show all calls
      </button>
    </Empty>
  </>
);

/** Does a condition such as `args.cents>` compare with something that is not a number? */
const comparesText = (search: string): boolean =>
  [...search.matchAll(/(?<!\S)args\.[^\s=<>!"]+[<>]=?"?([^\s"]*)/gu)].some(
    ([, value = '']) => value === '' || !Number.isFinite(Number(value)),
  );

function Nothing({ view }: { readonly view: CallsView }): ReactNode {
  if (Object.keys(view).length > 0)
    return (
      <Empty title="No matching calls">
        {comparesText(view.search ?? '')
          ? 'To compare an argument, give a number: args.cents>1000. '
          : 'No call in this ledger matches all filters. '}
        <button type="button" onClick={() => goTo(viewAddress({}))}>
          Show all calls
        </button>
      </Empty>
    );
  return (
    <Empty
      title="No calls yet"
      snippet={`import { createRuntime, defineTool } from 'quittance';
import { openLedger } from 'quittance/ledger';

const ledger = await openLedger('.quittance/ledger.db');
const greet = defineTool({
  name: 'greet',
  mode: 'read',
  input: { type: 'object', properties: { name: { type: 'string' } } },
  run: ({ name }) => \`Hello \${name}\`,
});
const runtime = createRuntime({ tools: [greet], ledger });
const turn = runtime.turn({ sessionId: 'first' });
await turn.call({ id: 'call_1', name: 'greet', arguments: { name: 'Ada' } });`}
    >
      Calls appear here as agents make them. To make a first call, run:
    </Empty>
  );
}
