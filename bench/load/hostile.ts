/** A hostile viewer in a separate process: it sends the worst requests a viewer may, until it is stopped. */
import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:http';
import { setPriority } from 'node:os';
import type { LargeThings } from '../../test/http/hostile-requests.ts';
import { hostileRequests } from '../../test/http/hostile-requests.ts';

export type HostileReport = {
  readonly sent: number;
  /** By status; 0 if the connection was cut. */
  readonly statuses: Readonly<Record<string, number>>;
  readonly stalled: number;
};

const [url = '', token = '', things = '{}'] = process.argv.slice(2);
const large = JSON.parse(things) as LargeThings;
// A real attacker is on another machine: its own work must not slow the server, only its requests may.
setPriority(10);
const lanes = 24;
const stallers = 40;
const scanners = 8;
const agent = new Agent({ keepAlive: true, maxSockets: 256 });
const authorization = `Bearer ${token}`;
const statuses: Record<string, number> = {};
let sent = 0;
let stalled = 0;
let isOver = false;

function send(each: ReturnType<typeof hostileRequests>[number]): Promise<void> {
  return new Promise((resolve) => {
    const done = (status: number): void => {
      statuses[status] = (statuses[status] ?? 0) + 1;
      resolve();
    };
    const made = request(
      url + each.path,
      { agent, method: each.method, headers: { authorization, ...each.headers } },
      (answer) => {
        answer.resume();
        answer.on('end', () => done(answer.statusCode ?? 0));
        answer.on('error', () => done(0));
      },
    );
    made.on('error', () => done(0));
    made.end(each.body);
    sent++;
  });
}

/** Follows the ledger and reads nothing. */
const stall = (): void => follow('/v1/events?after=0', (answer) => answer.pause());
/** Makes the server scan the whole ledger for missing events, repeatedly. */
const scan = (): void => follow('/v1/events?after=0&type=no.such', (answer) => answer.resume());

function follow(path: string, take: (answer: IncomingMessage) => void): void {
  const made = request(url + path, { agent: false, headers: { authorization } }, (answer) => {
    take(answer);
    stalled++;
    answer.on('close', () => {
      stalled--;
      if (!isOver) setTimeout(() => follow(path, take), 1_000).unref();
    });
  });
  made.on('error', () => {
    if (!isOver) setTimeout(() => follow(path, take), 1_000).unref();
  });
  made.end();
}

async function lane(first: number): Promise<void> {
  for (let n = first; !isOver; n += lanes) {
    const all = hostileRequests(large, n, Date.now());
    const each = all[n % all.length];
    if (each !== undefined) await send(each);
  }
}

for (let n = 0; n < stallers; n++) stall();
for (let n = 0; n < scanners; n++) scan();
for (let n = 0; n < lanes; n++) void lane(n);

process.on('message', (order: 'report' | 'stop') => {
  if (order === 'report') return void process.send?.({ sent, statuses, stalled } satisfies HostileReport);
  isOver = true;
  process.exit(0);
});
process.send?.('ready');
