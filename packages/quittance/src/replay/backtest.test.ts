import { describe, expect, test, vi } from 'vitest';
import type { LoadedContracts } from '../contracts/loaded-contracts.ts';
import { ToolError } from '../call/tool-error.ts';
import { contractsFromYamlString } from '../contracts/from-yaml.ts';
import type { OpenLedger } from '../ledger/ledger.ts';
import type { Contracts } from '../policy/judge/contracts.ts';
import { createRuntime } from '../store/create-runtime.ts';
import { createMemoryLedger } from '../store/memory/memory-ledger.ts';
import { defineTool } from '../tool/define-tool.ts';
import { backtest } from './backtest.ts';
import type { BacktestReport } from './backtest-report.ts';
import { BacktestTally } from './backtest-tally.ts';

const head =
  'apiVersion: quittance/v1\nkind: Ruleset\nmetadata: {name: trial}\ndefaults: {mode: enforce}\nrules:\n';
const rules = (text: string): LoadedContracts =>
  contractsFromYamlString(head + (text === '' ? pre('never', 'nothing_of_the_kind', 'block') : text));

const pre = (id: string, tool: string, action: string, when = '{tool.name: {exists: true}}'): string =>
  `  - {id: ${id}, type: pre, tool: ${tool}, when: ${when}, then: {action: ${action}, message: "${id} fired"}}\n`;
const post = (id: string, tool: string, action: string, pattern: string): string =>
  `  - {id: ${id}, type: post, tool: ${tool}, when: {output.text: {matches: "${pattern}"}}, then: {action: ${action}, message: "${id} fired"}}\n`;
const limit = (id: string, limits: string): string =>
  `  - {id: ${id}, type: session, limits: ${limits}, then: {action: block, message: "${id} fired"}}\n`;

const anything = { type: 'object' } as const;
const say = defineTool({
  name: 'say',
  mode: 'read',
  loopLimit: 1e9,
  input: anything,
  run: ({ text }) => ({ text: text ?? 'x' }),
});
const send = defineTool({
  name: 'send',
  mode: 'external',
  loopLimit: 1e9,
  input: anything,
  run: () => ({ ok: true }),
});
const Read = defineTool({ name: 'Read', mode: 'read', loopLimit: 1e9, input: anything, run: () => 'text' });
const Bash = defineTool({
  name: 'Bash',
  mode: 'external',
  loopLimit: 1e9,
  input: anything,
  run: () => 'done',
});
const big = defineTool({
  name: 'big',
  mode: 'read',
  input: anything,
  run: () => ({ text: `${'x'.repeat(20_000)} secret-word` }),
});
const tools = [say, send, Read, Bash, big] as const;

type Made = readonly [name: string, args: Record<string, unknown>];

async function record(
  calls: readonly Made[],
  contracts?: Contracts,
  { ledger = createMemoryLedger(), sessionId = 's1', answer = 'approve' as 'approve' | 'deny' } = {},
): Promise<OpenLedger> {
  const runtime = createRuntime({
    tools,
    ledger,
    ...(contracts !== undefined && { contracts }),
    onConfirm: () => ({ decision: answer, by: 'Ada' }),
  });
  const turn = runtime.turn({ sessionId, principal: { userId: 'ada', role: 'guest' } });
  for (const [index, [name, args]] of calls.entries())
    await turn.call({ id: `c${index}`, name, arguments: args as never });
  await turn.end();
  await runtime.close();
  return ledger;
}

const kinds = ({ changes }: BacktestReport): string[] =>
  changes.map(({ about, before, after, count }) => `${about}: ${before} → ${after} ${count}`);

const hello: Made = ['say', { text: 'hello' }];

describe('a backtest reports', () => {
  test('calls that would be blocked or held, with the rule', async () => {
    const ledger = await record([hello, ['send', { to: 'ada' }], ['send', { to: 'eve' }]]);
    const report = await backtest(ledger, {
      contracts: rules(
        pre('no-eve', 'send', 'block', '{args.to: {equals: eve}}') + pre('ask-say', 'say', 'ask'),
      ),
    });
    expect(kinds(report)).toEqual(['call: allow → ask 1', 'call: allow → block 1']);
    expect(report).toMatchObject({ sessions: 1, calls: 3, judged: 3, different: 2, complete: true });
    expect(report.rules).toMatchObject([
      { ruleId: 'ask-say', action: 'ask', count: 1, different: 1 },
      {
        ruleId: 'no-eve',
        action: 'block',
        count: 1,
        different: 1,
        samples: [{ callId: 'c2', input: '{"to":"eve"}' }],
      },
    ]);
    expect(report.changes[1]?.samples).toMatchObject([{ ruleId: 'no-eve', message: 'no-eve fired' }]);
  });

  test('calls that would be newly allowed', async () => {
    const strict = rules(pre('no-send', 'send', 'block') + pre('ask-say', 'say', 'ask'));
    const ledger = await record([hello, ['send', {}]], strict);
    expect(kinds(await backtest(ledger, { contracts: rules('') }))).toEqual([
      'call: ask → allow 1',
      'call: block → allow 1',
    ]);
  });

  test('outputs that would be redacted, warned about or withheld, including artifacts', async () => {
    const ledger = await record([
      ['say', { text: 'AKIA-like KEY-123' }],
      ['say', { text: 'careful' }],
      ['say', { text: 'forbidden' }],
      ['big', {}],
    ]);
    const report = await backtest(ledger, {
      contracts: rules(
        post('keys', 'say', 'redact', 'KEY-[0-9]+') +
          post('careful', 'say', 'warn', 'careful') +
          post('never', 'say', 'block', 'forbidden') +
          post('words', 'big', 'redact', 'secret-word'),
      ),
    });
    expect(kinds(report)).toEqual([
      'output: pass → redact 2',
      'output: pass → block 1',
      'output: pass → warn 1',
    ]);
  });

  test('redactions in errors and in their extras', async () => {
    const fails = defineTool({
      name: 'fails',
      mode: 'read',
      input: anything,
      run: ({ where }) => {
        throw new ToolError('tool.network_error', where === 'text' ? 'KEY-1 failed' : 'Failed.', {
          extras: { body: where === 'extras' ? 'KEY-2' : 'none' },
        });
      },
    });
    const ledger = createMemoryLedger();
    const runtime = createRuntime({ tools: [fails], ledger });
    const turn = runtime.turn({ sessionId: 's1' });
    for (const where of ['text', 'extras', 'nowhere'])
      await turn.call({ id: where, name: 'fails', arguments: { where } });
    await runtime.close();
    const report = await backtest(ledger, { contracts: rules(post('keys', 'fails', 'redact', 'KEY-[0-9]')) });
    expect(kinds(report)).toEqual(['output: pass → redact 2']);
    expect(report.rules).toMatchObject([{ ruleId: 'keys', count: 2 }]);
  });

  test('no change for rules that only observe, but their counts', async () => {
    const ledger = await record([hello, hello]);
    const observing = rules(pre('watch', 'say', 'block').replace('type: pre', 'type: pre, mode: observe'));
    const report = await backtest(ledger, { contracts: observing });
    expect(report).toMatchObject({ different: 0, changes: [] });
    expect(report.rules).toMatchObject([{ ruleId: 'watch', observed: true, count: 2, different: 0 }]);
  });
});

describe('the same rules', () => {
  const all =
    pre('no-eve', 'send', 'block', '{args.to: {equals: eve}}') +
    pre('ask-send', 'send', 'ask', '{args.to: {equals: ada}}') +
    pre('secret', 'send', 'block', '{args.password: {matches: "^hunter"}}') +
    post('keys', 'say', 'redact', 'KEY-[0-9]+') +
    post('never', 'say', 'block', 'forbidden') +
    limit('few', '{max_tool_calls: 7, max_calls_per_tool: {send: 2}}');
  const calls: readonly Made[] = [
    ['send', { to: 'eve' }],
    ['send', { to: 'ada' }],
    ['send', { password: 'hunter2-and-more' }],
    ['say', { text: 'KEY-77' }],
    ['say', { text: 'forbidden' }],
    ['send', { to: 'bob' }],
    ['send', { to: 'cleo' }],
    hello,
    hello,
    hello,
    hello,
  ];

  test.each(['approve', 'deny'] as const)(
    'change nothing, whatever is redacted, if people %s',
    async (answer) => {
      const contracts = rules(all);
      const ledger = await record(calls, contracts, { answer });
      const report = await backtest(ledger, { contracts: rules(all) });
      expect(kinds(report)).toEqual([]);
      expect(report.byKeptForm).toBeGreaterThan(0);
      expect(report.rules.map(({ ruleId }) => ruleId)).toEqual(
        expect.arrayContaining(['no-eve', 'few', 'keys', 'never']),
      );
    },
  );
});

describe('session limits are counted', () => {
  test('session limits are counted as if these rules had been in force, from the start of each session', async () => {
    const ledger = await record([hello, hello, hello, ['send', {}], hello]);
    await record([hello, hello], undefined, { ledger, sessionId: 's2' });
    const report = await backtest(ledger, { contracts: rules(limit('few', '{max_tool_calls: 3}')) });
    expect(kinds(report)).toEqual(['call: allow → block 2']);
    expect(
      report.changes[0]?.samples.map(({ sessionId, callId }) => `${sessionId} ${callId}`).toSorted(),
    ).toEqual(['s1 c3', 's1 c4']);
  });

  test('session limits are counted without calls that would be blocked, and with blocked ones as attempts', async () => {
    const ledger = await record([['send', {}], ['send', {}], hello, hello, hello]);
    const blocked = pre('no-send', 'send', 'block');
    const kindsOf = async (limits: string): Promise<string[]> =>
      kinds(await backtest(ledger, { contracts: rules(blocked + limit('few', limits)) }));
    expect(await kindsOf('{max_tool_calls: 2}')).toEqual(['call: allow → block 3']);
    expect(await kindsOf('{max_attempts: 3}')).toEqual(['call: allow → block 4']);
    expect(await kindsOf('{max_calls_per_tool: {"s*": 3}}')).toEqual(['call: allow → block 2']);
  });

  test('session limits are counted with calls that rules stopped then and would allow now', async () => {
    const strict = rules(pre('no-send', 'send', 'block'));
    const contracts = rules(limit('few', '{max_tool_calls: 2}'));
    const stopped = await record([['send', {}], ['send', { n: 2 }], hello], strict);
    expect(kinds(await backtest(stopped, { contracts }))).toEqual([
      'call: block → allow 2',
      'call: allow → block 1',
    ]);
    const asking = rules(pre('ask-say', 'say', 'ask'));
    const rejected = await record([hello, ['say', { n: 2 }], ['Read', {}]], asking, { answer: 'deny' });
    expect(kinds(await backtest(rejected, { contracts }))).toEqual([
      'call: ask → allow 2',
      'call: allow → block 1',
    ]);
    // A person who denied then denies again.
    const still = rules(pre('ask-say', 'say', 'ask') + limit('few', '{max_tool_calls: 2}'));
    expect(kinds(await backtest(rejected, { contracts: still }))).toEqual([]);
  });

  test('including calls before the slice, which are not reported', async () => {
    const ledger = await record([hello, hello, ['send', {}]]);
    const report = await backtest(ledger, {
      contracts: rules(limit('few', '{max_tool_calls: 1}')),
      toolName: 'send',
    });
    expect(report).toMatchObject({ calls: 1, judged: 1, different: 1 });
  });
});

describe('workflows are followed', () => {
  const workflow = `apiVersion: quittance/v1
kind: Workflow
metadata: {name: order}
stages:
  - {id: look, tools: [Read], exit: [{condition: 'file_read("spec.md")', message: Read the spec first.}]}
  - {id: change, tools: [Bash, send]}
`;
  test('workflows are followed in the order of the calls, by their evidence', async () => {
    const early = await record([
      ['Bash', { command: 'ls' }],
      ['Read', { path: 'spec.md' }],
      ['Bash', { command: 'ls' }],
    ]);
    const report = await backtest(early, { contracts: contractsFromYamlString(workflow) });
    expect(kinds(report)).toEqual(['call: allow → block 1']);
    expect(report.changes[0]?.samples).toMatchObject([{ callId: 'c0', message: 'Read the spec first.' }]);
    expect(report.rules).toMatchObject([{ ruleId: 'workflow:order/look' }]);
  });

  test('workflows are followed and a confirmation that did not exist then counts as approved', async () => {
    const asks = workflow.replace(
      'exit: [{condition: \'file_read("spec.md")\', message: Read the spec first.}]',
      'approval: {message: Ready?}',
    );
    const ledger = await record([
      ['Read', { path: 'a' }],
      ['Bash', { command: 'ls' }],
      ['send', {}],
    ]);
    const report = await backtest(ledger, { contracts: contractsFromYamlString(asks) });
    expect(kinds(report)).toEqual(['call: allow → ask 1']);
  });

  test('workflows are followed and no command ever runs for them', async () => {
    const exec = vi.fn<() => number>(() => 0);
    const text = workflow.replace('file_read("spec.md")', 'exec("true", exit_code=0)');
    const ledger = await record([
      ['Read', { path: 'a' }],
      ['Bash', { command: 'ls' }],
    ]);
    const report = await backtest(ledger, { contracts: contractsFromYamlString(text, { exec }) });
    expect(exec).not.toHaveBeenCalled();
    expect(kinds(report)).toEqual(['call: allow → block 1']);
  });

  test('workflows are followed and under the recorded workflow nothing changes', async () => {
    const contracts = contractsFromYamlString(workflow);
    const ledger = await record(
      [
        ['Bash', { command: 'a' }],
        ['Read', { path: 'spec.md' }],
        ['Bash', { command: 'b' }],
        ['send', {}],
      ],
      contracts,
    );
    expect(kinds(await backtest(ledger, { contracts: contractsFromYamlString(workflow) }))).toEqual([]);
  });
});

describe('calls', () => {
  test('calls that never reached the rules are counted separately', async () => {
    const ledger = await record([['nothing', {}], hello]);
    expect(await backtest(ledger, { contracts: rules('') })).toMatchObject({
      calls: 2,
      judged: 1,
      notJudged: { never_reached_rules: 1, erased: 0 },
    });
  });

  test('calls with redacted arguments are marked, and nothing redacted is shown', async () => {
    const ledger = await record([['send', { to: 'ada', password: 'hunter2-and-more' }]]);
    const report = await backtest(ledger, { contracts: rules(pre('all', '"*"', 'block')) });
    expect(report).toMatchObject({ byKeptForm: 1, changes: [{ samples: [{ byKeptForm: true }] }] });
    expect(JSON.stringify(report)).not.toContain('hunter2');
  });

  test('calls that were erased are not judged', async () => {
    const ledger = await record([hello, ['send', {}]]);
    await ledger.erase({ sessionId: 's1', by: 'ada', reason: 'asked to' });
    expect(await backtest(ledger, { contracts: rules(pre('all', '"*"', 'block')) })).toMatchObject({
      calls: 2,
      judged: 0,
      notJudged: { erased: 2 },
    });
  });

  test('are checked against the current schemas of tools', async () => {
    const ledger = await record([
      ['say', { text: 'a' }],
      ['say', { text: 7 }],
      ['say', {}],
    ]);
    const stricter = defineTool({
      name: 'say',
      mode: 'read',
      input: { type: 'object', properties: { text: { type: 'string', minLength: 1 } }, required: ['text'] },
      output: { type: 'object', properties: { text: { const: 'a' } } },
      run: () => {
        throw new Error('Nobody runs it.');
      },
    });
    const report = await backtest(ledger, { contracts: rules(''), tools: [stricter] });
    expect(kinds(report)).toEqual(['call: allow → refused 2']);
    expect(report.changes[0]?.samples.every(({ message }) => message !== undefined)).toBe(true);
  });
});

test('a stopped backtest reports its findings so far', async () => {
  const ledger = await record([hello]);
  await record([hello], undefined, { ledger, sessionId: 's2' });
  const stop = new AbortController();
  const report = await backtest(ledger, {
    contracts: rules(pre('all', '"*"', 'block')),
    signal: stop.signal,
    onProgress: () => stop.abort(),
  });
  expect(report).toMatchObject({ complete: false, sessions: 1, calls: 1, different: 1 });
});

test('partial reports add up to the full report', async () => {
  const ledger = createMemoryLedger();
  for (const sessionId of ['s1', 's2', 's3'])
    await record([hello, ['send', {}], ['say', { text: sessionId }]], undefined, { ledger, sessionId });
  const contracts = rules(pre('no-send', 'send', 'block') + post('s2', 'say', 'warn', 's2'));
  const whole = await backtest(ledger, { contracts, samples: 2 });
  const tally = new BacktestTally(contracts.version, 2);
  for (const sessionId of ['s3', 's1', 's2'])
    tally.merge(await backtest(ledger, { contracts, samples: 2, sessionId }));
  expect(tally.toReport(true)).toEqual(whole);
});
