/** A list read page by page: the first page regularly while it is visible, the others on demand. */
import { useCallback, useEffect, useRef, useState } from 'react';
import type { LargeCallRef } from '@quittance/server/internal/http/api/confirmation';
import type { ApiError, Query } from './client.ts';
import { get, withQuery } from './client.ts';
import type { PageOf } from './merge-pages.ts';
import { appendPage, mergePages } from './merge-pages.ts';
import { toApiError } from './use-answer.ts';
import { usePolling } from './use-polling.ts';

export type Pages<Row> = {
  /** Undefined until the first page is loaded. */
  readonly rows: readonly Row[] | undefined;
  readonly error: ApiError | undefined;
  readonly hasMore: boolean;
  /** How far back a search has read that is not finished. */
  readonly searchedTo: number | undefined;
  /** Calls missing from the list because they are too large to send. */
  readonly large: readonly LargeCallRef[];
  readonly loadingMore: boolean;
  readonly loadMore: () => void;
  /** Reads the first page again. */
  readonly reload: () => void;
};

type State<Row> = {
  readonly address: string;
  readonly page: PageOf<Row> | undefined;
  readonly error: ApiError | undefined;
  readonly loadingMore: boolean;
};

export function usePages<Row>(
  path: string,
  query: Query,
  keyOf: (row: Row) => string,
  { everyMs }: { readonly everyMs?: number } = {},
): Pages<Row> {
  const address = withQuery(path, query);
  const [state, setState] = useState<State<Row>>(() => fresh(address));
  const [round, setRound] = useState(0);
  const reload = useCallback(() => setRound((before) => before + 1), []);
  const current = useRef({ query, keyOf });
  current.current = { query, keyOf };
  const busy = useRef(false);

  useEffect(() => {
    const stop = new AbortController();
    busy.current = true;
    setState((before) => (before.address === address ? before : fresh(address)));
    get<PageOf<Row>>(address, {}, stop.signal).then(
      (page) => {
        if (stop.signal.aborted) return;
        busy.current = false;
        setState((before) => ({
          address,
          page:
            before.address === address && before.page !== undefined
              ? mergePages(before.page, page, current.current.keyOf)
              : page,
          error: undefined,
          loadingMore: before.loadingMore,
        }));
      },
      (error: unknown) => {
        if (stop.signal.aborted) return;
        busy.current = false;
        setState((before) => ({ ...before, error: toApiError(error) }));
      },
    );
    return () => stop.abort();
  }, [address, round]);

  usePolling(everyMs, () => busy.current, reload);

  const here = state.address === address ? state : fresh<Row>(address);
  const next = here.page?.next;
  const loadMore = useCallback(() => {
    if (next === undefined || here.loadingMore) return;
    setState((before) => ({ ...before, loadingMore: true }));
    get<PageOf<Row>>(withQuery(path, { ...current.current.query, cursor: next })).then(
      (more) =>
        setState((before) =>
          before.address !== address || before.page?.next !== next
            ? { ...before, loadingMore: false }
            : {
                address,
                page: appendPage(before.page, more, current.current.keyOf),
                error: undefined,
                loadingMore: false,
              },
        ),
      (error: unknown) => setState((before) => ({ ...before, error: toApiError(error), loadingMore: false })),
    );
  }, [address, here.loadingMore, next, path]);

  return {
    rows: here.page?.rows,
    error: here.error,
    hasMore: next !== undefined,
    searchedTo: here.page?.searchedTo,
    large: [...(here.page?.large ?? []), ...(here.page?.largeAfter ?? [])],
    loadingMore: here.loadingMore,
    loadMore,
    reload,
  };
}

const fresh = <Row>(address: string): State<Row> => ({
  address,
  page: undefined,
  error: undefined,
  loadingMore: false,
});
