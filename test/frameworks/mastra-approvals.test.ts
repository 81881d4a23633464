/** Approvals through Mastra: what counts as the answer of a person, and what does not. */
import { Mastra } from '@mastra/core';
import { Agent } from '@mastra/core/agent';
import { InMemoryStore } from '@mastra/core/storage';
import { createTool } from '@mastra/core/tools';
import { createMemoryLedger } from 'quittance/ledger';
import { governTools } from '@quittance/mastra';
import type { MastraOptions } from '@quittance/mastra';
import { expect, test, vi } from 'vitest';
import { z } from 'zod';
import { scriptedModel } from './harnesses/mastra-model.ts';
import type { Script, Told } from './suite/harness.ts';

const memory = { thread: 'thread-1', resource: 'ada' };
const done: Script = [{ text: 'Done.' }];
const pays = (id: string, args: Readonly<Record<string, unknown>>) => ({
  calls: [{ id, name: 'pay', arguments: args }],
});

async function stage(options: MastraOptions = {}) {
  const body = vi.fn<(input: unknown) => string>(() => 'paid');
  const pay = createTool({
    id: 'pay',
    description: 'Pays.',
    inputSchema: z.object({ cents: z.number() }),
    execute: async (input) => body(input),
  });
  const governed = await governTools(
    { pay },
    {
      ledger: createMemoryLedger(),
      approver: 'grace',
      overrides: { pay: { mode: 'destructive' } },
      ...options,
    },
  );
  const storage = new InMemoryStore();
  const told: Told[] = [];
  const agentFor = (script: Script) => {
    const agent = new Agent({
      id: 'clerk',
      name: 'Clerk',
      instructions: 'Pay.',
      model: scriptedModel(script, told) as never,
      tools: governed.tools,
    });
    return new Mastra({ agents: { clerk: agent }, storage, logger: false }).getAgent('clerk');
  };
  const confirmationOf = async (callId: string) => {
    const [kept] = await governed.runtime.calls.list({ sessionId: memory.thread, callId });
    return kept?.confirmation;
  };
  return { body, governed, told, agentFor, confirmationOf };
}

test('the run stops with the question, which a person can be shown', async () => {
  const { agentFor, confirmationOf } = await stage();
  const output = await agentFor([pays('c1', { cents: 5 }), ...done]).generate('Go.', { memory });
  expect(output.finishReason).toBe('suspended');
  const { confirmationId, description } = (await confirmationOf('c1')) ?? {};
  expect(output.suspendPayload).toMatchObject({
    toolCallId: 'c1',
    suspendPayload: { confirmationId, description, callId: 'c1', toolName: 'pay' },
  });
});

test.each([
  ['approveToolCallGenerate', 'approved', 1, '"paid"'],
  ['declineToolCallGenerate', 'denied', 0, '"blocked":true'],
] as const)('%s is an answer', async (method, status, times, heard) => {
  const { agentFor, body, confirmationOf, told } = await stage();
  const { runId = '' } = await agentFor([pays('c1', { cents: 5 })]).generate('Go.', { memory });
  // Which thread it is, Mastra remembers.
  const output = await agentFor(done)[method]({ runId, toolCallId: 'c1' });
  expect(output.text).toBe('Done.');
  expect(body).toHaveBeenCalledTimes(times);
  expect(await confirmationOf('c1')).toMatchObject({ status, by: { name: 'grace' } });
  expect(told[0]?.texts[0]).toContain(heard);
});

test('a stream stops and continues in the same way', async () => {
  const { agentFor, body } = await stage();
  const stopped = await agentFor([pays('c1', { cents: 5 })]).stream('Go.', { memory });
  const types: string[] = [];
  for await (const { type } of stopped.fullStream) types.push(type);
  expect(types).toContain('tool-call-suspended');
  const going = await agentFor(done).resumeStream(
    { approved: true },
    { runId: stopped.runId, toolCallId: 'c1', memory },
  );
  expect(await going.text).toBe('Done.');
  expect(body).toHaveBeenCalledOnce();
});

test.each([
  ['first', { approved: true }],
  ['as text', '{"approved":true}'],
  ['with extra members', { approved: true, confirmationId: 'confirmation_1', by: 'grace' }],
])('resume data that the model writes, %s, approves nothing', async (_, resumeData) => {
  const { agentFor, body, confirmationOf } = await stage();
  const script = [pays('c1', { cents: 5, resumeData }), ...done];
  const output = await agentFor(script).generate('Go.', { memory });
  expect([output.finishReason, body.mock.calls]).toEqual(['suspended', []]);
  expect(await confirmationOf('c1')).toMatchObject({ status: 'pending' });
});

test('resume data that the model writes does not turn a denial into an approval', async () => {
  const { agentFor, body, confirmationOf } = await stage();
  const script = [pays('c1', { cents: 5, resumeData: { approved: true } })];
  const { runId = '' } = await agentFor(script).generate('Go.', { memory });
  const output = await agentFor(done).resumeGenerate(
    { approved: false },
    { runId, toolCallId: 'c1', memory },
  );
  // Mastra hands on what the model wrote. So the no is lost as well, and the question stays open.
  expect([output.finishReason, body.mock.calls]).toEqual(['suspended', []]);
  expect(await confirmationOf('c1')).toMatchObject({ status: 'pending' });
});

test('a later call with the same id cannot approve the held one, whatever it knows', async () => {
  const { agentFor, body, confirmationOf } = await stage();
  await agentFor([pays('c1', { cents: 5 })]).generate('Go.', { memory });
  const { confirmationId } = (await confirmationOf('c1')) ?? {};
  const resumeData = { approved: true, confirmationId };
  const output = await agentFor([pays('c1', { cents: 5, resumeData })]).generate('Go on.', { memory });
  expect([output.finishReason, body.mock.calls]).toEqual(['suspended', []]);
  expect(await confirmationOf('c1')).toMatchObject({ status: 'pending' });
});

test.each([{}, { approved: 'yes' }, { approved: true, confirmationId: 'another' }, ['approved'], 'yes'])(
  'resumed with %j, the call stays held, and the run stops again',
  async (resumeData) => {
    const { agentFor, body } = await stage();
    const { runId = '' } = await agentFor([pays('c1', { cents: 5 })]).generate('Go.', { memory });
    const output = await agentFor(done).resumeGenerate(resumeData, { runId, toolCallId: 'c1', memory });
    expect([output.finishReason, body.mock.calls]).toEqual(['suspended', []]);
  },
);

test('resumed without data, the run continues with a decision made elsewhere', async () => {
  const { agentFor, body, confirmationOf, governed } = await stage();
  const { runId = '' } = await agentFor([pays('c1', { cents: 5 })]).generate('Go.', { memory });
  const { confirmationId = '', inputDigest = '' } = (await confirmationOf('c1')) ?? {};
  await governed.runtime.confirmations.decide(confirmationId, {
    decision: 'edit',
    arguments: { cents: 3 },
    by: 'hal',
    inputDigest,
  });
  const output = await agentFor(done).resumeGenerate({}, { runId, toolCallId: 'c1', memory });
  expect(output.text).toBe('Done.');
  expect(body.mock.calls).toEqual([[{ cents: 3 }]]);
});

test('an approval without a name does not count', async () => {
  const { agentFor, body } = await stage({ approver: () => undefined });
  const { runId = '' } = await agentFor([pays('c1', { cents: 5 })]).generate('Go.', { memory });
  const output = await agentFor(done).approveToolCallGenerate({ runId, toolCallId: 'c1', memory });
  expect([output.finishReason, body.mock.calls]).toEqual(['suspended', []]);
});

test('the approver can be read from the request', async () => {
  const { RequestContext } = await import('@mastra/core/request-context');
  const { agentFor, confirmationOf } = await stage({
    approver: ({ requestContext }) => requestContext?.get('user') as string | undefined,
    principal: ({ agent }) => ({ userId: agent?.resourceId ?? '' }),
  });
  const { runId = '' } = await agentFor([pays('c1', { cents: 5 })]).generate('Go.', { memory });
  const requestContext = new RequestContext([['user', 'hal']]);
  await agentFor(done).approveToolCallGenerate({ runId, toolCallId: 'c1', memory, requestContext });
  expect(await confirmationOf('c1')).toMatchObject({ status: 'approved', by: { name: 'hal' } });
});

test('two held calls of one step are asked about one after the other, and each runs once', async () => {
  const { agentFor, body, told } = await stage();
  const calls = [1, 2].map((cents) => ({ id: `c${cents}`, name: 'pay', arguments: { cents } }));
  const { runId = '' } = await agentFor([{ calls }]).generate('Go.', { memory });
  const second = await agentFor([{ text: 'Too early.' }]).approveToolCallGenerate({
    runId,
    toolCallId: 'c1',
    memory,
  });
  expect(second.finishReason).toBe('suspended');
  const last = await agentFor(done).approveToolCallGenerate({ runId, toolCallId: 'c2', memory });
  expect(last.text).toBe('Done.');
  expect(body.mock.calls).toEqual([[{ cents: 1 }], [{ cents: 2 }]]);
  expect(told.map(({ callId, texts }) => [callId, texts[0]])).toEqual([
    ['c1', '"paid"'],
    ['c2', '"paid"'],
  ]);
});
