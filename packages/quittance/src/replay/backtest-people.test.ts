/** Backtests of calls with decisions of people or with previews. */
import { describe, expect, test } from 'vitest';
import { quiet } from '../../../../test/stage.ts';
import type { LoadedContracts } from '../contracts/loaded-contracts.ts';
import { contractsFromYamlString } from '../contracts/from-yaml.ts';
import type { OpenLedger } from '../ledger/ledger.ts';
import type { ConfirmationAnswer } from '../runtime/views.ts';
import { createRuntime } from '../store/create-runtime.ts';
import { createMemoryLedger } from '../store/memory/memory-ledger.ts';
import { createManualClock } from '../testing/manual-clock.ts';
import { defineTool } from '../tool/define-tool.ts';
import { backtest } from './backtest.ts';
import type { BacktestReport } from './backtest-report.ts';

const rules = (text: string): LoadedContracts =>
  contractsFromYamlString(
    `apiVersion: quittance/v1\nkind: Ruleset\nmetadata: {name: trial}\ndefaults: {mode: enforce}\nrules:\n${text}`,
  );
const pre = (id: string, when: string, then: string): string =>
  `  - {id: ${id}, type: pre, tool: pay, when: ${when}, then: {message: "${id} fired", ${then}}}\n`;
const always = '{tool.name: {exists: true}}';
const never = pre('never', '{args.to: {equals: nobody}}', 'action: block');

const pay = defineTool({
  name: 'pay',
  mode: 'external',
  loopLimit: 1e9,
  input: {
    type: 'object',
    properties: { to: { type: 'string' }, cents: { type: 'integer' }, token: { type: 'string' } },
  },
  preview: ({ cents }) => ({ kind: 'text', text: 'pays', snapshot: { total: Number(cents ?? 0) * 2 } }),
  run: (args) => args,
});

type Answer = ConfirmationAnswer | 'nobody';

async function record(
  calls: readonly object[],
  contracts: LoadedContracts,
  answer: (args: { readonly [name: string]: unknown }) => Answer = () => 'nobody',
): Promise<OpenLedger> {
  const clock = createManualClock();
  const ledger = createMemoryLedger({ clock });
  const runtime = createRuntime({
    tools: [pay],
    ledger,
    clock,
    contracts,
    holdTimeoutMs: 1_000,
    onConfirm: ({ arguments: args }) => {
      const said = answer(args);
      return said === 'nobody' ? new Promise<ConfirmationAnswer>(() => {}) : said;
    },
  });
  for (const [index, args] of calls.entries()) {
    const asked = runtime
      .turn({ sessionId: 's1' })
      .call({ id: `c${index}`, name: 'pay', arguments: { ...args } });
    for (let round = 0; round < 5; round++) await quiet();
    // Longer than any rule waits for a decision.
    clock.advance(600_000);
    await asked;
  }
  return ledger;
}

const kinds = ({ changes }: BacktestReport): string[] =>
  changes.map(({ about, before, after, count }) => `${about}: ${before} → ${after} ${count}`);

describe('a backtest', () => {
  test('lets rules see the preview of a call', async () => {
    const ledger = await record([{ cents: 10 }, { cents: 600 }], rules(never));
    const report = await backtest(ledger, {
      contracts: rules(pre('total', '{snapshot.total: {gt: 1000}}', 'action: block')),
    });
    expect(kinds(report)).toEqual(['call: allow → block 1']);
    expect(report.changes[0]?.samples).toMatchObject([{ callId: 'c1', ruleId: 'total' }]);
  });

  test('judges edited arguments exactly as the person wrote them', async () => {
    const ask = pre('ask', always, 'action: ask');
    const ledger = await record([{ to: 'eve', cents: 1 }], rules(ask), () => ({
      decision: 'edit',
      by: 'ada',
      arguments: { to: 'adam', cents: 1 },
    }));
    const blocked = await backtest(ledger, {
      contracts: rules(ask + pre('no-adam', '{args.to: {equals: adam}}', 'action: block')),
    });
    expect(kinds(blocked)).toEqual(['call: ask → block 1']);
    expect(blocked.changes[0]?.samples).toMatchObject([{ input: '{"to":"adam","cents":1}' }]);
    expect(kinds(await backtest(ledger, { contracts: rules(ask) }))).toEqual([]);
  });

  test('checks edited arguments against the current schemas, without coercion', async () => {
    const ask = pre('ask', always, 'action: ask');
    const ledger = await record([{ to: 'eve' }], rules(ask), () => ({
      decision: 'edit',
      by: 'ada',
      arguments: { to: '7' },
    }));
    const input = { type: 'object', properties: { to: { enum: ['eve', 'ada'] } } } as const;
    const stricter = defineTool({ name: 'pay', mode: 'external', input, run: () => 1 });
    const report = await backtest(ledger, { contracts: rules(ask), tools: [stricter] });
    expect(kinds(report)).toEqual(['call: ask → refused 1']);
  });

  test('treats an expired confirmation as expired again', async () => {
    const ask = pre('ask', always, 'action: ask');
    const limit =
      '  - {id: one, type: session, limits: {max_tool_calls: 1}, then: {action: block, message: one}}\n';
    const ledger = await record([{ to: 'a' }, { to: 'b' }, { to: 'c' }], rules(ask));
    const still = await backtest(ledger, { contracts: rules(ask + limit) });
    // None of the calls runs, so none counts toward the limit.
    expect(kinds(still)).toEqual([]);
    expect(still).toMatchObject({ judged: 3, unanswered: 3 });
    // Without the confirmation they would have run, and the second would have exceeded the limit.
    expect(kinds(await backtest(ledger, { contracts: rules(never + limit) }))).toEqual([
      'call: ask → block 2',
      'call: ask → allow 1',
    ]);
    // A rule that allows calls on expiry lets them run.
    const lets = pre('ask', always, 'action: ask, timeout: 5, timeout_effect: allow');
    expect(kinds(await backtest(ledger, { contracts: rules(lets + limit) }))).toEqual([
      'call: ask → block 2',
    ]);
  });

  test('does not judge the output of a call that ran on expiry and no longer would', async () => {
    const lets = pre('ask', always, 'action: ask, timeout: 5, timeout_effect: allow');
    const post =
      '  - {id: out, type: post, tool: pay, when: {output.text: {contains: eve}}, then: {action: warn, message: out}}\n';
    const ledger = await record([{ to: 'eve' }], rules(lets));
    expect(kinds(await backtest(ledger, { contracts: rules(lets + post) }))).toEqual([
      'output: pass → warn 1',
    ]);
    expect(
      kinds(await backtest(ledger, { contracts: rules(pre('ask', always, 'action: ask') + post) })),
    ).toEqual([]);
  });

  test('counts a call with a partly redacted preview as judged by its stored form', async () => {
    const tool = defineTool({
      name: 'pay',
      mode: 'external',
      redact: { snapshot: ['pin'] },
      preview: () => ({ kind: 'text', text: 'x', snapshot: { pin: '12345678' } }),
      run: () => 1,
    });
    const ledger = createMemoryLedger();
    const runtime = createRuntime({ tools: [tool], ledger });
    await runtime.turn({ sessionId: 's1' }).call({ id: 'c', name: 'pay', arguments: {} });
    expect(await backtest(ledger, { contracts: rules(never) })).toMatchObject({ judged: 1, byKeptForm: 1 });
  });
});
