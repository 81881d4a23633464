/** Attempts to get a secret stored in plain text: in the ledger, an artifact, or a reply. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { OpenLedger } from 'quittance/store';
import type { JsonObject } from '../../packages/quittance/src/base/json.ts';
import type { AttackClass, Door, Family, Verdict } from './attack-class.ts';
import { attackClass } from './attack-class.ts';

/** A secret only by its position. */
const secret = 'correct-horse-battery';
/** Of a base64 text that contains it, at any offset. */
const traces = [secret, ...[0, 1, 2].map((offset) => base64(`${'x'.repeat(offset)}${secret}`).slice(4, 20))];

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

type Leak = {
  readonly name: string;
  readonly args: JsonObject;
  /** What the tool does with it. By default it returns it. */
  readonly run?: (args: Record<string, unknown>) => unknown;
};

type Place = { readonly folder: string; readonly ledger: OpenLedger };

/** A ledger on disk for the attempts of a class. When it is closed, the class fails if its files hold a secret. */
async function openPlace(door: Door): Promise<Place> {
  const folder = door.newFolder();
  const ledger = await door.ledger.openLedger(join(folder, 'ledger.db'));
  door.onEnd(async () => {
    await ledger.close();
    if (hasSecret(readAll(folder))) throw new Error('The closed ledger holds a secret in plain text.');
  });
  return { folder, ledger };
}

const hasSecret = (text: string): boolean => traces.some((trace) => text.includes(trace));

let attempts = 0;

/** Makes the call in a session of its own, then searches every byte of the folder and every reply. */
async function attempt(
  { args, run = (given) => given }: Leak,
  { folder, ledger }: Place,
  door: Door,
): Promise<Verdict> {
  const sessionId = `s${++attempts}`;
  let reached = false;
  const tool = door.quittance.defineTool({
    name: 'store_it',
    mode: 'external',
    run: (given: unknown) => {
      reached = hasSecret(JSON.stringify(given));
      return run(given as Record<string, unknown>);
    },
  });
  const runtime = door.quittance.createRuntime({ tools: [tool], ledger });
  const outcome = await runtime.turn({ sessionId }).call({ id: 'c', name: 'store_it', arguments: args });
  const told = JSON.stringify([outcome, await runtime.calls.audit({ sessionId })]);
  await runtime.close();
  if (!reached) throw new Error('The tool did not get the secret itself.');
  return hasSecret(told) || hasSecret(readAll(folder)) ? 'through' : 'held';
}

const readAll = (folder: string): string =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile())
    .map((path) => readFileSync(path, 'latin1'))
    .join('\n');

function leakClass(id: string, title: string, attempts: readonly Leak[]): AttackClass {
  let opened: Promise<Place> | undefined;
  return attackClass({
    id,
    title,
    attempts,
    run: async (leak, door) => {
      if (opened === undefined) {
        opened = openPlace(door);
        door.onEnd(async () => void (opened = undefined));
      }
      return attempt(leak, await opened, door);
    },
  });
}

const argumentLists: readonly (readonly string[])[] = [
  ['curl', '-u', `bob:${secret}`, 'https://x'],
  ['curl', `-ubob:${secret}`],
  ['curl', '-H', `X-Api-Key: ${secret}`],
  ['mysql', '-uroot', `-p${secret}`],
  ['sudo', 'mysqldump', `--password=${secret}`],
  ['x', '--db-password', secret],
  ['sshpass', '-p', secret, 'ssh', 'host'],
  ['docker', 'login', '-u', 'bob', '-p', secret],
  ['docker', 'run', '-e', `DB_PASSWORD=${secret}`, 'image'],
  ['aws', 'configure', 'set', 'aws_secret_access_key', secret],
  ['redis-cli', '-a', secret],
  ['bash', '-c', `PGPASSWORD=${secret} psql`],
];

export const secretFamily: Family = {
  title: 'Secrets in what is kept',
  file: 'test/attacks/secret-classes.ts',
  classes: [
    leakClass('secret-repeats', 'a hidden value repeated in another argument', [
      { name: 'as it is', args: { password: secret, note: secret } },
      { name: 'in a sentence', args: { password: secret, note: `use ${secret} please` } },
      { name: 'deep in a list', args: { password: secret, list: [[{ deep: [secret] }]] } },
      { name: 'as a key', args: { password: secret, map: { [secret]: 1 } } },
      { name: 'in a URL', args: { password: secret, url: `https://x/${secret}/y` } },
      { name: 'before its hidden twin', args: { note: `a ${secret}`, token: secret } },
      { name: 'without its scheme', args: { headers: { Authorization: `Bearer ${secret}` }, note: secret } },
      { name: 'taken from a cookie', args: { cookie: `sid=${secret}; a=b`, note: secret } },
      {
        name: 'taken from basic credentials',
        args: { authorization: `Basic ${base64(`bob:${secret}`)}`, note: secret },
      },
    ]),
    leakClass('secret-encodings', 'a hidden value in another encoding', [
      { name: 'base64', args: { password: secret, note: base64(secret) } },
      { name: 'base64 of a longer text', args: { password: secret, note: base64(`user bob:${secret}:x`) } },
      {
        name: 'base64url',
        args: { password: secret, note: Buffer.from(`?${secret}`).toString('base64url') },
      },
      { name: 'JSON in a text', args: { password: secret, note: JSON.stringify({ a: secret }) } },
      { name: 'JSON in JSON', args: { password: secret, note: JSON.stringify(JSON.stringify([secret])) } },
      {
        name: 'an output in hex',
        args: { password: secret },
        run: ({ password }) => ({ hex: Buffer.from(String(password)).toString('hex'), password }),
      },
      {
        name: 'an output in base64',
        args: { password: secret },
        run: ({ password }) => base64(`bob:${String(password)}`),
      },
    ]),
    leakClass(
      'secret-shapes',
      'a secret in a row, a pair or a text',
      [
        { headers: [['Authorization', secret]] },
        { env: [{ name: 'DB_PASSWORD', value: secret }] },
        { Tags: [{ Key: 'client_secret', Value: secret }] },
        { Env: ['A=B', `API_TOKEN=${secret}`] },
        { rawHeaders: ['Host', 'x', 'X-Api-Key', secret] },
        { patch: [{ op: 'add', path: '/user/password', value: secret }] },
        { selector: '#password', text: secret },
        { auth: { user: 'bob', pass: secret } },
        { xml: `<a><password>${secret}</password></a>` },
        { xml: `<add key="ApiKey" value="${secret}"/>` },
        { dsn: `postgres://bob:${secret}@db/x` },
        { connection: `Server=db;Password=${secret};Port=1` },
        { url: `https://x/?access_token=${secret}&y=1` },
        { url: `https://x/?a=1&sig=${secret}` },
        { yaml: `db:\n  password: ${secret}\n` },
        { dotenv: `A=B\nDB_PASS=${secret}\n` },
        { json: JSON.stringify({ a: JSON.stringify({ apiKey: secret }) }) },
        { text: `Set-Cookie: sid=${secret}; HttpOnly` },
      ].map((args) => ({ name: JSON.stringify(args), args })),
    ),
    leakClass(
      'secret-commands',
      'a secret in a command or its arguments',
      argumentLists.flatMap((argv) => [
        { name: `list: ${argv.join(' ')}`, args: { argv: [...argv] } },
        {
          name: `program and list: ${argv.join(' ')}`,
          args: { command: argv[0] as string, args: argv.slice(1) },
        },
        {
          name: `line: ${argv.join(' ')}`,
          args: { command: argv.map((word) => (word.includes(' ') ? `"${word}"` : word)).join(' ') },
        },
      ]),
    ),
  ],
};
