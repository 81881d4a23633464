/** The Messages API of Anthropic on a local port, played from a script, for a program that wants an address. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A block of the model's message. */
export type ScriptedBlock =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'tool_use'; readonly id: string; readonly name: string; readonly input: unknown };

export type MessagesRequest = {
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
  readonly tools?: readonly { readonly name: string }[];
};

/** Answers requests that offer tools with `next`; anything else gets a fixed word. */
export async function serveMessages(
  next: (request: MessagesRequest) => Promise<readonly ScriptedBlock[]>,
): Promise<{ readonly url: string; readonly close: () => Promise<void> }> {
  const server = createServer((request, response) => {
    void (async () => {
      let body = '';
      for await (const chunk of request) body += String(chunk);
      if (request.method !== 'POST' || !request.url?.startsWith('/v1/messages?')) {
        response.writeHead(request.url === '/' ? 200 : 404).end();
        return;
      }
      const asked = JSON.parse(body) as MessagesRequest & { readonly model: string };
      const isMain = (asked.tools?.length ?? 0) > 0;
      const blocks = isMain ? await next(asked) : ([{ type: 'text', text: 'Aside.' }] as const);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const event of toEvents(asked.model, blocks))
        response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
      response.end();
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

type Event = { readonly type: string; readonly [key: string]: unknown };

function* toEvents(model: string, blocks: readonly ScriptedBlock[]): Generator<Event> {
  const usage = { input_tokens: 1, output_tokens: 1 };
  const stop = blocks.some(({ type }) => type === 'tool_use') ? 'tool_use' : 'end_turn';
  const message = {
    id: `msg_${crypto.randomUUID()}`,
    type: 'message',
    role: 'assistant',
    model,
    content: [],
  };
  yield { type: 'message_start', message: { ...message, stop_reason: null, stop_sequence: null, usage } };
  for (const [index, block] of blocks.entries()) {
    const isText = block.type === 'text';
    yield {
      type: 'content_block_start',
      index,
      content_block: isText ? { ...block, text: '' } : { ...block, input: {} },
    };
    yield {
      type: 'content_block_delta',
      index,
      delta: isText
        ? { type: 'text_delta', text: block.text }
        : { type: 'input_json_delta', partial_json: JSON.stringify(block.input) },
    };
    yield { type: 'content_block_stop', index };
  }
  yield { type: 'message_delta', delta: { stop_reason: stop, stop_sequence: null }, usage };
  yield { type: 'message_stop' };
}
