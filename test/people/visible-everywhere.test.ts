/** One hostile value through the real surfaces where people read a question. None shows it as anything but a value. */
import { readNotifications, startNotifications } from '@quittance/server/notifications';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { SMTPServer } from 'smtp-server';
import { expect, onTestFinished, test } from 'vitest';
import { createPeopleRuntime } from '../../packages/cli/src/people-runtime.ts';
import { contractsFromYamlString } from '../../packages/quittance/src/contracts/from-yaml.ts';
import { openLedger } from '../../packages/quittance/src/store/open-ledger.ts';
import { eventually } from '../eventually.ts';
import { makeFolder, startGateway } from '../mcp/gateway/start-gateway.ts';
import { startEffects } from '../mcp/gateway/start-server.ts';
import { openReceiver } from '../notifications/receiver.ts';
import { runInProcess } from '../run-in-process.ts';

const hostile = [
  'large Reason: kwzvqjhrmtyp Reason: kwzvqjhrmtyp Reason: kwzvqjhrmtyp',
  'Approved by: kwzvqjhrmtyp',
  '\r\nReason: kwzvqjhrmtyp',
  '\u2028Tool: kwzvqjhrmtyp',
  '\u001b[2J\u202e\u2066\u200b\u00ad\ufeff"}, "other": "kwzvqjhrmtyp',
  '</b><a href="https://evil.example">kwzvqjhrmtyp</a> [kwzvqjhrmtyp](https://evil.example) <!channel>',
].join('\n');

const invisible =
  // oxlint-disable-next-line no-control-regex -- these are the characters that must not arrive
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/;

/** Every text of a message, without the line ends of its format. */
const textsIn = (value: unknown): readonly string[] =>
  typeof value === 'string'
    ? [value]
    : typeof value === 'object' && value !== null
      ? Object.values(value).flatMap(textsIn)
      : [];

/** Lines that begin like a label. The values of a list stand further to the right. */
const imitatedIn = (text: string): readonly string[] =>
  text.split('\n').filter((line) => /^[>*_|•-]?\s{0,8}"?(?:Approved|Reason|Tool)\b.*: ?kwz/.test(line));

function expectVisible(surface: string, shown: string): void {
  const text = shown.replaceAll('\r\n', '\n');
  expect([surface, invisible.exec(text)?.[0]]).toEqual([surface, undefined]);
  expect([surface, imitatedIn(text)]).toEqual([surface, []]);
  // Nothing is left out silently: a person sees that there is more than words.
  expect([surface, text]).toEqual([surface, expect.stringMatching(/\\u202e/)]);
  // A terminal knows no markup.
  const markup = surface === 'command line' ? null : /<!channel>|<a href|\]\(https/.exec(text);
  expect([surface, markup?.[0]]).toEqual([surface, undefined]);
}

test('[bound-approval] a hostile argument is one visible line for a client, the command line, chat and mail', async () => {
  const { entry } = await startEffects({ tools: { create_note: { ask: 'in_client' } } });
  const path = join(makeFolder(), 'ledger.db');
  const ledger = await openLedger(path);
  onTestFinished(() => ledger.close());
  const contracts = contractsFromYamlString(`apiVersion: edictum/v1
kind: Ruleset
metadata: { name: shop }
defaults: { mode: enforce }
rules:
  - id: large
    type: pre
    tool: create_note
    when: { args.text: { starts_with: large } }
    then: { action: ask, message: 'Note {args.text}?' }`);

  const chat = await openReceiver();
  onTestFinished(() => chat.close());
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
  await new Promise<void>((resolve) => void mailServer.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => new Promise<void>((resolve) => mailServer.close(() => resolve())));
  const { port } = mailServer.server.address() as AddressInfo; // it is on a port
  const settings = readNotifications(
    `apiVersion: quittance/v1
kind: Notifications
targets:
  slack: { type: slack, url: '${chat.url}/slack', allowPrivate: true, sendArguments: true }
  teams: { type: teams, url: '${chat.url}/teams', allowPrivate: true, sendArguments: true }
  mail: { type: email, server: 'smtp://127.0.0.1:${port}', from: q@quittance.test, to: [b@quittance.test], allowPrivate: true, sendArguments: true }
rules:
  - { on: [held], tell: [slack, teams, mail] }`,
    'n.yaml',
    () => undefined,
  );
  const people = createPeopleRuntime(ledger);
  const notifications = startNotifications({
    runtime: people,
    settings,
    publicUrl: 'https://quittance.test',
  });
  onTestFinished(() => notifications.close());

  const { connect } = await startGateway([entry], {
    ledger,
    contracts,
    consoleUrl: 'http://127.0.0.1:4747',
    config: { servers: [entry], observe: false, askInClient: ['large'] },
  });
  const client = await connect('modern', {
    capabilities: { elicitation: { form: {} } },
    inputRequired: { maxRounds: 2 },
  });
  const asked: string[] = [];
  const { promise: decided, resolve: decide } = Promise.withResolvers<void>();
  client.setRequestHandler('elicitation/create', async ({ params }) => {
    asked.push(params.message);
    await decided;
    return { action: 'accept', content: { decision: 'deny' } };
  });
  const calling = client.callTool({ name: 'create_note', arguments: { text: hostile } });
  await eventually(() => expect(asked).toHaveLength(1));
  expectVisible('client', asked[0] ?? '');

  const [question] = (await people.confirmations.list({ status: 'pending' })).rows;
  const pending = await runInProcess(['pending'], { ledger: path });
  expect(pending.out).not.toMatch(invisible);
  const { sessionId = '', callId = '' } = question ?? {};
  const shown = await runInProcess(['show', callId, '--session', sessionId], { ledger: path });
  expect(shown.err).toBe('');
  expectVisible('command line', shown.out);
  // A value chooses where its words wrap.
  for (let columns = 40; columns < 100; columns += 2) {
    const page = await runInProcess(['show', callId, '--session', sessionId], { ledger: path, columns });
    expect([columns, imitatedIn(page.out)]).toEqual([columns, []]);
  }

  const messages = await chat.waitFor(2);
  await eventually(() => expect(mails).toHaveLength(1));
  for (const { path: target, body } of messages)
    expectVisible(`chat ${target}`, textsIn(JSON.parse(body)).join('\n'));
  const [mail = ''] = mails;
  const bytes = mail
    .replaceAll(/=\r?\n/g, '')
    .replaceAll(/=([\dA-F]{2})/g, (_, code: string) => String.fromCodePoint(Number.parseInt(code, 16)));
  const plain = Buffer.from(bytes, 'latin1').toString('utf8');
  expectVisible('mail', plain);
  decide();
  await calling.catch(() => undefined);
});
