/**
 * Measures the speed of a backtest: a ledger of 1,000,000 calls in 1,000 sessions, against a document with rules of
 * every type. Runs once with one thread, and once with one thread per core.
 *
 *   npm run bench:backtest -- [--calls 1000000] [--ledger FILE]
 */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRuntime, defineTool } from 'quittance';
import { contractsFromYaml } from 'quittance/contracts';
import { openLedger } from 'quittance/ledger';
import { z } from 'zod';
import { backtestInThreads } from '../packages/cli/src/commands/backtest.ts';
import { backtest } from '../packages/quittance/src/replay/backtest.ts';
import type { BacktestReport } from '../packages/quittance/src/replay/backtest-report.ts';
import { createProgress } from './progress.ts';
import { printTable } from './table.ts';
import { findCalls } from '../packages/quittance/src/ledger/reads.ts';

const option = (name: string): string | undefined => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? undefined : process.argv[at + 1];
};
const calls = Number(option('calls') ?? 1_000_000);
const sessions = 1_000;

const input = z.object({ city: z.string(), days: z.number() });
const tools = [
  defineTool({
    name: 'send_mail',
    input,
    mode: 'external',
    loopLimit: 1e9,
    run: async ({ city, days }) => ({ city, days, ok: true }),
  }),
  defineTool({
    name: 'look_up',
    input,
    mode: 'read',
    loopLimit: 1e9,
    run: async ({ city }) => ({ city, ok: true }),
  }),
] as const;

const contracts = `apiVersion: edictum/v1
kind: Ruleset
metadata: {name: bench}
defaults: {mode: enforce}
rules:
  - {id: long-trips, type: pre, tool: send_mail, when: {args.days: {gt: 990000}}, then: {action: block, message: "{args.days} days"}}
  - {id: south, type: pre, tool: "*", when: {args.city: {matches: "(?i)^mars"}}, then: {action: ask, message: South.}}
  - {id: keys, type: post, tool: "*", when: {output.text: {matches: "KEY-[0-9]{8}"}}, then: {action: redact, message: A key.}}
  - {id: many, type: session, limits: {max_tool_calls: 900000, max_calls_per_tool: {"send_*": 900}}, then: {action: block, message: Enough.}}
`;

const folder = mkdtempSync(join(tmpdir(), 'quittance-backtest-'));
const path = option('ledger') ?? join(folder, 'ledger.db');
const document = join(folder, 'contracts.yaml');
writeFileSync(document, contracts);

async function fill(): Promise<void> {
  // Without waiting for the disk: the measurement only reads.
  const ledger = await openLedger(path, { synchronous: 'normal' });
  const runtime = createRuntime({ tools, ledger });
  const progress = createProgress('filling', calls);
  let made = 0;
  const lane = async (_: unknown, n: number): Promise<void> => {
    for (let turns = 0; made < calls; turns++) {
      const turn = runtime.turn({ sessionId: `session-${(n + turns * 256) % sessions}` });
      for (let count = 0; count < 20 && made < calls; count++) {
        const days = made++;
        const name = days % 5 === 0 ? 'look_up' : 'send_mail';
        await turn.call({ id: `call_${days}`, name, arguments: { city: 'Lyon', days } });
        progress.step();
      }
    }
  };
  await Promise.all(Array.from({ length: 256 }, lane));
  await runtime.close();
  await findCalls(ledger, { limit: 1 });
  progress.done();
  await ledger.close();
}

if (!existsSync(path)) await fill();
const ledger = await openLedger(path, { readOnly: true });
const loaded = await contractsFromYaml(document);
const cores = availableParallelism();
const figures: Record<string, number> = {};

async function measure(
  name: string,
  run: (onProgress: (count: number) => void) => Promise<BacktestReport>,
): Promise<string[]> {
  const progress = createProgress(name, calls);
  const before = performance.now();
  const usedBefore = process.cpuUsage();
  const report = await run((count) => progress.step(count));
  const seconds = (performance.now() - before) / 1_000;
  const used = process.cpuUsage(usedBefore);
  progress.done();
  // By CPU time, which other programs on the machine do not change.
  const perCore = Math.round(report.calls / ((used.user + used.system) / 1_000_000));
  const perSecond = Math.round(report.calls / seconds);
  const key = name.replaceAll(' ', '_');
  figures[`${key}_calls_per_second`] = perSecond;
  figures[`${key}_calls_per_second_per_core`] = perCore;
  figures[`${key}_seconds`] = Number(seconds.toFixed(2));
  const megabytes = Math.round(process.memoryUsage.rss() / 2 ** 20);
  return [
    name,
    String(report.calls),
    String(report.different),
    seconds.toFixed(1),
    String(perSecond),
    String(perCore),
    `${megabytes}`,
  ];
}

const slice = {};
const rows = [
  await measure('one thread', (onProgress) => backtest(ledger, { ...slice, contracts: loaded, onProgress })),
  await measure(`${cores} threads`, (onProgress) =>
    backtestInThreads(ledger, {
      ledgerUrl: path,
      paths: [document],
      contractsOptions: {},
      slice,
      samples: 3,
      policyVersion: loaded.version,
      threads: cores,
      signal: new AbortController().signal,
      onProgress,
    }),
  ),
];
await ledger.close();
printTable(['backtest', 'calls', 'different', 'seconds', 'calls/s', 'calls/s/core', 'rss MiB'], rows);
process.stdout.write(`${JSON.stringify({ bench: 'backtest', node: process.version, cores, ...figures })}\n`);
rmSync(folder, { recursive: true });
