/** Governed tools in realtime agents: the session of the real package, with a transport that only notes things down. */
import { EventEmitter } from 'node:events';
import { tool } from '@openai/agents';
import type { RealtimeTransportLayer } from '@openai/agents/realtime';
import { RealtimeAgent, RealtimeSession } from '@openai/agents/realtime';
import { ToolDecision } from 'quittance';
import type { OpenAiAgentsOptions } from '@quittance/openai-agents';
import { governTools } from '@quittance/openai-agents';
import { expect, test, vi } from 'vitest';
import { z } from 'zod';
import { eventually } from './suite/eventually.ts';

class LoopbackTransport extends EventEmitter {
  status = 'disconnected';
  readonly muted = null;
  readonly outputs: { callId: string; output: string }[] = [];
  async connect(): Promise<void> {
    this.status = 'connected';
    this.emit('connection_change', 'connected');
  }
  close(): void {
    this.status = 'disconnected';
  }
  sendEvent(): void {}
  sendMessage(): void {}
  addImage(): void {}
  sendAudio(): void {}
  updateSessionConfig(): void {}
  mute(): void {}
  interrupt(): void {}
  resetHistory(): void {}
  requestResponse(): void {}
  sendMcpResponse(): void {}
  sendFunctionCallOutput({ callId }: { callId: string }, output: string): void {
    this.outputs.push({ callId, output });
  }
  /** The actions of the model on the other side. */
  call(callId: string, name: string, args: object): void {
    this.emit('function_call', {
      responseId: `response_${callId}`,
      type: 'function_call',
      id: `item_${callId}`,
      callId,
      name,
      arguments: JSON.stringify(args),
      status: 'completed',
    });
  }
}

async function open(
  execute: (input: { cents: number }) => unknown,
  options: OpenAiAgentsOptions = {},
  more: object = {},
) {
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    parameters: z.object({ cents: z.number() }),
    execute,
  });
  const governed = await governTools([pay], options);
  const transport = new LoopbackTransport();
  const agent = new RealtimeAgent({
    name: 'shop',
    instructions: '',
    tools: governed.tools as never,
    ...more,
  });
  const session = new RealtimeSession(agent, {
    transport: transport as unknown as RealtimeTransportLayer, // the methods that the session calls
    context: { sessionId: 'call-1' } as never,
  });
  const errors: unknown[] = [];
  session.on('error', (error) => errors.push(error));
  await session.connect({ apiKey: 'none' });
  const { runtime } = governed;
  const told = (count: number) =>
    eventually(() => {
      expect(transport.outputs).toHaveLength(count);
      return transport.outputs.map(({ output }) => JSON.parse(output) as unknown);
    });
  return { runtime, session, transport, errors, told };
}

test('a call is judged, made once and recorded; a note stays inside the JSON', async () => {
  const pay = vi.fn<(input: { cents: number }) => unknown>(({ cents }) => ({ paid: cents }));
  const { runtime, transport, told } = await open(pay);
  transport.call('c1', 'pay', { cents: '500' });
  const [first] = (await told(1)) as { paid: number; note: string }[];
  const [made] = await runtime.calls.list({ sessionId: 'call-1', callId: 'c1' });
  expect(first).toEqual({ paid: 500, note: made?.settled?.outcome.modelNote });
  expect(pay.mock.calls.map(([input]) => input)).toEqual([{ cents: 500 }]);
});

test('a blocked and a failed call get the tabled content, and the session continues', async () => {
  const { transport, told, errors } = await open(
    () => {
      throw new Error('No funds.');
    },
    {
      onPreToolUse: ({ arguments: { cents } }) =>
        Number(cents) > 100 ? ToolDecision.block('Too much.') : ToolDecision.allow,
    },
  );
  transport.call('c1', 'pay', { cents: 500 });
  await told(1);
  transport.call('c2', 'pay', { cents: 5 });
  expect(await told(2)).toMatchObject([
    { blocked: true },
    { status: 'error', error: expect.stringContaining('No funds.') as string },
  ]);
  expect(errors).toEqual([]);
});

test('a held call waits for a person, and the session learns the decision', async () => {
  const pay = vi.fn<() => string>(() => 'paid');
  const { runtime, transport, told } = await open(pay, { overrides: { pay: { mode: 'destructive' } } });
  transport.call('c1', 'pay', { cents: 5 });
  const held = await eventually(async () => {
    const [one] = (await runtime.confirmations.list({ status: 'pending' })).rows;
    expect(one).toBeDefined();
    return one;
  });
  expect([pay.mock.calls, transport.outputs]).toEqual([[], []]);
  const { confirmationId = '', inputDigest = '' } = held ?? {};
  await runtime.confirmations.decide(confirmationId, { decision: 'approve', by: 'ada', inputDigest });
  expect(await told(1)).toEqual(['paid']);
  expect(pay).toHaveBeenCalledOnce();
});

test('with an approver the session asks, and its approval is the decision of the named person', async () => {
  const pay = vi.fn<() => string>(() => 'paid');
  const options = { overrides: { pay: { mode: 'destructive' } }, approver: 'grace' } as const;
  const { runtime, session, transport, told } = await open(pay, options);
  session.on('tool_approval_requested', (_context, _agent, { approvalItem }) => {
    void session.approve(approvalItem as never);
  });
  transport.call('c1', 'pay', { cents: 5 });
  expect(await told(1)).toEqual(['paid']);
  const [made] = await runtime.calls.list({ sessionId: 'call-1', callId: 'c1' });
  expect(made?.confirmation).toMatchObject({ status: 'approved', by: { name: 'grace' } });
});

test('with an approver, a rejection through the session is the decision of the named person, and is final', async () => {
  const pay = vi.fn<() => string>(() => 'paid');
  const options = { overrides: { pay: { mode: 'destructive' } }, approver: 'grace' } as const;
  const { runtime, session, transport } = await open(pay, options);
  session.on('tool_approval_requested', (_context, _agent, { approvalItem }) => {
    void session.reject(approvalItem as never, { message: 'Too much.' });
  });
  for (const id of ['c1', 'c2']) {
    transport.call(id, 'pay', { cents: 5 });
    const held = await eventually(async () => {
      const [made] = await runtime.calls.list({ sessionId: 'call-1', callId: id });
      expect(made?.settled?.outcome).toMatchObject({ type: 'ToolDenied', code: 'confirmation.rejected' });
      return made?.confirmation;
    });
    expect(held).toMatchObject({ status: 'denied', by: { name: 'grace' } });
    await expect(
      runtime.confirmations.decide(held?.confirmationId ?? '', { decision: 'approve', by: 'ada' } as never),
    ).rejects.toThrow(expect.objectContaining({ code: 'confirmation.decided' }) as Error);
  }
  await eventually(() =>
    expect(transport.outputs).toEqual([
      { callId: 'c1', output: 'Too much.' },
      { callId: 'c2', output: 'Too much.' },
    ]),
  );
  expect(pay).not.toHaveBeenCalled();
});

test('a fault of the program is an error of the session, and the model learns nothing about the program', async () => {
  const { runtime, transport, errors } = await open(() => 'paid');
  await runtime.close();
  transport.call('c1', 'pay', { cents: 5 });
  await eventually(() =>
    expect(errors).toMatchObject([{ error: { message: expect.stringContaining('closed') as string } }]),
  );
  expect(transport.outputs).toEqual([]);
});

test('a session that could hand off to an agent with an ungoverned tool is not opened', async () => {
  const free = tool({ name: 'pay_free', description: '', parameters: z.object({}), execute: () => 'paid' });
  const clerk = new RealtimeAgent({ name: 'clerk', instructions: '', tools: [free] as never });
  const pay = vi.fn<() => string>(() => 'paid');
  // The session asks about its tools when it is opened.
  await expect(open(pay, {}, { handoffs: [clerk] })).rejects.toThrow(
    /the tool "pay_free" of the agent "clerk"/,
  );
  expect(pay).not.toHaveBeenCalled();
});
