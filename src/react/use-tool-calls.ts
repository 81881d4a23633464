import { useMemo, useSyncExternalStore } from 'react';
import type { ToolCallView } from '../view/tool-call-view.ts';
import { listToolCalls } from '../view/tool-calls.ts';
import type { ToolCallSource } from './source-reader.ts';
import { useReader } from './use-reader.ts';

/** How the reading of a source goes. */
export type Reading = {
  /** What the source threw, if it did. What was read before stays. */
  readonly error: Error | undefined;
  /** The source has said everything. */
  readonly hasEnded: boolean;
  /** Reads again a source that failed or ended. */
  readonly retry: () => void;
};

export type ToolCallsReading = Reading & {
  /** In the order they were asked for. */
  readonly calls: readonly ToolCallView[];
};

/**
 * All calls a source tells of. The source is read while a component shows it, once for all that do; keep it in a
 * variable, since another object is another source.
 */
export function useToolCalls(source: ToolCallSource | undefined): ToolCallsReading {
  const reader = useReader(source);
  const { calls, error, hasEnded } = useSyncExternalStore(reader.subscribe, reader.state, reader.state);
  const listed = useMemo(() => listToolCalls(calls), [calls]);
  return { calls: listed, error, hasEnded, retry: reader.retry };
}
