/** A plain loop over the OpenAI SDK, by the Responses API. The client is answered by a script: no key, no network. */
import assert from 'node:assert/strict';
import OpenAI from 'openai';
import { governTools } from '@quittance/openai';

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

const text = { type: 'output_text', text: 'Refunded.', annotations: [] };
const answers = [
  [{ type: 'function_call', call_id: 'call_1', name: 'refund', arguments: '{"order":"A7","cents":"500"}' }],
  [{ type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content: [text] }],
];
const client = new OpenAI({
  apiKey: 'none',
  fetch: async () =>
    Response.json({ id: 'resp', object: 'response', status: 'completed', output: answers.shift() }),
});

const run = governed.run({ sessionId: 'ticket-42' });
let input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: 'Refund order A7.' }];
let previous: string | null = null;
for (;;) {
  const response: OpenAI.Responses.Response = await client.responses.create({
    model: 'any',
    tools: run.responseTools,
    previous_response_id: previous,
    input,
  });
  input = await run.answerResponse(response);
  previous = response.id;
  if (input.length === 0) break;
}

assert.deepEqual(refunded, [500]); // a number, as the schema says
for (const { toolName, outcome } of await governed.runtime.calls.audit({ sessionId: 'ticket-42' }))
  console.log(toolName, outcome.kind);
