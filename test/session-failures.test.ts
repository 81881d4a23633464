/** Counts that follow the success check, in limits and in conditions, through the public API. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SuccessCheck, ToolOutcome } from 'quittance';
import type { OpenLedger } from 'quittance/store';
import { createRuntime, defineTool, retry, ToolError } from 'quittance';
import { backtest, contractsFromYamlString } from 'quittance/contracts';
import { createMemoryLedger, openLedger } from 'quittance/ledger';
import { afterEach, describe, expect, it, test } from 'vitest';
import { z } from 'zod';
import { verifyLedger } from '../packages/quittance/src/replay/verify-ledger.ts';
import { alterLedger } from './alter-ledger.ts';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

const document = (...rules: readonly string[]): string =>
  `apiVersion: quittance/v1\nkind: Ruleset\nmetadata: { name: trial }\ndefaults: { mode: enforce }\nrules:\n${rules
    .map((rule) => `  - ${rule}\n`)
    .join('')}`;
const limit = (limits: string, message = 'Enough.', more = ''): string =>
  `{ id: limit, type: session, ${more}limits: ${limits}, then: { action: block, message: '${message}' } }`;
const pre = (when: string, action = 'block', message = 'No.', tool = "'*'"): string =>
  `{ id: pre, type: pre, tool: ${tool}, when: ${when}, then: { action: ${action}, message: '${message}' } }`;

/** Does what its argument says: the words of `script` are ends. */
const toolNamed = (name: string) =>
  defineTool({
    name,
    mode: 'external',
    loopLimit: 1_000,
    input: z.object({ end: z.string(), n: z.number() }),
    run: ({ end }) => {
      if (end === 'throw') throw new ToolError('tool.execution_error', 'It broke.', { retryable: true });
      return end === 'error' ? { status: 500 } : { status: 200 };
    },
  });

const byStatus: SuccessCheck = (_name, result) => (result as { status: number }).status < 400;

/** Makes calls one after the other: `a:throw` is a call of tool a whose body throws. */
async function play(
  steps: readonly string[],
  contracts: string,
  options: Omit<Parameters<typeof createRuntime>[0], 'tools' | 'contracts'> & { readonly from?: number } = {},
): Promise<readonly string[]> {
  const { from = 0, ...given } = options;
  const runtime = createRuntime({
    tools: ['a', 'b', 'c'].map(toolNamed),
    contracts: contractsFromYamlString(contracts),
    successCheck: byStatus,
    ...given,
  });
  const words: string[] = [];
  for (const [index, step] of steps.entries()) {
    const n = from + index;
    // One turn each: a tool that failed permanently is blocked for its turn.
    const turn = runtime.turn({ sessionId: 's' });
    const [name = '', end] = step.split(':');
    words.push(wordOf(await turn.call({ id: `c${n}`, name, arguments: { end, n } })));
  }
  return words;
}

const wordOf = (outcome: ToolOutcome): string => {
  if (outcome.type === 'ToolExecutionResult') return 'ok';
  return outcome.type === 'ToolDenied' ? `denied ${outcome.details}` : 'failed';
};

describe('a limit on failures', () => {
  it.each([
    ['of the session', '{ max_failures: 2 }', 'a:throw b:ok a:error b:ok', 'failed ok failed denied'],
    [
      'in a row, which a success sets back',
      '{ max_consecutive_failures: 2 }',
      'a:throw b:ok a:error b:error c:ok',
      'failed ok failed failed denied',
    ],
    [
      'of one tool',
      '{ max_failures_per_tool: { a: 1 } }',
      'a:error b:error b:error a:ok b:ok',
      'failed failed failed denied ok',
    ],
    [
      'of every tool a pattern names, each for itself',
      "{ max_failures_per_tool: { '[ab]': 1 } }",
      'a:error b:error a:ok b:ok c:ok',
      'failed failed denied denied ok',
    ],
    [
      'of one tool in a row, whatever other tools do',
      '{ max_consecutive_failures_per_tool: { a: 2 } }',
      'a:error b:ok a:ok a:error b:ok a:error a:ok b:ok',
      'failed ok ok failed ok failed denied ok',
    ],
    ['does not bite where nothing failed', '{ max_failures: 1 }', 'a:ok a:ok b:ok', 'ok ok ok'],
  ])('%s', async (_title, limits, steps, words) => {
    const came = await play(steps.split(' '), document(limit(limits)));
    expect(came.map((word) => word.split(' ')[0])).toEqual(words.split(' '));
  });

  it('counts denied calls neither as failures nor as successes', async () => {
    const came = await play(
      ['a:error', 'b:ok', 'a:error', 'c:ok'],
      document(
        limit('{ max_consecutive_failures: 2 }'),
        `{ id: no-b, type: pre, tool: b, then: { action: block, message: Not b. } }`,
      ),
    );
    expect(came).toEqual(['failed', 'denied Not b.', 'failed', 'denied Enough.']);
  });

  it('only observes in mode observe, and still counts', async () => {
    const came = await play(
      ['a:error', 'a:error', 'a:ok'],
      document(limit('{ max_failures: 1 }', 'Enough.', 'mode: observe, ')),
    );
    expect(came).toEqual(['failed', 'failed', 'ok']);
  });

  it('states the count in its message', async () => {
    const message =
      '{session.failures} failures, {session.tool.consecutive_failures} of {tool.name} in a row.';
    const came = await play(
      ['a:error', 'b:error', 'b:error', 'b:ok'],
      document(limit('{ max_failures: 3 }', message)),
    );
    expect(came.at(-1)).toBe('denied 3 failures, 2 of b in a row.');
  });
});

describe('a condition on counts of failures', () => {
  it.each([
    ['session.failures', '{ session.failures: { gte: 2 } }', 'a:error b:error a:ok', 'failed failed denied'],
    [
      'session.consecutive_failures',
      '{ session.consecutive_failures: { gte: 1 } }',
      'a:ok a:error b:ok',
      'ok failed denied',
    ],
    [
      'session.tool.failures',
      '{ session.tool.failures: { gte: 1 } }',
      'a:error b:ok a:ok b:ok',
      'failed ok denied ok',
    ],
    [
      'session.tool.consecutive_failures, with other conditions',
      '{ all: [{ session.tool.consecutive_failures: { gt: 0 } }, { args.n: { gte: 3 } }] }',
      'a:error a:error a:ok a:error a:ok b:ok',
      'failed failed ok failed denied ok',
    ],
    ['zero where nothing was counted', '{ session.failures: { equals: 0 } }', 'a:ok', 'denied'],
  ])('%s', async (_title, when, steps, words) => {
    const came = await play(steps.split(' '), document(pre(when)));
    expect(came.map((word) => word.split(' ')[0])).toEqual(words.split(' '));
  });

  it('can ask a person after the first failure', async () => {
    const asked: string[] = [];
    const came = await play(
      ['a:ok', 'a:error', 'a:ok'],
      document(pre('{ session.failures: { gte: 1 } }', 'ask')),
      {
        onConfirm: ({ callId }) => {
          asked.push(callId);
          return { decision: 'approve', by: 'Ada' };
        },
      },
    );
    expect(came).toEqual(['ok', 'failed', 'ok']);
    expect(asked).toEqual(['c2']);
  });

  it('needs no intent for a read, but counts it', async () => {
    const ledger = createMemoryLedger();
    const contracts = contractsFromYamlString(document(pre('{ session.failures: { gte: 1 } }')));
    const look = defineTool({
      name: 'look',
      mode: 'read',
      run: () => {
        throw new Error('It broke.');
      },
    });
    const runtime = createRuntime({ ledger, tools: [look], contracts });
    await runtime.turn({ sessionId: 's' }).call({ id: '1', name: 'look', arguments: {} });
    // One append: its version is that of a first entry.
    expect(await ledger.readCall('s', '1')).toMatchObject({ version: 1 });
    const second = await runtime.turn({ sessionId: 's' }).call({ id: '2', name: 'look', arguments: {} });
    expect(second).toMatchObject({ type: 'ToolDenied', code: 'policy.contract' });
  });
});

describe('the success check decides', () => {
  const rules = document(limit('{ max_consecutive_failures: 2 }'));
  const steps = ['a:error', 'a:error', 'a:ok'];

  it('a check that treats errors as successes lets the session continue', async () => {
    expect(await play(steps, rules, { successCheck: byStatus })).toEqual([
      'failed',
      'failed',
      'denied Enough.',
    ]);
    expect(await play(steps, rules, { successCheck: () => true })).toEqual(['ok', 'ok', 'ok']);
  });

  it('a check that treats successes as errors stops it too early', async () => {
    const came = await play(['a:ok', 'a:ok', 'a:ok'], rules, { successCheck: () => false });
    expect(came).toEqual(['failed', 'failed', 'denied Enough.']);
  });

  it('the success check decides of the contracts applies if the runtime has none', async () => {
    const runtime = createRuntime({
      tools: [toolNamed('a')],
      contracts: contractsFromYamlString(rules, { successCheck: byStatus }),
    });
    const words: string[] = [];
    for (const n of [0, 1, 2]) {
      const turn = runtime.turn({ sessionId: 's' });
      words.push(wordOf(await turn.call({ id: `${n}`, name: 'a', arguments: { end: 'error', n } })));
    }
    expect(words).toEqual(['failed', 'failed', 'denied Enough.']);
  });
});

test('a retried call counts once, by its end', async () => {
  let runs = 0;
  const flaky = defineTool({
    name: 'flaky',
    mode: 'read',
    input: z.object({ n: z.number() }),
    run: ({ n }) => {
      runs++;
      if (n === 0 && runs === 2) return 'done';
      throw new ToolError('tool.network_error', 'Again.', { retryable: true });
    },
  });
  const runtime = createRuntime({
    tools: [flaky],
    behaviors: [retry({ attempts: 2, initialMs: 1, jitter: 0 })],
    contracts: contractsFromYamlString(document(limit('{ max_failures: 1 }', '{session.failures}'))),
  });
  const call = (n: number) =>
    runtime.turn({ sessionId: 's' }).call({ id: `${n}`, name: 'flaky', arguments: { n } });
  expect(wordOf(await call(0))).toBe('ok');
  expect(wordOf(await call(1))).toBe('failed');
  expect(runs).toBe(4);
  expect(wordOf(await call(2))).toBe('denied 1');
});

async function findProblems(ledger: OpenLedger): Promise<readonly string[]> {
  const found: string[] = [];
  const startProgress = () => ({ step: () => undefined, done: () => undefined });
  const options = { signal: new AbortController().signal, startProgress };
  await verifyLedger(ledger, undefined, options, async ({ message }) => void found.push(message));
  return found;
}

describe('several runtimes on one ledger', () => {
  async function openTwice(): Promise<readonly [OpenLedger, OpenLedger]> {
    const folder = mkdtempSync(join(tmpdir(), 'quittance-failures-'));
    folders.push(folder);
    const url = join(folder, 'ledger.db');
    return [await openLedger(url), await openLedger(url)];
  }

  it('count every failure once, and start nothing after the last allowed one', async () => {
    const [first, second] = await openTwice();
    const contracts = contractsFromYamlString(document(limit('{ max_failures: 20 }', '{session.failures}')));
    const runtimes = [first, second].map((ledger) =>
      createRuntime({ ledger, tools: [toolNamed('a')], contracts, successCheck: byStatus }),
    );
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        (runtimes[n % 2] as (typeof runtimes)[number])
          .turn({ sessionId: 's' })
          .call({ id: `c${n}`, name: 'a', arguments: { end: 'error', n } }),
      ),
    );
    expect(outcomes.map(wordOf)).toEqual(Array.from({ length: 20 }, () => 'failed'));
    for (const [n, runtime] of runtimes.entries()) {
      const turn = runtime.turn({ sessionId: 's' });
      const late = await turn.call({ id: `late${n}`, name: 'a', arguments: { end: 'ok', n } });
      expect(wordOf(late)).toBe('denied 20');
    }
    expect(await findProblems(first)).toEqual([]);
    for (const runtime of runtimes) await runtime.close();
    await first.close();
    await second.close();
  });

  it('reset the count of consecutive failures by a success of any of them', async () => {
    const [first, second] = await openTwice();
    const rules = document(limit('{ max_consecutive_failures: 2 }'));
    const each = (ledger: OpenLedger, from: number, ...steps: readonly string[]) =>
      play(steps, rules, { ledger, from });
    expect(await each(first, 0, 'a:error')).toEqual(['failed']);
    expect(await each(second, 10, 'b:ok')).toEqual(['ok']);
    expect(await each(first, 20, 'a:error')).toEqual(['failed']);
    expect(await each(second, 30, 'b:error')).toEqual(['failed']);
    expect(await each(first, 40, 'a:ok')).toEqual(['denied Enough.']);
    expect(await findProblems(second)).toEqual([]);
    await first.close();
    await second.close();
  });
});

test('a call that passed the rules does not start if the last failure was stored meanwhile', async () => {
  const memory = createMemoryLedger();
  const failed = Promise.withResolvers<void>();
  const passed = Promise.withResolvers<void>();
  // The intent of the second call reaches the ledger when the end of the first is stored.
  const ledger = alterLedger(memory, {
    append: async (entry) => {
      const starts = entry.events.some(({ type }) => type === 'tool.started');
      if (entry.callId === 'second' && starts) {
        passed.resolve();
        await failed.promise;
      }
      return memory.append(entry);
    },
  });
  const runtime = createRuntime({
    ledger,
    tools: [
      toolNamed('a'),
      defineTool({
        name: 'slow',
        mode: 'external',
        run: async () => {
          await passed.promise;
          throw new Error('It broke.');
        },
      }),
    ],
    contracts: contractsFromYamlString(document(limit('{ max_failures: 1 }', '{session.failures} failed'))),
    successCheck: byStatus,
  });
  const turn = runtime.turn({ sessionId: 's' });
  const first = turn.call({ id: 'first', name: 'slow', arguments: {} });
  const second = turn.call({ id: 'second', name: 'a', arguments: { end: 'ok', n: 0 } });
  expect(wordOf(await first)).toBe('failed');
  failed.resolve();
  expect(wordOf(await second)).toBe('denied 1 failed');
});

describe('a backtest', () => {
  const rules = document(
    limit('{ max_consecutive_failures: 2 }'),
    `{ id: ask, type: pre, tool: b, when: { session.tool.failures: { gte: 1 } }, then: { action: block, message: No. } }`,
  );
  const steps = ['a:error', 'a:ok', 'b:error', 'b:ok', 'a:ok', 'a:error', 'c:error', 'a:ok'];

  it('a backtest under the same rules finds no difference', async () => {
    const ledger = createMemoryLedger();
    await play(steps, rules, { ledger });
    const report = await backtest(ledger, { contracts: contractsFromYamlString(rules) });
    expect(report).toMatchObject({ judged: steps.length, different: 0 });
    expect(report.rules.map(({ ruleId }) => ruleId)).toContain('limit');
  });

  it('finds what the rules would have stopped in a session without them', async () => {
    const ledger = createMemoryLedger();
    await play(steps, document(pre('{ args.n: { gt: 99, on_missing: skip } }')), { ledger });
    const report = await backtest(ledger, { contracts: contractsFromYamlString(rules) });
    // The second call of b, and the last call of a after two failures in a row.
    expect(report.different).toBe(2);
  });
});

describe('documents', () => {
  it.each([
    ['a limit of 0', limit('{ max_failures: 0 }'), /max_failures/],
    ['no tool in a limit', limit('{ max_failures_per_tool: {} }'), /max_failures_per_tool/],
    ['an unknown limit', limit('{ max_failure: 1 }'), /max_failure/],
    ['an unknown count', pre('{ session.tool_calls: { gt: 1 } }'), /session\. followed by failures/],
    [
      'a count in a post rule',
      `{ id: p, type: post, tool: a, when: { session.failures: { gt: 1 } }, then: { action: warn, message: No. } }`,
      /use it in rules of type pre/,
    ],
  ])('documents with %s do not load', (_title, rule, message) => {
    expect(() => contractsFromYamlString(document(rule))).toThrow(message);
  });

  it('may have a selector of the host named session', async () => {
    const text = document(pre('{ session.kind: { equals: trial } }'));
    const contracts = contractsFromYamlString(text, { selectors: { session: () => 'trial' } });
    expect((await contracts.evaluate({ toolName: 'a', input: {} })).decision).toBe('block');
  });

  it('are judged with given counts, for tests of rules', async () => {
    const contracts = contractsFromYamlString(document(pre('{ session.tool.failures: { gte: 2 } }')));
    const counters = { toolCalls: 0, attempts: 0, callsOf: () => 0, failuresOf: () => 2 };
    expect((await contracts.evaluate({ toolName: 'a', input: {} }, counters)).decision).toBe('block');
    expect((await contracts.evaluate({ toolName: 'a', input: {} })).decision).toBe('allow');
  });
});
