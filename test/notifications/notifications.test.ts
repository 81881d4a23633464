/** Messages about calls that need people: by webhook, chat and mail. */
import { createHmac } from 'node:crypto';
import { createRuntime, defineTool } from 'quittance';
import type { Runtime } from 'quittance';
import type { EmittedEvent } from 'quittance/events';
import { contractsFromYamlString } from 'quittance/contracts';
import { createMemoryLedger } from 'quittance/ledger';
import { createManualClock } from 'quittance/testing';
import { findWebhookProblem, readNotifications, startNotifications } from '@quittance/server/notifications';
import type { StartedNotifications } from '@quittance/server/notifications';
import { SMTPServer } from 'smtp-server';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../eventually.ts';
import { envelope } from '../stage.ts';
import type { Receiver } from './receiver.ts';
import { openReceiver } from './receiver.ts';

const secret = Buffer.alloc(32, 7).toString('base64');
const pay = defineTool({ name: 'pay', mode: 'local', run: () => ({ paid: true }) });
const wipe = defineTool({ name: 'wipe', mode: 'destructive', run: () => ({ wiped: true }) });

let first: Receiver;
let second: Receiver;
const closing: (() => unknown)[] = [];
beforeAll(async () => {
  [first, second] = [await openReceiver(), await openReceiver()];
});
afterAll(() => Promise.all([first.close(), second.close()]));
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
  for (const receiver of [first, second]) {
    (receiver.received as unknown[]).length = 0;
    receiver.onMessage = () => undefined;
  }
});

/** `TARGET_A` and `TARGET_B` are the addresses of the two receivers. */
function start(
  yaml: string,
  more: Partial<Parameters<typeof startNotifications>[0]> = {},
): {
  runtime: Runtime;
  notifications: StartedNotifications;
} {
  const runtime = createRuntime({ tools: [pay, wipe], ledger: createMemoryLedger() });
  const settings = readNotifications(
    `apiVersion: quittance/v1\nkind: Notifications\n${yaml}`,
    'notifications.yaml',
    (name) => ({ A: `${first.url}/a`, B: `${second.url}/b`, SECRET: secret })[name],
  );
  const notifications = startNotifications({
    runtime,
    settings,
    publicUrl: 'https://quittance.test',
    ...more,
  });
  closing.push(
    () => runtime.close(),
    () => notifications.close(),
  );
  return { runtime, notifications };
}

const webhook = `targets:
  audit: { type: webhook, url: '\${A}', secret: '\${SECRET}', allowPrivate: true }
rules:
  - { on: [held, decided, expired, unresolved], tell: [audit] }`;

const hold = (runtime: Runtime, args: Record<string, unknown> = { cents: 5 }, name = 'pay'): void => {
  const turn = runtime.turn({ sessionId: 's', principal: { userId: 'ada' } });
  void turn.call(envelope('c', name, args)).catch(() => undefined);
};

const recorded = async (runtime: Runtime): Promise<readonly EmittedEvent[]> =>
  (await runtime.events.list({ sessionId: 's' })).filter(({ type }) =>
    (type as string).startsWith('notification.'),
  ) as unknown as readonly EmittedEvent[];

describe('a webhook', () => {
  it('gets a signed CloudEvent about a held call, and the ledger records the delivery', async () => {
    const { runtime, notifications } = start(webhook);
    hold(runtime);
    const [message] = await first.waitFor(1);
    const event = JSON.parse(message?.body ?? '');
    expect(event).toMatchObject({
      specversion: '1.0',
      type: 'quittance.call.held',
      source: 'https://quittance.test',
      subject: 's/c',
      data: { toolName: 'pay', sessionId: 's', callId: 'c', owner: 'ada' },
    });
    expect(message?.headers['content-type']).toContain('application/cloudevents+json');
    expect(message?.headers['webhook-id']).toBe(event.id);
    await notifications.caughtUp();
    expect(await recorded(runtime)).toMatchObject([
      { type: 'notification.sent', callId: 'c', data: { id: event.id, target: 'audit', kind: 'held' } },
    ]);
  });

  it('can be checked by its receiver, which refuses changes, copies from the past and other keys', async () => {
    const { runtime } = start(webhook);
    hold(runtime);
    const [{ headers, body } = { headers: {}, body: '' }] = await first.waitFor(1);
    const check = { secret, headers, body, nowMs: Date.now() };
    expect(findWebhookProblem(check)).toBeUndefined();
    expect(findWebhookProblem({ ...check, secret: `whsec_${secret}` })).toBeUndefined();
    expect(findWebhookProblem({ ...check, body: `${body} ` })).toBe('wrong_signature');
    expect(findWebhookProblem({ ...check, secret: Buffer.alloc(32, 8).toString('base64') })).toBe(
      'wrong_signature',
    );
    expect(findWebhookProblem({ ...check, headers: { ...headers, 'webhook-id': 'other' } })).toBe(
      'wrong_signature',
    );
    expect(findWebhookProblem({ ...check, nowMs: Date.now() + 600_000 })).toBe('too_old');
    expect(findWebhookProblem({ ...check, nowMs: Date.now() - 600_000 })).toBe('from_the_future');
    expect(findWebhookProblem({ ...check, headers: {} })).toBe('missing_headers');
    expect(findWebhookProblem({ ...check, nowMs: Number.NaN })).toBe('too_old');
    // A variable that is not set is a key that everyone knows.
    const { 'webhook-id': id = '', 'webhook-timestamp': at = '' } = headers as Record<string, string>;
    const forged = createHmac('sha256', '').update(`${id}.${at}.${body}`).digest('base64');
    const known = { ...headers, 'webhook-signature': `v1,${forged}` };
    expect(findWebhookProblem({ ...check, headers: known, secret: '' })).toBe('wrong_signature');
  });

  it('[secrets-stay-out] gets arguments only if its target says so, and never a hidden value', async () => {
    const { runtime } = start(`targets:
  plain: { type: webhook, url: '\${A}', secret: '\${SECRET}', allowPrivate: true }
  full: { type: webhook, url: '\${B}', secret: '\${SECRET}', allowPrivate: true, sendArguments: true }
rules:
  - { on: [held], tell: [plain, full] }`);
    hold(runtime, { to: 'wyxqthlkmvzu', password: 'kmvzuwyxqthl' });
    const [[plain], [full]] = await Promise.all([first.waitFor(1), second.waitFor(1)]);
    expect(plain?.body).not.toContain('wyxqthlkmvzu');
    expect(JSON.parse(full?.body ?? '').data.arguments.to).toBe('wyxqthlkmvzu');
    expect(full?.body).not.toContain('kmvzuwyxqthl');
  });

  it('[secrets-stay-out] gets masks for ids, names and texts that look like secrets, and no address with them', async () => {
    const leak = `sk-LEAKED${'aB3dE5gH7jK9mN1pQ2sT4vW6yZ8bC0fG'}`;
    const tool = defineTool({ name: `pay_${leak}`, mode: 'local', run: () => 1 });
    const runtime = createRuntime({ tools: [tool], ledger: createMemoryLedger() });
    const settings = readNotifications(
      `apiVersion: quittance/v1
kind: Notifications
targets:
  hook: { type: webhook, url: '${first.url}', secret: '${secret}', allowPrivate: true, sendArguments: true }
  chat: { type: slack, url: '${second.url}', allowPrivate: true, sendArguments: true }
rules:
  - { on: [held, decided], when: { tool: 'pay_*' }, tell: [hook, chat] }`,
      'n.yaml',
      () => undefined,
    );
    const notifications = startNotifications({ runtime, settings, publicUrl: 'https://quittance.test' });
    closing.push(
      () => runtime.close(),
      () => notifications.close(),
    );
    const turn = runtime.turn({ sessionId: `s_${leak}`, principal: { userId: leak } });
    const call = { id: `c_${leak}`, name: tool.name, arguments: { note: leak } };
    void turn.call(call, { attrs: { note: leak } }).catch(() => undefined);
    await Promise.all([first.waitFor(1), second.waitFor(1)]);
    const [question] = (await runtime.confirmations.list({ status: 'pending' })).rows;
    await runtime.confirmations.decide(question?.confirmationId ?? '', { decision: 'deny', by: leak });
    const messages = (await Promise.all([first.waitFor(2), second.waitFor(2)])).flat();
    expect(messages.map(({ body }) => body).join('\n')).not.toContain('LEAKED');
    await notifications.caughtUp();
    const log = await runtime.events.list({ sessionId: `s_${leak}` });
    const records = log.filter(({ type }) => (type as string).startsWith('notification.'));
    expect(records).toHaveLength(4);
    expect(
      JSON.stringify(records.map((record) => ('data' in record ? record.data : undefined))),
    ).not.toContain('LEAKED');
  });

  it('hears who decided', async () => {
    const { runtime } = start(webhook);
    hold(runtime);
    await first.waitFor(1);
    const { rows } = await runtime.confirmations.list({ status: 'pending' });
    const [question] = rows;
    if (question === undefined) throw new Error('no question');
    const { confirmationId, inputDigest } = question;
    await runtime.confirmations.decide(confirmationId, { decision: 'deny', by: 'eve', inputDigest });
    const [, decided] = await first.waitFor(2);
    expect(JSON.parse(decided?.body ?? '')).toMatchObject({
      type: 'quittance.call.decided',
      data: { text: 'eve decided: deny.' },
    });
  });
});

it('a reminder of a rule goes to further targets after a while', async () => {
  const clock = createManualClock();
  const contracts = contractsFromYamlString(`apiVersion: quittance/v1
kind: Ruleset
metadata: { name: shop }
defaults: { mode: enforce }
rules:
  - id: two-people
    type: pre
    tool: pay
    when: { args.cents: { gt: 1 } }
    then: { action: ask, message: 'Pay?', timeout: 86400, approval: { quorum: 2, reminders: [60, 7200] } }`);
  const runtime = createRuntime({ tools: [pay], ledger: createMemoryLedger({ clock }), clock, contracts });
  const settings = readNotifications(
    `apiVersion: quittance/v1
kind: Notifications
targets:
  ops: { type: slack, url: '${first.url}', allowPrivate: true }
  boss: { type: slack, url: '${second.url}', allowPrivate: true }
rules:
  - { on: [reminder], tell: [ops] }
  - { on: [reminder], after: 1h, tell: [boss] }`,
    'n.yaml',
    () => undefined,
  );
  const notifications = startNotifications({ runtime, settings });
  closing.push(
    () => runtime.close(),
    () => notifications.close(),
  );
  hold(runtime);
  await eventually(async () => expect((await runtime.confirmations.list()).rows).toHaveLength(1));
  clock.advance(61_000);
  await first.waitFor(1);
  expect(second.received).toHaveLength(0);
  clock.advance(7_200_000);
  await Promise.all([first.waitFor(2), second.waitFor(1)]);
  expect(second.received[0]?.body).toContain('Still missing: 2 of any approver');
});

describe('a target that fails', () => {
  const two = `targets:
  down: { type: webhook, url: '\${A}', secret: '\${SECRET}', allowPrivate: true }
  up: { type: slack, url: '\${B}', allowPrivate: true }
rules:
  - { on: [held], tell: [down, up] }`;

  it('[nothing-lost] delays no other target, and gets the message under the same id until it takes it', async () => {
    const { runtime, notifications } = start(two);
    first.answerWith(503, 429);
    hold(runtime);
    await second.waitFor(1);
    const tries = await first.waitFor(3);
    expect(new Set(tries.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    // Every repeat says that it may be one.
    expect(tries.map(({ headers }) => Number(headers['quittance-delivery']))).toEqual(
      [0, 1, 2].map((n) => Number(tries[0]?.headers['quittance-delivery']) + n),
    );
    await notifications.caughtUp();
    expect((await recorded(runtime)).map(({ type }) => type)).toEqual([
      'notification.sent',
      'notification.sent',
    ]);
  });

  it('is recorded as undelivered if it refuses the message for good', async () => {
    const { runtime, notifications } = start(two);
    first.answerWith(410);
    hold(runtime);
    await Promise.all([first.waitFor(1), second.waitFor(1)]);
    await notifications.caughtUp();
    const undelivered = (await recorded(runtime)).find(({ type }) => type === 'notification.undelivered');
    expect(undelivered?.data).toMatchObject({ target: 'down', problem: 'status 410' });
  });
});

describe('a chat message', () => {
  it('links to a page that decides nothing by being opened, and carries no right', async () => {
    const { runtime } = start(`targets:
  ops: { type: slack, url: '\${A}', allowPrivate: true }
rules:
  - { on: [held], when: { tool: 'p*', risk: machine, owner: [ada] }, tell: [ops] }`);
    hold(runtime);
    const [message] = await first.waitFor(1);
    const { blocks } = JSON.parse(message?.body ?? '') as { blocks: { elements?: { url: string }[] }[] };
    const url = blocks.flatMap(({ elements = [] }) => elements)[0]?.url ?? '';
    expect(url).toMatch(/^https:\/\/quittance\.test\/decide#./);
    const token = url.slice(url.indexOf('#') + 1);
    await expect(
      runtime.confirmations.decideByLink(token, { decision: 'approve', by: 'Mallory' }),
    ).rejects.toThrow('Sign in to decide with it');
  });

  it('shows hostile names and texts as text: no markup, no mention, no hidden direction', async () => {
    const hostile = '<!channel> *now* <https://evil.test|approve> \u202Egnp.exe';
    const tool = defineTool({ name: 'evil', mode: 'local', displayName: hostile, run: () => 1 });
    const runtime = createRuntime({ tools: [tool], ledger: createMemoryLedger() });
    const settings = readNotifications(
      `apiVersion: quittance/v1
kind: Notifications
targets:
  ops: { type: slack, url: '${first.url}', allowPrivate: true }
  team: { type: teams, url: '${second.url}', allowPrivate: true }
rules:
  - { on: [held], tell: [ops, team] }`,
      'n.yaml',
      () => undefined,
    );
    const notifications = startNotifications({ runtime, settings });
    closing.push(
      () => runtime.close(),
      () => notifications.close(),
    );
    hold(runtime, {}, 'evil');
    const [[slack], [teams]] = await Promise.all([first.waitFor(1), second.waitFor(1)]);
    const said = JSON.parse(slack?.body ?? '') as { text: string; blocks: unknown };
    expect(said.text).not.toContain('<');
    expect(JSON.stringify(said.blocks)).not.toContain('mrkdwn');
    for (const body of [slack?.body ?? '', teams?.body ?? '']) expect(body).not.toContain('\u202E');
    expect(JSON.stringify(JSON.parse(teams?.body ?? ''))).not.toContain('"TextBlock"');
  });
});

describe('a mail', () => {
  it('arrives as plain text, with an id that makes repeats recognisable', async () => {
    const mails: string[] = [];
    const server = new SMTPServer({
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
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    closing.push(() => new Promise((resolve) => server.close(() => resolve(undefined))));
    const { port } = server.server.address() as AddressInfo; // a server on a port has one
    const { runtime } = start(`targets:
  boss:
    { type: email, server: 'smtp://127.0.0.1:${port}', from: bot@quittance.test, to: [boss@quittance.test], allowPrivate: true }
rules:
  - { on: [held], tell: [boss] }`);
    hold(runtime);
    const mail = await eventually(() => {
      if (mails[0] === undefined) throw new Error('no mail yet');
      return mails[0];
    });
    expect(mail).toContain('Subject: Approval needed: pay');
    expect(mail).toMatch(/Message-ID: <[\w.-]+\.boss@127\.0\.0\.1>/);
    expect(mail).toContain('Content-Type: text/plain');
  });
});

describe('an address', () => {
  const read =
    (url: string, more = ''): (() => unknown) =>
    () =>
      readNotifications(
        `apiVersion: quittance/v1
kind: Notifications
targets:
  t: { type: slack, url: '${url}'${more} }
rules:
  - { on: [held], tell: [t] }`,
        'n.yaml',
        () => undefined,
      );

  const readMail =
    (server: string, more = ''): (() => unknown) =>
    () =>
      readNotifications(
        `apiVersion: quittance/v1
kind: Notifications
targets:
  t:
    type: email
    server: '${server}'
    from: q@example.com
    to: [b@example.com]
    ${more}
rules:
  - { on: [held], tell: [t] }`,
        'n.yaml',
        () => undefined,
      );

  it.each([
    'http://example.test/hook',
    'https://10.0.0.1/hook',
    'https://localhost/hook',
    'https://[::1]/hook',
    'https://[::ffff:192.168.0.1]/hook',
    'https://2130706433/hook',
    'https://127.1/hook',
    'https://0x7f.0.0.1/hook',
    'https://0177.0.0.1/hook',
    'https://0/hook',
    'https://localhost./hook',
    'https://a.localhost/hook',
    'https://１２７.0.0.1/hook',
    'https://[64:ff9b::a00:1]/hook',
    'https://[2002:a00:1::]/hook',
    'https://[fe80::1]/hook',
    'https://user:secret@example.test/hook',
    'ftp://example.test/hook',
  ])('is refused unless it is public and encrypted: %s', (url) => {
    expect(read(url)).toThrow('n.yaml:4:');
  });

  it.each(['smtp://127.0.0.1', 'smtps://[::1]', 'smtp://localhost.', 'smtps://[::ffff:10.0.0.1]'])(
    'an address of a mail server is refused unless it is public: %s',
    (server) => {
      expect(readMail(server)).toThrow('n.yaml:6:');
      expect(readMail(server, 'allowPrivate: true')).not.toThrow();
      expect(readMail('smtp://[fe80::1]', 'allowPrivate: true')).toThrow('link-local');
    },
  );

  it.each(['2130706433', '127.1', '0x7f000001', '0177.0.0.1'])(
    'an address of a mail server that only the resolver understands is not reached: %s',
    async (host) => {
      const { runtime } = start(`targets:
  boss: { type: email, server: 'smtp://${host}:9', from: q@example.com, to: [b@example.com] }
rules:
  - { on: [held], tell: [boss] }`);
      hold(runtime);
      await eventually(async () => expect(await recorded(runtime)).toHaveLength(1));
      expect(await recorded(runtime)).toMatchObject([
        {
          type: 'notification.undelivered',
          data: { problem: expect.stringContaining('must not be reached') },
        },
      ]);
    },
  );

  it('an address of a metadata service is refused even if private ones are allowed', () => {
    expect(read('https://169.254.169.254/latest', ', allowPrivate: true')).toThrow('metadata');
  });

  it('an address that turns out to be private when the name is resolved is not reached', async () => {
    const { runtime, notifications } = start(
      `targets:
  rebound: { type: slack, url: 'https://public.example/hook' }
rules:
  - { on: [held], tell: [rebound] }`,
      { lookup: (_name, _options, done) => done(null, [{ address: '127.0.0.1', family: 4 }]) },
    );
    hold(runtime);
    await eventually(async () => expect(await recorded(runtime)).toHaveLength(1));
    await notifications.caughtUp();
    expect(await recorded(runtime)).toMatchObject([
      { type: 'notification.undelivered', data: { problem: expect.stringContaining('must not be reached') } },
    ]);
  });
});

describe('the notifications file', () => {
  it('names every problem with its line', () => {
    const text = `apiVersion: quittance/v1
kind: Notifications
targets:
  Ops: { type: slack, url: '\${MISSING}' }
  b: { type: webhook, url: 'https://b.test', secret: short }
  c: { type: pager }
rules:
  - { on: [helt], tell: [b, d] }
  - { on: [held], after: 1h, tell: [b] }
reminders: 1h`;
    let message = '';
    try {
      readNotifications(text, 'n.yaml', () => undefined);
    } catch (error) {
      message = String(error);
    }
    for (const part of [
      'n.yaml:4:3',
      'MISSING is not set',
      'at least 24 bytes',
      'expected webhook, slack, teams or email',
      'expected held, reminder',
      'No target named "d"',
      'after applies to reminders only',
      'reminders is ',
    ])
      expect(message).toContain(part);
    expect(message).not.toContain('short"');
  });
});
