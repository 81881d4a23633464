/** Reads the calls in the messages of a graph. A client may have written them, so nothing here is trusted. */
import { isJsonObject } from '../../base/json.ts';
import type { ConversationStep } from '../run/conversation.ts';
import { earlierUses } from '../run/conversation.ts';

type Message = {
  readonly type?: unknown;
  readonly id?: unknown;
  readonly tool_calls?: unknown;
  readonly tool_call_id?: unknown;
};

export function messagesOf(state: unknown): readonly Message[] {
  const held: unknown =
    typeof state === 'object' && state !== null && 'messages' in state ? state.messages : state;
  if (!Array.isArray(held)) return [];
  return held.filter((message): message is Message => typeof message === 'object' && message !== null);
}

/** Number of earlier assistant messages that contain this id. */
export const timesUsedInState = (state: unknown, toolCallId: string): number =>
  earlierUses(messagesOf(state).map(toSaid), toolCallId);

function toSaid({ type, tool_calls: calls, tool_call_id: id }: Message): ConversationStep {
  if (type === 'tool' && typeof id === 'string') return { type: 'answer', id };
  const ids = (type === 'ai' && Array.isArray(calls) ? (calls as readonly unknown[]) : []).flatMap((call) =>
    isJsonObject(call) && typeof call['id'] === 'string' ? [call['id']] : [],
  );
  return ids.length === 0 ? { type: 'other' } : { type: 'calls', ids };
}

/** The message that the run answers. */
export function lastAsked(state: unknown): string | undefined {
  const id = messagesOf(state).findLast(({ type }) => type === 'human')?.id;
  return typeof id === 'string' ? id : undefined;
}
