/** An agent of the AI SDK whose tools are under Quittance. The model is the SDK's own mock: no key, no network. */
import assert from 'node:assert/strict';
import { generateText, stepCountIs, tool } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { ToolDecision } from 'quittance';
import { governTools } from '@quittance/ai-sdk';
import { z } from 'zod';

const refunded: number[] = [];
const tools = {
  refund: tool({
    description: 'Pays money back.',
    inputSchema: z.object({ order: z.string(), cents: z.number() }),
    execute: ({ order, cents }) => ({ order, refunds: refunded.push(cents) }),
  }),
};

const governed = await governTools(tools, {
  onPreToolUse: ({ arguments: { cents } }) =>
    Number(cents) > 2_000 ? ToolDecision.block('More than 20 euros.') : ToolDecision.allow,
});

// The model asks for two refunds at once, the first with its number in quotes, and then ends.
const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
const call = (toolCallId: string, input: object) =>
  ({ type: 'tool-call', toolCallId, toolName: 'refund', input: JSON.stringify(input) }) as const;
const model = new MockLanguageModelV4({
  doGenerate: [
    {
      content: [
        call('call_1', { order: 'A7', cents: '500' }),
        call('call_2', { order: 'B1', cents: 90_000 }),
      ],
      finishReason: { unified: 'tool-calls', raw: undefined },
      usage,
      warnings: [],
    },
    {
      content: [{ type: 'text', text: 'One was refunded.' }],
      finishReason: { unified: 'stop', raw: undefined },
      usage,
      warnings: [],
    },
  ],
});

const { text } = await generateText({
  model,
  prompt: 'Refund both orders.',
  tools: governed.run({ sessionId: 'ticket-42' }).tools,
  stopWhen: stepCountIs(5),
});

assert.equal(text, 'One was refunded.');
assert.deepEqual(refunded, [500]); // a number, and only the one that policy allows
for (const { toolName, outcome } of await governed.runtime.calls.audit({ sessionId: 'ticket-42' }))
  console.log(toolName, outcome.kind);
