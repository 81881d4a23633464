/* oxlint-disable unicorn/no-thenable -- `then` is a word of the language */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ToolOutcome } from 'quittance';
import type { OpenLedger } from 'quittance/store';
import { createRuntime, defineTool, ToolError } from 'quittance';
import type { LoadedContracts } from 'quittance/contracts';
import { contractsFromYamlString } from 'quittance/contracts';
import { createMemoryLedger, openLedger } from 'quittance/ledger';
import { afterEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../packages/quittance/src/base/json.ts';
import { openPlay } from '../durable/play.ts';
import { documentOf } from '../sample-policy.ts';
import { envelope, eventsOf, expectSettledOnce, setStage } from '../stage.ts';

const session = (id: string, limits: JsonObject, more: JsonObject = {}): JsonObject => ({
  id,
  type: 'session',
  limits,
  then: { action: 'block', message: `${id} is reached` },
  ...more,
});
const text = (...rules: readonly JsonObject[]): string => JSON.stringify(documentOf(rules));
const load = (...rules: readonly JsonObject[]): LoadedContracts => contractsFromYamlString(text(...rules));

/** Tools that count their runs, on a runtime with these rules. */
function counting(contracts: LoadedContracts, ledger?: OpenLedger) {
  const ran: string[] = [];
  const tools = ['pay', 'mail_send', 'mail_read', 'fail'].map((name) =>
    defineTool({
      name,
      mode: 'external',
      loopLimit: 1_000,
      run: async () => {
        ran.push(name);
        await Promise.resolve();
        if (name === 'fail') throw new ToolError('tool.reported_error', 'it says no');
        return 'done';
      },
    }),
  );
  const stage = setStage({ tools, contracts, ...(ledger !== undefined && { ledger }) });
  let calls = 0;
  const call = (name: string, args: Readonly<Record<string, unknown>> = {}): Promise<ToolOutcome> =>
    stage.turn.call(envelope(`${name}-${++calls}`, name, { n: calls, ...args }));
  return { ...stage, ran, call };
}

const denied = (outcomes: readonly ToolOutcome[]): readonly string[] =>
  outcomes.flatMap((outcome) => (outcome.type === 'ToolDenied' ? outcome.details : []));
const many = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index);

describe('[limits-hold] limits of contracts', () => {
  const folders: string[] = [];
  afterEach(() => {
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
  });
  const ledgerFile = (): string => {
    const folder = mkdtempSync(join(tmpdir(), 'quittance-limits-'));
    folders.push(folder);
    return join(folder, 'ledger.db');
  };

  it('[limits-hold] ten parallel calls under max_tool_calls: 3 run three times', async () => {
    const { runtime, call, ran } = counting(load(session('three', { max_tool_calls: 3 })));
    const outcomes = await Promise.all(many(10).map(() => call('pay')));
    expect(ran).toHaveLength(3);
    expect(denied(outcomes)).toEqual(many(7).map(() => 'three is reached'));
    const ends = await eventsOf(runtime, 'tool.responded');
    expect(ends.filter(({ attempt }) => attempt === 0)).toHaveLength(7);
    const deciders = (await eventsOf(runtime, 'tool.decided')).flatMap(({ decidedBy }) => decidedBy ?? []);
    expect(deciders).toEqual(many(7).map(() => ({ type: 'rule', name: 'three' })));
    await expectSettledOnce(runtime);
  });

  it('[limits-hold] three processes on one ledger run it three times in total', async () => {
    const play = await openPlay();
    try {
      const contracts = text(session('three', { max_tool_calls: 3 }));
      const actors = await Promise.all(many(3).map(() => play.start({ contracts })));
      const outcomes = await Promise.all(
        actors.flatMap((actor, which) =>
          many(10).map((n) => actor.call(`${which}-${n}`, 'pay', { key: 'paid', which, n })),
        ),
      );
      expect(play.world.count('paid')).toBe(3);
      expect(denied(outcomes)).toEqual(many(27).map(() => 'three is reached'));
    } finally {
      play.end();
    }
  });

  it('[limits-hold] each session has its own count, and every limit of several rules holds on its own', async () => {
    const contracts = load(
      session('calls', { max_tool_calls: 4 }),
      session('pays', { max_calls_per_tool: { pay: 2 } }),
      session('mails', { max_calls_per_tool: { mail_read: 100, 'mail_*': 1 } }),
    );
    const { runtime, call, ran } = counting(contracts);
    const outcomes = [
      await call('pay'),
      await call('mail_send'),
      await call('mail_send'),
      await call('pay'),
      await call('pay'),
      // A pattern gives every matching tool its own count.
      await call('mail_read'),
      await call('mail_read'),
      await call('fail'),
    ];
    expect(denied(outcomes)).toEqual([
      'mails is reached',
      'pays is reached',
      'calls is reached',
      'calls is reached',
    ]);
    expect(ran).toEqual(['pay', 'mail_send', 'pay', 'mail_read']);
    const other = runtime.turn({ sessionId: 'other' });
    expect(await other.call(envelope('x', 'pay'))).toMatchObject({ type: 'ToolExecutionResult' });
  });

  it('[limits-hold] a body that failed counts', async () => {
    const { call } = counting(load(session('two', { max_tool_calls: 2 })));
    await call('fail');
    await call('fail');
    expect(await call('fail')).toMatchObject({ type: 'ToolDenied', details: 'two is reached' });
  });

  it('[limits-hold] max_attempts counts denied calls once each, and calls answered from the record not at all', async () => {
    const no: JsonObject = {
      id: 'no',
      type: 'pre',
      tool: 'pay',
      when: { 'args.bad': { equals: true } },
      then: { action: 'block', message: 'bad' },
    };
    const { turn, call, ran } = counting(load(no, session('tries', { max_attempts: 3 })));
    await call('pay', { bad: true });
    await call('pay');
    await turn.call(envelope('pay-2', 'pay', { n: 2 }));
    await turn.call(envelope('pay-2', 'pay', { n: 'other' }));
    expect(await call('pay', { bad: true })).toMatchObject({ details: 'bad' });
    expect(await call('pay')).toMatchObject({ details: 'tries is reached' });
    expect(ran).toHaveLength(1);
  });

  it('[limits-hold] a held call counts once, whatever a person decides', async () => {
    const ask: JsonObject = {
      id: 'ask',
      type: 'pre',
      tool: 'pay',
      when: { 'args.n': { exists: true } },
      then: { action: 'ask', message: 'May it?' },
    };
    const answers = ['approve', 'deny', 'approve'] as const;
    let asked = 0;
    const { turn } = setStage({
      tools: [defineTool({ name: 'pay', mode: 'external', run: () => 'paid' })],
      contracts: load(ask, session('tries', { max_attempts: 3 })),
      onConfirm: () => ({ decision: answers[asked++] ?? 'deny', by: 'ada' }),
    });
    const outcomes = [];
    for (const n of many(4)) outcomes.push(await turn.call(envelope(`p${n}`, 'pay', { n })));
    expect(outcomes.map(({ type }) => type)).toEqual([
      'ToolExecutionResult',
      'ToolDenied',
      'ToolExecutionResult',
      'ToolDenied',
    ]);
    expect(outcomes[3]).toMatchObject({ reason: 'contract', details: 'tries is reached' });
    expect(asked).toBe(3);
  });

  it('[limits-hold] counts continue after a restart and under reloaded rules', async () => {
    const path = ledgerFile();
    const first = await openLedger(path);
    const before = counting(load(session('three', { max_tool_calls: 3, max_attempts: 50 })), first);
    await before.call('pay');
    await before.call('pay');
    await before.runtime.close();
    await first.close();

    const second = await openLedger(path);
    const contracts = contractsFromYamlString(text(session('renamed', { max_tool_calls: 3 })));
    const ran: string[] = [];
    const runtime = createRuntime({
      tools: [defineTool({ name: 'pay', mode: 'external', run: (_, { callId }) => ran.push(callId) })],
      ledger: second,
      contracts,
    });
    const turn = runtime.turn({ sessionId: 's' });
    expect(await turn.call(envelope('third', 'pay', { n: 3 }))).toMatchObject({
      type: 'ToolExecutionResult',
    });
    expect(await turn.call(envelope('fourth', 'pay', { n: 4 }))).toMatchObject({
      details: 'renamed is reached',
    });
    contracts.reload(text(session('four', { max_tool_calls: 4 })));
    expect(await turn.call(envelope('fifth', 'pay', { n: 5 }))).toMatchObject({
      type: 'ToolExecutionResult',
    });
    contracts.reload(text(session('one', { max_tool_calls: 1 })));
    expect(await turn.call(envelope('sixth', 'pay', { n: 6 }))).toMatchObject({ details: 'one is reached' });
    expect(ran).toEqual(['third', 'fifth']);
    await runtime.close();
    await second.close();
  });

  it('[limits-hold] the strictest of several rules about one count holds, and the denial names it', async () => {
    const { call } = counting(
      load(
        session('loose', { max_tool_calls: 5 }),
        session('tight', { max_tool_calls: 1 }),
        session('watching', { max_tool_calls: 1 }, { mode: 'observe' }),
      ),
      createMemoryLedger(),
    );
    const outcomes = await Promise.all(many(4).map(() => call('pay')));
    expect(denied(outcomes)).toEqual(many(3).map(() => 'tight is reached'));
  });

  it('[limits-hold] a limit in observe mode stops nothing and is on record', async () => {
    const { runtime, call, ran } = counting(
      load(session('watching', { max_tool_calls: 1 }, { mode: 'observe' })),
    );
    await call('pay');
    await call('pay');
    await call('pay');
    expect(ran).toHaveLength(3);
    const decided = await eventsOf(runtime, 'tool.decided');
    expect(decided.map(({ rules }) => rules.map(({ ruleId, observed }) => [ruleId, observed]))).toEqual([
      [],
      [['watching', true]],
      [['watching', true]],
    ]);
  });
});
