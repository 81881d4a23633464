/**
 * The prompt of a query that is resumed. The program goes on with the call it deferred as soon as it starts, and finds
 * its tool only when the server is connected: until then it ends a turn of its own with a result that says so. The SDK
 * takes the first result for the end of a prompt that is a text, and closes the input; the hook that is asked after
 * that gets no answer, and the program tells the model that the user did not want the call.
 */

/** What a query takes as a message of a prompt. */
export type ClaudeAgentUserMessage = {
  type: 'user';
  message: { role: 'user'; content: string };
  parent_tool_use_id: null;
  session_id: string;
};

/** A prompt whose input stays open until the result that counts. Good for one query. */
export interface OpenPrompt extends AsyncIterable<ClaudeAgentUserMessage> {
  /** To be told every message of the query; the input is closed when the query has its result. */
  hear(message: { readonly type: string }): void;
}

const isUnavailable = (message: object): boolean =>
  'terminal_reason' in message && message.terminal_reason === 'tool_deferred_unavailable';

/** A prompt for `query` of the SDK where a session with a deferred call is resumed. */
export function openPrompt(content: string): OpenPrompt {
  const heard = Promise.withResolvers<void>();
  let early = 0;
  return {
    hear(message) {
      if (message.type !== 'result') return;
      // Once it was too early to ask; a tool that is missing after that is missing.
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
