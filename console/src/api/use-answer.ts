/** What the server says, read when a page shows it and again when asked for. */
import { useCallback, useEffect, useRef, useState } from 'react';
import type { Query } from './client.ts';
import { ApiError, get, withQuery } from './client.ts';

export type Answered<Answer> = {
  /** The last answer: kept while a newer one is read, so that pages do not flicker. */
  readonly data: Answer | undefined;
  readonly error: ApiError | undefined;
  readonly loading: boolean;
  readonly reload: () => void;
};

/** After a read that failed for the moment, the next one waits so long, and twice as long each time after. */
const retryMs = { first: 1_000, longest: 30_000 };

/** The server did not answer, or was busy: the same read may go well a moment later. */
const isPassing = ({ status }: ApiError): boolean => status === 0 || status === 429 || status >= 500;

/**
 * `everyMs`: reads again that often while the page is looked at. A path of undefined asks nothing. A read that failed
 * for the moment is repeated by itself, so that what changed meanwhile is shown.
 */
export function useAnswer<Answer>(
  path: string | undefined,
  query: Query = {},
  { everyMs }: { readonly everyMs?: number } = {},
): Answered<Answer> {
  const address = path === undefined ? undefined : withQuery(path, query);
  const [state, setState] = useState<{
    readonly address: string | undefined;
    readonly data: Answer | undefined;
    readonly error: ApiError | undefined;
    readonly loading: boolean;
  }>({ address: undefined, data: undefined, error: undefined, loading: address !== undefined });
  const [round, setRound] = useState(0);
  const latest = useRef(state);
  latest.current = state;

  useEffect(() => {
    if (address === undefined) return;
    const stop = new AbortController();
    setState((before) => ({
      address,
      // Of another question, the old answer would be a wrong one.
      data: before.address === address ? before.data : undefined,
      // And what went wrong stands until it goes well.
      error: before.address === address ? before.error : undefined,
      loading: true,
    }));
    get<Answer>(address, {}, stop.signal).then(
      (data) => {
        if (!stop.signal.aborted) setState({ address, data, error: undefined, loading: false });
      },
      (error: unknown) => {
        if (stop.signal.aborted) return;
        setState((before) => ({ ...before, error: toApiError(error), loading: false }));
      },
    );
    return () => stop.abort();
  }, [address, round]);

  const reload = useCallback(() => setRound((before) => before + 1), []);

  const failures = useRef(0);
  useEffect(() => {
    if (state.loading) return;
    if (state.error === undefined || !isPassing(state.error)) {
      failures.current = 0;
      return;
    }
    const timer = setTimeout(reload, Math.min(retryMs.first * 2 ** failures.current++, retryMs.longest));
    return () => clearTimeout(timer);
  }, [state, reload]);

  useEffect(() => {
    if (everyMs === undefined) return;
    const look = (): void => {
      if (document.visibilityState === 'visible' && !latest.current.loading) reload();
    };
    const timer = setInterval(look, everyMs);
    document.addEventListener('visibilitychange', look);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', look);
    };
  }, [everyMs, reload]);

  // Until the effect above has run, the state is still that of the address before.
  const here = state.address === address ? state : undefined;
  return {
    data: here?.data,
    error: here?.error,
    loading: here === undefined ? address !== undefined : here.loading,
    reload,
  };
}

export const toApiError = (error: unknown): ApiError =>
  error instanceof ApiError
    ? error
    : new ApiError({
        status: 0,
        code: 'console.error',
        detail: error instanceof Error ? error.message : String(error),
      });
