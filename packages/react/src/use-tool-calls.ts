import { useMemo, useSyncExternalStore } from 'react';
import type { ToolCallView } from 'quittance/internal/view/tool-call-view';
import { listToolCalls } from 'quittance/internal/view/tool-calls';
import type { ToolCallSource } from './source-reader.ts';
import { useReader } from './use-reader.ts';

/** Progress of reading a source. */
export type Reading = {
  /** Error thrown by the source. Calls read before stay. */
  readonly error: Error | undefined;
  /** The source has ended. */
  readonly hasEnded: boolean;
  /** Reads a failed or ended source again. */
  readonly retry: () => void;
};

export type ToolCallsReading = Reading & {
  /** In order of request. */
  readonly calls: readonly ToolCallView[];
};

/**
 * All calls of a source. The source is read while components show it, once for all of them. Keep it in a variable:
 * another object is another source.
 */
export function useToolCalls(source: ToolCallSource | undefined): ToolCallsReading {
  const reader = useReader(source);
  const { calls, error, hasEnded } = useSyncExternalStore(reader.subscribe, reader.state, reader.state);
  const listed = useMemo(() => listToolCalls(calls), [calls]);
  return { calls: listed, error, hasEnded, retry: reader.retry };
}
