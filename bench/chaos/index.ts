/**
 * Several processes on one ledger, disturbed at random for minutes. They are killed, stopped and closed; they run out
 * of descriptors and disk; their clocks jump. Checks, during and after the run: each call has one outcome, effects
 * happen at most once, and the ledger holds every answer unchanged. No living owner loses a call, no process ends
 * with an error code, and `verify` finds nothing.
 *
 *   npm run chaos -- [--minutes 10] [--seed 1] [--processes 4]
 *
 * Ctrl-C ends it early, with all checks. The folder of a failed run is kept.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { OpenLedger } from 'quittance/store';
import { createRuntime } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { systemClock } from '../../packages/quittance/src/base/deadlines.ts';
import { verifyLedger } from '../../packages/quittance/src/replay/verify-ledger.ts';
import { createProgress } from '../progress.ts';
import { printTable } from '../table.ts';
import { createRandom } from '../tamper/edit.ts';
import type { ToldLine } from './errand.ts';
import { mayRunAgain } from './errand.ts';
import { disturbances, disturb } from './disturb.ts';
import { Troupe } from './troupe.ts';
import { makeTools } from './tools.ts';
import { Watch } from './watch.ts';
import { findOpenCalls } from '../../packages/quittance/src/ledger/reads.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1_000_000)) },
    processes: { type: 'string', default: '4' },
  },
});
const lastsMs = Number(values.minutes) * 60_000;
const seed = Number(values.seed);
const processes = Number(values.processes);
if (!(lastsMs > 0) || !Number.isSafeInteger(seed) || !Number.isSafeInteger(processes) || processes < 2) {
  process.stderr.write('--minutes takes a number above 0, --seed a whole number, --processes one above 1.\n');
  process.exit(2);
}

const folder = mkdtempSync(join(tmpdir(), 'quittance-chaos-'));
const path = join(folder, 'ledger.db');
process.stdout.write(
  `Chaos for ${values.minutes} minutes with ${processes} processes, seed ${seed}, in ${folder}\n`,
);
let stopped = false;
process.on('SIGINT', () => (stopped = true)); // a second Ctrl-C must not leave processes behind
const problems: string[] = [];

await (await openLedger(path)).close();
const looking = await openLedger(path, { readOnly: true });
const watch = new Watch(looking);
const random = createRandom(seed);
const troupe = new Troupe({
  folder,
  ledger: path,
  random,
  processes,
  watch,
  onProblem: (text) => problems.push(text),
});
const counts = new Map(disturbances.map((kind) => [kind, 0]));
const endsMs = performance.now() + lastsMs;
const progress = createProgress('chaos', 100);
let percent = 0;
try {
  await troupe.fill();
  const watching = (async () => {
    while (!stopped && performance.now() < endsMs && problems.length === 0) {
      await watch.look();
      problems.push(...watch.problems);
      await sleep(1_000);
    }
  })();
  while (!stopped && performance.now() < endsMs && problems.length === 0) {
    await sleep(100 + random(700));
    const kind = await disturb(troupe, random);
    if (kind !== undefined) counts.set(kind, (counts.get(kind) ?? 0) + 1);
    await troupe.fill();
    for (
      const due = 100 - ((endsMs - performance.now()) / lastsMs) * 100;
      percent < Math.min(due, 100);
      percent++
    )
      progress.step();
  }
  await watching;
} finally {
  progress.done();
  await troupe.close();
  await looking.close();
}

const told = readLines(troupe.toldFiles).map((line) => JSON.parse(line) as ToldLine);
const effects = new Map<string, number>();
for (const key of readLines(troupe.effectFiles)) effects.set(key, (effects.get(key) ?? 0) + 1);
const figures = await check();
printTable(
  ['disturbance', 'times'],
  [...counts].map(([kind, times]) => [kind, String(times)]),
);
printTable(
  ['tool', 'calls', 'succeeded', 'indeterminate', 'other ends', 'effects twice'],
  figures.byTool.map((row) => row.map(String)),
);
for (const text of [...new Set(problems)].slice(0, 30)) process.stdout.write(`${text}\n`);
process.stdout.write(
  `${JSON.stringify({
    chaos: 'core',
    seed,
    minutes: Number(values.minutes),
    stopped,
    processes,
    lives: troupe.lives,
    disturbances: Object.fromEntries(counts),
    calls: figures.calls,
    told: told.length,
    effects: effects.size,
    taken_over: figures.takenOver,
    problems: problems.length,
  })}\n`,
);
if (problems.length === 0) rmSync(folder, { recursive: true, force: true });
else process.stdout.write(`Seed ${seed}. The ledger and the answers are kept in ${folder}.\n`);
process.exitCode = problems.length > 0 ? 1 : stopped ? 130 : 0;

/** Everything that must hold after all calls have ended. */
async function check(): Promise<{ calls: number; takenOver: number; byTool: (string | number)[][] }> {
  const ledger = await openLedger(path, {
    clock: { ...systemClock, now: () => Date.now() + 7 * 86_400_000 },
  });
  try {
    await endAll(ledger);
    const last = new Watch(ledger);
    await last.look();
    // All owners have ended, so this check cannot tell who lived when. The check during the run did.
    problems.push(...last.problems.filter((text) => !text.includes('taken over')));
    for (const [key, call] of last.calls) {
      if (call.ends !== 1) problems.push(`${key} of ${call.toolName} has ${call.ends} ends`);
      if (!mayRunAgain(call.toolName) && (effects.get(key) ?? 0) > 1)
        problems.push(`${key} of ${call.toolName} had its effect ${effects.get(key) ?? 0} times`);
    }
    for (const [key, times] of effects)
      if (key.startsWith('key-') && times > 1) problems.push(`The effect of ${key} happened ${times} times`);
    for (const { sessionId, callId, outcome } of told) {
      if ('code' in outcome && outcome.code === 'ledger.unavailable') continue;
      const key = `${sessionId}/${callId}`;
      const kept = last.calls.get(key)?.outcome;
      if (kept !== JSON.stringify(outcome))
        problems.push(
          `${key} was answered ${JSON.stringify(outcome)}, but the ledger has ${kept ?? 'nothing'}`,
        );
    }
    await verifyLedger(
      ledger,
      undefined,
      {
        signal: new AbortController().signal,
        startProgress: (label, total) => createProgress(label, total),
      },
      async ({ kind, message }) => void problems.push(`verify: ${kind}: ${message}`),
    );
    return { calls: last.calls.size, takenOver: watch.takenOver, byTool: tally(last) };
  } finally {
    await ledger.close();
  }
}

/** Ends open calls: denies confirmations, and lets hand-offs expire. */
async function endAll(ledger: OpenLedger): Promise<void> {
  const runtime = createRuntime({
    ledger,
    tools: makeTools(
      () => undefined,
      () => 1,
    ),
  });
  for (let round = 0; round < 50; round++) {
    await runtime.recover();
    const { rows } = await runtime.confirmations.list({ status: 'pending', limit: 100 });
    for (const { confirmationId, inputDigest } of rows)
      await runtime.confirmations
        .decide(confirmationId, { decision: 'deny', by: 'ada', inputDigest })
        .catch(() => undefined);
    const open = await findOpenCalls(ledger);
    if (open.length === 0) break;
    await sleep(100);
  }
  await runtime.close();
}

function tally({ calls }: Watch): (string | number)[][] {
  const rows = new Map<string, number[]>();
  for (const [key, { toolName, outcome = '' }] of calls) {
    const row = rows.get(toolName) ?? [0, 0, 0, 0, 0];
    rows.set(toolName, row);
    const column = /^\{"type":"Tool(ExecutionResult|ArtifactReference)"/.test(outcome)
      ? 1
      : outcome.includes('"code":"tool.indeterminate"')
        ? 2
        : 3;
    row[0] = (row[0] ?? 0) + 1;
    row[column] = (row[column] ?? 0) + 1;
    if ((effects.get(key) ?? 0) > 1) row[4] = (row[4] ?? 0) + 1;
  }
  return [...rows].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([tool, row]) => [tool, ...row]);
}

/** A kill may cut off the last line. Its process had not answered that call yet. */
function readLines(files: readonly string[]): string[] {
  return files.flatMap((file) => readFileSync(file, 'utf8').split('\n').slice(0, -1));
}
