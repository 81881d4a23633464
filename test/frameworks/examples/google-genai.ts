/** A plain loop over the Google GenAI SDK. The client is answered by a script on a local port: no key. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Content } from '@google/genai';
import { GoogleGenAI } from '@google/genai';
import { governTools } from '@quittance/google-genai';

const refunded: number[] = [];
const tools = {
  refund: {
    description: 'Pays money back.',
    inputSchema: {
      type: 'object',
      properties: { order: { type: 'string' }, cents: { type: 'number' } },
      required: ['order', 'cents'],
    },
    run: ({ order, cents }: { order: string; cents: number }) => ({ order, refunds: refunded.push(cents) }),
  },
};

const governed = await governTools(tools);

const answers = [
  [{ functionCall: { name: 'refund', args: { order: 'A7', cents: '500' } } }],
  [{ text: 'Refunded.' }],
];
const server = createServer((_, response) =>
  response.end(JSON.stringify({ candidates: [{ content: { role: 'model', parts: answers.shift() } }] })),
);
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const ai = new GoogleGenAI({ apiKey: 'none', httpOptions: { baseUrl } });

const contents: Content[] = [{ role: 'user', parts: [{ text: 'Refund order A7.' }] }];
const run = governed.run({ sessionId: 'ticket-42', conversation: contents });
for (;;) {
  const response = await ai.models.generateContent({
    model: 'any',
    contents,
    config: { tools: run.tools },
  });
  const parts = await run.answer(response);
  contents.push(response.candidates?.[0]?.content ?? {});
  if (parts.length === 0) break;
  contents.push({ role: 'user', parts });
}
server.close();

assert.deepEqual(refunded, [500]); // a number, as the schema says
assert.equal(contents.length, 4);
for (const { toolName, outcome } of await governed.runtime.calls.audit({ sessionId: 'ticket-42' }))
  console.log(toolName, outcome.kind);
