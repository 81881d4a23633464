import { useSyncExternalStore } from 'react';
import type { DisplayStatus, ToolCallView } from 'quittance/internal/view/tool-call-view';
import { findToolCall } from 'quittance/internal/view/tool-calls';
import type { SourceReader, SourceState, ToolCallSource } from './source-reader.ts';
import { useReader } from './use-reader.ts';
import type { Reading } from './use-tool-calls.ts';

export type ToolCallReading = Reading & {
  /** Undefined until the source delivers an event of the call. */
  readonly status: DisplayStatus | undefined;
  readonly call: ToolCallView | undefined;
};

/** Selects among calls with the same id. */
export type WhichCall = {
  /** Needed if the source covers several sessions. Default: the most recently requested call. */
  readonly sessionId?: string | undefined;
};

/** The status of one call. Renders again for changes of this call only, not for other calls of the source. */
export function useToolCallStatus(
  callId: string,
  source: ToolCallSource | undefined,
  { sessionId }: WhichCall = {},
): ToolCallReading {
  const reader = useReader(source);
  const call = useFrom(reader, ({ calls }) => findToolCall(calls, callId, sessionId));
  const error = useFrom(reader, (state) => state.error);
  const hasEnded = useFrom(reader, (state) => state.hasEnded);
  return { status: call?.status, call, error, hasEnded, retry: reader.retry };
}

function useFrom<Part>(reader: SourceReader, select: (state: SourceState) => Part): Part {
  const read = (): Part => select(reader.state());
  return useSyncExternalStore(reader.subscribe, read, read);
}
