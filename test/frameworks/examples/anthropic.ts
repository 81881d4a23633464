/** A plain loop over the Anthropic SDK. The client is answered by a script: no key, no network. */
import assert from 'node:assert/strict';
import Anthropic from '@anthropic-ai/sdk';
import { governTools } from '@quittance/anthropic';

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
  {
    stop_reason: 'tool_use',
    content: [{ type: 'tool_use', id: 'toolu_1', name: 'refund', input: { order: 'A7', cents: '500' } }],
  },
  { stop_reason: 'end_turn', content: [{ type: 'text', text: 'Refunded.' }] },
];
const client = new Anthropic({
  apiKey: 'none',
  fetch: async () => Response.json({ id: 'msg', type: 'message', role: 'assistant', ...answers.shift() }),
});

const run = governed.run({ sessionId: 'ticket-42' });
const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'Refund order A7.' }];
for (;;) {
  const message = await client.messages.create({
    model: 'any',
    max_tokens: 1_000,
    tools: run.tools,
    messages,
  });
  messages.push({ role: 'assistant', content: message.content });
  const results = await run.answer(message);
  if (results.length === 0) break;
  messages.push({ role: 'user', content: results });
}

assert.deepEqual(refunded, [500]); // a number, as the schema says
assert.equal(messages.length, 4);
for (const { toolName, outcome } of await governed.runtime.calls.audit({ sessionId: 'ticket-42' }))
  console.log(toolName, outcome.kind);
