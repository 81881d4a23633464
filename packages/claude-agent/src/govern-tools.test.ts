import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { eventually } from '../../../test/eventually.ts';
import { z } from 'zod';
import { createMemoryLedger } from 'quittance/internal/store/memory/memory-ledger';
import { defineTool } from 'quittance/internal/tool/define-tool';
import { governTools, sendProbe } from './govern-tools.ts';
import type { ClaudeAgentOptions } from './govern-tools.ts';
import type { ClaudeAgentRun } from './run.ts';
import { createServer } from './server.ts';
import type { ClaudeAgentServer, ClaudeAgentTransport } from './server.ts';
import type { ClaudeAgentTool } from './tool.ts';
import { resumesDeferred } from './run.ts';
import { selfTest } from '@quittance/adapter-kit/internal/run/self-test';

const sessionId = 'thread-1';
const server = 'shop';

const text = (said: string) => ({ content: [{ type: 'text', text: said }] });
const makeTool = (name: string, more: Partial<ClaudeAgentTool> = {}): ClaudeAgentTool => ({
  name,
  description: '',
  inputSchema: {},
  handler: async () => text('ok'),
  ...more,
});

type Shown = { name: string; inputSchema: object };
type Reply = {
  id: unknown;
  result?: Record<string, unknown> & { tools?: Shown[] };
  error?: { code: number; message: string };
};

/** Talks to a server as the SDK does. */
async function connect(instance: ClaudeAgentServer) {
  const replies: Reply[] = [];
  const waiting = new Map<unknown, (reply: Reply) => void>();
  const transport: ClaudeAgentTransport = {
    start: async () => undefined,
    close: async () => transport.onclose?.(),
    send: async (message: Reply) => {
      replies.push(message);
      waiting.get(message.id)?.(message);
    },
  };
  await instance.connect(transport);
  const tell = (message: unknown): void => transport.onmessage?.(message as never);
  let ids = 0;
  const ask = (method: string, params?: unknown, id: unknown = ++ids): Promise<Reply> =>
    new Promise((resolve) => {
      waiting.set(id, resolve);
      tell({ jsonrpc: '2.0', id, method, params });
    });
  const call = (name: string, args: unknown, toolUseId: unknown = 'toolu_1') =>
    ask('tools/call', { name, arguments: args, _meta: { 'claudecode/toolUseId': toolUseId } });
  return { tell, ask, call, replies, transport };
}

const serverOf = ({ options }: ClaudeAgentRun): ClaudeAgentServer =>
  options.mcpServers[server]?.instance as unknown as ClaudeAgentServer;

async function start(tools: readonly ClaudeAgentTool[], options: Partial<ClaudeAgentOptions> = {}) {
  const governed = await governTools(tools, { server, ...options });
  const run = governed.run({ sessionId });
  return { ...governed, turn: run, ...(await connect(serverOf(run))) };
}

const outputOf = async (result: unknown): Promise<unknown> => {
  const { call, runtime } = await start([makeTool('show', { handler: async () => result })]);
  await call('show', {});
  const [made] = await runtime.calls.list({ sessionId, callId: 'toolu_1' });
  return made?.settled?.outcome;
};

describe('at the start', () => {
  test('an adapter whose server runs the tool itself refuses to start', async () => {
    const broken = sendProbe(([tool]) => ({
      run: () => {
        const call = async () => (await tool?.handler({} as never, {})) as object;
        const instance = createServer({
          name: 'probe',
          onConnect: () => undefined,
          onClient: () => undefined,
          list: () => [],
          call,
        });
        return { options: { mcpServers: { probe: { type: 'sdk', name: 'probe', instance } } } } as never;
      },
    }));
    await expect(selfTest('@quittance/claude-agent', broken)).rejects.toMatchObject({
      code: 'adapter.unsafe',
      message: expect.stringContaining('still ran') as string,
    });
  });

  test.each(['', 'my shop', 'a__b', '_a', undefined])('the server cannot be named %j', async (name) => {
    await expect(governTools([], { server: name as string })).rejects.toMatchObject({
      code: 'config.invalid',
      message: expect.stringContaining("{ server: 'shop' }") as string,
    });
  });

  test.each([[[{ type: 'sdk', name: 'shop', instance: {} }]], [[undefined]], [{ pay: makeTool('pay') }]])(
    'a value that is not a list of SDK tools is refused: %j',
    async (tools) => {
      await expect(governTools(tools as never, { server })).rejects.toMatchObject({ code: 'config.invalid' });
    },
  );
});

describe('the tools that the model sees', () => {
  const list = async (tools: readonly ClaudeAgentTool[], options?: Partial<ClaudeAgentOptions>) => {
    const { ask } = await start(tools, options);
    const { result } = await ask('tools/list');
    return new Map(result?.tools?.map((tool) => [tool.name, tool]));
  };

  test('are marked as read-only only if they surely read', async () => {
    // A word in the name of the second only suggests that it reads.
    const shown = await list([makeTool('get_note'), makeTool('fetch_note'), makeTool('save_note')]);
    const hintsOf = (name: string): unknown => (shown.get(name) as { annotations?: object }).annotations;
    expect(hintsOf('get_note')).toEqual({ readOnlyHint: true });
    expect([hintsOf('fetch_note'), hintsOf('save_note')]).toEqual([{}, {}]);
  });

  test('schemas are shown in a form that prevents coercion by the program, and read_artifact is listed', async () => {
    const shown = await list([
      makeTool('pay', { inputSchema: { to: z.string().describe('Whom'), cents: z.number().default(1) } }),
    ]);
    expect(shown.get('pay')).toMatchObject({
      inputSchema: {
        type: 'object',
        properties: { to: { type: 'string', description: 'Whom' }, cents: { allOf: [{ type: 'number' }] } },
        required: ['to'],
      },
      _meta: { 'anthropic/alwaysLoad': true },
    });
    expect(shown.has('read_artifact')).toBe(true);
  });

  test('a self-referencing schema stays valid', async () => {
    const tree: z.ZodType = z.object({ name: z.string(), children: z.array(z.lazy(() => tree)) });
    const handler = vi.fn<(args: unknown) => Promise<object>>(async () => text('ok'));
    const { ask, call, replies } = await start([
      makeTool('plant', { inputSchema: { 'a/tree~': tree }, handler }),
    ]);
    const { result } = await ask('tools/list');
    const inputSchema = result?.tools?.[0]?.inputSchema;
    // The schema alone, without its validator, gives the same verdicts.
    const judged = await start([makeTool('plant', { inputSchema, handler })]);
    const nested = { name: 'a', children: [{ name: 'b', children: [] }] };
    for (const ask of [call, judged.call]) {
      await ask('plant', { 'a/tree~': nested }, 'toolu_good');
      expect(handler.mock.lastCall?.[0]).toEqual({ 'a/tree~': nested });
      const wrong = { name: 'a', children: [{ name: 'b', children: [{ name: 5 }] }] };
      const reply = await ask('plant', { 'a/tree~': wrong }, 'toolu_bad');
      expect(JSON.stringify(reply.result)).toContain('argument_validation_failed');
    }
    expect(handler).toHaveBeenCalledTimes(2);
    expect(replies).toHaveLength(3);
  });

  test("annotations declare modes, and the host's settings win", async () => {
    const { runtime, call } = await start(
      [
        makeTool('look', { annotations: { readOnlyHint: true } }),
        makeTool('wipe', { annotations: { destructiveHint: true, title: 'Wipe it' } }),
        makeTool('put', { annotations: { idempotentHint: true, readOnlyHint: true } }),
      ],
      { overrides: { put: { mode: 'external' } }, onConfirm: () => ({ decision: 'deny', by: 'ada' }) },
    );
    for (const name of ['look', 'wipe', 'put']) await call(name, {}, `toolu_${name}`);
    const records = await runtime.calls.audit({ sessionId });
    expect(records.map(({ toolName, mode }) => [toolName, mode])).toEqual(
      expect.arrayContaining([
        ['look', 'read'],
        ['wipe', 'destructive'],
        ['put', 'external'],
      ]),
    );
    expect(records.find(({ toolName }) => toolName === 'wipe')?.outcome.kind).toBe('requires_confirmation');
  });
});

describe('arguments', () => {
  test('the tool receives the arguments of the shape, own properties only, with defaults', async () => {
    const handler = vi.fn<(args: unknown) => Promise<object>>(async () => text('ok'));
    const shape = JSON.parse('{"__proto__":1,"constructor":1}') as Record<string, unknown>;
    for (const key of Object.keys(shape))
      Object.defineProperty(shape, key, { value: z.string().optional(), enumerable: true });
    const { call } = await start([
      makeTool('pay', { inputSchema: Object.assign(shape, { cents: z.number().default(7) }), handler }),
    ]);
    await call('pay', JSON.parse('{"__proto__":"p","other":1}'));
    const got = handler.mock.calls[0]?.[0] as object;
    expect(Object.entries(got)).toEqual([
      ['__proto__', 'p'],
      ['cents', 7],
    ]);
    expect(Object.getPrototypeOf(got)).toBe(Object.prototype);
  });

  test('an error names the path of the argument', async () => {
    const { call } = await start([
      makeTool('pay', { inputSchema: { to: z.object({ iban: z.string() }), cents: z.number() } }),
    ]);
    const { result } = await call('pay', { to: {}, cents: {} });
    const said = JSON.stringify(result);
    expect(said).toContain('iban');
    expect(said).toContain('cents');
  });

  test.each([['text'], [[1]], [null], [7]])(
    'arguments that are %j are denied and do not run',
    async (args) => {
      const handler = vi.fn<() => Promise<object>>();
      const { call } = await start([makeTool('pay', { handler })]);
      const { result } = await call('pay', args);
      expect(JSON.stringify(result)).toContain('argument_validation_failed');
      expect(handler).not.toHaveBeenCalled();
    },
  );
});

describe('the result of a tool', () => {
  test.each<readonly [string, unknown, unknown]>([
    ['text', text('paid'), 'paid'],
    ['text that is an object', text('{ "a": [1] }'), { a: [1] }],
    ['text that only looks like one', text('{a}'), '{a}'],
    ['a number no double holds', text('{"id":12345678901234567890}'), '{"id":12345678901234567890}'],
    ['a number as text', text('12'), '12'],
    ['several parts', { content: [...text('a').content, ...text('[1]').content] }, ['a', [1]]],
    ['no part', { content: [] }, null],
    ['structured content next to text', { ...text('said'), structuredContent: { a: 1 } }, { a: 1 }],
    ['a link', { content: [{ type: 'resource_link', uri: 'a:b' }] }, { type: 'resource_link', uri: 'a:b' }],
    ['a value that is not a result', { a: 1 }, { a: 1 }],
    ['nothing', undefined, null],
  ])('%s is read', async (_, result, output) => {
    expect(await outputOf(result)).toMatchObject({ type: 'ToolExecutionResult', output });
  });

  test("a reported failure is a failure, in the tool's words", async () => {
    expect(await outputOf({ ...text('No such order.'), isError: true })).toMatchObject({
      type: 'ToolFailure',
      code: 'tool.reported_error',
      error: 'No such order.',
    });
  });

  test('files become artifacts, and pictures are shown', async () => {
    const data = Buffer.from([1, 2, 3]).toString('base64');
    const content = [
      { type: 'image', data, mimeType: 'image/png' },
      { type: 'resource', resource: { uri: 'file:///a.zip', mimeType: 'application/zip', blob: data } },
    ];
    const { call, runtime } = await start([makeTool('show', { handler: async () => ({ content }) })]);
    const { result } = await call('show', {});
    const [made] = await runtime.calls.list({ sessionId, callId: 'toolu_1' });
    expect(made?.settled?.outcome).toMatchObject({
      output: [{ $artifact: expect.any(String) as string }, { $artifact: expect.any(String) as string }],
      files: [{ mimeType: 'image/png' }, { mimeType: 'application/zip', name: 'file:///a.zip' }],
    });
    expect(result?.['content']).toEqual([
      { type: 'text', text: expect.stringContaining('$artifact') as string },
      { type: 'image', data, mimeType: 'image/png' },
    ]);
  });

  test('also serves a tool made by defineTool', async () => {
    const governed = await governTools([defineTool({ name: 'weigh', run: () => ({ grams: 5 }) })], {
      server,
    });
    const { call } = await connect(serverOf(governed.run({ sessionId })));
    expect((await call('weigh', {})).result).toEqual({ content: [{ type: 'text', text: '{"grams":5}' }] });
  });
});

describe('the server', () => {
  test("passes the SDK's arguments to a tool and returns its text", async () => {
    const handler = vi.fn<(args: unknown, extra: unknown) => Promise<object>>(async (_, extra) => {
      const { sendNotification } = extra as { sendNotification: (one: object) => Promise<void> };
      await sendNotification({ method: 'notifications/progress', params: { progress: 1 } });
      return text('ok');
    });
    const attrs = vi.fn<NonNullable<ClaudeAgentOptions['attrs']>>(({ hook }) => ({
      agent: hook?.agent_id ?? '',
    }));
    const { call, replies, turn } = await start([makeTool('pay', { handler })], { attrs });
    const hook = { hook_event_name: 'PreToolUse', session_id: 's', agent_id: 'a1' };
    await turn.options.hooks.PreToolUse[0]?.hooks[0]?.(
      { ...hook, tool_name: 'mcp__shop__pay', tool_input: {} },
      'toolu_1',
    );
    await call('pay', {});
    expect(handler.mock.calls[0]?.[1]).toMatchObject({
      requestId: 1,
      _meta: { 'claudecode/toolUseId': 'toolu_1' },
      signal: expect.any(AbortSignal) as AbortSignal,
    });
    expect(replies[0]).toEqual({ jsonrpc: '2.0', method: 'notifications/progress', params: { progress: 1 } });
    expect(attrs.mock.calls[0]?.[0]).toMatchObject({ toolUseId: 'toolu_1', hook });
  });

  test.each([null, '', 7])('does not make a call with the id %j', async (toolUseId) => {
    const handler = vi.fn<() => Promise<object>>();
    const { call, runtime } = await start([makeTool('pay', { handler })]);
    const { error } = await call('pay', {}, toolUseId);
    expect(error?.message).toContain('without the id of the call');
    expect(handler).not.toHaveBeenCalled();
    expect(await runtime.calls.list({ sessionId })).toEqual([]);
  });

  test('an unknown tool is a failure, an unknown method an error, an invalid message is ignored', async () => {
    const { call, ask, tell, replies } = await start([makeTool('pay')]);
    expect((await call('constructor', {})).result).toMatchObject({ isError: true });
    expect((await ask('resources/list')).error?.code).toBe(-32_601);
    expect((await ask('ping')).result).toEqual({});
    for (const message of [
      null,
      'x',
      [],
      {},
      { id: 1 },
      { method: 7 },
      { method: 'notifications/cancelled' },
    ])
      tell(message);
    expect(replies).toHaveLength(3);
  });

  test.each(['cancelled', 'closed'] as const)('a call that is %s ends without an answer', async (how) => {
    const started = Promise.withResolvers<AbortSignal>();
    const { tell, transport, replies, runtime } = await start(
      [
        makeTool('pay', {
          handler: (_, extra) => {
            const { signal } = extra as { signal: AbortSignal };
            started.resolve(signal);
            return new Promise((_resolve, reject) => {
              signal.addEventListener('abort', () => reject(signal.reason as Error));
            });
          },
        }),
      ],
      { cancelGraceMs: 10 },
    );
    const params = { name: 'pay', arguments: {}, _meta: { 'claudecode/toolUseId': 'toolu_1' } };
    tell({ jsonrpc: '2.0', id: 5, method: 'tools/call', params });
    const signal = await started.promise;
    if (how === 'closed') transport.onclose?.();
    else tell({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 5 } });
    await eventually(async () => {
      const [made] = await runtime.calls.list({ sessionId, callId: 'toolu_1' });
      expect(made?.settled?.outcome.type).toBe('ToolFailure');
    });
    expect([signal.aborted, replies]).toEqual([true, []]);
  });

  test('one run serves several queries', async () => {
    const { turn, runtime } = await start([makeTool('pay')]);
    const [one, two] = [await connect(serverOf(turn)), await connect(serverOf(turn))];
    await Promise.all([one.call('pay', {}, 'toolu_1'), two.call('pay', {}, 'toolu_2')]);
    expect(await runtime.calls.list({ sessionId })).toHaveLength(2);
    await serverOf(turn).close();
  });
});

describe('the hook', () => {
  const ask = async (run: ClaudeAgentRun, toolName: string, toolUseId = 'toolu_1', input: unknown = {}) => {
    const told = { hook_event_name: 'PreToolUse', session_id: 's', tool_name: toolName, tool_input: input };
    const { hookSpecificOutput } = (await run.options.hooks.PreToolUse[0]?.hooks[0]?.(told, toolUseId)) ?? {};
    return hookSpecificOutput?.hookEventName === 'PreToolUse'
      ? hookSpecificOutput.permissionDecision
      : undefined;
  };
  const hold = { overrides: { pay: { mode: 'local' } } } as const;
  const meet = (client: Awaited<ReturnType<typeof connect>>, version = '0.3.325') =>
    client.ask('initialize', { protocolVersion: '2025-11-25', clientInfo: { name: 'claude-code', version } });

  test.each([
    ['Bash', 'deny'],
    ['mcp__other__x', 'deny'],
    ['mcp__shopping__pay', 'deny'],
    ['', 'deny'],
    ['Read', undefined],
    ['mcp__files__x', undefined],
    ['mcp__files', undefined],
    ['mcp__filesystem__x', 'deny'],
    ['Reader', 'deny'],
    ['mcp__shop__pay', undefined],
    ['mcp__shop__nothing', undefined],
  ])('answers %s with %s', async (name, decision) => {
    const { turn } = await start([makeTool('pay')], { ungoverned: ['Read', 'mcp__files'] });
    expect(await ask(turn, name)).toBe(decision);
  });

  test('the hook of two calls that await approval one stops the run, the other waits in place', async () => {
    const client = await start([makeTool('pay')], { ...hold, approver: 'grace' });
    const { turn, runtime } = client;
    await meet(client);
    expect(await ask(turn, 'mcp__shop__pay', 'toolu_1')).toBe('defer');
    expect(await ask(turn, 'mcp__shop__pay', 'toolu_2', { n: 2 })).toBe(undefined);
    expect(await ask(turn, 'mcp__shop__pay', 'toolu_1')).toBe('defer');
    expect((await runtime.confirmations.list({ status: 'pending' })).rows).toHaveLength(2);
  });

  test.each([
    ['the SDK would lose the call', '0.3.300', { approver: 'grace' }],
    ['the program would lose it', '2.1.300', { approver: 'grace' }],
    ['no person answers in the SDK', '0.3.325', {}],
  ])('stops nothing if %s', async (_, version, more) => {
    const client = await start([makeTool('pay')], { ...hold, ...more });
    await meet(client, version);
    expect(await ask(client.turn, 'mcp__shop__pay')).toBe(undefined);
    expect((await client.runtime.confirmations.list({ status: 'pending' })).rows).toEqual([]);
  });

  test('an approval counts for its own call, after it was held, in the name of the asked person', async () => {
    const ledger = createMemoryLedger();
    const handler = vi.fn<() => Promise<object>>(async () => text('ok'));
    const client = await start([makeTool('pay', { handler })], { ...hold, ledger });
    const run = client.run({ sessionId, approver: 'grace' });
    const again = await connect(serverOf(run));
    await meet(again);
    await run.takeApprovals([{ toolUseId: 'toolu_1', approved: true }]);
    // No person was asked about it, so the approval is void and the call waits.
    const waiting = again.call('pay', {}, 'toolu_1');
    await eventually(async () =>
      expect((await client.runtime.confirmations.list({ status: 'pending' })).rows).toHaveLength(1),
    );
    expect(handler).not.toHaveBeenCalled();
    // It is held now. With other arguments it is another call, under the same id.
    expect(JSON.stringify(await again.call('pay', { n: 1 }, 'toolu_1'))).toContain('other arguments');
    expect(handler).not.toHaveBeenCalled();
    await again.call('pay', {}, 'toolu_1');
    await waiting;
    expect(handler).toHaveBeenCalledOnce();
    const [made] = await client.runtime.calls.list({ sessionId, callId: 'toolu_1' });
    expect(made?.confirmation?.by).toMatchObject({ name: 'grace' });
  });

  test('a resumed session finds the calls of earlier queries in its transcript', async () => {
    const path = join(mkdtempSync(join(tmpdir(), 'quittance-transcript-')), 'session.jsonl');
    const lines = [
      { type: 'summary', summary: 'A shop.' },
      { type: 'user', message: { role: 'user', content: 'Go.' } },
      {
        type: 'assistant',
        message: { role: 'assistant', id: 'm1', content: [{ type: 'text', text: 'Paying.' }] },
      },
      {
        type: 'assistant',
        message: { role: 'assistant', id: 'm1', content: [{ type: 'tool_use', id: 'toolu_1' }] },
      },
      { type: 'user', message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1' }] } },
    ];
    writeFileSync(path, `${lines.map((line) => JSON.stringify(line)).join('\n')}\n{"cut`);
    const handler = vi.fn<() => Promise<object>>(async () => text('ok'));
    const client = await start([makeTool('pay', { handler })]);
    await client.call('pay', {}, 'toolu_1');
    for (const resumed of [client.run({ sessionId }), client.run({ sessionId })]) {
      const again = await connect(serverOf(resumed));
      const told = { hook_event_name: 'PreToolUse', session_id: 's', transcript_path: path };
      await resumed.options.hooks.PreToolUse[0]?.hooks[0]?.(
        { ...told, tool_name: 'mcp__shop__pay' },
        'toolu_1',
      );
      await again.call('pay', {}, 'toolu_1');
    }
    // The second resumed run repeats the first, as after a crash.
    expect(handler).toHaveBeenCalledTimes(2);
    expect((await client.runtime.calls.list({ sessionId })).map(({ callId }) => callId)).toEqual([
      'toolu_1',
      'toolu_1~2',
    ]);
    rmSync(dirname(path), { recursive: true });
  });
});

test.each([
  ['0.2.89', false],
  ['0.3.324', false],
  ['0.3.325', true],
  ['0.4.0', true],
  ['2.1.324', false],
  ['2.1.325', true],
  ['2.2.0', true],
  ['3.0.0', true],
  ['1.0.0', false],
  ['new', false],
])('%s resumes deferred calls: %s', (version, resumes) => {
  expect(resumesDeferred(version)).toBe(resumes);
});
