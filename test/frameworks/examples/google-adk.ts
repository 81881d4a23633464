/** An agent of the Agent Development Kit. Its model is a script: no key, no network. */
import assert from 'node:assert/strict';
import type { Part } from '@google/genai';
import {
  BaseLlm,
  FunctionTool,
  InMemorySessionService,
  LlmAgent,
  LogLevel,
  Runner,
  setLogLevel,
} from '@google/adk';
import type { BaseLlmConnection, LlmResponse } from '@google/adk';
import { governTools } from '@quittance/google-adk';
import { z } from 'zod';

setLogLevel(LogLevel.ERROR);

const refunded: number[] = [];
const refund = new FunctionTool({
  name: 'refund',
  description: 'Pays money back.',
  parameters: z.object({ order: z.string(), cents: z.number() }),
  execute: ({ order, cents }) => ({ order, refunds: refunded.push(cents) }),
});

const governed = await governTools([refund], {
  overrides: { refund: { mode: 'destructive' } },
  approver: ({ invocationContext }) => invocationContext.session.userId,
});

const answers: Part[][] = [
  [{ functionCall: { name: 'refund', args: { order: 'A7', cents: '500' } } }],
  [{ text: 'Refunded.' }],
];
class Scripted extends BaseLlm {
  override async *generateContentAsync(): AsyncGenerator<LlmResponse, void> {
    yield { content: { role: 'model', parts: answers.shift() ?? [] } };
  }
  override connect(): Promise<BaseLlmConnection> {
    throw new Error('There is no live connection.');
  }
}

const agent = new LlmAgent({
  name: 'clerk',
  model: new Scripted({ model: 'scripted' }),
  tools: governed.tools,
});
const sessionService = new InMemorySessionService();
const runner = new Runner({ appName: 'shop', agent, sessionService, plugins: [governed.plugin] });
const { id: sessionId } = await sessionService.createSession({ appName: 'shop', userId: 'ada' });

const say = async (parts: Part[]): Promise<Part[]> => {
  const said: Part[] = [];
  for await (const { content } of runner.runAsync({
    userId: 'ada',
    sessionId,
    newMessage: { role: 'user', parts },
  }))
    said.push(...(content?.parts ?? []));
  return said;
};

const stopped = await say([{ text: 'Refund order A7.' }]);
const question = stopped.find(({ functionCall }) => functionCall?.name === 'adk_request_confirmation');
assert.deepEqual(refunded, []); // nothing ran yet

const id = question?.functionCall?.id ?? '';
const said = await say([
  { functionResponse: { id, name: 'adk_request_confirmation', response: { confirmed: true } } },
]);
assert.equal(said.at(-1)?.text, 'Refunded.');
assert.deepEqual(refunded, [500]); // a number, as the schema says

for (const { toolName, outcome } of await governed.runtime.calls.audit({
  sessionId: `shop/ada/${sessionId}`,
}))
  console.log(toolName, outcome.kind);
