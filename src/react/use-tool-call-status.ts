import { useSyncExternalStore } from 'react';
import type { DisplayStatus, ToolCallView } from '../view/tool-call-view.ts';
import { findToolCall } from '../view/tool-calls.ts';
import type { SourceReader, SourceState, ToolCallSource } from './source-reader.ts';
import { useReader } from './use-reader.ts';
import type { Reading } from './use-tool-calls.ts';

export type ToolCallReading = Reading & {
  /** Undefined until the source has told something about the call. */
  readonly status: DisplayStatus | undefined;
  readonly call: ToolCallView | undefined;
};

/** Which of the calls with one id. */
export type WhichCall = {
  /** Where the source tells of several sessions. Without it the call that was asked for last is meant. */
  readonly sessionId?: string | undefined;
};

/**
 * Where one call stands. Renders again when something happens to this call, not when it happens to another of the same
 * source.
 */
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
