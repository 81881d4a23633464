/**
 * A failover: a real primary, a real standby, two processes that make 32 concurrent calls, `kill -9` of the primary,
 * promotion of the standby.
 *
 *   npm run failover -- [--async] [--seconds 3]
 *
 * With synchronous replication no call that a caller heard of may be missing, and no effect may happen twice. With
 * `--async` the standby is behind when the primary dies: calls are missing, and an anchor that was taken before must
 * report that.
 */
import type { ChildProcess } from 'node:child_process';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { OpenLedger } from 'quittance/store';
import { openLedger } from 'quittance/ledger';
import type { Anchor } from '../../packages/quittance/src/ledger/anchor.ts';
import { createAnchor } from '../../packages/quittance/src/ledger/anchor.ts';
import { verifyLedger } from '../../packages/quittance/src/replay/verify-ledger.ts';
import { PgServer } from '../../test/postgres/pg-server.ts';
import type { PgProxy } from '../../test/postgres/start-proxy.ts';
import { startProxy } from '../../test/postgres/start-proxy.ts';
import { openWorld } from '../crash/world.ts';
import { printTable } from '../table.ts';
import type { FailoverErrand, FailoverTold } from './errand.ts';
import { readHeads } from '../../packages/quittance/src/ledger/reads.ts';

const isAsync = process.argv.includes('--async');
const at = process.argv.indexOf('--seconds');
const seconds = at < 0 ? 3 : Number(process.argv[at + 1]);
if (!(seconds > 0)) {
  process.stderr.write('--seconds takes a number above 0, e.g. --seconds 3.\n');
  process.exit(2);
}
const processes = 2;
const lanes = 16;

class Caller {
  readonly #child: ChildProcess;
  readonly over: Promise<unknown>;
  readonly ready: Promise<unknown>;
  readonly successes: number[] = [];
  answers: Readonly<Record<string, string>> = {};

  constructor(errand: FailoverErrand) {
    this.#child = fork(join(import.meta.dirname, 'child.ts'), [JSON.stringify(errand)], {
      execArgv: ['--conditions=quittance-source'],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    this.over = once(this.#child, 'exit');
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ready = Promise.race([promise, this.over]);
    this.#child.on('message', (told: FailoverTold) => {
      if (told.type === 'ready') resolve();
      else if (told.type === 'succeeded') this.successes.push(told.at);
      else this.answers = told.answers;
    });
  }

  stop(): void {
    if (this.#child.connected) this.#child.send('stop');
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }
}

const say = (line: string): void => void process.stderr.write(`${line}\n`);
const folder = mkdtempSync(join(tmpdir(), 'quittance-failover-'));
process.chdir(folder); // spills and the seal key of the processes go there
const world = await openWorld();
const closing: (() => Promise<void> | void)[] = [];
const callers: Caller[] = [];
process.once('SIGINT', () => {
  for (const caller of callers) caller.kill();
  void closeAll().finally(() => process.exit(130));
});
try {
  await run();
} finally {
  await closeAll();
}

async function closeAll(): Promise<void> {
  for (const close of closing.splice(0).reverse()) await close();
  world.close();
  rmSync(folder, { recursive: true, force: true });
}

async function run(): Promise<void> {
  const primary = await PgServer.create();
  closing.push(() => primary.remove());
  // In an asynchronous run, the network between the two servers is silent before the primary dies.
  const between = await startProxy(primary.url);
  closing.push(() => between.close());
  const standby = await primary.createStandby('standby1', {
    primaryPort: Number(new URL(between.url).port),
  });
  closing.push(() => standby.remove());
  if (!isAsync) {
    await primary.query(`ALTER SYSTEM SET synchronous_standby_names = 'standby1'`);
    await primary.query('SELECT pg_reload_conf()');
  }
  await untilStreaming(primary);
  say(`The standby follows ${isAsync ? 'asynchronously' : 'synchronously'}.`);

  const url = `postgres://postgres@127.0.0.1:${primary.port},127.0.0.1:${standby.port}/postgres?owner_lease_ms=2000`;
  await (await openLedger(url)).close(); // makes the tables
  for (let n = 0; n < processes; n++)
    callers.push(new Caller({ ledger: url, service: world.url, sessionId: `f${n}`, lanes }));
  await Promise.all(callers.map(({ ready }) => ready));
  await sleep(seconds * 1_000);

  const anchor = isAsync ? await fallBehind(between, primary) : undefined;
  const killedAt = Date.now();
  await primary.kill();
  await standby.promote();
  const promotedMs = Date.now() - killedAt;
  say(`The primary was killed. The standby was promoted after ${promotedMs} ms.`);
  await sleep(seconds * 1_000);
  for (const caller of callers) caller.stop();
  await Promise.all(callers.map(({ over }) => over));

  const ledger = await openLedger(url);
  closing.push(() => ledger.close());
  report(await count(ledger), await findingsOf(ledger, anchor), promotedMs, killedAt);
}

/** Cuts the standby off, lets calls go on for a moment, and takes an anchor. */
async function fallBehind(between: PgProxy, primary: PgServer): Promise<Anchor> {
  between.stall();
  await sleep(500);
  const ledger = await openLedger(primary.url, { readOnly: true });
  try {
    return createAnchor(await readHeads(ledger), ledger.now());
  } finally {
    await ledger.close();
  }
}

async function untilStreaming(primary: PgServer): Promise<void> {
  for (;;) {
    const [row] = await primary.query('SELECT state, sync_state FROM pg_stat_replication');
    if (row?.['state'] === 'streaming' && (isAsync || row['sync_state'] === 'sync')) return;
    await sleep(50);
  }
}

type Counts = {
  calls: number;
  heard: number;
  missing: number;
  duplicated: number;
  untold: number;
  unheard: number;
};

async function count(ledger: OpenLedger): Promise<Counts> {
  const counts: Counts = { calls: 0, heard: 0, missing: 0, duplicated: 0, untold: 0, unheard: 0 };
  for (const [n, { answers }] of callers.entries())
    for (const [callId, answer] of Object.entries(answers)) {
      counts.calls++;
      const effects = world.count(`f${n}/${callId}`);
      const stored = await ledger.readCall(`f${n}`, callId);
      const isStored =
        stored?.events.some((event) => event.type === 'tool.responded' && event.final) === true;
      if (effects > 1) counts.duplicated++;
      if (answer !== 'succeeded') {
        counts.unheard++;
        // The effect happened, but the answer says that nothing ran.
        if (effects === 1 && answer === 'ledger.unavailable') counts.untold++;
        continue;
      }
      counts.heard++;
      if (!isStored || effects !== 1) counts.missing++;
    }
  return counts;
}

async function findingsOf(ledger: OpenLedger, anchor: Anchor | undefined): Promise<number> {
  let findings = 0;
  const quiet = { step: () => undefined, done: () => undefined };
  const options = { signal: new AbortController().signal, startProgress: () => quiet };
  await verifyLedger(ledger, anchor, options, async (finding) => {
    if (findings++ < 3) say(`verify: ${finding.message}`);
  });
  return findings;
}

function report(counts: Counts, findings: number, promotedMs: number, killedAt: number): void {
  const firsts = callers.map(({ successes }) => successes.find((time) => time > killedAt + promotedMs));
  const recoveryMs = firsts.map((time) => (time === undefined ? Infinity : time - killedAt));
  printTable(
    ['failover', 'calls', 'heard', 'missing', 'duplicated', 'no success', 'findings of verify'],
    [
      [
        isAsync ? 'asynchronous' : 'synchronous',
        ...[counts.calls, counts.heard, counts.missing, counts.duplicated, counts.unheard, findings].map(
          String,
        ),
      ],
    ],
  );
  printTable(
    ['after kill -9', 'ms'],
    [
      ['promotion', String(promotedMs)],
      ...recoveryMs.map((ms, n) => [`next success of process ${n + 1}`, String(ms)]),
    ],
  );
  process.stdout.write(
    `${JSON.stringify({ failover: isAsync ? 'async' : 'sync', ...counts, findings, promotedMs, recoveryMs })}\n`,
  );
  const isWrong =
    counts.duplicated + counts.untold > 0 ||
    recoveryMs.some((ms) => ms === Infinity) ||
    (isAsync ? counts.missing > 0 && findings === 0 : counts.missing + findings > 0);
  if (isWrong) process.exitCode = 1;
}
