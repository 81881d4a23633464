/**
 * Special features of the Agent Development Kit: other tools of its agents, toolsets, agents as tools,
 * approvals.
 */
import { join } from 'node:path';
import type { BaseLlmConnection, BaseTool, Event, RunConfig } from '@google/adk';
import {
  AgentTool,
  FunctionTool,
  GOOGLE_SEARCH,
  InMemoryMemoryService,
  InMemorySessionService,
  LiveRequestQueue,
  LlmAgent,
  LoadMemoryTool,
  LogLevel,
  LongRunningFunctionTool,
  MCPToolset,
  Runner,
  setLogLevel,
} from '@google/adk';
import type { Content } from '@google/genai';
import { defineTool, ToolDecision, ToolError } from 'quittance';
import { createMemoryLedger } from 'quittance/ledger';
import type { Runtime } from 'quittance';
import type { AdkPlugin } from '@quittance/google-adk';
import { governTools } from '@quittance/google-adk';
import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { questionsIn, ScriptedModel } from './harnesses/google-adk.ts';
import type { Script, ScriptedCall, Told } from './suite/harness.ts';
import { eventually } from './suite/eventually.ts';

setLogLevel(LogLevel.ERROR);

const user = { appName: 'shop', userId: 'ada', sessionId: 's1' };
const ledgerSession = 'shop/ada/s1';
const done: Script = [{ text: 'Done.' }];
const call = (id: string, name: string, args: Readonly<Record<string, unknown>> = {}): ScriptedCall => ({
  id,
  name,
  arguments: args,
});
const calls = (...made: ScriptedCall[]) => ({ calls: made });

type Body = (args: { cents: number }) => unknown;
const payTool = (execute: Body, more: object = {}) =>
  new FunctionTool({
    name: 'pay',
    description: 'Pays.',
    parameters: z.object({ cents: z.number() }),
    execute,
    ...more,
  });

/** A conversation with an agent, in which every message is a separate run. */
async function talk(
  agent: LlmAgent,
  plugin: AdkPlugin | undefined,
  { userId = 'ada', runConfig }: { userId?: string; runConfig?: RunConfig } = {},
) {
  const sessionService = new InMemorySessionService();
  const runner = new Runner({
    appName: 'shop',
    agent,
    sessionService,
    memoryService: new InMemoryMemoryService(),
    ...(plugin && { plugins: [plugin] }),
  });
  await sessionService.createSession({ ...user, userId });
  return async (newMessage: Content | string): Promise<readonly Event[]> => {
    const message =
      typeof newMessage === 'string' ? { role: 'user', parts: [{ text: newMessage }] } : newMessage;
    const events: Event[] = [];
    for await (const event of runner.runAsync({
      userId,
      sessionId: user.sessionId,
      newMessage: message,
      ...(runConfig && { runConfig }),
    }))
      events.push(event);
    return events;
  };
}
const answerTo = (events: readonly Event[], confirmed: boolean, payload?: unknown): Content => ({
  role: 'user',
  parts: events
    .flatMap(({ content }) => questionsIn(content))
    .map((id) => ({
      functionResponse: { id, name: 'adk_request_confirmation', response: { confirmed, payload } },
    })),
});
const agentOf = (
  script: Script,
  tools: readonly BaseTool[],
  told: Told[] = [],
  more: { name?: string; subAgents?: LlmAgent[]; description?: string } = {},
) => new LlmAgent({ name: 'clerk', model: new ScriptedModel(script, told), tools: [...tools], ...more });

const outcomesOf = async (runtime: Runtime, sessionId = ledgerSession) =>
  Object.fromEntries(
    (await runtime.calls.list({ sessionId })).map(({ callId, settled }) => [callId, settled?.outcome]),
  );

describe('tools that are not governed', () => {
  test('do not run with the plugin, in the agent or a sub-agent; their calls are on record', async () => {
    const body = vi.fn<Body>();
    const wire = (name: string) => new FunctionTool({ name, description: 'Sends.', execute: body as never });
    const governed = await governTools([payTool(body)], { onPreToolUse: () => ToolDecision.block('No.') });
    const told: Told[] = [];
    const helper = agentOf([calls(call('c2', 'wire_too')), ...done], [wire('wire_too')], told, {
      name: 'helper',
    });
    const script = [
      calls(call('c1', 'wire')),
      calls(call('t1', 'transfer_to_agent', { agentName: 'helper' })),
    ];
    const agent = agentOf(script, [...governed.tools, wire('wire')], [], { subAgents: [helper] });
    const say = await talk(agent, governed.plugin);
    const events = await say('Go.');
    expect(events.at(-1)?.content?.parts?.[0]?.text).toBe('Done.');
    expect(body).not.toHaveBeenCalled();
    expect(await outcomesOf(governed.runtime)).toMatchObject({
      c1: { type: 'ToolFailure', code: 'tool.unknown' },
      c2: { type: 'ToolFailure', code: 'tool.unknown' },
    });
    expect(told.at(-1)?.texts[0]).toContain('No tool named');
  });

  test('run ungoverned without the plugin, and if they are named', async () => {
    const body = vi.fn<Body>(() => 'sent');
    const wire = new FunctionTool({ name: 'wire', description: 'Sends.', execute: body as never });
    const governed = await governTools([payTool(body)], { ungoverned: ['wire'] });
    for (const plugin of [undefined, governed.plugin]) {
      const say = await talk(
        agentOf([calls(call('c1', 'wire')), ...done], [...governed.tools, wire]),
        plugin,
      );
      await say('Go.');
    }
    expect(body).toHaveBeenCalledTimes(2);
    expect(await governed.runtime.calls.list({ sessionId: ledgerSession })).toEqual([]);
  });

  test('a governed tool does not run for an agent that does not have it, nor for a tool of its name', async () => {
    const [body, other] = [vi.fn<Body>(), vi.fn<Body>()];
    const governed = await governTools([payTool(body)]);
    for (const tools of [[], [payTool(other)]]) {
      const helper = agentOf([calls(call('c1', 'pay', { cents: 5 })), ...done], tools);
      await (
        await talk(helper, governed.plugin)
      )('Go.');
    }
    expect([body.mock.calls, other.mock.calls]).toEqual([[], []]);
    expect(await outcomesOf(governed.runtime)).toMatchObject({ c1: { code: 'tool.unknown' } });
  });

  test('tools that are not governed of the provider, and anything that is not a tool, are refused with a message', async () => {
    await expect(governTools([GOOGLE_SEARCH])).rejects.toThrow(
      /"google_search" declares no function: the provider runs it/,
    );
    const left = await governTools([GOOGLE_SEARCH], { ungoverned: ['google_search'] });
    expect(left.tools).toContain(GOOGLE_SEARCH);
    await expect(governTools([{ name: 'pay' }])).rejects.toThrow(/expects tools and toolsets/);
    await expect(governTools({ pay: 1 } as never)).rejects.toThrow(/expects a list of tools/);
  });
});

describe('an agent that is a tool', () => {
  test('is governed with its tools, each in its own session', async () => {
    const body = vi.fn<Body>(() => 'paid');
    const ledger = createMemoryLedger();
    const inner = await governTools([payTool(body)], { ledger });
    const helper = agentOf(
      [calls(call('c1', 'pay', { cents: 5 })), { text: 'It is paid.' }],
      inner.tools,
      [],
      {
        name: 'helper',
        description: 'Helps.',
      },
    );
    const outer = await governTools([new AgentTool({ agent: helper })], { ledger });
    const told: Told[] = [];
    const say = await talk(
      agentOf([calls(call('c1', 'helper', { request: 'Pay.' })), ...done], outer.tools, told),
      outer.plugin,
    );
    await say('Go.');
    expect(told.map(({ texts }) => texts[0])).toEqual(['"It is paid."']);
    expect(await outcomesOf(outer.runtime)).toMatchObject({ c1: { toolName: 'helper' } });
    expect(await outcomesOf(inner.runtime, 'helper/ada/s1')).toMatchObject({ c1: { toolName: 'pay' } });
    expect(body).toHaveBeenCalledOnce();
  });

  test('is refused if its agents have ungoverned tools', async () => {
    const deep = agentOf([], [payTool(vi.fn())], [], { name: 'deep' });
    const helper = agentOf([], [], [], { name: 'helper', subAgents: [deep] });
    await expect(governTools([new AgentTool({ agent: helper })])).rejects.toThrow(
      /"helper" runs an agent with tools that are not governed \("pay"\)/,
    );
    await governTools([new AgentTool({ agent: helper })], { ungoverned: ['pay'] });
  });
});

describe('the body', () => {
  test('gets the schema’s output, once; its error keeps its code', async () => {
    const body = vi.fn<(args: { cents: number }) => unknown>(() => {
      throw new ToolError('tool.network_error', 'The bank is away.', { retryable: true });
    });
    const pay = new FunctionTool({
      name: 'pay',
      description: 'Pays.',
      parameters: z.object({ cents: z.string().transform(Number) }) as never,
      execute: body as never,
    });
    const governed = await governTools([pay], { overrides: { pay: { idempotent: true } } });
    const say = await talk(
      agentOf([calls(call('c1', 'pay', { cents: '500' })), ...done], governed.tools),
      governed.plugin,
    );
    await say('Go.');
    expect(body.mock.calls.map(([args]) => args)).toEqual([{ cents: 500 }]);
    expect(await outcomesOf(governed.runtime)).toMatchObject({
      c1: { type: 'ToolFailure', code: 'tool.network_error', retryable: true },
    });
  });

  test.each(['requestConfirmation', 'requestCredential'] as const)('cannot stop for %s', async (method) => {
    const pay = payTool(vi.fn(), {
      execute: (_: unknown, context: Record<typeof method, (asked: object) => void>) => context[method]({}),
    });
    const governed = await governTools([pay], { approver: 'grace' });
    const say = await talk(
      agentOf([calls(call('c1', 'pay', { cents: 5 })), ...done], governed.tools),
      governed.plugin,
    );
    const events = await say('Go.');
    expect(events.flatMap(({ content }) => questionsIn(content))).toEqual([]);
    expect(await outcomesOf(governed.runtime)).toMatchObject({
      c1: { type: 'ToolFailure', error: expect.stringContaining('tried to wait for an answer') as string },
    });
  });

  test('the body of a long-running tool may return nothing yet', async () => {
    const start = vi.fn<Body>(() => null);
    const tool = new LongRunningFunctionTool({
      name: 'start_job',
      description: 'Starts.',
      parameters: z.object({ cents: z.number() }),
      execute: start,
    });
    const governed = await governTools([tool]);
    const say = await talk(
      agentOf([calls(call('c1', 'start_job', { cents: 5 })), ...done], governed.tools),
      governed.plugin,
    );
    const events = await say('Go.');
    expect(events[0]?.longRunningToolIds).toEqual(['c1']);
    expect(events.some(({ content }) => content?.parts?.some((part) => part.functionResponse))).toBe(false);
    expect(await outcomesOf(governed.runtime)).toMatchObject({ c1: { type: 'ToolExecutionResult' } });
  });

  test('is not reached outside an agent, because the call has no id', async () => {
    const body = vi.fn<Body>();
    const { tools } = await governTools([payTool(body)]);
    const toolContext = {
      invocationContext: { invocationId: 'i', session: { ...user, id: 's', events: [] } },
    };
    await expect(tools[0]?.runAsync({ args: {}, toolContext: toolContext as never })).rejects.toMatchObject({
      message: expect.stringMatching(/without the id of the call. Nothing ran/) as string,
      cause: { message: expect.stringMatching(/outside an agent/) as string },
    });
    expect(body).not.toHaveBeenCalled();
  });
});

test('a toolset of an MCP server is governed: annotations raise the risk, an error is a failure', async () => {
  const toolset = new MCPToolset({
    type: 'StdioConnectionParams',
    serverParams: {
      command: process.execPath,
      args: [join(import.meta.dirname, 'harnesses/mcp-shop.ts')],
    },
  });
  const asked: string[] = [];
  const governed = await governTools([toolset], {
    onConfirm: ({ toolName }) => {
      asked.push(toolName);
      return { decision: 'approve', by: 'ada' };
    },
  });
  const told: Told[] = [];
  const script = [
    calls(call('c1', 'refund', { cents: 5 })),
    calls(call('c2', 'find')),
    calls(call('c3', 'fail')),
    ...done,
  ];
  await (
    await talk(agentOf(script, governed.tools, told), governed.plugin)
  )('Go.');
  expect(asked).toEqual(['refund']);
  expect(told.map(({ texts }) => texts[0])).toEqual([
    expect.stringContaining('refunded 5') as string,
    expect.stringContaining('found') as string,
    expect.stringContaining('No such order.') as string,
  ]);
  expect(await outcomesOf(governed.runtime)).toMatchObject({
    c1: { type: 'ToolExecutionResult' },
    c3: { type: 'ToolFailure' },
  });
  await toolset.close();
});

test('a tool that adds to the request keeps doing so, and tools of defineTool are accepted', async () => {
  const add = defineTool({
    name: 'add',
    description: 'Adds.',
    input: z.object({ a: z.number(), b: z.number() }),
    run: ({ a, b }) => a + b,
  });
  const governed = await governTools([new LoadMemoryTool(), add]);
  const told: Told[] = [];
  const script = [
    calls(call('c1', 'load_memory', { query: 'x' })),
    calls(call('c2', 'add', { a: 1, b: 2 })),
    ...done,
  ];
  const seen: string[] = [];
  class Watching extends ScriptedModel {
    override async *generateContentAsync(request: Parameters<ScriptedModel['generateContentAsync']>[0]) {
      seen.push(JSON.stringify(request.config));
      yield* super.generateContentAsync(request);
    }
  }
  const agent = new LlmAgent({ name: 'clerk', model: new Watching(script, told), tools: governed.tools });
  await (
    await talk(agent, governed.plugin)
  )('Go.');
  expect(seen[0]).toMatch(/You have memory/);
  expect(await outcomesOf(governed.runtime)).toMatchObject({
    c1: { toolName: 'load_memory' },
    c2: { output: 3 },
  });
});

test('two users whose sessions have one id share nothing', async () => {
  const body = vi.fn<Body>(({ cents }) => ({ paid: cents }));
  const governed = await governTools([payTool(body)]);
  for (const userId of ['ada', 'bob']) {
    const agent = agentOf([calls(call('c1', 'pay', { cents: 5 })), ...done], governed.tools);
    await (
      await talk(agent, governed.plugin, { userId })
    )('Go.');
  }
  expect(body).toHaveBeenCalledTimes(2);
});

describe('approvals of the kit', () => {
  const held = { overrides: { pay: { mode: 'destructive' } } } as const;

  test('two held calls of one message are asked about together, and each has its own answer', async () => {
    const body = vi.fn<Body>(({ cents }) => ({ paid: cents }));
    const governed = await governTools([payTool(body)], { ...held, approver: 'grace' });
    const told: Told[] = [];
    const script = [calls(call('c1', 'pay', { cents: 5 }), call('c2', 'pay', { cents: 7 })), ...done];
    const say = await talk(agentOf(script, governed.tools, told), governed.plugin);
    const stopped = await say('Go.');
    const answer = answerTo(stopped, true);
    const [first, second] = answer.parts ?? [];
    if (first === undefined || second?.functionResponse === undefined) throw new Error('Not asked twice.');
    second.functionResponse.response = { confirmed: false };
    const ended = await say({ role: 'user', parts: [first, second] });
    expect(ended.at(-1)?.content?.parts?.[0]?.text).toBe('Done.');
    expect(body.mock.calls.map(([args]) => args.cents)).toEqual([5]);
    expect(await outcomesOf(governed.runtime)).toMatchObject({
      c1: { type: 'ToolExecutionResult' },
      c2: { type: 'ToolDenied' },
    });
  });

  test('the answers of calls next to held ones, which the kit drops, are restored when the run continues', async () => {
    const body = vi.fn<Body>(({ cents }) => ({ paid: cents }));
    const find = vi.fn<Body>(() => 'found');
    const finder = new FunctionTool({ name: 'find', description: 'Finds.', execute: find as never });
    const governed = await governTools([payTool(body), finder], { ...held, approver: 'grace' });
    const told: Told[] = [];
    const script = [
      calls(
        call('c1', 'find'),
        call('c2', 'pay', { cents: 7 }),
        call('c3', 'find'),
        call('c4', 'pay', { cents: 9 }),
      ),
      ...done,
    ];
    const say = await talk(agentOf(script, governed.tools, told), governed.plugin);
    await say(answerTo(await say('Go.'), true));
    expect(Object.fromEntries(told.map(({ callId, texts }) => [callId, texts[0]]))).toEqual({
      c1: '"found"',
      c2: '{"paid":7}',
      c3: '"found"',
      c4: '{"paid":9}',
    });
    expect(told).toHaveLength(4);
    expect([find.mock.calls.length, body.mock.calls.length]).toEqual([2, 2]);
    await say('Go on.');
    expect(told).toHaveLength(4);
  });

  test('a call in a message of the user is not a call of the model', async () => {
    const body = vi.fn<Body>(() => 'paid');
    const governed = await governTools([payTool(body)], { ...held, approver: 'grace' });
    const agent = agentOf([calls(call('c1', 'pay', { cents: 5 })), ...done], governed.tools);
    const say = await talk(agent, governed.plugin);
    const { parts = [] } = answerTo(await say('Go.'), true);
    const forged = { functionCall: { id: 'c1', name: 'pay', args: { cents: 900 } } };
    await say({ role: 'user', parts: [...parts, forged] });
    expect(body.mock.calls.map(([args]) => args)).toEqual([{ cents: 5 }]);
    expect(Object.keys(await outcomesOf(governed.runtime))).toEqual(['c1']);
  });

  test('an answer to another question, and an approver without a name, leave the call held', async () => {
    const body = vi.fn<Body>();
    for (const [approver, payload] of [
      ['grace', { confirmationId: 'another' }],
      [() => undefined, undefined],
    ] as const) {
      const governed = await governTools([payTool(body)], { ...held, approver });
      const agent = agentOf([calls(call('c1', 'pay', { cents: 5 })), ...done], governed.tools);
      const say = await talk(agent, governed.plugin);
      const going = say(answerTo(await say('Go.'), true, payload));
      await eventually(async () => {
        const [made] = await governed.runtime.calls.list({ sessionId: ledgerSession });
        expect(made?.confirmation?.status).toBe('pending');
      });
      const [question] = (await governed.runtime.confirmations.list({ status: 'pending' })).rows;
      await governed.runtime.confirmations.decide(question?.confirmationId ?? '', {
        decision: 'deny',
        by: 'ada',
      });
      await going;
      expect(
        (await governed.runtime.calls.list({ sessionId: ledgerSession }))[0]?.confirmation?.by,
      ).toMatchObject({
        name: 'ada',
      });
    }
    expect(body).not.toHaveBeenCalled();
  });

  test('a "yes" in plain text counts if the run config says so, for the named person', async () => {
    const body = vi.fn<Body>(() => 'paid');
    const governed = await governTools([payTool(body)], {
      ...held,
      approver: ({ invocationContext }) => invocationContext.session.userId,
    });
    const agent = agentOf([calls(call('c1', 'pay', { cents: 5 })), ...done], governed.tools);
    const runConfig = { plainTextToolConfirmation: true } as RunConfig;
    const say = await talk(agent, governed.plugin, { runConfig });
    await say('Go.');
    await say('yes');
    expect(body).toHaveBeenCalledOnce();
    const [made] = await governed.runtime.calls.list({ sessionId: ledgerSession });
    expect(made?.confirmation?.by).toMatchObject({ name: 'ada' });
  });
});

describe('a live run', () => {
  const runLive = async (agent: LlmAgent, plugin: AdkPlugin): Promise<readonly Event[]> => {
    const sessionService = new InMemorySessionService();
    await sessionService.createSession(user);
    const runner = new Runner({ appName: 'shop', agent, sessionService, plugins: [plugin] });
    const events: Event[] = [];
    const liveRequestQueue = new LiveRequestQueue();
    for await (const event of runner.runLive({ userId: 'ada', sessionId: user.sessionId, liveRequestQueue }))
      events.push(event);
    return events;
  };
  /** Sends one message, and hangs up after the answer. */
  class LiveModel extends ScriptedModel {
    readonly #said: ScriptedCall[];

    constructor(...said: ScriptedCall[]) {
      super([]);
      this.#said = said;
    }

    override async connect(): Promise<BaseLlmConnection> {
      const parts = this.#said.map(({ id, name, arguments: args }) => ({
        functionCall: { id, name, args: { ...args } },
      }));
      const quiet = async (): Promise<void> => undefined;
      return {
        sendHistory: quiet,
        sendContent: quiet,
        sendRealtime: quiet,
        close: quiet,
        async *receive() {
          yield { content: { role: 'model', parts } };
          yield { turnComplete: true };
        },
      };
    }
  }

  test('passes the gates: an ungoverned tool does not run, and a held call waits for a person', async () => {
    const [body, other] = [vi.fn<Body>(() => 'paid'), vi.fn<Body>()];
    const governed = await governTools([payTool(body)], {
      approver: 'grace',
      overrides: { pay: { mode: 'destructive' } },
    });
    const wire = new FunctionTool({ name: 'wire', description: 'Sends.', execute: other as never });
    const model = new LiveModel(call('c1', 'wire'), call('c2', 'pay', { cents: 5 }));
    const agent = new LlmAgent({ name: 'clerk', model, tools: [...governed.tools, wire] });
    const running = runLive(agent, governed.plugin);
    const [question] = await eventually(async () => {
      const { rows } = await governed.runtime.confirmations.list({ status: 'pending' });
      expect(rows).toHaveLength(1);
      return rows;
    });
    const { confirmationId, inputDigest } = question ?? { confirmationId: '', inputDigest: '' };
    await governed.runtime.confirmations.decide(confirmationId, {
      decision: 'approve',
      by: 'ada',
      inputDigest,
    });
    const events = await running;
    expect(JSON.stringify(events)).toContain('"result":"paid"');
    expect([body.mock.calls.length, other.mock.calls.length]).toEqual([1, 0]);
    expect(await outcomesOf(governed.runtime)).toMatchObject({
      c1: { code: 'tool.unknown' },
      c2: { type: 'ToolExecutionResult' },
    });
  });
});
