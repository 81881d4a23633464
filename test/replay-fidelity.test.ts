/** A session with every possible end of a call, recorded and played: only changed calls differ. */
import type { AnyTool, Runtime, ToolCallInput } from 'quittance';
import type { OpenLedger } from 'quittance/store';
import { createRuntime, defineTool, jsonSchema, ToolDecision, ToolError, toolResult } from 'quittance';
import { createMemoryLedger } from 'quittance/ledger';
import { contractsFromYamlString } from 'quittance/contracts';
import type { ManualClock } from 'quittance/testing';
import { createManualClock } from 'quittance/testing';
import { describe, expect, test } from 'vitest';
import { readCassette, writeCassette } from '../packages/quittance/src/replay/write-cassette.ts';
import { diffSessions } from '../packages/quittance/src/replay/diff-sessions.ts';
import { recordCassette } from '../packages/quittance/src/replay/record-cassette.ts';
import { recordedTools } from '../packages/quittance/src/replay/recorded-tools.ts';
import { quiet } from './stage.ts';
import { findCalls } from '../packages/quittance/src/ledger/reads.ts';

const rules = contractsFromYamlString(`
apiVersion: edictum/v1
kind: Ruleset
metadata: { name: replay }
defaults: { mode: enforce }
rules:
  - id: no-etc
    type: pre
    tool: find
    when: { args.query: { contains: /etc } }
    then: { action: block, message: Not there. }
  - id: mind-it
    type: post
    tool: find
    when: { output.text: { contains: sorry } }
    then: { action: warn, message: It apologises. }
`);

/** Each counts its runs, so that a body that runs in a replay is noticed. */
function makeTools(ran: string[]): readonly AnyTool[] {
  const tool = (spec: Parameters<typeof defineTool>[0]): AnyTool => {
    const { run, ...rest } = spec as { name: string; run: (args: never, context: never) => unknown };
    return defineTool({
      ...rest,
      run: (args: unknown, context: unknown) => {
        ran.push(rest.name);
        return run(args as never, context as never);
      },
    } as Parameters<typeof defineTool>[0]);
  };
  const query = jsonSchema<{ query: string }>({
    type: 'object',
    properties: { query: { type: 'string' }, times: { type: 'integer' } },
    required: ['query'],
  });
  return [
    tool({ name: 'find', mode: 'read', input: query, run: (args) => ({ found: args, note: 'sorry' }) }),
    tool({
      name: 'spend',
      mode: 'external',
      costMicros: 5,
      run: (_, context) => {
        context.charge(3);
        context.reached('https://bank.example');
        context.log('spent', { amount: 3 });
        context.record({ step: 1 });
        return { spent: true };
      },
    }),
    tool({ name: 'big', mode: 'read', inlineLimit: 50, run: () => ({ text: 'x'.repeat(100) }) }),
    tool({
      name: 'draw',
      mode: 'read',
      run: (_, context) => ({
        image: context.attach({ mimeType: 'image/png', content: Uint8Array.of(1, 2, 3), name: 'a.png' }),
      }),
    }),
    tool({ name: 'look_at', mode: 'read', run: (args) => ({ seen: args }) }),
    tool({ name: 'hang', mode: 'read', timeoutMs: 700, run: () => new Promise(() => {}) }),
    tool({
      name: 'hang_and_pay',
      mode: 'external',
      timeoutMs: 900,
      rerun: 'deny',
      run: () => new Promise(() => {}),
    }),
    tool({
      name: 'idle',
      mode: 'read',
      timeoutMs: 5_000,
      idleTimeoutMs: 40,
      run: () => new Promise(() => {}),
    }),
    tool({
      name: 'net',
      mode: 'external',
      rerun: 'allow',
      run: () => {
        throw Object.assign(new Error('gone'), { code: 'ECONNRESET' });
      },
    }),
    tool({
      name: 'claim',
      mode: 'external',
      rerun: 'allow',
      run: ({ code, retryable }: { code: 'tool.timeout'; retryable?: boolean }) => {
        throw new ToolError(code, `It says ${code}.`, {
          ...(retryable !== undefined && { retryable }),
          extras: { deep: { er: [1, null] } },
        });
      },
    } as never),
    tool({
      name: 'broken',
      mode: 'external',
      rerun: 'allow',
      run: (_, context) => {
        context.record({ half: 'way' });
        throw new TypeError('what');
      },
    }),
    tool({ name: 'report', mode: 'external', rerun: 'allow', run: (args) => ({ error: 'no luck', args }) }),
    tool({
      name: 'finish',
      mode: 'read',
      run: () => toolResult({ success: true, terminal: true, message: 'done' }),
    }),
    tool({
      name: 'give_up',
      mode: 'read',
      run: () => toolResult({ success: false, error: 'cannot', needsFollowup: true }),
    }),
    tool({
      name: 'wrong',
      mode: 'external',
      rerun: 'allow',
      output: { type: 'object', required: ['id'] },
      run: () => ({ no: 1 }),
    }),
    tool({ name: 'nothing', mode: 'read', run: () => (): number => 1 }),
    tool({ name: 'delete_file', mode: 'destructive', run: () => ({ gone: true }) }),
    tool({
      name: 'save',
      mode: 'safe_write',
      idempotent: true,
      idempotencyKey: ({ key }: { key: string }) => key,
      run: (args: unknown) => ({ saved: args }),
    } as never),
    tool({ name: 'login', mode: 'external', run: (args) => ({ in: args }) }),
    tool({ name: 'wait', mode: 'read', run: () => new Promise(() => {}) }),
  ];
}

const call = (id: string, name: string, args: object = {}): ToolCallInput => ({
  id,
  name,
  arguments: { ...args },
});

/** The program that is recorded and played. */
async function drive(runtime: Runtime, clock: ManualClock, city = 'Oslo'): Promise<void> {
  const sessionId = 's';
  const first = runtime.turn({ sessionId, budgets: [{ scope: 'turn', costMicros: 8 }] });
  await first.call(call('find-1', 'find', { query: city }));
  await first.call(call('find-2', 'find', { query: 'Rome', times: '3' }));
  await first.call(call('find-3', 'find', { query: 7 }));
  await first.call(call('find-4', 'find', {}));
  await first.call(call('find-5', 'find', { query: '/etc/passwd' }));
  await first.call(call('find-6', 'find', { query: 'hook' }));
  await first.call(call('find-1', 'find', { query: 'other' }));
  await first.call(call('find-1', 'find', { query: city }));
  await first.call(call('none', 'fnid', {}));
  await first.call(call('spend-1', 'spend'));
  await first.call(call('spend-2', 'spend', { more: 1 }));
  await first.call(call('spend-3', 'spend', { more: 2 }));
  const big = await first.call(call('big', 'big'));
  const artifact = big.type === 'ToolArtifactReference' ? big.artifactId : '';
  await first.call(call('look-1', 'look_at', { it: { $artifact: artifact } }));
  await first.call(call('draw', 'draw'));
  await first.call(call('piece', 'read_artifact', { artifactId: artifact, limit: 10 }));
  await first.call(call('login-1', 'login', { user: 'ada', password: 'hunter2hunter2' }));
  await first.end();

  const second = runtime.turn({ sessionId });
  const timedOut = async (id: string, name: string, ms: number, args: object = {}): Promise<void> => {
    const asked = second.call(call(id, name, args));
    await quiet();
    clock.advance(ms);
    await asked;
  };
  await timedOut('hang', 'hang', 700);
  await timedOut('idle', 'idle', 40);
  await timedOut('pay-1', 'hang_and_pay', 900);
  await second.call(call('pay-2', 'hang_and_pay'));
  await second.call(call('net', 'net'));
  for (const code of [
    'tool.timeout',
    'tool.network_error',
    'tool.execution_error',
    'tool.reported_error',
    'tool.indeterminate',
  ])
    await second.call(call(`claim-${code}`, 'claim', { code }));
  await second.call(call('claim-marked', 'claim', { code: 'tool.network_error', retryable: true }));
  await second.call(call('broken', 'broken'));
  await second.call(call('report-1', 'report', { a: 1 }));
  await second.call(call('give-up', 'give_up'));
  await second.call(call('wrong', 'wrong'));
  await second.call(call('wrong-2', 'wrong'));
  await second.call(call('nothing', 'nothing'));
  await second.call(call('delete-1', 'delete_file', { path: 'a' }));
  await second.call(call('delete-2', 'delete_file', { path: 'b' }));
  await second.call(call('save-1', 'save', { key: 'k' }));
  await second.call(call('save-2', 'save', { key: 'k' }));
  await second.call(call('cancel-1', 'find', { query: 'x' }), { signal: AbortSignal.abort('no more') });
  const stop = new AbortController();
  const waiting = second.call(call('cancel-2', 'wait'), { signal: stop.signal });
  await quiet();
  stop.abort('enough');
  await quiet();
  clock.advance(5_000);
  await waiting;
  for (let round = 0; round < 21; round++)
    await second.call(call(`loop-${round}`, 'find', { query: 'again' }));
  await second.call(call('claim-input', 'claim', { code: 'tool.invalid_input' }));
  await second.call(call('blocked', 'claim', { code: 'tool.timeout' }));
  await second.call(call('finish', 'finish'));
  await second.call(call('after', 'find', { query: 'late' }));

  const third = runtime.turn({
    sessionId,
    timeoutMs: 10,
    budgets: [{ scope: 'turn', toolCalls: 1 }],
  });
  await third.call(call('count-1', 'find', { query: 'one' }));
  await third.call(call('count-2', 'find', { query: 'two' }));
  clock.advance(11);
  await third.call(call('deadline', 'find', { query: 'three' }));
}

const circumstances = (clock: ManualClock) =>
  ({
    clock,
    contracts: rules,
    onPreToolUse: ({ arguments: { query } }: { arguments: { query?: unknown } }) =>
      query === 'hook' ? ToolDecision.block('the hook says no') : ToolDecision.allow,
  }) as const;

async function record(): Promise<{ ledger: OpenLedger; tools: readonly AnyTool[]; ran: string[] }> {
  const clock = createManualClock();
  const ledger = createMemoryLedger({ clock });
  const ran: string[] = [];
  const tools = makeTools(ran);
  const runtime = createRuntime({
    ...circumstances(clock),
    tools,
    ledger,
    onConfirm: ({ arguments: args }) =>
      args['path'] === 'a'
        ? { decision: 'approve', by: 'ada' }
        : { decision: 'deny', by: 'bob', reason: 'not this one' },
  });
  await drive(runtime, clock);
  return { ledger, tools, ran };
}

async function replay(
  text: string,
  tools: readonly AnyTool[],
  mode: 'strict' | 'loose',
  city?: string,
): Promise<{ ledger: OpenLedger; recorded: ReturnType<typeof recordedTools> }> {
  const clock = createManualClock(1_900_000_000_000);
  const ledger = createMemoryLedger({ clock });
  const recorded = recordedTools(readCassette(text), tools, { mode, clock });
  const runtime = createRuntime({
    ...circumstances(clock),
    tools: recorded.tools,
    ledger,
    onConfirm: recorded.onConfirm,
  });
  await drive(runtime, clock, city);
  return { ledger, recorded };
}

describe('a replay of unchanged code', () => {
  test.each(['strict', 'loose'] as const)('differs in nothing, played %s', async (mode) => {
    const { ledger, tools, ran } = await record();
    const text = writeCassette(await recordCassette(ledger, { sessionId: 's' }, { tools }));
    const before = [...ran];
    const played = await replay(text, tools, mode);

    const diff = diffSessions(await ledger.readSession('s'), await played.ledger.readSession('s'));
    expect(diff.calls.filter(({ status }) => status !== 'same')).toEqual([]);
    expect(diff.identical).toBe(true);
    expect(ran).toEqual(before);
    played.recorded.assertConsumed();
    expect(text).not.toContain('hunter2');
  });

  test('covers every outcome, and every reason that tools, policy, people and the clock cause', async () => {
    const { ledger } = await record();
    const { rows } = await findCalls(ledger, { sessionId: 's', limit: 1_000 });
    expect([...new Set(rows.map(({ outcome }) => String(outcome)))].toSorted()).toEqual([
      'ToolArtifactReference',
      'ToolDenied',
      'ToolExecutionResult',
      'ToolFailure',
      'ToolTimeout',
    ]);
    expect([...new Set(rows.map(({ code }) => code ?? ''))].toSorted()).toEqual([
      '',
      'budget.cost_exhausted',
      'budget.tool_calls_exhausted',
      'call.blocked',
      'call.duplicate',
      'call.loop',
      'call.twin',
      'confirmation.rejected',
      'policy.contract',
      'policy.hook',
      'tool.cancelled',
      'tool.execution_error',
      'tool.indeterminate',
      'tool.invalid_input',
      'tool.invalid_output',
      'tool.network_error',
      'tool.reported_error',
      'tool.timeout',
      'tool.unknown',
      'turn.deadline',
      'turn.ended',
    ]);
  });

  test.each(['strict', 'loose'] as const)(
    'a replay of unchanged code with one changed byte in one argument differs in that call alone, played %s',
    async (mode) => {
      const { ledger, tools } = await record();
      const text = writeCassette(await recordCassette(ledger, { sessionId: 's' }, { tools }));
      const played = await replay(text, tools, mode, 'Osla');
      const diff = diffSessions(await ledger.readSession('s'), await played.ledger.readSession('s'));
      expect(
        diff.calls
          .filter(({ status }) => status !== 'same')
          .map((each) => ('a' in each ? each.a.callId : each.b.callId)),
      ).toEqual(['find-1']);
      expect(played.recorded.report()).toMatchObject({
        unused: [{ callId: 'find-1' }],
        missed: [{ callId: 'find-1', why: 'arguments' }],
      });
    },
  );
});
