/**
 * The prompt of a resumed query. The program continues the deferred call at once, but finds its tool only when the
 * server is connected. Until then it ends its own turn with a result that says so. For a text prompt, the SDK takes
 * this first result as the end and closes the input. The next hook then gets no answer, and the program tells the
 * model that the user rejected the call.
 */

/** A message of a prompt for a query. */
export type ClaudeAgentUserMessage = {
  type: 'user';
  message: { role: 'user'; content: string };
  parent_tool_use_id: null;
  session_id: string;
};

/** A prompt that keeps its input open until the final result. For one query. */
export interface OpenPrompt extends AsyncIterable<ClaudeAgentUserMessage> {
  /** Receives every message of the query; closes the input when the query has its result. */
  hear(message: { readonly type: string }): void;
}

const isUnavailable = (message: object): boolean =>
  'terminal_reason' in message && message.terminal_reason === 'tool_deferred_unavailable';

/** A prompt for `query` of the SDK, to resume a session with a deferred call. */
export function openPrompt(content: string): OpenPrompt {
  const heard = Promise.withResolvers<void>();
  let early = 0;
  return {
    hear(message) {
      if (message.type !== 'result') return;
      // The first time it was too early; later, a missing tool really is missing.
      if (isUnavailable(message) && early++ === 0) return;
      heard.resolve();
    },
    async *[Symbol.asyncIterator]() {
      yield {
        type: 'user',
        message: { role: 'user', content },
        parent_tool_use_id: null,
        session_id: '',
      } as const;
      await heard.promise;
    },
  };
}
