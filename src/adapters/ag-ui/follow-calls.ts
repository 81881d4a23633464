/** Writes the calls of a session as AG-UI events once they are stored: a call, then its answer, each once per run. */
import { randomUUID } from 'node:crypto';
import type { Runtime } from '../../runtime/create-runtime.ts';
import type { AgUiEvent } from './event.ts';

export type FollowedCalls = {
  /** Resolves when everything stored so far is written. */
  caughtUp(): Promise<void>;
  end(): Promise<void>;
};

/**
 * Follows the session until it is ended; everything stored by then is written. If the host's `write` throws, writing
 * stops, and the end throws the same error.
 */
export async function followCalls(
  runtime: Runtime,
  sessionId: string,
  write: (event: AgUiEvent) => void,
  {
    answered: shown,
    parentMessageId,
  }: {
    /** Calls whose results the client has. */
    readonly answered: ReadonlySet<string>;
    readonly parentMessageId: (() => string | undefined) | undefined;
  },
): Promise<FollowedCalls> {
  const answered = new Set(shown);
  let failed: { readonly error: unknown } | undefined;
  const send = (event: AgUiEvent): void => {
    if (failed !== undefined) return;
    try {
      write(event);
    } catch (error) {
      failed = { error };
    }
  };
  const answer = (toolCallId: string, content: string): void => {
    if (answered.has(toolCallId)) return;
    answered.add(toolCallId);
    const messageId = `${toolCallId}.result`;
    send({ type: 'TOOL_CALL_RESULT', messageId, toolCallId, role: 'tool', content });
  };
  const following = runtime.events.on(
    {
      // The client chooses the run id and may reuse it.
      name: `ag-ui.${randomUUID()}`,
      on: ['tool.requested', 'tool.recalled', 'tool.responded'],
      where: { sessionId },
      ephemeral: true,
    },
    async (event) => {
      const { callId } = event;
      switch (event.type) {
        case 'tool.requested': {
          const parent = parentMessageId?.();
          send({
            type: 'TOOL_CALL_START',
            toolCallId: callId,
            toolCallName: event.toolName,
            ...(parent !== undefined && { parentMessageId: parent }),
          });
          send({ type: 'TOOL_CALL_ARGS', toolCallId: callId, delta: JSON.stringify(event.requestedInput) });
          send({ type: 'TOOL_CALL_END', toolCallId: callId });
          return;
        }
        case 'tool.recalled': {
          // An earlier run showed the call. Its answer may have arrived while no run was open.
          const [call] = await runtime.calls.list({ sessionId, callId });
          if (call?.settled !== undefined) answer(callId, call.settled.content);
          return;
        }
        case 'tool.responded':
          if (event.final) answer(callId, event.content);
      }
    },
  );
  // From here on, every later event is received.
  await following.caughtUp();
  return {
    async caughtUp() {
      await following.caughtUp();
    },
    async end() {
      await following.caughtUp();
      await following.off();
      if (failed !== undefined) throw failed.error;
    },
  };
}
