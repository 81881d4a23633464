/** A question and its call, built from the call's events. */
import { useCallback, useMemo } from 'react';
import type { CallDetail } from '@quittance/server/internal/http/api/call';
import type { ConfirmationView } from 'quittance/internal/runtime/views';
import type { ToolCallView } from 'quittance/internal/view/tool-call-view';
import { findToolCall, noToolCalls, reduceToolCalls } from 'quittance/internal/view/tool-calls';
import type { ApiError } from '../../api/client.ts';
import { pathOf } from '../../api/client.ts';
import { useAnswer } from '../../api/use-answer.ts';

export type ShownQuestion = {
  readonly question: ConfirmationView | undefined;
  readonly call: ToolCallView | undefined;
  readonly error: ApiError | undefined;
  readonly reload: () => void;
};

/** Polling limits how long a stale question stays if the feed is down. */
const againMs = 5_000;

export function useQuestion(confirmationId: string): ShownQuestion {
  const asked = useAnswer<ConfirmationView>(
    pathOf('confirmations', confirmationId),
    {},
    { everyMs: againMs },
  );
  const { sessionId, callId } = asked.data ?? {};
  const detail = useAnswer<CallDetail>(
    sessionId === undefined || callId === undefined
      ? undefined
      : pathOf('sessions', sessionId, 'calls', callId),
    {},
    { everyMs: againMs },
  );
  const events = detail.data?.events;
  const call = useMemo(
    () =>
      events === undefined || callId === undefined
        ? undefined
        : findToolCall(reduceToolCalls(noToolCalls, events), callId),
    [events, callId],
  );
  const [readQuestion, readCall] = [asked.reload, detail.reload];
  const reload = useCallback(() => {
    readQuestion();
    readCall();
  }, [readQuestion, readCall]);
  return { question: asked.data, call, error: asked.error ?? detail.error, reload };
}
