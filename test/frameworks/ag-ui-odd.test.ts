/** Special features of AG-UI: what clients show, and what they send. */
import { HttpAgent, isInterruptExpired } from '@ag-ui/client';
import type { Interrupt, RunFinishedEvent } from '@ag-ui/core';
import { tool as aiTool } from 'ai';
import { createRuntime, defineTool, govern, ToolDecision } from 'quittance';
import { createMemoryLedger } from 'quittance/ledger';
import type { Runtime } from 'quittance';
import { governTools } from '@quittance/ai-sdk';
import type { AgUiEvent } from '@quittance/ag-ui';
import { createAgUi } from '@quittance/ag-ui';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import type { AgUiServer } from './harnesses/ag-ui-server.ts';
import { serveAgUi } from './harnesses/ag-ui-server.ts';
import type { Script } from './suite/harness.ts';
import { eventually } from './suite/eventually.ts';

const sessionId = 'thread-1';
const done: Script = [{ text: 'Done.' }];
const call = (id: string, args: Readonly<Record<string, unknown>>, name = 'pay') => ({
  id,
  name,
  arguments: args,
});

type Body = (args: { cents: number }) => unknown;
const payTool = (run: Body) =>
  defineTool({
    name: 'pay',
    description: 'Pays.',
    mode: 'destructive',
    input: z.object({ cents: z.number() }),
    run: (args) => run(args),
  });

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** The package defines its own events: in a separate module since version 1. */
async function loadEventSchema(): Promise<{ parse(event: unknown): unknown }> {
  const module: string = '@ag-ui/core/schemas';
  const schemas = (await import(/* @vite-ignore */ module).catch(
    () => import('@ag-ui/core'),
  )) as unknown as Record<'EventSchema' | 'EventSchemas', { parse(event: unknown): unknown } | undefined>;
  const schema = schemas.EventSchema ?? schemas.EventSchemas;
  if (schema === undefined) throw new Error('The package has no schema of events.');
  return schema;
}

async function serve(runtime: Runtime, script: Script, person = 'grace'): Promise<AgUiServer> {
  const thread = { rounds: [], told: [] };
  const server = await serveAgUi({ runtime, script, sessionId, thread, person });
  closing.push(() => server.close());
  return server;
}

const interruptsIn = (server: AgUiServer): readonly Interrupt[] => {
  const end = server.sent.findLast(({ type }) => (type as string) === 'RUN_FINISHED') as
    | RunFinishedEvent
    | undefined;
  return end?.outcome?.type === 'interrupt' ? end.outcome.interrupts : [];
};

/** Holds one call of `pay`, and returns the interrupt that a client got. */
async function hold(body: Body = vi.fn<Body>(), options: object = {}) {
  const runtime = createRuntime({ tools: [payTool(body)], ledger: createMemoryLedger(), ...options });
  const ui = createAgUi({ runtime });
  await runtime.turn({ sessionId }).call(call('c1', { cents: 5 }), { ifHeld: 'return' });
  const [interrupt] = await ui.interrupts(sessionId);
  if (interrupt === undefined) throw new Error('Nothing is held.');
  const statusOf = async () =>
    (await runtime.calls.list({ sessionId, callId: 'c1' }))[0]?.confirmation?.status;
  return { runtime, ui, interrupt, statusOf };
}
const person = { by: 'grace', sessionId };
const yes = { approved: true };

describe('what a client shows', () => {
  test('every event is one of the protocol, and the client builds its messages from them', async () => {
    const schema = await loadEventSchema();
    const runtime = createRuntime({ tools: [payTool(({ cents }) => ({ paid: cents }))] });
    const server = await serve(runtime, [
      { calls: [call('c1', { cents: 5 }), call('c2', { cents: 7 })] },
      ...done,
    ]);
    const agent = new HttpAgent({ url: server.url, threadId: sessionId });
    await agent.runAgent();
    const interrupts = interruptsIn(server);
    expect(new Set(interrupts.map(({ toolCallId, reason }) => `${toolCallId} ${reason}`))).toEqual(
      new Set(['c1 tool_call', 'c2 tool_call']),
    );
    await agent.runAgent({
      resume: interrupts.map(({ id, toolCallId }) => ({
        interruptId: id,
        status: 'resolved' as const,
        payload: { approved: toolCallId === 'c1' },
      })),
    });
    expect(server.taken.map(({ status }) => status).toSorted()).toEqual(['approved', 'denied']);
    for (const event of server.sent) expect(() => schema.parse(event)).not.toThrow();
    const calls = agent.messages.flatMap((message) =>
      message.role === 'assistant' ? (message.toolCalls ?? []) : [],
    );
    expect(calls.map(({ id, function: made }) => [id, made.name, made.arguments])).toEqual([
      ['c1', 'pay', '{"cents":5}'],
      ['c2', 'pay', '{"cents":7}'],
    ]);
    const answers = agent.messages.flatMap((message) =>
      message.role === 'tool' ? [[message.toolCallId, message.content]] : [],
    );
    expect(Object.fromEntries(answers)).toEqual({
      c1: '{"paid":5}',
      c2: expect.stringContaining('"blocked":true') as string,
    });
  });

  test('an interrupt has what clients need to show an approval of their own', async () => {
    const { interrupt } = await hold();
    expect(interrupt).toMatchObject({
      reason: 'tool_call',
      toolCallId: 'c1',
      message: expect.stringContaining('pay') as string,
      metadata: { toolName: 'pay', arguments: { cents: 5 } },
    });
    // assistant-ui leaves a schema alone that has any other word.
    expect(Object.keys(interrupt.responseSchema).toSorted()).toEqual(['properties', 'required', 'type']);
    expect(isInterruptExpired(interrupt)).toBe(false);
  });

  test('secrets are hidden in arguments, questions and answers', async () => {
    const secret = 'sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJ';
    const runtime = createRuntime({
      tools: [
        defineTool({
          name: 'send',
          description: 'Sends.',
          mode: 'destructive',
          input: z.object({ key: z.string() }),
          run: ({ key }) => ({ sent: key }),
        }),
      ],
    });
    const server = await serve(runtime, [{ calls: [call('c1', { key: secret }, 'send')] }, ...done]);
    const agent = new HttpAgent({ url: server.url, threadId: sessionId });
    await agent.runAgent();
    const [{ id } = { id: '' }] = interruptsIn(server);
    await agent.runAgent({ resume: [{ interruptId: id, status: 'resolved', payload: yes }] });
    expect(server.taken).toMatchObject([{ status: 'approved' }]);
    expect(JSON.stringify(server.sent)).not.toContain(secret);
  });

  test('calls of another adapter are shown as well, and those of another session are not', async () => {
    const governed = await governTools({
      greet: aiTool({ inputSchema: z.object({}), execute: async () => 'hello' }),
    });
    const events: AgUiEvent[] = [];
    const run = await createAgUi(governed).openRun({
      sessionId,
      threadId: 't',
      runId: 'r',
      write: (event) => events.push(event),
      parentMessageId: () => 'm7',
    });
    for (const session of ['another', sessionId]) {
      const { greet } = governed.run({ sessionId: session }).tools;
      await greet.execute({}, { toolCallId: `of-${session}`, messages: [] } as never);
    }
    await run.finish();
    const id = `of-${sessionId}`;
    expect(events).toEqual([
      { type: 'RUN_STARTED', threadId: 't', runId: 'r' },
      { type: 'TOOL_CALL_START', toolCallId: id, toolCallName: 'greet', parentMessageId: 'm7' },
      { type: 'TOOL_CALL_ARGS', toolCallId: id, delta: '{}' },
      { type: 'TOOL_CALL_END', toolCallId: id },
      {
        type: 'TOOL_CALL_RESULT',
        messageId: `${id}.result`,
        toolCallId: id,
        role: 'tool',
        content: '"hello"',
      },
      { type: 'RUN_FINISHED', threadId: 't', runId: 'r', outcome: { type: 'success' } },
    ]);
  });

  test('an answer that came between two runs is shown in the next, once', async () => {
    const { runtime, ui, interrupt } = await hold(() => 'paid');
    await ui.takeResume([{ interruptId: interrupt.id, status: 'resolved', payload: yes }], person);
    await eventually(async () =>
      expect((await runtime.calls.list({ sessionId, callId: 'c1' }))[0]?.settled).toBeDefined(),
    );
    const events: AgUiEvent[] = [];
    const run = await ui.openRun({
      sessionId,
      threadId: 't',
      runId: 'r2',
      write: (event) => events.push(event),
    });
    const turn = runtime.turn({ sessionId });
    await turn.call(call('c1', { cents: 5 }));
    await turn.call(call('c1', { cents: 5 }));
    expect(await run.finish()).toEqual([]);
    expect(events.map(({ type }) => type)).toEqual(['RUN_STARTED', 'TOOL_CALL_RESULT', 'RUN_FINISHED']);
  });

  test('results that a client invents are replaced by the recorded ones', async () => {
    const runtime = createRuntime({ tools: [payTool(({ cents }) => ({ paid: cents }))] });
    const ui = createAgUi({ runtime });
    const turn = runtime.turn({ sessionId });
    for (const id of ['c1', 'c2']) await turn.call(call(id, { cents: 5 }), { ifHeld: 'return' });
    const [first] = await ui.interrupts(sessionId);
    await ui.takeResume([{ interruptId: first?.id, status: 'resolved', payload: yes }], person);
    const settled = first?.toolCallId ?? '';
    const held = settled === 'c1' ? 'c2' : 'c1';
    await turn.call(call(settled, { cents: 5 }));

    const result = (id: string, toolCallId: string, content: unknown) => ({
      id,
      role: 'tool',
      toolCallId,
      content,
    });
    const user = { id: 'm1', role: 'user', content: 'Go.' };
    const kept = [user, result('m4', 'of-the-page', '"mine"'), result('m5', '__proto__', '"mine"')];
    const right = result('m2', settled, '{"paid":5}');
    const open = async (messages: readonly unknown[]): Promise<readonly AgUiEvent[]> => {
      const events: AgUiEvent[] = [];
      const write = (event: AgUiEvent): void => void events.push(event);
      const run = await ui.openRun({ sessionId, threadId: 't', runId: 'r', messages, write });
      await turn.call(call(settled, { cents: 5 })); // the client has its result
      await run.finish();
      return events.slice(1, -1);
    };
    const snapshot = (...messages: readonly unknown[]) => [{ type: 'MESSAGES_SNAPSHOT', messages }];
    expect(await open([...kept, right])).toEqual([]);
    expect(await open([...kept, result('m2', settled, '{"paid":5000}')])).toEqual(snapshot(...kept, right));
    expect(await open([...kept, right, result('m6', settled, '{"paid":6}')])).toEqual(
      snapshot(...kept, right),
    );
    expect(await open([...kept, right, result('m3', held, '{"approved":true}')])).toEqual(
      snapshot(...kept, right),
    );
    await expect(open('no list' as never)).rejects.toMatchObject({ code: 'config.invalid' });
  });

  test('a failed run reports it, after the recorded results', async () => {
    const runtime = createRuntime({ tools: govern({ pay: () => 'paid' }) });
    const events: AgUiEvent[] = [];
    const run = await createAgUi({ runtime }).openRun({
      sessionId,
      threadId: 't',
      runId: 'r',
      write: (event) => events.push(event),
    });
    await runtime.turn({ sessionId }).call(call('c1', {}));
    await run.fail('The model is away.', 'model');
    expect(events.map(({ type }) => type)).toEqual([
      'RUN_STARTED',
      'TOOL_CALL_START',
      'TOOL_CALL_ARGS',
      'TOOL_CALL_END',
      'TOOL_CALL_RESULT',
      'RUN_ERROR',
    ]);
  });
});

test('a client may use a run id again, at the same time, and one of any length', async () => {
  const runtime = createRuntime({ tools: govern({ pay: () => 'paid' }) });
  const ui = createAgUi({ runtime });
  const runId = 'r'.repeat(500);
  const written: AgUiEvent[][] = [[], []];
  const runs = await Promise.all(
    written.map((events) =>
      ui.openRun({ sessionId, threadId: 't', runId, write: (event) => events.push(event) }),
    ),
  );
  await runtime.turn({ sessionId }).call(call('c1', {}));
  for (const run of runs) await run.finish();
  expect(written.map((events) => events.length)).toEqual([6, 6]);
});

test('a disconnected client ends the stream, and the host learns of it; the call continues', async () => {
  const runtime = createRuntime({ tools: govern({ pay: () => 'paid' }) });
  let writes = 0;
  const run = await createAgUi({ runtime }).openRun({
    sessionId,
    threadId: 't',
    runId: 'r',
    write: () => {
      if (++writes > 1) throw new Error('The client is gone.');
    },
  });
  const outcome = await runtime.turn({ sessionId }).call(call('c1', {}));
  await expect(run.finish()).rejects.toThrow('The client is gone.');
  expect([outcome.type, writes]).toEqual(['ToolExecutionResult', 2]);
  const types = (await runtime.events.list({ sessionId })).map(({ type }) => type);
  expect(types).not.toContain('behavior.failed');
});

describe('what a client sends back', () => {
  test('counts as the decision of the person that the host names, with their identity', async () => {
    const body = vi.fn<Body>(() => 'paid');
    const { runtime, ui, interrupt } = await hold(body);
    const entry = {
      interruptId: interrupt.id,
      status: 'resolved',
      payload: { ...yes, by: 'mallory', editedArgs: { cents: 9 } },
      metadata: { by: 'mallory' },
    };
    const identity = {
      kind: 'provider',
      issuer: 'https://id.example',
      subject: 'g1',
      method: 'oidc',
    } as const;
    expect(await ui.takeResume([entry], { ...person, identity })).toEqual([
      { interruptId: interrupt.id, status: 'edited' },
    ]);
    await eventually(() => expect(body.mock.calls.map(([args]) => args)).toEqual([{ cents: 9 }]));
    const [made] = await runtime.calls.list({ sessionId, callId: 'c1' });
    expect(made?.confirmation?.by).toMatchObject({ type: 'person', name: 'grace', identity });
  });

  test('throws if the host itself makes a mistake', async () => {
    const { ui, interrupt, statusOf } = await hold();
    const entry = { interruptId: interrupt.id, status: 'resolved', payload: yes };
    const identity = { kind: 'rumour' } as never;
    await expect(ui.takeResume([entry], { ...person, identity })).rejects.toThrow(/identity must be one of/);
    expect(await statusOf()).toBe('pending');
  });

  test.each([undefined, '', '  ', 7])('decides nothing where the host names %o as the person', async (by) => {
    const { ui, interrupt, statusOf } = await hold();
    const entry = { interruptId: interrupt.id, status: 'resolved', payload: yes };
    await expect(ui.takeResume([entry], { by: by as string, sessionId })).rejects.toThrow(
      /A client cannot name the person who decides/,
    );
    expect(await statusOf()).toBe('pending');
  });

  test('decides nothing about questions of another session, unknown questions, or changed ones', async () => {
    const { ui, interrupt, statusOf } = await hold();
    const answer = (interruptId: string) => [{ interruptId, status: 'resolved', payload: yes }];
    const changed = interrupt.id.replace(/.$/, (last) => (last === '0' ? '1' : '0'));
    expect(await ui.takeResume(answer(interrupt.id), { by: 'grace', sessionId: 'thread-2' })).toMatchObject([
      { status: 'unknown' },
    ]);
    expect(await ui.takeResume(answer('made-up'), person)).toMatchObject([{ status: 'unknown' }]);
    expect(await ui.takeResume(answer(interrupt.metadata.confirmationId), person)).toMatchObject([
      { status: 'unknown' },
    ]);
    expect(await ui.takeResume(answer(changed), person)).toMatchObject([{ status: 'changed' }]);
    expect(await statusOf()).toBe('pending');
  });

  test.each([
    ['no payload', { status: 'resolved' }],
    ['a word', { status: 'resolved', payload: 'yes' }],
    ['true alone', { status: 'resolved', payload: true }],
    ['the text "true"', { status: 'resolved', payload: { approved: 'true' } }],
    ['an inherited yes', { status: 'resolved', payload: Object.create(yes) as object }],
    ['another status', { status: 'approved', payload: yes }],
    ['arguments that are none', { status: 'resolved', payload: { ...yes, editedArgs: [5] } }],
  ])('is unclear with %s, and the call stays held', async (_, entry) => {
    const { ui, interrupt, statusOf } = await hold();
    expect(await ui.takeResume([{ interruptId: interrupt.id, ...entry }], person)).toMatchObject([
      { status: 'unclear' },
    ]);
    expect(await statusOf()).toBe('pending');
  });

  test.each(['yes', {}, [null], [{ status: 'resolved' }], [{ interruptId: 7 }]])(
    'is refused if it is %j',
    async (resume) => {
      const { ui, statusOf } = await hold();
      await expect(ui.takeResume(resume, person)).rejects.toThrow(/expects `resume` of RunAgentInput/);
      expect(await statusOf()).toBe('pending');
    },
  );

  test('is a denial if it says no, and if the person cancelled the question', async () => {
    for (const [entry, reason] of [
      [{ status: 'resolved', payload: { approved: false, reason: 'Too much.' } }, 'Too much.'],
      [{ status: 'cancelled' }, 'The person cancelled the question.'],
    ] as const) {
      const body = vi.fn<Body>();
      const { runtime, ui, interrupt } = await hold(body);
      expect(await ui.takeResume([{ interruptId: interrupt.id, ...entry }], person)).toMatchObject([
        { status: 'denied' },
      ]);
      const [made] = await runtime.calls.list({ sessionId, callId: 'c1' });
      expect(made?.confirmation).toMatchObject({ status: 'denied', reason, by: { name: 'grace' } });
      expect(body).not.toHaveBeenCalled();
    }
  });

  test('is too late if another person decided, and refused if the person may not decide', async () => {
    const { runtime, ui, interrupt } = await hold();
    await runtime.confirmations.decide(interrupt.metadata.confirmationId, { decision: 'deny', by: 'ada' });
    const entry = { interruptId: interrupt.id, status: 'resolved', payload: yes };
    expect(await ui.takeResume([entry], person)).toMatchObject([{ status: 'unknown' }]);

    const body = vi.fn<Body>();
    const guarded = await hold(body, { mayDecide: ({ by }: { by: string }) => by === 'ada' });
    const other = { interruptId: guarded.interrupt.id, status: 'resolved', payload: yes };
    expect(await guarded.ui.takeResume([other], person)).toMatchObject([{ status: 'refused' }]);
    expect(await guarded.statusOf()).toBe('pending');
    expect(body).not.toHaveBeenCalled();
  });

  test('is refused as an edit that does not match the schema, and policy judges an edit again', async () => {
    const { ui, interrupt, statusOf } = await hold();
    const edit = (editedArgs: object) => [
      { interruptId: interrupt.id, status: 'resolved', payload: { ...yes, editedArgs } },
    ];
    expect(await ui.takeResume(edit({ cents: 'many' }), person)).toMatchObject([{ status: 'refused' }]);
    expect(await statusOf()).toBe('pending');

    const body = vi.fn<Body>();
    const strict = await hold(body, {
      onPreToolUse: ({ arguments: args }: { arguments: { cents: number } }) =>
        args.cents > 100 ? ToolDecision.block('Too much.') : ToolDecision.allow,
    });
    const payload = { ...yes, editedArgs: { cents: 900 } };
    await strict.ui.takeResume([{ interruptId: strict.interrupt.id, status: 'resolved', payload }], person);
    await eventually(async () => {
      const [made] = await strict.runtime.calls.list({ sessionId, callId: 'c1' });
      expect(made?.settled?.outcome.type).toBe('ToolDenied');
    });
    expect(body).not.toHaveBeenCalled();
  });
});
