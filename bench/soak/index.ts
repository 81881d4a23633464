/**
 * Runs a server for a long time and checks for memory leaks.
 *
 *   npm run soak -- [--minutes 5] [--ledger memory:]
 *
 * Calls succeed, fail and are retried, are held and decided, and are handed to workers that report or do not. Some
 * callers repeat long calls; followers come and go; lists are read. The live memory of the server must level off: the
 * last third of the time uses no more than the first, within a tenth. The same holds for the bytes that a call adds to
 * the ledger. The log of the ledger must stay small.
 *
 * Everything that writes comes in portions with the same number of calls of each kind. So the bytes per call do not
 * depend on the speed of the machine. A ledger in memory keeps its calls, so it gets few new ones. Ctrl-C ends the run
 * with its findings so far.
 */
import type { ChildProcess } from 'node:child_process';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { openDatabase } from '../../packages/quittance/src/store/sqlite/database.ts';
import { createProgress } from '../progress.ts';
import { printTable } from '../table.ts';
import type { Held } from './server.ts';

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '5' }, ledger: { type: 'string' } },
});
const lastsMs = Number(values.minutes) * 60_000;
if (!(lastsMs > 0)) throw new TypeError('--minutes is a number above 0.');
const samples = 18;
/** More than the server's memory of requests and turns, so that it is full from the start. */
const warmUpCalls = 11_000;

const folder = mkdtempSync(join(tmpdir(), 'quittance-soak-'));
const path = values.ledger ?? join(folder, 'ledger.db');
const isInMemory = path.startsWith('memory:');
const child: ChildProcess = fork(join(import.meta.dirname, 'server.ts'), [path], {
  execArgv: ['--expose-gc', '--conditions=quittance-source'],
});
// Ctrl-C also reaches the server, which must stay until it has reported.
const interrupted = new AbortController();
process.once('SIGINT', () => interrupted.abort());
child.on('exit', () => interrupted.abort());
const [{ url, token }] = (await once(child, 'message')) as [{ url: string; token: string }];
const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };

const done: Record<string, number> = {};
let refused = 0;

type Answer = { readonly decision?: string; readonly confirmationId?: string; readonly inputDigest?: string };
type Told = Answer & { readonly token?: string };

let resets = 0;
/** Sends a request again if its connection was reset, as clients do: one that was idle may end at that moment. */
async function send(address: string, init: RequestInit = {}): Promise<Response> {
  try {
    return await fetch(url + address, { headers, ...init });
  } catch (error) {
    const cause = error instanceof TypeError && (error.cause as { readonly code?: string } | undefined);
    if (!cause || cause.code !== 'ECONNRESET' || child.exitCode !== null) throw error;
    resets++;
    return await fetch(url + address, { headers, ...init });
  }
}

async function post(what: string, address: string, body: object): Promise<Told> {
  const answer = await send(address, { method: 'POST', body: JSON.stringify(body) });
  const told = (await answer.json()) as Told;
  done[what] = (done[what] ?? 0) + 1;
  if (answer.status >= 400) refused++;
  return told;
}

let count = 0;
const ask = (name: string, n: number, sessionId: string, more: object = {}): Promise<Told> =>
  post(name, '/v1/calls', { sessionId, call: { id: `c${n}`, name, arguments: { n } }, ...more });
const sessionOf = (n: number): string => `s${Math.floor(n / 50)}`;

const lookUp = (): Promise<unknown> => {
  const n = ++count;
  return ask('look_up', n, sessionOf(n), { waitMs: 1_000, turnId: `t${n % 40}` });
};

const askTheBank = (): Promise<unknown> => {
  const n = ++count;
  return ask('ask_the_bank', n, sessionOf(n), { waitMs: 1_000 });
};

async function printLabel(): Promise<void> {
  const n = ++count;
  const told = await ask('print_label', n, sessionOf(n), { waitMs: 50 });
  // Every other worker never reports.
  if (n % 2 === 0 && told.token !== undefined)
    await post('report', '/v1/handoffs/report', { token: told.token, report: { output: { n } } });
}

async function deleteOrder(): Promise<void> {
  const n = ++count;
  const { confirmationId, inputDigest } = await ask('delete_order', n, sessionOf(n));
  if (confirmationId === undefined) return;
  const decision = n % 3 === 0 ? 'deny' : 'approve';
  await post('decide', `/v1/confirmations/${confirmationId}/decision`, { decision, inputDigest });
  await ask('delete_order', n, sessionOf(n), { waitMs: 2_000 });
}

const repeatHeld = (): Promise<unknown> => ask('delete_order', 0, 'held', { waitMs: 20 });
const repeatLong = (): Promise<unknown> => ask('bake', 0, 'long', { waitMs: 20, worker: 'baker' });

async function follow(): Promise<void> {
  const answer = await send('/v1/events?after=0', { signal: AbortSignal.timeout(150) });
  done['follow'] = (done['follow'] ?? 0) + 1;
  await answer.text().catch(() => undefined); // until the time is over
}

async function readLists(): Promise<void> {
  for (const address of ['/v1/calls?limit=50', '/v1/stats', '/v1/calls/facets', '/metrics'])
    await (await send(address)).text();
  done['read'] = (done['read'] ?? 0) + 1;
}

type Work = () => Promise<unknown>;
const times = (many: number, work: Work): readonly Work[] => Array.from({ length: many }, () => work);

/** Their numbers are consecutive, so each portion has as many denials and reports as every other. */
const newCalls = [
  ...times(12, lookUp),
  ...times(2, askTheBank),
  ...times(4, printLabel),
  ...times(3, deleteOrder),
];
const portion = [...(isInMemory ? [] : newCalls), repeatHeld, repeatLong];
const makePortion = (): Promise<unknown> => Promise.all(portion.map((work) => work()));

const lanes: readonly { readonly everyMs: number; readonly run: Work }[] = [
  { everyMs: 50, run: makePortion },
  { everyMs: 100, run: makePortion },
  { everyMs: 20, run: follow },
  { everyMs: 500, run: readLists },
];

async function report(): Promise<Held> {
  const answered = once(child, 'message', { signal: interrupted.signal }) as Promise<[Held]>;
  child.send('report');
  return (await answered)[0];
}

const over = new AbortController();
async function repeat({ everyMs, run }: (typeof lanes)[number]): Promise<void> {
  while (!over.signal.aborted) {
    await run().catch((error: unknown) => {
      if (!over.signal.aborted && !(error instanceof DOMException)) throw error;
    });
    await sleep(everyMs);
  }
}

const median = (numbers: readonly number[]): number =>
  numbers.toSorted((one, other) => one - other)[Math.floor(numbers.length / 2)] ?? 0;

/** The sizes in MB: of the ledger with what its log holds of it, and of the log. */
type Sizes = { readonly ledgerMb: number; readonly walMb: number };
const sizeOf = (file: string): number => (statSync(file, { throwIfNoEntry: false })?.size ?? 0) / 1_048_576;
const readSizes = (): Sizes => ({
  ledgerMb: contentOf(path),
  walMb: sizeOf(`${path}-wal`),
});

/** The file itself grows only now and then, when its log is folded into it. */
function contentOf(file: string): number {
  if (isInMemory) return 0;
  const database = openDatabase(file, { readOnly: true });
  try {
    const pages = database.pragma('page_count', { simple: true }) as number;
    return (pages * (database.pragma('page_size', { simple: true }) as number)) / 1_048_576;
  } finally {
    database.close();
  }
}
/** A log is folded into its file after 8 MB, and later under a long read. */
const longestWalMb = 64;

const seen: (Held & Sizes & { readonly atSeconds: number; readonly calls: number })[] = [];
try {
  if (!isInMemory) {
    const progress = createProgress("filling the server's memory", warmUpCalls);
    for (let n = 0; n < warmUpCalls && !interrupted.signal.aborted; n += 100) {
      await Promise.all(
        Array.from({ length: 100 }, () => {
          const id = ++count;
          return ask('look_up', id, sessionOf(id), { waitMs: 5_000, turnId: `w${id}` });
        }),
      );
      for (let step = 0; step < 100; step++) progress.step();
    }
    progress.done();
  }
  await Promise.all([ask('delete_order', 0, 'held'), ask('bake', 0, 'long', { worker: 'baker' })]);
  const running = lanes.map(repeat);
  const progress = createProgress('soaking', samples);
  for (let sample = 1; sample <= samples; sample++) {
    const slept = sleep(lastsMs / samples, undefined, { signal: interrupted.signal });
    if (
      await slept.then(
        () => false,
        () => true,
      )
    )
      break;
    seen.push({
      ...(await report()),
      ...readSizes(),
      atSeconds: (sample * lastsMs) / samples / 1_000,
      calls: count,
    });
    progress.step();
  }
  progress.done();
  over.abort();
  await Promise.all(running);
} finally {
  if (child.connected && child.exitCode === null) {
    child.send('stop');
    await once(child, 'exit');
  }
  rmSync(folder, { recursive: true, force: true });
}

printTable(
  ['seconds', 'calls', 'heap MB', 'rss MB', 'ledger MB', 'longest log MB'],
  seen.map(({ atSeconds, calls, heapMb, rssMb, ledgerMb, walMb }) => [
    atSeconds.toFixed(0),
    String(calls),
    heapMb.toFixed(1),
    rssMb.toFixed(0),
    ledgerMb.toFixed(1),
    walMb.toFixed(1),
  ]),
);
const third = Math.floor(seen.length / 3);
const first = median(seen.slice(0, third).map(({ heapMb }) => heapMb));
const last = median(seen.slice(-third).map(({ heapMb }) => heapMb));
/** What the calls of some samples added, without those of the first one. */
function bytesPerCall(each: readonly (typeof seen)[number][]): number {
  const [from, to] = [each[0], each.at(-1)];
  if (from === undefined || to === undefined || to.calls === from.calls) return 0;
  const addedMb = to.ledgerMb - from.ledgerMb;
  return (addedMb * 1_048_576) / (to.calls - from.calls);
}
const firstBytes = bytesPerCall(seen.slice(0, third + 1));
const lastBytes = bytesPerCall(seen.slice(-third - 1));
const longestMb = Math.max(0, ...seen.map(({ walMb }) => walMb));
const good =
  seen.length === samples &&
  refused === 0 &&
  last <= first * 1.1 &&
  lastBytes <= firstBytes * 1.1 &&
  longestMb <= longestWalMb;
process.stdout.write(
  `${JSON.stringify({
    bench: 'soak',
    node: process.version,
    good,
    minutes: Number(values.minutes),
    first_third_heap_mb: Number(first.toFixed(2)),
    last_third_heap_mb: Number(last.toFixed(2)),
    first_third_bytes_per_call: Math.round(firstBytes),
    last_third_bytes_per_call: Math.round(lastBytes),
    longest_log_mb: Number(longestMb.toFixed(1)),
    calls: count,
    refused,
    connections_reset: resets,
    ...done,
  })}\n`,
);
if (!good) process.exitCode = 1;
