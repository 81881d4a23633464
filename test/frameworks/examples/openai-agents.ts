/** An agent of OpenAI Agents JS whose tools are under Quittance, and a run that stops for a person. No key, no network. */
import assert from 'node:assert/strict';
import type { Model, protocol } from '@openai/agents';
import { Agent, Runner, RunState, setTracingDisabled, tool, Usage } from '@openai/agents';
import { ToolDecision } from 'quittance';
import { governTools } from '@quittance/openai-agents';
import { z } from 'zod';

setTracingDisabled(true);

const refunded: number[] = [];
const refund = tool({
  name: 'refund',
  description: 'Pays money back.',
  parameters: z.object({ order: z.string(), cents: z.number() }),
  execute: ({ order, cents }) => ({ order, refunds: refunded.push(cents) }),
});

const governed = await governTools([refund], {
  approver: 'grace',
  onPreToolUse: ({ arguments: { cents } }) =>
    Number(cents) > 2_000 ? ToolDecision.requiresConfirmation('More than 20 euros?') : ToolDecision.allow,
});

// The model asks for two refunds at once, the first with its number in quotes, and then ends.
const call = (callId: string, args: object): protocol.FunctionCallItem => ({
  type: 'function_call',
  callId,
  name: 'refund',
  arguments: JSON.stringify(args),
  status: 'completed',
});
const ending: protocol.AssistantMessageItem = {
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: 'Both were refunded.' }],
};
const rounds = [
  [call('call_1', { order: 'A7', cents: '500' }), call('call_2', { order: 'B1', cents: 9_000 })],
  [ending],
];
const model: Model = {
  getResponse: async () => ({ output: rounds.shift() ?? [], usage: new Usage() }),
  getStreamedResponse: () => {
    throw new Error('This model does not stream.');
  },
};

const agent = new Agent({ name: 'shop', model, tools: governed.tools });
const runner = new Runner({ toolNotFoundBehavior: 'return_error_to_model' });

const stopped = await runner.run(agent, 'Refund both orders.', { context: { sessionId: 'ticket-42' } });
assert.deepEqual(refunded, [500]); // a number; the other one waits for a person
const stored = stopped.state.toString();

// Later, in any process: record the person's answer and continue.
const state = await RunState.fromString(agent, stored);
for (const interruption of state.getInterruptions()) state.approve(interruption);
await governed.takeApprovals(state);
const result = await runner.run(agent, state);

assert.equal(result.finalOutput, 'Both were refunded.');
assert.deepEqual(refunded, [500, 9_000]);
for (const { callId, outcome } of await governed.runtime.calls.audit({ sessionId: 'ticket-42' }))
  console.log(callId, outcome.kind);
