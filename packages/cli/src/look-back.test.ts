import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { createRuntime, defineTool } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fillLedger } from '../../../test/fill-ledger.ts';
import { runProgramHere } from '../../../test/run-program.ts';
import { backtestInThreads } from './commands/backtest.ts';
import { runProgram } from './program.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-cli-'));
const ledger = join(folder, 'ledger.db');
const env = { QUITTANCE_LEDGER: ledger, COLUMNS: '80' };
const on = (...args: string[]): ReturnType<typeof runProgramHere> => runProgramHere(args, { env });

const dangerous = /[\p{Cc}\u200e\u200f\u2028-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]/u;
const expectFit = (out: string): void => {
  for (const line of out.split('\n')) {
    expect(line.length).toBeLessThanOrEqual(80);
    expect(line).not.toMatch(dangerous);
  }
};
const jsonLines = (output: string): Record<string, unknown>[] =>
  output
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

const contracts = join(folder, 'new.yaml');

beforeAll(async () => {
  await fillLedger(ledger);
  writeFileSync(
    contracts,
    `apiVersion: edictum/v1
kind: Ruleset
metadata: {name: new}
defaults: {mode: enforce}
rules:
  - {id: big-refunds, type: pre, tool: refund, when: {args.cents: {gte: 100}}, then: {action: ask, message: "Refund {args.cents}?"}}
  - {id: no-delete, type: pre, tool: "delete_*", when: {tool.name: {exists: true}}, then: {action: block, message: No deleting.}}
  - {id: shipped, type: post, tool: get_order, when: {output.text: {contains: shipped}}, then: {action: redact, message: Hidden.}}
`,
  );
  const other = await openLedger(join(folder, 'other.db'));
  const echo = defineTool({ name: 'echo', mode: 'read', input: { type: 'object' }, run: (args) => args });
  const runtime = createRuntime({ tools: [echo], ledger: other });
  const parent = runtime.turn({ sessionId: 'parent' });
  await parent.call({ id: 'p1', name: 'echo', arguments: { n: 1 } });
  const child = runtime.turn({ sessionId: 'child', parentSessionId: 'parent' });
  await child.call({ id: 'k1', name: 'echo', arguments: { n: 1 } });
  await runtime.turn({ sessionId: 'again' }).call({ id: 'x9', name: 'echo', arguments: { n: 1 } });
  await runtime.close();
  await other.close();
});
afterAll(() => rmSync(folder, { recursive: true }));

describe('errors', () => {
  test('are grouped by who can act, in 80 columns', async () => {
    const { code, out, err } = await on('errors');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out.match(/^\S.*$/gm)).toEqual(['Retry  2', 'Caller or model  3']);
    expect(out).toContain('quittance show call_failed --session ticket-42');
    expectFit(out);
  });

  test('errors of one tool are one line per code, for programs', async () => {
    expect(jsonLines((await on('errors', '--json', '--tool', 'refund')).out)).toMatchObject([
      {
        whoseMove: 'your inputs',
        code: 'policy.hook',
        count: 1,
        tools: [{ toolName: 'refund', count: 1 }],
        sample: { callId: 'call_denied' },
      },
    ]);
    expect(await on('errors', '--session', 'ticket-43')).toMatchObject({
      code: 0,
      out: '',
      err: 'No call failed or was denied.\n',
    });
  });
});

describe('trace', () => {
  test('trace of a session is a tree in 80 columns', async () => {
    const { code, out } = await on('trace', 'ticket-42');
    expect(code).toBe(0);
    expect(out).toMatch(/^session ticket-42 /);
    expect(out).toMatch(/^ {3}├─ call_confirmed {2}delete_order {2}succeeded /m);
    expect(out).toMatch(/^ {3}│ {2}├─ confirmation.decided {2}approve, by Ada \(self/m);
    expect(out).toMatch(/tool.late {2}attempt 1 returned after its deadline/);
    expectFit(out);
  });

  test('trace of a call begins with that call', async () => {
    expect((await on('trace', 'call_conf')).out).toMatch(/^call_confirmed {2}delete_order {2}succeeded /);
    const nodes = jsonLines((await on('trace', 'call_confirmed', '--json')).out);
    expect(nodes[0]).toMatchObject({ node: 0, depth: 0, kind: 'call', callId: 'call_confirmed' });
    expect(nodes.slice(1).every(({ parent }) => parent === 0)).toBe(true);
  });

  test('contains the sub-sessions of the session', async () => {
    const { out } = await on('trace', 'parent', '--ledger', join(folder, 'other.db'));
    expect(out).toMatch(/^session parent /);
    expect(out).toMatch(/^└─ session child {2}for parent /m);
    expect(out).not.toMatch(/\bx9\b/);
  });

  test('trace of an unknown id names commands to try', async () => {
    expect(await on('trace', 'nowhere')).toMatchObject({ code: 1, out: '' });
    expect(await on('trace')).toMatchObject({ code: 2, out: '' });
  });
});

describe('diff', () => {
  const other = (): string => join(folder, 'other.db');

  test('exits like diff: 0 for equal, 1 for different, 2 for missing sessions', async () => {
    expect(await on('diff', 'parent', 'again', '--ledger', other())).toMatchObject({ code: 0 });
    const differs = await on('diff', 'ticket-42', 'ticket-43');
    expect(differs).toMatchObject({ code: 1, err: '' });
    expectFit(differs.out);
    expect(differs.out).toContain('arguments $.id');
    const lines = differs.out.split('\n');
    // The result first, then what became of calls, then every field.
    expect(lines[0]).toBe('The sessions differ. Calls: 1 changed, 9 only in the first, 0 the same.');
    expect(differs.out).toMatch(/^Other ends, decisions and calls\n[^]*^- [^]*^All differences\n/m);
    expect(lines.indexOf('All differences')).toBeLessThan(
      lines.findIndex((line) => line.includes('arguments $.id')),
    );
    expect(await on('diff', 'ticket-42', 'nowhere')).toMatchObject({ code: 2, out: '' });
    expect(await on('diff', 'ticket-42')).toMatchObject({ code: 2, out: '' });
  });

  test('takes the second session from another ledger', async () => {
    const { code, out } = await on('diff', 'ticket-43', 'again', '--ledger-b', other(), '--json');
    expect(code).toBe(1);
    expect(jsonLines(out)).toMatchObject([
      { type: 'call', status: 'only_a', callA: 'call_read' },
      { type: 'call', status: 'only_b', callB: 'x9' },
      { type: 'totals', identical: false },
    ]);
  });
});

describe('backtest', () => {
  test('lists the calls that would be decided differently, in 80 columns', async () => {
    const { code, out } = await on('backtest', '--contracts', contracts);
    expect(code).toBe(1);
    for (const kind of ['output pass → redact  2', 'allow → ask  1', 'allow → block  1'])
      expect(out).toContain(`${kind}\n`);
    expect(out).toContain('4 would be decided differently. 9 calls of 2 sessions judged.');
    expectFit(out);
  });

  test('finds the same in threads', async () => {
    const [one, two] = [
      await on('backtest', '--contracts', contracts, '--json'),
      await on('backtest', '--contracts', contracts, '--json', '--threads', '2'),
    ];
    expect(two).toEqual(one);
    expect(jsonLines(one.out).at(-1)).toMatchObject({
      type: 'totals',
      judged: 9,
      different: 4,
      complete: true,
    });
  });

  test('passes if nothing would change, and names a command to try for missing or broken contracts', async () => {
    expect(await on('backtest', '--contracts', contracts, '--since', '2090-01-01')).toMatchObject({
      code: 0,
    });
    expect((await on('backtest')).err).toContain('--contracts is missing.');
    expect((await on('backtest', '--contracts', 'nope.yaml')).err).toContain('There is no file nope.yaml.');
    const bad = join(folder, 'bad.yaml');
    writeFileSync(bad, 'apiVersion: edictum/v1\n');
    expect(await on('backtest', '--contracts', bad)).toMatchObject({ code: 1, out: '' });
  });

  test('checks calls against the tools of a module, and names a command to try if it has none', async () => {
    const module = join(folder, 'tools.mjs');
    const door = new URL('../../quittance/src/tool/define-tool.ts', import.meta.url).href;
    writeFileSync(
      module,
      `import { defineTool } from ${JSON.stringify(door)};
       const input = { type: 'object', required: ['never_given'] };
       export default [defineTool({ name: 'delete_order', input, run: () => { throw new Error('ran'); } })];`,
    );
    for (const threads of ['1', '2']) {
      const args = ['backtest', '--contracts', contracts, '--tools', module, '--json', '--threads', threads];
      const { out } = await on(...args);
      expect(jsonLines(out)).toContainEqual(
        expect.objectContaining({ type: 'change', about: 'call', after: 'refused' }),
      );
    }
    writeFileSync(join(folder, 'none.mjs'), 'export default [{ name: "x" }];');
    const none = await on('backtest', '--contracts', contracts, '--tools', join(folder, 'none.mjs'));
    expect(none).toMatchObject({ code: 2, out: '' });
    expect(none.err).toContain('is not a list of tools');
    const missing = await on('backtest', '--contracts', contracts, '--tools', 'nope.js');
    expect(missing.err).toContain('There is no file nope.js.');
  });

  test('backtest in threads returns its findings so far when it is stopped', async () => {
    const path = join(folder, 'many.db');
    const filling = await openLedger(path, { synchronous: 'normal' });
    const refund = defineTool({
      name: 'refund',
      mode: 'read',
      loopLimit: 1e9,
      input: { type: 'object' },
      run: () => 1,
    });
    const runtime = createRuntime({ tools: [refund], ledger: filling });
    await Promise.all(
      Array.from({ length: 12 }, async (_, n) => {
        const turn = runtime.turn({ sessionId: `s${n}` });
        for (let index = 0; index < 500; index++)
          await turn.call({ id: `c${index}`, name: 'refund', arguments: { cents: 500, index } });
      }),
    );
    await runtime.close();
    await filling.close();
    const stop = new AbortController();
    const looking = await openLedger(path, { readOnly: true });
    const report = await backtestInThreads(looking, {
      ledgerUrl: path,
      paths: [contracts],
      contractsOptions: {},
      slice: {},
      samples: 1,
      policyVersion: 'new',
      threads: 2,
      signal: stop.signal,
      onProgress: () => stop.abort(),
    });
    await looking.close();
    expect(report.complete).toBe(false);
    expect(report.calls).toBeGreaterThanOrEqual(2_000);
    expect(report.calls).toBeLessThan(6_000);
    expect(report.changes).toMatchObject([{ before: 'allow', after: 'ask', count: report.calls }]);
  });

  test('reports that it was stopped', async () => {
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    const args = ['backtest', '--contracts', contracts];
    await runProgram({ args, env, stdout, stderr, signal: AbortSignal.abort() });
    stdout.end();
    stderr.end();
    expect(await text(stderr)).toBe('Stopped after 0 calls. The report covers the calls judged so far.\n');
    expect(await text(stdout)).toContain('0 calls of 0 sessions judged.');
  });
});
