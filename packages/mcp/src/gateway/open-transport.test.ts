import { expect, test } from 'vitest';
import { openTransport } from './upstream.ts';

const event = `event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', method: 'x', params: { text: 'x'.repeat(2 ** 20) } })}\n\n`;

test('a stream that lasts as long as its session may be longer than one answer', async () => {
  let sent = -1;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      sent += 1;
      if (sent === 70) controller.close();
      else controller.enqueue(Buffer.from(sent === 0 ? 'event: endpoint\ndata: /mcp\n\n' : event));
    },
  });
  const transport = openTransport(
    {
      name: 'old',
      isTrusted: false,
      tools: {},
      isDisabled: false,
      type: 'sse',
      url: new URL('http://127.0.0.1/sse'),
      headers: {},
    },
    {
      fetch: () => Promise.resolve(new Response(body, { headers: { 'content-type': 'text/event-stream' } })),
      auth: undefined,
      onLogLine: () => undefined,
    },
  );
  let received = 0;
  transport.onmessage = () => void (received += 1);
  await transport.start();
  await expect.poll(() => received).toBe(69);
  await transport.close();
});
