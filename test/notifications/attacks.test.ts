/** Messages under attack: secrets in every place, targets that flood, hang or redirect. */
import { createRuntime, defineTool } from 'quittance';
import type { Runtime } from 'quittance';
import { contractsFromYamlString } from 'quittance/contracts';
import type { EmittedEvent } from 'quittance/events';
import { createMemoryLedger } from 'quittance/ledger';
import { readNotifications, startNotifications } from '@quittance/server/notifications';
import { createManualClock } from 'quittance/testing';
import { createServer as createHttpServer, type Server as HttpServer } from 'node:http';
import type { AddressInfo, Server, Socket } from 'node:net';
import { connect, createServer as createTcpServer } from 'node:net';
import { SMTPServer } from 'smtp-server';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { eventually } from '../eventually.ts';
import type { Receiver } from './receiver.ts';
import { openReceiver } from './receiver.ts';
import { readCursor } from '../../packages/quittance/src/ledger/reads.ts';

const key = Buffer.alloc(32, 7).toString('base64');
const mark = 'LEAKED';
/** Known by its form, by the pattern of the host, and by the name of its argument only. */
const byForm = `sk-${mark}aB3dE5gH7jK9mN1pQ2sT4vW6yZ8bC0fG`;
const byPattern = `CUSTOMER-${mark}-42`;
const byName = `${mark.toLowerCase()} plain words`;
const leaked = /leaked/i;

let chat: Receiver;
const mails: string[] = [];
const mailServer = new SMTPServer({
  disabledCommands: ['STARTTLS', 'AUTH'],
  onData: (stream, _session, done) => {
    const parts: string[] = [];
    stream.setEncoding('utf8').on('data', (part: string) => parts.push(part));
    stream.on('end', () => {
      mails.push(parts.join(''));
      done();
    });
  },
});
const closing: (() => unknown)[] = [];
async function listen(server: HttpServer): Promise<void> {
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
}
beforeAll(async () => {
  chat = await openReceiver();
  await new Promise<void>((resolve) => void mailServer.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  await chat.close();
  await new Promise((resolve) => mailServer.close(() => resolve(undefined)));
});
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
  (chat.received as unknown[]).length = 0;
  mails.length = 0;
});

const portOf = (server: { address(): unknown }): number => (server.address() as AddressInfo).port; // it is on a port

const tool = (name: string) => defineTool({ name, mode: 'destructive', run: () => 1 });

function start(targets: string, tell: string, runtime: Runtime) {
  const settings = readNotifications(
    `apiVersion: quittance/v1
kind: Notifications
targets:
${targets}
rules:
  - { on: [held, decided], tell: [${tell}] }`,
    'n.yaml',
    () => undefined,
  );
  const notifications = startNotifications({ runtime, settings, publicUrl: 'https://quittance.test' });
  closing.push(
    () => runtime.close(),
    () => notifications.close(),
  );
  return notifications;
}

const deliveries = async (runtime: Runtime, sessionId: string): Promise<readonly EmittedEvent[]> =>
  (await runtime.events.list({ sessionId })).filter(({ type }) =>
    (type as string).startsWith('notification.'),
  ) as unknown as readonly EmittedEvent[];

it.each([
  ['its form', byForm],
  ['a pattern of the host', byPattern],
  ['the name of an argument that repeats it', byName],
])('[secrets-stay-out] a secret known by %s reaches no message and no record of one', async (_, leak) => {
  const named = tool(`pay ${leak}`);
  const runtime = createRuntime({
    tools: [named],
    ledger: createMemoryLedger(),
    redaction: { patterns: [{ name: 'customer', pattern: /CUSTOMER-\w+-\d+/ }] },
    contracts: contractsFromYamlString(`apiVersion: quittance/v1
kind: Ruleset
metadata: { name: shop }
defaults: { mode: enforce }
rules:
  - id: ask-first
    type: pre
    tool: '*'
    when: { args.password: { exists: true } }
    then: { action: ask, message: 'Pay with {args.password} for ${leak}?' }`),
  });
  const http = (name: string, type: string, more = ''): string =>
    `  ${name}: { type: ${type}, url: '${chat.url}', allowPrivate: true, sendArguments: true${more} }`;
  const notifications = start(
    [
      http('hook', 'webhook', `, secret: '${key}'`),
      http('slack', 'slack'),
      http('teams', 'teams'),
      `  mail: { type: email, server: 'smtp://127.0.0.1:${portOf(mailServer.server)}', from: q@quittance.test, to: [b@quittance.test], allowPrivate: true, sendArguments: true }`,
    ].join('\n'),
    'hook, slack, teams, mail',
    runtime,
  );
  // A secret that the arguments or the principal hold too is hidden everywhere for that reason alone.
  const password = leak === byName ? leak : 'another one';
  const sessionId = `session ${leak}`;
  const principal = { userId: leak === byName ? `user ${leak}` : 'ada' };
  const turn = runtime.turn({ sessionId, principal });
  void turn.call({ id: `call ${leak}`, name: named.name, arguments: { password } }).catch(() => undefined);
  await Promise.all([chat.waitFor(3), eventually(() => expect(mails).toHaveLength(1))]);
  const [question] = (await runtime.confirmations.list({ status: 'pending' })).rows;
  await runtime.confirmations.decide(question?.confirmationId ?? '', {
    decision: 'deny',
    by: 'ada',
    reason: `because ${leak}`,
  });
  await Promise.all([chat.waitFor(6), eventually(() => expect(mails).toHaveLength(2))]);
  await notifications.caughtUp();
  // Long lines of a mail are wrapped.
  const sent = [...chat.received.map(({ body }) => body), ...mails].map((text) =>
    text.replaceAll(/=\r?\n/g, ''),
  );
  for (const text of sent) {
    expect(text).not.toMatch(leaked);
    expect(decodeURIComponent(text.replaceAll(/%(?![\dA-F]{2})/gi, ''))).not.toMatch(leaked);
    expect(text).toContain('[REDACTED]');
  }
  const records = await deliveries(runtime, sessionId);
  expect(records).toHaveLength(8);
  expect(JSON.stringify(records.map(({ data }) => data))).not.toMatch(leaked);
});

it('a target that answers without end gets each message once, and one connection serves all its messages', async () => {
  const sockets = new Set<unknown>();
  let requests = 0;
  let isEndless = false;
  const server = createHttpServer((request, response) => {
    sockets.add(request.socket);
    requests++;
    request.resume();
    if (!isEndless) return void response.end('thanks');
    const chunk = Buffer.alloc(65_536);
    const flood = (): void => {
      while (!response.destroyed && response.write(chunk));
    };
    response.on('drain', flood).on('error', () => undefined);
    flood();
  });
  await listen(server);
  const runtime = createRuntime({ tools: [tool('pay')], ledger: createMemoryLedger() });
  const notifications = start(
    `  ops: { type: slack, url: 'http://127.0.0.1:${portOf(server)}', allowPrivate: true }`,
    'ops',
    runtime,
  );
  const turn = runtime.turn({ sessionId: 's' });
  const hold = async (id: string, count: number): Promise<void> => {
    void turn.call({ id, name: 'pay', arguments: {} }).catch(() => undefined);
    await eventually(() => expect(requests).toBe(count));
    await notifications.caughtUp();
  };
  for (let n = 1; n <= 3; n++) await hold(`c${n}`, n);
  expect(sockets.size).toBe(1);
  isEndless = true;
  await hold('c4', 4);
  const records = await deliveries(runtime, 's');
  expect(records.map(({ type, data }) => [type, data['delivery']])).toEqual(
    [1, 2, 3, 4].map(() => ['notification.sent', 1]),
  );
});

it('a target that asks for a longer pause is not tried again before', async () => {
  let requests = 0;
  const server = createHttpServer((request, response) => {
    requests++;
    request.resume();
    response.writeHead(429, { 'retry-after': '60' }).end();
  });
  await listen(server);
  const runtime = createRuntime({ tools: [tool('pay')], ledger: createMemoryLedger() });
  start(
    `  ops: { type: slack, url: 'http://127.0.0.1:${portOf(server)}', allowPrivate: true }`,
    'ops',
    runtime,
  );
  void runtime
    .turn({ sessionId: 's' })
    .call({ id: 'c', name: 'pay', arguments: {} })
    .catch(() => undefined);
  const failed = await eventually(async () => {
    const found = (await runtime.events.list({ sessionId: 's' })).find(
      ({ type }) => type === 'behavior.failed',
    );
    expect(found).toBeDefined();
    return found;
  });
  expect(failed).toMatchObject({ payloadExtras: { target: 'ops', afterMs: 60_000 } });
  expect(requests).toBe(1);
});

it.each([
  ['another host', 307, 'http://169.254.169.254/latest'],
  ['a private host by another spelling', 308, 'http://[::ffff:7f00:1]:1/'],
  ['no URL', 302, 'http://['],
])('a target that redirects to %s is not followed', async (_, status, location) => {
  const asked: string[] = [];
  const server = createHttpServer((request, response) => {
    asked.push(request.url ?? '');
    request.resume();
    response.writeHead(status, { location }).end();
  });
  await listen(server);
  const runtime = createRuntime({ tools: [tool('pay')], ledger: createMemoryLedger() });
  const notifications = start(
    `  ops: { type: slack, url: 'http://127.0.0.1:${portOf(server)}/hook', allowPrivate: true }`,
    'ops',
    runtime,
  );
  void runtime
    .turn({ sessionId: 's' })
    .call({ id: 'c', name: 'pay', arguments: {} })
    .catch(() => undefined);
  await eventually(async () => expect(await deliveries(runtime, 's')).toHaveLength(1));
  await notifications.caughtUp();
  expect(asked).toEqual(['/hook']);
  const [record] = await deliveries(runtime, 's');
  expect(record?.type).toBe('notification.undelivered');
});

it('a mail server that never answers is left when notifications close', async () => {
  const sockets = new Set<Socket>();
  let arrived = 0;
  const silent: Server = createTcpServer((socket) => {
    sockets.add(socket);
    arrived++;
    socket.on('close', () => sockets.delete(socket)).on('error', () => undefined);
    socket.resume();
  });
  await new Promise<void>((resolve) => void silent.listen(0, '127.0.0.1', resolve));
  closing.push(() => silent.close());
  const runtime = createRuntime({ tools: [tool('pay')], ledger: createMemoryLedger() });
  const notifications = start(
    `  boss: { type: email, server: 'smtp://127.0.0.1:${portOf(silent)}', from: q@quittance.test, to: [b@quittance.test], allowPrivate: true }`,
    'boss',
    runtime,
  );
  void runtime
    .turn({ sessionId: 's' })
    .call({ id: 'c', name: 'pay', arguments: {} })
    .catch(() => undefined);
  await eventually(() => expect(sockets.size).toBe(1));
  await notifications.close();
  // A connection after this one arrives later than its end.
  const next = connect(portOf(silent), '127.0.0.1');
  closing.push(() => next.destroy());
  await eventually(() => expect(arrived).toBe(2));
  expect([...sockets].filter((socket) => !socket.readableEnded && !socket.destroyed)).toHaveLength(1);
  expect(await deliveries(runtime, 's')).toEqual([]);
});

it.each([
  'https://user:password@quittance.test',
  'https://quittance.test/?token=x',
  'https://quittance.test/',
  'javascript:alert(1)',
  'quittance.test',
])('the public address %s is refused: it is part of every message', (publicUrl) => {
  const runtime = createRuntime({ tools: [], ledger: createMemoryLedger() });
  closing.push(() => runtime.close());
  const settings = { targets: new Map(), rules: [], remindAfterMs: [], quietHours: [] };
  expect(() => startNotifications({ runtime, settings, publicUrl })).toThrow(/publicUrl/);
});

it('events that concern no target read no call and store no position for themselves', async () => {
  const clock = createManualClock();
  const ledger = createMemoryLedger({ clock });
  const counts = { moves: 0, reads: 0 };
  const runtime = createRuntime({
    tools: [tool('pay'), defineTool({ name: 'look', mode: 'read', run: () => 1 })],
    clock,
    ledger: {
      ...ledger,
      setCursor: (change) => {
        if (change.expected?.holder === change.next?.holder) counts.moves++;
        return ledger.setCursor(change);
      },
    },
  });
  const notifications = start(`  ops: { type: slack, url: '${chat.url}', allowPrivate: true }`, 'ops', {
    ...runtime,
    calls: {
      ...runtime.calls,
      list: (filter) => {
        counts.reads++;
        return runtime.calls.list(filter);
      },
    },
  });
  const turn = runtime.turn({ sessionId: 's' });
  for (let n = 0; n < 30; n++) {
    await turn.call({ id: `c${n}`, name: 'look', arguments: {} });
    await notifications.caughtUp();
  }
  expect(counts).toEqual({ moves: 0, reads: 0 });
  void turn.call({ id: 'held', name: 'pay', arguments: {} }).catch(() => undefined);
  await chat.waitFor(1);
  await notifications.caughtUp();
  expect(counts.reads).toBe(1);
  // The position of what concerned no target is stored a little later.
  await turn.call({ id: 'last', name: 'look', arguments: {} });
  await notifications.caughtUp();
  const before = (await readCursor(ledger, 'notifications.ops'))?.position;
  clock.advance(1_000);
  await eventually(async () =>
    expect((await readCursor(ledger, 'notifications.ops'))?.position).toBeGreaterThan(before ?? 0),
  );
});
