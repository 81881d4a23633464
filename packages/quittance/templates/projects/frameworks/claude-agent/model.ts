/**
 * A scripted model, so that the project runs without an API key. It answers the requests of the SDK on a local port.
 * To use the real one, set ANTHROPIC_API_KEY and delete this file and its use in agent.ts.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Options } from '@anthropic-ai/claude-agent-sdk';

type Block =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'tool_use'; readonly id: string; readonly name: string; readonly input: object };

const refund = (id: string, order: string, cents: number): Block => ({
  type: 'tool_use',
  id,
  name: 'mcp__shop__refund',
  input: { order, cents },
});

export async function openModel(): Promise<{ readonly options: Options; close(): Promise<void> }> {
  const answers: Block[][] = [
    [refund('toolu_1', 'A-1', 900), refund('toolu_2', 'B-2', 9_000)],
    [{ type: 'text', text: 'I am done with the refunds.' }],
  ];
  const server = createServer((request, response) => {
    void (async () => {
      let body = '';
      for await (const chunk of request) body += String(chunk);
      if (request.method !== 'POST' || !request.url?.startsWith('/v1/messages?')) {
        response.writeHead(request.url === '/' ? 200 : 404).end();
        return;
      }
      const { model, tools = [] } = JSON.parse(body) as { model: string; tools?: readonly object[] };
      const blocks =
        tools.length > 0 ? (answers.shift() ?? []) : [{ type: 'text' as const, text: 'Refunds' }];
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const event of toEvents(model, blocks))
        response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
      response.end();
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const home = mkdtempSync(join(tmpdir(), 'scripted-model-'));
  return {
    options: {
      settingSources: [],
      cwd: home,
      env: {
        PATH: process.env['PATH'],
        HOME: home,
        TMPDIR: home,
        CLAUDE_CODE_TMPDIR: home,
        CLAUDE_CONFIG_DIR: home,
        ANTHROPIC_BASE_URL: `http://127.0.0.1:${port}`,
        ANTHROPIC_API_KEY: 'none',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      },
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      rmSync(home, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** The events of one streamed message. */
function toEvents(model: string, blocks: readonly Block[]): { type: string; [key: string]: unknown }[] {
  const usage = { input_tokens: 1, output_tokens: 1 };
  const stop = blocks.some(({ type }) => type === 'tool_use') ? 'tool_use' : 'end_turn';
  const message = {
    id: `msg_${crypto.randomUUID()}`,
    type: 'message',
    role: 'assistant',
    model,
    content: [],
  };
  return [
    { type: 'message_start', message: { ...message, stop_reason: null, stop_sequence: null, usage } },
    ...blocks.flatMap((block, index) => [
      {
        type: 'content_block_start',
        index,
        content_block: block.type === 'text' ? { ...block, text: '' } : { ...block, input: {} },
      },
      {
        type: 'content_block_delta',
        index,
        delta:
          block.type === 'text'
            ? { type: 'text_delta', text: block.text }
            : { type: 'input_json_delta', partial_json: JSON.stringify(block.input) },
      },
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: { stop_reason: stop, stop_sequence: null }, usage },
    { type: 'message_stop' },
  ];
}
