/** What the messages of a graph say about its calls. They may come from a client, so nothing here is believed further. */

type Message = { readonly type?: unknown; readonly id?: unknown; readonly tool_call_id?: unknown };

function messagesOf(state: unknown): readonly Message[] {
  const held: unknown =
    typeof state === 'object' && state !== null && 'messages' in state ? state.messages : state;
  if (!Array.isArray(held)) return [];
  return held.filter((message): message is Message => typeof message === 'object' && message !== null);
}

/** How many calls of this id have been answered. */
export const timesAnswered = (state: unknown, toolCallId: string): number =>
  messagesOf(state).filter(({ type, tool_call_id: id }) => type === 'tool' && id === toolCallId).length;

/** The message that the run is an answer to. */
export function lastAsked(state: unknown): string | undefined {
  const id = messagesOf(state).findLast(({ type }) => type === 'human')?.id;
  return typeof id === 'string' ? id : undefined;
}
