/** Loads the list of calls: pages on scrolling, and the first page again as calls arrive or change. */
import { useCallback, useEffect, useRef, useState } from 'react';
import type { CallDetail, CallPage } from '@quittance/server/internal/http/api/call';
import type { ApiError, Query } from '../../api/client.ts';
import { get, pathOf, withQuery } from '../../api/client.ts';
import { toApiError } from '../../api/use-answer.ts';
import type { CallList } from './call-list.ts';
import { appendCallPage, rowKey, countNew, noCalls, renewHead, replaceCall } from './call-list.ts';

const pageSize = 100;
/** Limit of rows in memory. Beyond it, the user continues from the last row. */
export const mostRows = 20_000;
/** Limit of changed calls further down that are read one by one. */
const mostRenewed = 20;

export type ListedCalls = {
  readonly list: CallList;
  readonly status: 'loading' | 'ready' | 'more' | 'failed';
  readonly error: ApiError | undefined;
  /** Number of new calls that are not shown because the user has scrolled down. */
  readonly arrived: number;
  readonly loadMore: () => void;
  readonly reload: () => void;
  /**
   * Reads the first page again. `show` displays it; otherwise new calls are only counted. `changed` calls in the list
   * are read again at any position.
   */
  readonly renew: (changed: readonly CallName[], show: boolean) => Promise<void>;
};

export type CallName = { readonly sessionId: string; readonly callId: string };

type State = {
  readonly list: CallList;
  readonly status: ListedCalls['status'];
  readonly error: ApiError | undefined;
  readonly arrived: number;
};

const begin: State = { list: noCalls, status: 'loading', error: undefined, arrived: 0 };

export function useCallList(query: Query): ListedCalls {
  const address = withQuery('/v1/calls', query);
  const [state, setState] = useState<State>(begin);
  const [round, setRound] = useState(0);
  const latest = useRef(state);
  latest.current = state;
  const stop = useRef(new AbortController());

  useEffect(() => {
    const mine = new AbortController();
    stop.current = mine;
    setState(begin);
    ask({ limit: pageSize }, mine.signal).then(
      (page) => settle(mine, (before) => ({ ...before, list: renewHead(noCalls, page), status: 'ready' })),
      (error: unknown) => fail(mine, error),
    );
    return () => mine.abort();
    // `ask` uses the query in `address`.
  }, [address, round]);

  const ask = (more: Query, signal: AbortSignal): Promise<CallPage> =>
    get<CallPage>('/v1/calls', { ...query, ...more }, signal);
  /** Ignores responses to an earlier request or after unmounting. */
  const settle = (mine: AbortController, change: (before: State) => State): void => {
    if (!mine.signal.aborted) setState(change);
  };
  const fail = (mine: AbortController, error: unknown): void =>
    settle(mine, (before) => ({ ...before, status: 'failed', error: toApiError(error) }));

  const loadMore = useCallback(() => {
    const { status, list } = latest.current;
    if (status === 'loading' || status === 'more' || list.next === undefined) return;
    if (list.rows.length >= mostRows) return;
    const mine = stop.current;
    // Set at once, so that two calls in the same moment send one request.
    latest.current = { ...latest.current, status: 'more' };
    setState((before) => ({ ...before, status: 'more', error: undefined }));
    ask({ limit: pageSize, cursor: list.next }, mine.signal).then(
      (page) =>
        settle(mine, (before) => ({ ...before, list: appendCallPage(before.list, page), status: 'ready' })),
      (error: unknown) => fail(mine, error),
    );
  }, [address]);

  const renew = useCallback(
    async (changed: readonly CallName[], show: boolean): Promise<void> => {
      const { status, list } = latest.current;
      // Nothing is loaded yet, or the request failed: the page shows the error and retries on demand.
      if (status === 'loading' || (status === 'failed' && list.rows.length === 0)) return;
      const mine = stop.current;
      const page = await ask({ limit: pageSize }, mine.signal);
      settle(mine, (before) => ({
        ...before,
        ...(show
          ? { list: renewHead(before.list, page), arrived: 0 }
          : { arrived: countNew(before.list, page), list: page.rows.reduce(replaceCall, before.list) }),
      }));
      const fresh = new Set(page.rows.map(rowKey));
      const known = new Set(latest.current.list.rows.map(rowKey));
      const deeper = changed.filter((call) => known.has(rowKey(call)) && !fresh.has(rowKey(call)));
      for (const { sessionId, callId } of deeper.slice(-mostRenewed)) {
        const path = pathOf('sessions', sessionId, 'calls', callId);
        const { summary } = await get<CallDetail>(path, {}, mine.signal);
        settle(mine, (before) => ({ ...before, list: replaceCall(before.list, summary) }));
      }
    },
    [address],
  );

  const reload = useCallback(() => setRound((before) => before + 1), []);
  return { ...state, loadMore, reload, renew };
}
