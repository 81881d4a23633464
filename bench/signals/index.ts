/**
 * Measures what signals cost: the same calls without them and with them, in one run, in alternating processes.
 *
 *   npm run bench:signals -- [--seconds 5] [--rounds 3] [--in-flight 32] [--held-every 20] [--ledger sqlite|postgres]
 *
 * The receiver of webhooks and spans is on this machine, counts the ids of messages, and drops spans. Ends with a table and a line of JSON. The exit code is 1 if
 * a message is missing, or arrived twice without saying so.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileLedgers, openPostgresLedgers } from '../crash/ledgers.ts';
import { createProgress } from '../progress.ts';
import { printTable } from '../table.ts';
import type { Lane, LaneErrand, LaneReport } from './lane.ts';
import { lanes } from './lane.ts';

const option = (name: string, otherwise: number): number => {
  const at = process.argv.indexOf(`--${name}`);
  const value = at < 0 ? otherwise : Number(process.argv[at + 1]);
  if (Number.isSafeInteger(value) && value > 0) return value;
  process.stderr.write(`--${name} takes a whole number above 0, e.g. --${name} ${otherwise}.\n`);
  process.exit(2);
};
const [seconds, rounds] = [option('seconds', 5), option('rounds', 3)];
const [inFlight, heldEvery] = [option('in-flight', 32), option('held-every', 20)];
const isPostgres = process.argv.includes('postgres');

/** The deliveries of each message, by its id. */
const received = new Map<string, number[]>();
let decided = 0;
const server = createServer((request, response) => {
  // In the place of a collector.
  if (request.url === '/v1/traces') {
    request.resume().on('end', () => response.end());
    return;
  }
  void text(request).then((body) => {
    const id = String(request.headers['webhook-id']);
    received.set(id, [...(received.get(id) ?? []), Number(request.headers['quittance-delivery'])]);
    if (body.includes('"quittance.call.decided"')) decided++;
    response.end();
  });
});
await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
const { port } = server.address() as AddressInfo; // a server on a port has one

async function measure({ signals }: Lane, ledger: string): Promise<LaneReport> {
  const receiver = `http://127.0.0.1:${port}`;
  const errand: LaneErrand = { ledger, signals, seconds, inFlight, heldEvery, receiver };
  const child = fork(join(import.meta.dirname, 'lane-child.ts'), [JSON.stringify(errand)], {
    execArgv: ['--conditions=quittance-source'],
    serialization: 'advanced',
  });
  const [report] = (await Promise.race([once(child, 'message'), once(child, 'exit')])) as [LaneReport];
  if (typeof report !== 'object') throw new Error(`The process ended with code ${String(report)}.`);
  if (child.exitCode === null) await once(child, 'exit');
  return report;
}

const percentile = (values: readonly number[], share: number): number =>
  values.toSorted((left, right) => left - right)[Math.floor(values.length * share)] ?? 0;
const median = (values: readonly number[]): number => percentile(values, 0.5);

const folder = mkdtempSync(join(tmpdir(), 'quittance-signals-'));
process.chdir(folder); // spills and the seal key of the processes go there
const ledgers = isPostgres ? await openPostgresLedgers() : fileLedgers(folder);
const reports = new Map<Lane, LaneReport[]>(lanes.map((lane) => [lane, []]));
const progress = createProgress('signals', rounds * lanes.length);
try {
  for (let round = 0; round < rounds; round++)
    // Each lane is first in some round, so that a change of the machine does not favor one.
    for (const [index] of lanes.entries()) {
      const lane = lanes[(index + round) % lanes.length];
      if (lane === undefined) continue;
      const name = `${lane.name.replaceAll(/\W+/g, '-')}-${round}`;
      reports.get(lane)?.push(await measure(lane, ledgers.create(name)));
      progress.step();
    }
} finally {
  progress.done();
  server.close();
  server.closeAllConnections();
  await ledgers.close();
  rmSync(folder, { recursive: true, force: true });
}

const figures = lanes.map((lane) => {
  const all = reports.get(lane) ?? [];
  const of = (read: (report: LaneReport) => number): number => Number(median(all.map(read)).toFixed(2));
  return {
    lane: lane.name,
    calls_per_second: of(({ calls, elapsedMs }) => (calls / elapsedMs) * 1_000),
    held_per_second: of(({ held, elapsedMs }) => (held / elapsedMs) * 1_000),
    p50_ms: of(({ latencies }) => median(latencies)),
    p99_ms: of(({ latencies }) => percentile(latencies, 0.99)),
    loop_p99_ms: of(({ loopDelays }) => percentile(loopDelays, 0.99)),
    cpu_us_per_call: of(({ cpuMs, calls }) => (cpuMs / calls) * 1_000),
    drain_ms: of(({ drainMs }) => drainMs),
  };
});
const [without] = figures;
printTable(
  ['lane', 'calls/s', 'of without', 'held/s', 'p50 ms', 'p99 ms', 'loop p99 ms', 'CPU µs/call', 'behind ms'],
  figures.map((row) => [
    row.lane,
    String(Math.round(row.calls_per_second)),
    `${Math.round((row.calls_per_second / (without?.calls_per_second ?? 1)) * 100)} %`,
    String(Math.round(row.held_per_second)),
    String(row.p50_ms),
    String(row.p99_ms),
    String(row.loop_p99_ms),
    String(Math.round(row.cpu_us_per_call)),
    String(Math.round(row.drain_ms)),
  ]),
);
const copies = [...received.values()];
/** Every decision is one message. Messages about held calls may be skipped: they are decided at once. */
const expected = [...reports]
  .filter(([{ signals }]) => signals.includes('webhooks'))
  .flatMap(([, all]) => all)
  .reduce((sum, { held, heldBefore }) => sum + held + heldBefore, 0);
const silently = copies.filter((each) => each.slice(1).some((delivery) => delivery < 2)).length;
const messages = {
  arrived: received.size,
  missing: expected - decided,
  repeated: copies.filter(({ length }) => length > 1).length,
  silently,
};
process.stdout.write(
  `${JSON.stringify({ signals: figures, ledger: isPostgres ? 'postgres' : 'sqlite', seconds, rounds, in_flight: inFlight, messages })}\n`,
);
if (silently > 0 || messages.missing !== 0) process.exitCode = 1;
