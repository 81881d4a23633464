/** Special features of the Claude Agent SDK, in addition to what every adapter must do. */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Options, Query } from '@anthropic-ai/claude-agent-sdk';
import { tool } from '@anthropic-ai/claude-agent-sdk';
import { ToolDecision } from 'quittance';
import type {
  ClaudeAgentApproval,
  ClaudeAgentHeld,
  ClaudeAgentOptions,
  ClaudeAgentTool,
} from '@quittance/claude-agent';
import { governTools } from '@quittance/claude-agent';
import { contractsFromYamlString } from 'quittance/contracts';
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest';
import { eventually } from './suite/eventually.ts';
import { z } from 'zod';
import { endOrphans, makeHome, runScripted, transcriptsIn } from './harnesses/claude-agent-query.ts';
import claudeAgent from './harnesses/claude-agent.ts';
import type { MessagesRequest, ScriptedBlock } from './harnesses/scripted-messages.ts';
import { packageArguments } from './suite/package-arguments.ts';

const folder = mkdtempSync(join(tmpdir(), 'claude-agent-odd-'));
process.env['TMPDIR'] = folder;
afterEach(endOrphans);
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));

const sessionId = 'thread-1';
const use = (id: string, name: string, input: unknown = {}): ScriptedBlock => ({
  type: 'tool_use',
  id,
  name,
  input,
});
const done: ScriptedBlock[] = [{ type: 'text', text: 'Done.' }];
const ok = async () => ({ content: [{ type: 'text' as const, text: 'ok' }] });

async function start(
  tools: readonly ClaudeAgentTool[],
  governing: Partial<ClaudeAgentOptions>,
  home = makeHome(),
) {
  const governed = await governTools(tools, { server: 'shop', ...governing });
  const requests: MessagesRequest[] = [];
  return {
    home,
    governed,
    runtime: governed.runtime,
    /** The last request to the model, as text. */
    told: () => JSON.stringify(requests.at(-1)?.messages ?? []),
    run: async (
      rounds: readonly (readonly ScriptedBlock[])[],
      options: Options = {},
      approvals: readonly ClaudeAgentApproval[] = [],
      onQuery?: (query: Query) => void,
    ) => {
      const run = governed.run({ sessionId });
      await run.takeApprovals(approvals);
      const left = [...rounds];
      const next = async (request: MessagesRequest) => {
        requests.push(request);
        return left.shift() ?? done;
      };
      const all = { ...run.options, allowedTools: ['mcp__shop'], ...options };
      return runScripted(home, next, all, onQuery);
    },
  };
}

test('Claude Agent SDK gives a structured final answer with governed tools: outputFormat, by a tool of the program', async () => {
  const pay = vi.fn<typeof ok>(ok);
  const { run, runtime } = await start([tool('pay', '', { cents: z.number() }, pay) as ClaudeAgentTool], {});
  const schema = { type: 'object', properties: { paid: { type: 'number' } }, required: ['paid'] };
  const result = await run(
    [
      [use('toolu_1', 'mcp__shop__pay', { cents: 5 })],
      [use('toolu_2', 'StructuredOutput', { paid: 5 })],
      done,
    ],
    { outputFormat: { type: 'json_schema', schema } },
  );
  expect(result).toMatchObject({ subtype: 'success', structured_output: { paid: 5 } });
  expect((await runtime.calls.list({ sessionId })).map(({ toolName }) => toolName)).toEqual(['pay']);
});

describe('tools that the program runs itself', () => {
  const bash = (home: string) => [use('toolu_1', 'Bash', { command: `touch ${join(home, 'ran')}` })];
  const options: Options = { tools: ['Bash'], allowedTools: ['Bash'] };

  test('do not run unless the host names them, whatever its rules allow', async () => {
    const { home, run, told, runtime } = await start([], {});
    const result = await run([bash(home), done], options);
    expect([result?.subtype, existsSync(join(home, 'ran'))]).toEqual(['success', false]);
    expect(told()).toContain('does not offer the tool');
    // The hook denied it. Nothing is settled, since nothing here could have run it.
    expect(await runtime.calls.list({ sessionId })).toEqual([]);
  });

  test('named in programTools, are judged by contracts before they run: a blocked one does not run', async () => {
    const contracts = contractsFromYamlString(`
apiVersion: edictum/v1
kind: Ruleset
metadata: { name: shell }
defaults: { mode: enforce }
rules:
  - id: no-touch
    type: pre
    tool: Bash
    when: { args.command: { contains: touch } }
    then: { action: block, message: Nothing is touched. }
`);
    const { home, run, told, runtime } = await start([], {
      programTools: ['Bash'],
      contracts,
      overrides: { Bash: { mode: 'external' } },
    });
    const result = await run([bash(home), done], options);
    expect([result?.subtype, existsSync(join(home, 'ran'))]).toEqual(['success', false]);
    expect(told()).toContain('Nothing is touched.');
    const [made] = await runtime.calls.list({ sessionId, callId: 'toolu_1' });
    expect(made?.settled?.outcome).toMatchObject({ type: 'ToolDenied', toolName: 'Bash' });
  });

  test('named in programTools, run once and are on record with their output, or their failure', async () => {
    const { home, run, runtime } = await start([], {
      programTools: ['Bash'],
      overrides: { Bash: { mode: 'external' } },
    });
    const command = `echo hello >> ${join(home, 'ran')}; echo done-here`;
    const failing = [use('toolu_2', 'Bash', { command: 'echo broken >&2; exit 3' })];
    await run([[use('toolu_1', 'Bash', { command })], failing, done], options);
    expect(readFileSync(join(home, 'ran'), 'utf8')).toBe('hello\n');
    const [first, second] = await runtime.calls.list({ sessionId });
    expect(first?.settled?.outcome).toMatchObject({ type: 'ToolExecutionResult', toolName: 'Bash' });
    expect(JSON.stringify(first?.settled?.outcome)).toContain('done-here');
    expect(second?.settled?.outcome).toMatchObject({ type: 'ToolFailure' });
    const [record] = await runtime.calls.audit({ sessionId });
    expect(record?.requestedInput).toMatchObject({ command });
  });

  test('named in programTools, wait for a person, and run with the person’s edit of the arguments', async () => {
    const { home, run, runtime } = await start([], { programTools: ['Bash'] });
    const running = run([bash(home), done], options);
    const held = await eventually(async () => {
      const [one] = (await runtime.confirmations.list({ status: 'pending' })).rows;
      if (one === undefined) throw new Error('Nothing is held.');
      return one;
    });
    expect(existsSync(join(home, 'ran'))).toBe(false);
    await runtime.confirmations.decide(held.confirmationId, {
      decision: 'edit',
      arguments: { command: `touch ${join(home, 'edited')}` },
      by: 'ada',
      inputDigest: held.inputDigest,
    });
    expect((await running)?.subtype).toBe('success');
    expect([existsSync(join(home, 'ran')), existsSync(join(home, 'edited'))]).toEqual([false, true]);
    const [made] = await runtime.calls.list({ sessionId, callId: 'toolu_1' });
    expect(made?.settled?.outcome).toMatchObject({ type: 'ToolExecutionResult' });
  });

  test('named in programTools, never end the query for a person: a resumed query would run them without asking', async () => {
    const onHeld = vi.fn<(held: ClaudeAgentHeld) => void>();
    const { home, run, runtime } = await start([], { programTools: ['Bash'], approver: 'grace', onHeld });
    const running = run([bash(home), done], options);
    await eventually(() =>
      expect(onHeld.mock.calls).toMatchObject([[{ toolName: 'Bash', waits: 'in place' }]]),
    );
    const [held] = (await runtime.confirmations.list({ status: 'pending' })).rows;
    const { confirmationId = '', inputDigest = '' } = held ?? {};
    await runtime.confirmations.decide(confirmationId, { decision: 'deny', by: 'ada', inputDigest });
    expect(await running).toMatchObject({ subtype: 'success', result: 'Done.' });
    expect(existsSync(join(home, 'ran'))).toBe(false);
  });

  test('run if the host names them in ungoverned, and leave nothing on record', async () => {
    const { home, run, runtime } = await start([], { ungoverned: ['Bash'] });
    await run([bash(home), done], options);
    expect(existsSync(join(home, 'ran'))).toBe(true);
    expect(await runtime.calls.list({ sessionId })).toEqual([]);
  });
});

test('the calls of a subagent are governed, and their maker is known', async () => {
  const handler = vi.fn<() => ReturnType<typeof ok>>(ok);
  const attrs = vi.fn<NonNullable<ClaudeAgentOptions['attrs']>>(() => ({}));
  const { home, governed } = await start([tool('pay', 'Pays.', {}, handler)], {
    // The SDK has used both names for the tool that starts one.
    ungoverned: ['Task', 'Agent'],
    attrs,
    onPreToolUse: () => ToolDecision.block('Not on a Sunday.'),
  });
  const { options } = governed.run({ sessionId });
  const told: string[] = [];
  await runScripted(
    home,
    async ({ messages, tools = [] }) => {
      const said = JSON.stringify(messages);
      const starter = tools.find(({ name }) => name === 'Task' || name === 'Agent')?.name;
      if (starter === undefined) told.push(said);
      if (said.includes(starter === undefined ? 'toolu_sub' : 'toolu_main')) return done;
      const asked = { description: 'Pay.', prompt: 'Pay.', subagent_type: 'helper' };
      return [starter === undefined ? use('toolu_sub', 'mcp__shop__pay') : use('toolu_main', starter, asked)];
    },
    {
      ...options,
      tools: ['Task'],
      allowedTools: ['mcp__shop', 'Task', 'Agent'],
      agents: { helper: { description: 'Pays.', prompt: 'You pay.', tools: ['mcp__shop__pay'] } },
    },
  );
  expect(handler).not.toHaveBeenCalled();
  expect(told.at(-1)).toContain('Not on a Sunday.');
  expect(attrs.mock.calls[0]?.[0].hook?.agent_id).toBeTypeOf('string');
});

test('the record holds the model’s arguments, and the body gets the fields of the schema', async () => {
  const handler = vi.fn<(args: unknown) => ReturnType<typeof ok>>(ok);
  const shape = { cents: z.number(), at: z.array(z.number()).optional(), now: z.boolean() };
  const { run, runtime } = await start([tool('pay', 'Pays.', shape, handler)], {});
  const input = JSON.parse('{"cents":"5","at":"[1]","now":"true","__proto__":{"x":1},"other":1}') as object;
  await run([[use('toolu_1', 'mcp__shop__pay', input)], done]);
  expect(handler.mock.calls.map(([args]) => args)).toEqual([{ cents: 5, at: [1], now: true }]);
  const [record] = await runtime.calls.audit({ sessionId });
  expect(record?.requestedInput).toMatchObject({ cents: '5', at: '[1]', now: 'true', other: 1 });
});

test('the model gets an image next to the tabled content', async () => {
  const png =
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
  const show = tool('show', 'Shows.', {}, async () => ({
    content: [{ type: 'image', data: png, mimeType: 'image/png' }],
  }));
  const { run, told } = await start([show], {});
  await run([[use('toolu_1', 'mcp__shop__show')], done]);
  expect(told()).toContain('$artifact');
  expect(told()).toMatch(/"type":"image"/);
});

test('interrupting a query ends the call, and its body gets the abort', async () => {
  const running = Promise.withResolvers<void>();
  const stopped = Promise.withResolvers<void>();
  const wait = tool('wait', 'Waits.', {}, async (_, extra) => {
    const { signal } = extra as { signal: AbortSignal };
    signal.addEventListener('abort', () => stopped.resolve());
    running.resolve();
    return new Promise(() => undefined);
  });
  const { run, runtime } = await start([wait], { cancelGraceMs: 10 });
  let query: Query | undefined;
  const ended = run([[use('toolu_1', 'mcp__shop__wait')]], {}, [], (one) => (query = one)).catch(
    () => undefined,
  );
  await running.promise;
  await query?.interrupt();
  await stopped.promise;
  await ended;
  await eventually(async () => {
    const [made] = await runtime.calls.list({ sessionId, callId: 'toolu_1' });
    expect(made?.settled?.outcome).toMatchObject({ code: 'tool.indeterminate' });
  });
});

describe.runIf(claudeAgent.suspends)('calls that wait for a person', () => {
  test('two of one message are both asked about, and each is made and reported once', async () => {
    const handler = vi.fn<(args: { n: number }) => ReturnType<typeof ok>>(ok);
    const onHeld = vi.fn<(held: ClaudeAgentHeld) => void>();
    const { run, runtime, told } = await start([tool('pay', 'Pays.', { n: z.number() }, handler)], {
      approver: 'grace',
      overrides: { pay: { mode: 'destructive' } },
      onHeld,
    });
    const calls = [use('toolu_1', 'mcp__shop__pay', { n: 1 }), use('toolu_2', 'mcp__shop__pay', { n: 2 })];
    const running = run([calls]);
    const pending = await eventually(async () => {
      const { rows } = await runtime.confirmations.list({ status: 'pending' });
      expect(rows).toHaveLength(2);
      return rows;
    });
    // The host gets both: the one that ends the query, and the one that keeps it open.
    await eventually(() => expect(onHeld).toHaveBeenCalledTimes(2));
    const facts = { sessionId, toolName: 'pay', waitsFor: expect.stringMatching(/\w/) as string };
    expect(onHeld.mock.calls.map(([held]) => held)).toEqual([
      { ...facts, toolUseId: 'toolu_1', confirmationId: expect.any(String) as string, waits: 'deferred' },
      { ...facts, toolUseId: 'toolu_2', confirmationId: expect.any(String) as string, waits: 'in place' },
    ]);
    const other = pending.find(({ callId }) => callId === 'toolu_2');
    await runtime.confirmations.decide(other?.confirmationId ?? '', {
      decision: 'approve',
      by: 'ada',
      inputDigest: other?.inputDigest ?? '',
    });
    const stopped = await running;
    expect(stopped).toMatchObject({ deferred_tool_use: { id: 'toolu_1' } });
    const result = await run([done], { resume: stopped?.session_id ?? '' }, [
      { toolUseId: 'toolu_1', approved: true },
    ]);
    expect(result).toMatchObject({ result: 'Done.' });
    expect(handler.mock.calls.map(([{ n }]) => n)).toEqual([2, 1]);
    for (const { id } of calls as { id: string }[]) expect(told()).toContain(`"tool_use_id":"${id}"`);
  });

  test('a query that is resumed before an answer stops again, and calls no model', async () => {
    const handler = vi.fn<() => ReturnType<typeof ok>>(ok);
    const { run, told } = await start([tool('pay', 'Pays.', {}, handler)], {
      approver: 'grace',
      overrides: { pay: { mode: 'destructive' } },
    });
    const stopped = await run([[use('toolu_1', 'mcp__shop__pay')]]);
    const before = told();
    const again = await run([done], { resume: stopped?.session_id ?? '' });
    expect(again).toMatchObject({ deferred_tool_use: { id: 'toolu_1' } });
    expect([told(), handler.mock.calls]).toEqual([before, []]);
  });
});

test('a session whose host was killed in a call is resumed, and the model cannot pay again', async () => {
  const [ledger, effects, home] = [join(folder, 'killed.db'), join(folder, 'killed.txt'), makeHome()];
  const part = { ledger, effects, home, session: crypto.randomUUID() };
  // The program stores its session a moment later: killed before that, there is nothing to resume.
  const isWritten = () => expect(transcriptsIn(home)).toContain('toolu_first');
  await host({ ...part, resumes: false }, () => eventually(isWritten));
  endOrphans();
  const lines = await host({ ...part, resumes: true });
  expect(readFileSync(effects, 'utf8')).toBe('{"cents":500}\n');
  // The SDK reports the call as interrupted, or not at all. The repeat is held, and denied here.
  const { result, told } = lines.at(-1) ?? {};
  expect(result).toBe('success');
  expect(JSON.stringify(told)).toContain('toolu_again');
  expect(lines.some(({ asked }) => asked !== undefined)).toBe(true);
});

type Line = {
  readonly running?: boolean;
  readonly asked?: string;
  readonly result?: string;
  readonly told?: unknown;
};

/** Plays a host; kills it in its first call, once `mayDie` resolves. */
async function host(part: object, mayDie?: () => Promise<unknown>): Promise<readonly Line[]> {
  const child = spawn(
    process.execPath,
    [
      ...packageArguments(),
      join(import.meta.dirname, 'harnesses/claude-agent-host.ts'),
      JSON.stringify(part),
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const lines: Line[] = [];
  for await (const text of createInterface({ input: child.stdout })) {
    const line = JSON.parse(text) as Line;
    lines.push(line);
    if (mayDie !== undefined && line.running === true) {
      await mayDie();
      child.kill('SIGKILL');
    }
  }
  return lines;
}
