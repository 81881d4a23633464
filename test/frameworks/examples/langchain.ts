/** An agent of LangChain whose tools are under Quittance. The model is the framework's own fake: no key, no network. */
import assert from 'node:assert/strict';
import { AIMessage, HumanMessage } from '@langchain/core/messages';
import { fakeModel } from '@langchain/core/testing';
import { Command, MemorySaver } from '@langchain/langgraph';
import { createAgent, createMiddleware, tool } from 'langchain';
import { ToolDecision } from 'quittance';
import type { LangChainQuestion } from '@quittance/langchain';
import { governTools } from '@quittance/langchain';
import { z } from 'zod';

const refunded: number[] = [];
const refund = tool(({ order, cents }) => ({ order, refunds: refunded.push(cents) }), {
  name: 'refund',
  description: 'Pays money back.',
  schema: z.object({ order: z.string(), cents: z.number() }),
});

const governed = await governTools([refund], {
  onPreToolUse: ({ arguments: { cents } }) =>
    Number(cents) > 2_000
      ? ToolDecision.block('More than 20 euros.')
      : ToolDecision.requiresConfirmation(`Pay back ${Number(cents)} cents?`),
  approver: 'grace', // the person who resumes the thread: take it from your own login
});

// The model asks for two refunds at once, the first with its number in quotes, and then ends.
const model = fakeModel()
  .respondWithTools([
    { id: 'call_1', name: 'refund', args: { order: 'A7', cents: '500' } },
    { id: 'call_2', name: 'refund', args: { order: 'B1', cents: 90_000 } },
  ])
  .respond(new AIMessage('One was refunded.'));

const agent = createAgent({
  model,
  tools: governed.tools,
  middleware: [createMiddleware({ name: 'quittance', wrapToolCall: governed.wrapToolCall })],
  checkpointer: new MemorySaver(),
});
const config = { configurable: { thread_id: 'ticket-42' } };

// The run stops when a person has to decide …
const stopped = await agent.invoke({ messages: [new HumanMessage('Refund both orders.')] }, config);
const { __interrupt__: questions } = stopped as {
  __interrupt__?: { id: string; value: LangChainQuestion }[];
};
const [question] = questions ?? [];
assert(question !== undefined && refunded.length === 0);
console.log(question.value.description);

// … and continues with the answer, in this process or another.
const { confirmationId } = question.value;
const resume = { [question.id]: { confirmationId, approved: true } };
const { messages } = await agent.invoke(new Command({ resume }), config);

assert.equal(messages.at(-1)?.text, 'One was refunded.');
assert.deepEqual(refunded, [500]); // a number, and only the one that policy allows
for (const { toolName, outcome } of await governed.runtime.calls.audit({ sessionId: 'ticket-42' }))
  console.log(toolName, outcome.kind);
