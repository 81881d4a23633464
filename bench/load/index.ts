/**
 * Measures the server under load, on the same machine as its clients.
 *
 *   npm run load -- [--clients 1000] [--seconds 20] [--rate 500] [--calls 1000000] [--ledger PATH]
 *   npm run load -- --hostile [--seconds 20] [--rate 500] [--calls 20000]
 *
 * 1. Many clients follow the ledger while ten calls a second arrive; each checks its sequence.
 * 2. Many requests a second, of the kinds a console sends.
 * 3. Lists and single calls of a ledger with a million calls: of PATH, if it exists.
 *
 * With `--hostile` it sends the worst requests of each role, one at a time. Each may hold the event loop for 50 ms and
 * raise the resident memory by 64 MB; threads are already running. Then it sends all viewer requests at once, as fast
 * as the server answers, while honest callers send theirs. The p99 of the honest ones may be three times the value
 * without the attacker, and none may fail.
 *
 * Ends with a table, a line of JSON, and an exit code. The exit code is 0 if nothing was lost, memory was stable, and
 * requests were cheap enough. The limit is a multiple of the cost of an empty route in the same run. Durations are
 * shown next to those of the empty route: alone they say more about the machine than about the server.
 */
import type { ChildProcess } from 'node:child_process';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CallPage } from '@quittance/server';
import { printTable } from '../table.ts';
import type { HostileRequest } from '../../test/http/hostile-requests.ts';
import { hostileChanges, hostileRequests } from '../../test/http/hostile-requests.ts';
import { TokenFile, tokenFilePath } from '../../packages/server/src/http/token-file.ts';
import { fillLarge } from './fill-large.ts';
import { fill } from './fill.ts';
import type { HostileReport } from './hostile.ts';
import type { FollowersReport } from './followers.ts';
import type { ServerReport } from './server.ts';

const option = (name: string, otherwise: number): number => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? otherwise : Number(process.argv[at + 1]);
};
const clients = option('clients', 1_000);
const seconds = option('seconds', 20);
const rate = option('rate', 500);
const isHostile = process.argv.includes('--hostile');
const calls = option('calls', isHostile ? 20_000 : 1_000_000);
const callsPerSecond = 10;
const ledgerAt = process.argv.indexOf('--ledger');
const filled = ledgerAt < 0 ? undefined : process.argv[ledgerAt + 1];

const folder = mkdtempSync(join(tmpdir(), 'quittance-load-'));
const agent = new Agent({ keepAlive: true, maxSockets: 64 });
const hostileAgent = new Agent({ keepAlive: false });

type Server = { readonly child: ChildProcess; readonly url: string; readonly token: string };

const start = (file: string, args: readonly string[]): ChildProcess =>
  fork(join(import.meta.dirname, file), args, {
    execArgv: ['--conditions=quittance-source', '--expose-gc'],
  });

async function startServer(path: string, limits: 'default' | 'wide' = 'wide'): Promise<Server> {
  return startFile('server.ts', [path, limits]);
}

async function startFile(file: string, args: readonly string[]): Promise<Server> {
  const child = start(file, args);
  const [{ url, token }] = (await once(child, 'message')) as [{ url: string; token: string }];
  return { child, url, token };
}

async function report<Report>(child: ChildProcess): Promise<Report> {
  const answered = once(child, 'message') as Promise<[Report]>;
  child.send('report');
  return (await answered)[0];
}

async function stop(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit');
  child.send('stop');
  await ended;
}

type Sent = { readonly status: number; readonly text: string; readonly tookMs: number };

/** Sends one hostile request of a viewer. */
function sendHostile(
  { url }: Server,
  token: string,
  { method, path, headers, body }: HostileRequest,
): Promise<number> {
  return new Promise((resolve) => {
    const sent = request(
      url + path,
      { agent: hostileAgent, method, headers: { authorization: `Bearer ${token}`, ...headers } },
      (answer) => {
        answer.resume();
        answer.on('end', () => resolve(answer.statusCode ?? 0));
        answer.on('error', () => resolve(0));
      },
    );
    sent.on('error', () => resolve(0));
    sent.end(body);
  });
}

function send({ url, token }: Pick<Server, 'url' | 'token'>, path: string, body?: object): Promise<Sent> {
  const beganMs = performance.now();
  return new Promise((resolve, reject) => {
    const sent = request(
      url + path,
      {
        agent,
        method: body === undefined ? 'GET' : 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
      },
      (answer) => {
        let text = '';
        answer.setEncoding('utf8');
        answer.on('data', (piece: string) => (text += piece));
        answer.on('end', () =>
          resolve({ status: answer.statusCode ?? 0, text, tookMs: performance.now() - beganMs }),
        );
      },
    );
    sent.on('error', (error) => {
      // The server closed an idle connection: clients repeat such a request.
      if (sent.reusedSocket) send({ url, token }, path, body).then(resolve, reject);
      else reject(error);
    });
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

const quantile = (values: readonly number[], q: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * q))] ?? 0;

const newCall = (n: number): object => ({
  sessionId: `s${n % 10}`,
  call: { id: `c${n}`, name: 'look_up', arguments: { n } },
});

/** Sends this many per second, whether or not earlier ones were answered. */
async function atRate(
  perSecond: number,
  each: (n: number) => Promise<void>,
  lastsSeconds = seconds,
): Promise<void> {
  const beganMs = performance.now();
  const under: Promise<void>[] = [];
  for (let n = 0; n < perSecond * lastsSeconds; n++) {
    const waitMs = beganMs + (n * 1_000) / perSecond - performance.now();
    if (waitMs > 1) await sleep(waitMs);
    under.push(each(n));
  }
  await Promise.all(under);
}

const figures: Record<string, number> = {};
const rows: string[][] = [];
const note = (name: string, value: number, digits = 1): void => {
  figures[name.replaceAll(/[ ,/]+/g, '_')] = Number(value.toFixed(3));
  rows.push([name, value.toFixed(digits)]);
};
let isGood = true;

async function follow(): Promise<void> {
  const server = await startServer(join(folder, 'follow.db'));
  await send(server, '/v1/calls', newCall(-1));
  const before = await report<ServerReport>(server.child);
  const crowd = start('followers.ts', [server.url, server.token, String(clients), '0']);
  await once(crowd, 'message');
  while ((await report<FollowersReport>(crowd)).connected < clients) await sleep(100);
  const warm = await report<ServerReport>(server.child); // excludes the cost of connecting
  await atRate(callsPerSecond, async (n) => {
    await send(server, '/v1/calls', newCall(n));
  });
  const last = Number(
    /^quittance_ledger_position (\d+)$/m.exec((await send(server, '/metrics')).text)?.[1] ?? 0,
  );
  let crowdNow = await report<FollowersReport>(crowd);
  for (let tries = 0; crowdNow.slowest < last && tries < 100; tries++) {
    await sleep(100);
    crowdNow = await report<FollowersReport>(crowd);
  }
  const after = await report<ServerReport>(server.child);
  note('followers', crowdNow.connected, 0);
  note('messages received', crowdNow.messages, 0);
  note('messages due', crowdNow.connected * last, 0);
  note('gaps', crowdNow.gaps, 0);
  note('followers cut', crowdNow.ended, 0);
  note('delivery p95 ms', crowdNow.latencyP95Ms);
  note('follow: loop p99 ms', after.loopP99Ms);
  note('follow: loop max ms', after.loopMaxMs);
  note('follow: rss before MB', before.rssMb, 0);
  note('follow: rss connected MB', warm.rssMb, 0);
  note('follow: rss after MB', after.rssMb, 0);
  isGood &&= after.rssMb - warm.rssMb < mostGrownMb;
  isGood &&= crowdNow.gaps === 0 && crowdNow.ended === 0 && crowdNow.messages === crowdNow.connected * last;
  await stop(crowd);
  await stop(server.child);
}

async function ask(): Promise<void> {
  const bare = await startFile('bare.ts', []);
  await measure(bare, () => ['/hello'], warmUpSeconds);
  const bareBefore = await report<Pick<ServerReport, 'cpuSeconds'>>(bare.child);
  const bareTook = await measure(bare, () => ['/hello']);
  const bareAfter = await report<Pick<ServerReport, 'cpuSeconds'>>(bare.child);
  await stop(bare.child);

  const server = await startServer(join(folder, 'ask.db'));
  for (let n = 0; n < 200; n++) await send(server, '/v1/calls', newCall(n));
  const mix = (n: number): [string, object?] => {
    const kinds: [string, object?][] = [
      ['/v1/calls?limit=50'],
      [`/v1/sessions/s${n % 10}/calls/c${n % 200}`],
      ['/v1/calls/facets'],
      ['/v1/stats'],
      ['/v1/calls', newCall(1_000 + n)],
    ];
    return kinds[n % kinds.length] ?? ['/v1/me'];
  };
  await measure(server, mix, warmUpSeconds);
  const before = await report<ServerReport>(server.child);
  const took = await measure(server, (n) => mix(n + rate * warmUpSeconds));
  const after = await report<ServerReport>(server.child);
  const cpuMs = ((after.cpuSeconds - before.cpuSeconds) * 1_000) / took.ms.length;
  const bareCpuMs = ((bareAfter.cpuSeconds - bareBefore.cpuSeconds) * 1_000) / bareTook.ms.length;
  const grownMb = after.rssMb - before.rssMb;
  note('requests', took.ms.length, 0);
  note('requests failed', took.failed, 0);
  for (const [name, share] of Object.entries({ p50: 0.5, p95: 0.95, p99: 0.99 })) {
    note(`request ${name} ms`, quantile(took.ms, share));
    note(`bare route ${name} ms`, quantile(bareTook.ms, share));
  }
  note('request p50 to bare p50', quantile(took.ms, 0.5) / quantile(bareTook.ms, 0.5));
  note('request p95 to bare p95', quantile(took.ms, 0.95) / quantile(bareTook.ms, 0.95));
  note('request cpu ms', cpuMs, 2);
  note('bare route cpu ms', bareCpuMs, 2);
  note('request cpu to bare cpu', cpuMs / bareCpuMs);
  note('ask: loop p99 ms', after.loopP99Ms);
  note('ask: rss warm MB', before.rssMb, 0);
  note('ask: rss end MB', after.rssMb, 0);
  isGood &&= took.failed === 0 && cpuMs / bareCpuMs < mostRatio && grownMb < mostGrownMb;
  await stop(server.child);
}

const warmUpSeconds = 3;
/** Maximum cost of a request, as a multiple of the empty route, and maximum memory growth. */
const mostRatio = 10;
const mostGrownMb = 150;

async function measure(
  server: Server,
  each: (n: number) => [string, object?],
  lastsSeconds = seconds,
  tokenOf: (n: number) => string = () => server.token,
): Promise<{ readonly ms: readonly number[]; readonly failed: number }> {
  const ms: number[] = [];
  let failed = 0;
  await atRate(
    rate,
    async (n) => {
      const { status, tookMs } = await send({ ...server, token: tokenOf(n) }, ...each(n));
      ms.push(tookMs);
      if (status !== 200) failed++;
    },
    lastsSeconds,
  );
  return { ms, failed };
}

async function look(): Promise<void> {
  const path = filled ?? join(folder, 'look.db');
  if (!existsSync(path)) await fill(path, calls);
  const server = await startServer(path);
  await send(server, '/v1/calls?limit=1');
  let longestTurnMs = 0;
  const time = async (name: string, count: number, paths: (n: number) => string): Promise<void> => {
    const took: number[] = [];
    const before = await report<ServerReport>(server.child);
    for (let n = 0; n < count; n++) {
      const { status, tookMs } = await send(server, paths(n));
      if (status !== 200) isGood = false;
      took.push(tookMs);
    }
    const { loopMaxMs, cpuSeconds } = await report<ServerReport>(server.child);
    longestTurnMs = Math.max(longestTurnMs, loopMaxMs);
    note(`${name} p95 ms`, quantile(took, 0.95));
    note(`${name} loop max ms`, loopMaxMs);
    // The cost, independent of other load on the machine.
    note(`${name} cpu ms each`, ((cpuSeconds - before.cpuSeconds) * 1_000) / count);
  };
  let cursor = '';
  await time('list, newest', 200, () => '/v1/calls?limit=50');
  await time('list, of a tool', 100, (n) => `/v1/calls?limit=50&toolName=tool_${n % 20}`);
  await time('list, of a session', 100, (n) => `/v1/calls?limit=50&sessionId=session-${n}`);
  await time('list, of a user', 100, (n) => `/v1/calls?limit=50&principal=user-${n}`);
  await time('list, failures', 100, () => '/v1/calls?limit=50&outcome=ToolFailure');
  await time('list, a search', 20, (n) => `/v1/calls?limit=50&search=call_${n}777`);
  for (let n = 0; n < 100; n++) {
    const { text } = await send(server, `/v1/calls?limit=50${cursor && `&cursor=${cursor}`}`);
    cursor = (JSON.parse(text) as { next?: string }).next ?? '';
  }
  await time('list, page 100', 50, () => `/v1/calls?limit=50${cursor && `&cursor=${cursor}`}`);
  await time('facets', 20, (n) => `/v1/calls/facets?until=${Date.now() + n}`);
  // From the whole month, not only the newest calls.
  const known: string[] = [];
  for (let day = 0; day < 30; day++) {
    const { text } = await send(server, `/v1/calls?limit=10&until=${Date.now() - day * 86_400_000}`);
    for (const { sessionId, callId } of (JSON.parse(text) as CallPage).rows)
      known.push(`/v1/sessions/${sessionId}/calls/${callId}`);
  }
  await time('one call', 200, (n) => known[(n * 7) % known.length] ?? '');
  await time('sessions', 50, () => '/v1/sessions?limit=50');
  await time('one session', 50, (n) => `/v1/sessions/session-${n * 19}`);
  await time('tools', 5, (n) => `/v1/tools/tool_${n}`);
  await time('stats of a month', 5, (n) => `/v1/stats?since=${Date.now() - 30 * 86_400_000 + n}&buckets=60`);
  const after = await report<ServerReport>(server.child);
  note('look: loop max ms', longestTurnMs);
  note('look: rss MB', after.rssMb, 0);
  await stop(server.child);
}

/** Honest users: each has a token and sends the requests of a console. */
const honestCallers = 10;

async function standHostile(): Promise<void> {
  const path = join(folder, 'hostile.db');
  await fill(path, calls);
  const large = await fillLarge(path);
  const file = new TokenFile(tokenFilePath(path), Date.now);
  const make = (role: HostileRequest['as']): string => file.create({ name: `eve-${role}`, role }).token;
  const tokens = {
    viewer: make('viewer'),
    operator: make('operator'),
    approver: make('approver'),
    admin: make('admin'),
  };
  const honest = Array.from(
    { length: honestCallers },
    (_, n) => file.create({ name: `honest-${n}`, role: 'operator' }).token,
  );
  const server = await startServer(path, 'default');
  const mix = (n: number): [string, object?] => {
    const kinds: [string, object?][] = [
      ['/v1/calls?limit=50'],
      [`/v1/sessions/s${n % 10}/calls/c${n % 200}`],
      ['/v1/calls/facets'],
      ['/v1/stats'],
      ['/v1/calls', newCall(1_000 + n)],
    ];
    return kinds[n % kinds.length] ?? ['/v1/me'];
  };
  for (let n = 0; n < 200; n++) await send(server, '/v1/calls', newCall(n));
  let asked = 0;
  const honestly = (lastsSeconds = seconds): ReturnType<typeof measure> =>
    measure(
      server,
      () => mix(asked++),
      lastsSeconds,
      (n) => honest[n % honest.length] ?? '',
    );
  await honestly(warmUpSeconds);

  // Threads start before the measurement: the memory of an idle thread belongs to the server, not to a request.
  for (const each of starters) await sendHostile(server, tokens[each.as], each);
  const worst = { loopMs: 0, grownMb: 0 };
  for (const each of [...hostileRequests(large, 0, Date.now()), ...hostileChanges(large, 0)]) {
    const before = await report<ServerReport>(server.child);
    const status = await sendHostile(server, tokens[each.as], each);
    const { loopMaxMs, peakRssMb } = await report<ServerReport>(server.child);
    const grownMb = peakRssMb - before.rssMb;
    rows.push([`alone, ${each.name} (${status})`, `${loopMaxMs.toFixed(1)} ms, ${grownMb.toFixed(0)} MB`]);
    worst.loopMs = Math.max(worst.loopMs, loopMaxMs);
    worst.grownMb = Math.max(worst.grownMb, grownMb);
    isGood &&= status > 0 && status < 500;
  }
  note('alone, worst: loop max ms', worst.loopMs);
  note('alone, worst: rss grown MB', worst.grownMb, 0);
  isGood &&= worst.loopMs <= mostLoopMs && worst.grownMb <= mostRequestMb;

  await report<ServerReport>(server.child);
  const calm = await honestly();
  const calmReport = await report<ServerReport>(server.child);
  const attacker = start('hostile.ts', [server.url, tokens.viewer, JSON.stringify(large)]);
  await once(attacker, 'message');
  await honestly(warmUpSeconds);
  await report<ServerReport>(server.child);
  const attacked = await honestly();
  const attackedReport = await report<ServerReport>(server.child);
  const hostile = await report<HostileReport>(attacker);
  await stop(attacker);
  await stop(server.child);

  noteAttack({ calm, attacked, calmReport, attackedReport, hostile });
}

type Measured = Awaited<ReturnType<typeof measure>>;

function noteAttack({
  calm,
  attacked,
  calmReport,
  attackedReport,
  hostile: { sent, statuses, stalled },
}: {
  readonly calm: Measured;
  readonly attacked: Measured;
  readonly calmReport: ServerReport;
  readonly attackedReport: ServerReport;
  readonly hostile: HostileReport;
}): void {
  const p99 = { calm: quantile(calm.ms, 0.99), attacked: quantile(attacked.ms, 0.99) };
  note('honest requests', attacked.ms.length, 0);
  note('honest requests failed', calm.failed + attacked.failed, 0);
  note('honest p50 ms, calm', quantile(calm.ms, 0.5));
  note('honest p50 ms, attacked', quantile(attacked.ms, 0.5));
  note('honest p99 ms, calm', p99.calm);
  note('honest p99 ms, attacked', p99.attacked);
  note('honest p99, attacked to calm', p99.attacked / p99.calm, 2);
  note('hostile requests', sent, 0);
  for (const [status, count] of Object.entries(statuses)) note(`hostile answered ${status}`, count, 0);
  note('hostile followers that take nothing', stalled, 0);
  for (const [name, told] of Object.entries({ calm: calmReport, attacked: attackedReport })) {
    note(`loop p99 ms, ${name}`, told.loopP99Ms);
    note(`loop max ms, ${name}`, told.loopMaxMs);
    note(`rss MB, ${name}`, told.rssMb, 0);
    note(`heap MB, ${name}`, told.heapMb, 0);
  }
  isGood &&= calm.failed + attacked.failed === 0 && p99.attacked <= mostTimes * p99.calm;
  isGood &&= !Object.keys(statuses).some((status) => Number(status) >= 500);
}

/** The p99 of honest callers under attack, relative to that without an attack. */
const mostTimes = 3;
/** Maximum time that one request may hold the event loop, and maximum memory. */
const mostLoopMs = 50;
const mostRequestMb = 64;

/** Each starts a thread. */
const starters: readonly HostileRequest[] = [
  { name: 'reader', as: 'viewer', method: 'GET', path: '/v1/confirmations' },
  {
    name: 'contracts',
    as: 'viewer',
    method: 'POST',
    path: '/v1/contracts/validate',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ documents: [{ name: 'x', text: 'x' }] }),
  },
];

try {
  if (isHostile) await standHostile();
  else {
    if (clients > 0) await follow();
    if (rate > 0) await ask();
    if (calls > 0) await look();
  }
  printTable(['under load', ''], rows);
  process.stdout.write(
    `${JSON.stringify({ bench: isHostile ? 'load-hostile' : 'load', node: process.version, good: isGood, ...figures })}\n`,
  );
  if (!isGood) process.exitCode = 1;
} finally {
  agent.destroy();
  rmSync(folder, { recursive: true, force: true });
}
