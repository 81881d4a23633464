/** `quittance notifications`: the file, a test message, and the list of deliveries. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRuntime, defineTool } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { readNotifications, startNotifications } from '@quittance/server/notifications';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../eventually.ts';
import { confirming, runProgramHere } from '../run-program.ts';
import type { Receiver } from './receiver.ts';
import { openReceiver } from './receiver.ts';

let folder: string;
let receiver: Receiver;
let file: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'quittance-notifications-cli-'));
  receiver = await openReceiver();
  file = join(folder, 'notifications.yaml');
  writeFileSync(
    file,
    `apiVersion: quittance/v1
kind: Notifications
targets:
  ops: { type: slack, url: '\${CHAT}', allowPrivate: true }
  idle: { type: slack, url: 'https://chat.example/x' }
rules:
  - { on: [held, reminder], tell: [ops] }
reminders: [30m]
quietHours:
  - { from: '22:00', to: '07:00', timeZone: Europe/Berlin }
`,
  );
});
afterAll(async () => {
  await receiver.close();
  rmSync(folder, { recursive: true, force: true });
});

const run = (args: readonly string[]) =>
  runProgramHere(['notifications', ...args], { env: { CHAT: receiver.url } });

/** The same by a person at a terminal, who confirms it. */
const runByPerson = (args: readonly string[]) =>
  runProgramHere(['notifications', ...args, '--by', 'ada'], {
    env: { CHAT: receiver.url },
    readTyped: confirming,
  });

it('check lists targets, reminders and quiet hours', async () => {
  expect(await run(['check', file])).toMatchObject({
    code: 0,
    out: `ops (slack): held, reminder
idle (slack): no rule tells it anything
reminder after 30 minutes
quiet from 22:00 to 07:00, every day (Europe/Berlin)
`,
  });
  const { code, err } = await runProgramHere(['notifications', 'check', file], { env: {} });
  expect(code).toBe(2);
  expect(err).toMatch(/^quittance: The notifications file has problems:\n {2}.*: .*CHAT is not set/);
});

it('send sends a test message, and says what the target answered', async () => {
  expect(await run(['send', file, 'ops'])).toMatchObject({ code: 0, err: '' });
  expect((await receiver.waitFor(1))[0]?.body).toContain('This is a test message. No call waits.');
  receiver.answerWith(404);
  const { code, err } = await run(['send', file, 'ops']);
  expect(code).toBe(1);
  expect(err).toContain('ops did not take the message: status 404');
});

/** A runtime on a ledger of its own. These targets are notified of its held calls. */
async function startTelling(path: string, targets: Readonly<Record<string, string>>) {
  const ledger = await openLedger(path);
  const pay = defineTool({ name: 'pay', mode: 'destructive', run: () => 1 });
  const runtime = createRuntime({ tools: [pay], ledger });
  const settings = readNotifications(
    `apiVersion: quittance/v1
kind: Notifications
targets:
${Object.entries(targets)
  .map(([name, fields]) => `  ${name}: { ${fields}, url: '${receiver.url}', allowPrivate: true }`)
  .join('\n')}
rules:
  - { on: [held], tell: [${Object.keys(targets).join(', ')}] }`,
    'n.yaml',
    () => undefined,
  );
  const notifications = startNotifications({ runtime, settings });
  const close = async (): Promise<void> => {
    await notifications.close();
    await runtime.close();
    await ledger.close();
  };
  return { runtime, close };
}

it('log lists deliveries, and with --undelivered only what did not arrive', async () => {
  const path = join(folder, 'ledger.db');
  const { runtime, close } = await startTelling(path, { ops: 'type: slack' });
  receiver.answerWith(200, 410);
  const turn = runtime.turn({ sessionId: 's' });
  for (const id of ['a', 'b']) {
    const before = receiver.received.length;
    void turn.call({ id, name: 'pay', arguments: { id } }).catch(() => undefined);
    await receiver.waitFor(before + 1);
  }
  await eventually(async () =>
    expect((await runtime.events.list({ sessionId: 's' })).map(({ type }) => type as string)).toContain(
      'notification.undelivered',
    ),
  );
  await close();
  const { out } = await run(['log', '--ledger', path]);
  expect(out).toMatch(
    /sent {2}ops {2}held {2}s\/a {2}status 200\n.*undelivered {2}ops {2}held {2}s\/b {2}status 410\n$/,
  );
  const { out: dead } = await run(['log', '--ledger', path, '--undelivered', '--json']);
  expect(JSON.parse(dead)).toMatchObject({ what: 'undelivered', callId: 'b', problem: 'status 410' });
});

it('resend delivers what a repaired target refused, once, under the same id', async () => {
  const path = join(folder, 'resend.db');
  const secret = Buffer.alloc(32, 1).toString('base64');
  const targets = { ops: 'type: slack', audit: `type: webhook, secret: ${secret}` };
  const { runtime, close } = await startTelling(path, targets);
  const records = async (what: string) =>
    (await runtime.events.list({ sessionId: 's' })).filter(
      ({ type }) => (type as string) === `notification.${what}`,
    );
  receiver.answerWith(410, 410);
  void runtime
    .turn({ sessionId: 's' })
    .call({ id: 'a', name: 'pay', arguments: {} })
    .catch(() => undefined);
  await eventually(async () => expect(await records('undelivered')).toHaveLength(2));
  const ids = receiver.received.slice(-2).map(({ headers }) => headers['webhook-id']);
  const asked = await runByPerson(['resend', '--ledger', path, '--target', 'audit']);
  expect(asked).toMatchObject({ code: 0, out: 'audit  s/a\n' });
  expect(asked.err).toContain('Asked for 1 message again.');
  await eventually(async () => expect(await records('sent')).toHaveLength(1));
  const [again] = receiver.received.slice(-1);
  expect(again?.headers['webhook-id']).toBe(ids.find((id) => id !== undefined));
  expect(Number(again?.headers['quittance-delivery'])).toBeGreaterThan(1);
  const requests = (await runtime.events.list({ sessionId: 's' })).filter(
    ({ type }) => type === 'retry.requested',
  );
  expect(requests).toMatchObject([{ by: 'ada', behavior: 'notifications.audit', attempt: 2 }]);
  // A message that was sent is not asked for again.
  expect((await runByPerson(['resend', '--ledger', path, '--target', 'audit'])).err).toContain(
    'Nothing was asked for.',
  );
  receiver.answerWith(410);
  expect((await runByPerson(['resend', '--ledger', path])).out).toBe('ops  s/a\n');
  await eventually(async () => expect(await records('undelivered')).toHaveLength(3));
  expect(JSON.parse((await runByPerson(['resend', '--ledger', path, '--json'])).out)).toMatchObject({
    target: 'ops',
  });
  await eventually(async () => expect(await records('sent')).toHaveLength(2));
  await close();
});
