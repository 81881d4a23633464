/** An agent of Mastra whose tools are under Quittance. The model is a mock of the AI SDK: no key, no network. */
import assert from 'node:assert/strict';
import { Mastra } from '@mastra/core';
import { Agent } from '@mastra/core/agent';
import { InMemoryStore } from '@mastra/core/storage';
import { createTool } from '@mastra/core/tools';
import { MockLanguageModelV3 } from 'ai6/test';
import { ToolDecision } from 'quittance';
import { governTools } from '@quittance/mastra';
import { z } from 'zod';

const refunded: number[] = [];
const tools = {
  refund: createTool({
    id: 'refund',
    description: 'Pays money back.',
    inputSchema: z.object({ order: z.string(), cents: z.number() }),
    execute: async ({ order, cents }) => ({ order, refunds: refunded.push(cents) }),
  }),
};

const governed = await governTools(tools, {
  approver: 'grace', // the person who answers Mastra's approvals
  onPreToolUse: ({ arguments: { cents } }) => {
    if (Number(cents) > 50_000) return ToolDecision.block('More than 500 euros.');
    return Number(cents) > 2_000
      ? ToolDecision.requiresConfirmation('More than 20 euros?')
      : ToolDecision.allow;
  },
});

// The model asks for three refunds at once, the first with its number in quotes, and then ends.
const call = (toolCallId: string, input: object) =>
  ({ type: 'tool-call', toolCallId, toolName: 'refund', input: JSON.stringify(input) }) as const;
const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
const model = new MockLanguageModelV3({
  doGenerate: [
    {
      content: [
        call('call_1', { order: 'A7', cents: '500' }),
        call('call_2', { order: 'B1', cents: 90_000 }),
        call('call_3', { order: 'C3', cents: 3_000 }),
      ],
      finishReason: { unified: 'tool-calls', raw: undefined },
      usage,
      warnings: [],
    },
    {
      content: [{ type: 'text', text: 'Two were refunded.' }],
      finishReason: { unified: 'stop', raw: undefined },
      usage,
      warnings: [],
    },
  ],
});

const clerk = new Agent({
  id: 'clerk',
  name: 'Clerk',
  instructions: 'Refund what is due.',
  model,
  tools: governed.tools,
  defaultOptions: { activeTools: governed.activeTools },
});
const mastra = new Mastra({ agents: { clerk }, storage: new InMemoryStore(), logger: false });

const agent = mastra.getAgent('clerk');
const memory = { thread: 'ticket-42', resource: 'ada' };
const stopped = await agent.generate('Refund these orders.', { memory });
assert.equal(stopped.finishReason, 'suspended');
assert.deepEqual(refunded, [500]); // a number, and only the one that needs no approval
const { suspendPayload } = stopped.suspendPayload as { suspendPayload: { description: string } };
console.log('asked:', suspendPayload.description);

const { runId = '' } = stopped; // later, in any process that shares the storage and the ledger
const { text } = await agent.approveToolCallGenerate({ runId, toolCallId: 'call_3' });
assert.equal(text, 'Two were refunded.');
assert.deepEqual(refunded, [500, 3_000]);
for (const { callId, outcome } of await governed.runtime.calls.audit({ sessionId: 'ticket-42' }))
  console.log(callId, outcome.kind);
await governed.runtime.close();
