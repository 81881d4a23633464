/** Reads a response when a page shows it, and again on request. */
import { useCallback, useEffect, useRef, useState } from 'react';
import type { Query } from './client.ts';
import { ApiError, get, withQuery } from './client.ts';
import { usePolling } from './use-polling.ts';

export type Answered<Answer> = {
  /** The last response. It stays while a newer one loads, so that pages do not flicker. */
  readonly data: Answer | undefined;
  readonly error: ApiError | undefined;
  readonly loading: boolean;
  readonly reload: () => void;
};

/** Wait after a temporary failure; doubled after each further failure. */
const retryMs = { first: 1_000, longest: 30_000 };

/** No response, or a busy server: the same request may succeed a moment later. */
const isPassing = ({ status }: ApiError): boolean => status === 0 || status === 429 || status >= 500;

/**
 * `everyMs`: interval for reading again while the page is visible. An undefined path sends no request. Temporary
 * failures are retried automatically.
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
      // The response to another request would be wrong here.
      data: before.address === address ? before.data : undefined,
      // An error stays until a request succeeds.
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

  usePolling(everyMs, () => latest.current.loading, reload);

  // Before the effect above runs, the state still belongs to the previous address.
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
