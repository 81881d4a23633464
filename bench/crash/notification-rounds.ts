/**
 * Rounds about notifications. A process holds calls and tells two targets about each: that it waits, and once more that
 * it still waits. The process is killed, and a successor follows. No message may be lost, and none may arrive twice
 * unless the second one says so.
 */
import type { ChildProcess } from 'node:child_process';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { QuittanceEvent } from 'quittance/events';
import type { Ledgers } from './ledgers.ts';
import type { NotificationErrand, NotificationPoint } from './points.ts';

export type NotificationTally = {
  rounds: number;
  messages: number;
  once: number;
  again: number;
  silently: number;
  recordedTwice: number;
  lost: number;
  /** The longest time in which a successor sent everything. */
  slowestS: number;
};

export const emptyNotificationTally = (): NotificationTally => ({
  rounds: 0,
  messages: 0,
  once: 0,
  again: 0,
  silently: 0,
  recordedTwice: 0,
  lost: 0,
  slowestS: 0,
});

/** For each message, in the order of arrival: what each copy says about earlier ones. */
type Arrivals = Map<string, number[]>;

/** Webhook and chat; held and reminder. */
const messagesPerCall = 4;
const secret = Buffer.alloc(32, 1).toString('base64');

const settingsFor = (url: string): string => `apiVersion: quittance/v1
kind: Notifications
targets:
  audit: { type: webhook, url: '${url}/audit', secret: ${secret}, allowPrivate: true }
  ops: { type: slack, url: '${url}/ops', allowPrivate: true }
rules:
  - { on: [held, reminder], tell: [audit, ops] }
reminders: [10s]`;

function begin(errand: NotificationErrand): {
  readonly child: ChildProcess;
  readonly over: Promise<readonly QuittanceEvent[] | 'killed'>;
} {
  const child = fork(join(import.meta.dirname, 'notification-child.ts'), [JSON.stringify(errand)], {
    execArgv: ['--conditions=quittance-source'],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  let told: readonly QuittanceEvent[] | undefined;
  child.on('message', (message) => (told = message as readonly QuittanceEvent[])); // sent by the child
  const over = once(child, 'exit').then(([code, signal]) => {
    if (signal === 'SIGKILL') return 'killed';
    if (code !== 0 || told === undefined)
      throw new Error(`The child ended with code ${String(code)}: ${JSON.stringify(errand)}`);
    return told;
  });
  return { child, over };
}

type Round = { readonly point: NotificationPoint; readonly calls: number; readonly serial: number };

export async function playNotificationRound(
  ledgers: Ledgers,
  { point, calls, serial }: Round,
  into: NotificationTally,
): Promise<void> {
  const arrivals: Arrivals = new Map();
  const nth = Math.floor(Math.random() * (/^(?:failure|start)/.test(point) ? 1 : calls));
  const targets = await openTargets(point, nth, arrivals);
  const common = {
    sessionId: `n${serial}`,
    ledger: ledgers.create(`notifications-${serial}`),
    settings: settingsFor(targets.url),
    nth,
    messages: messagesPerCall,
  };
  const first = begin({ ...common, calls, point });
  targets.victim = first.child;
  if ((await first.over) !== 'killed')
    throw new Error(`No process reached "${point}", so the round tested nothing.`);
  targets.victim = undefined;
  const startedAt = performance.now();
  const told = await begin({ ...common, calls: 0, point: undefined }).over;
  into.slowestS = Math.max(into.slowestS, Math.round((performance.now() - startedAt) / 1_000));
  await targets.close();
  into.rounds++;
  if (told !== 'killed') tally(into, told, arrivals);
}

type Targets = { readonly url: string; victim: ChildProcess | undefined; close(): Promise<void> };

/** Both targets, on one server. It kills the process at points that only a receiver can see. */
async function openTargets(point: NotificationPoint, nth: number, arrivals: Arrivals): Promise<Targets> {
  let visits = 0;
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { victim } = targets;
      const fails = victim !== undefined && point.startsWith('failure') && request.url === '/audit';
      const key = keyOf(request.url ?? '', body);
      const delivery = Number(request.headers['quittance-delivery']);
      // A target that refuses a message has not taken it.
      if (!fails) arrivals.set(key, [...(arrivals.get(key) ?? []), delivery]);
      const isChosen = !fails && visits++ === nth;
      if (point === 'message: arrived' && isChosen && victim !== undefined) {
        victim.kill('SIGKILL');
        request.socket.destroy();
        return;
      }
      if (fails && point === 'failure: in back-off') setTimeout(() => victim.kill('SIGKILL'), 100);
      // Over a connection that is kept, several messages need one look-up, and the chosen one may not come.
      const connection = point === 'message: before connection' ? 'close' : 'keep-alive';
      response.writeHead(fails ? 503 : 200, { 'retry-after': '1', connection }).end('', () => {
        if (point === 'message: answered' && isChosen) victim?.kill('SIGKILL');
      });
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // a server on a port has one
  const targets: Targets = {
    // A name, so that the process looks it up before each connection.
    url: `http://localhost:${port}`,
    victim: undefined,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return targets;
}

/** A chat message has no id, so its call and its kind name it. */
function keyOf(path: string, body: string): string {
  const callId = /"callId":"(c\d+)"|Call: (c\d+)"/.exec(body);
  const isReminder = body.includes('quittance.call.reminder') || body.includes('Still waiting');
  return `${path} ${callId?.[1] ?? callId?.[2] ?? '?'} ${isReminder ? 'reminder' : 'held'}`;
}

function tally(into: NotificationTally, events: readonly QuittanceEvent[], arrivals: Arrivals): void {
  const held = events.flatMap((event) => (event.type === 'tool.held' ? [event.callId] : []));
  const records = events.flatMap((event) => {
    const { type, callId, data } = event as unknown as {
      readonly type: string;
      readonly callId: string;
      readonly data: { readonly target: string; readonly kind: string };
    }; // events of behaviors have data
    return type === 'notification.sent' ? [`/${data.target} ${callId} ${data.kind}`] : [];
  });
  for (const callId of held)
    for (const target of ['/audit', '/ops'])
      for (const kind of ['held', 'reminder']) {
        const key = `${target} ${callId} ${kind}`;
        const copies = arrivals.get(key) ?? [];
        const recorded = records.filter((each) => each === key).length;
        into.messages++;
        if (recorded > 1) into.recordedTwice++;
        if (copies.length === 0 || recorded === 0) into.lost++;
        else if (copies.slice(1).some((delivery) => delivery < 2)) into.silently++;
        else if (copies.length > 1) into.again++;
        else into.once++;
      }
}
