/** `quittance doctor` on broken set-ups: each is found, and the remedy is printed. */
import {
  chmodSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createRuntime, defineTool } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { createManualClock } from 'quittance/testing';
import { checkVersions } from '../../packages/cli/src/doctor/check-versions.ts';
import { anchorToText, createAnchor } from '../../packages/quittance/src/ledger/anchor.ts';
import { fillLedger } from '../fill-ledger.ts';
import { sharePostgres } from '../postgres/shared-postgres.ts';
import { runProgramHere } from '../run-program.ts';
import { root } from '../sources.ts';
import { openBare } from '../bare-database.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-doctor-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const good = join(folder, 'good/ledger.db');
beforeAll(async () => {
  mkdirSync(join(folder, 'good'), { mode: 0o700 });
  await fillLedger(good);
});

type Setup = { readonly args?: readonly string[]; readonly env?: Readonly<Record<string, string>> };
type Finding = {
  readonly level: string;
  readonly check: string;
  readonly message: string;
  readonly remedy: string;
};

let copies = 0;
/** A copy of the good ledger that a test may break. */
function copy(): string {
  const at = join(folder, `copy-${++copies}`);
  cpSync(join(folder, 'good'), at, { recursive: true });
  return join(at, 'ledger.db');
}

async function examine({
  args = [],
  env = {},
}: Setup): Promise<{ code: number | null; findings: Finding[] }> {
  const { code, out } = await runProgramHere(['doctor', '--json', ...args], { cwd: folder, env });
  const lines = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Finding & { type: string });
  return { code, findings: lines.filter(({ type }) => type === 'finding') };
}

const file = (name: string, text: string): string => {
  const path = join(folder, name);
  writeFileSync(path, text, { mode: 0o600 });
  return path;
};

type Broken = {
  readonly name: string;
  readonly breaks: () => Setup | Promise<Setup>;
  readonly level: 'problem' | 'warning';
  readonly check: string;
  readonly remedy: RegExp;
};

const roles = '[{ group: a, role: admin }]';

const broken: readonly Broken[] = [
  {
    name: 'a ledger that others can read',
    breaks: () => {
      const path = copy();
      chmodSync(path, 0o644);
      return { args: ['--ledger', path] };
    },
    level: 'problem',
    check: 'permissions',
    remedy: /^chmod 600 .*ledger\.db$/,
  },
  {
    name: 'a seal key that others can read',
    breaks: () => {
      const path = copy();
      chmodSync(`${path}.key`, 0o640);
      return { args: ['--ledger', path] };
    },
    level: 'problem',
    check: 'permissions',
    remedy: /^chmod 600 .*\.key$/,
  },
  {
    name: 'a token file that others can write',
    breaks: () => {
      const path = copy();
      writeFileSync(`${path}.tokens`, '{}');
      chmodSync(`${path}.tokens`, 0o622);
      return { args: ['--ledger', path] };
    },
    level: 'problem',
    check: 'permissions',
    remedy: /^chmod 600 .*\.tokens$/,
  },
  {
    name: 'a file of sign-ins that others can read',
    breaks: () => {
      const path = copy();
      writeFileSync(`${path}.sign-ins`, '{}');
      chmodSync(`${path}.sign-ins`, 0o644);
      return { args: ['--ledger', path] };
    },
    level: 'problem',
    check: 'permissions',
    remedy: /^chmod 600 .*\.sign-ins$/,
  },
  {
    name: 'a folder that others can write',
    breaks: () => {
      const path = copy();
      chmodSync(join(path, '..'), 0o777);
      return { args: ['--ledger', path] };
    },
    level: 'problem',
    check: 'permissions',
    remedy: /^chmod go-w /,
  },
  {
    name: 'a cut seal key',
    breaks: () => {
      const path = copy();
      truncateSync(`${path}.key`, 20);
      return { args: ['--ledger', path] };
    },
    level: 'problem',
    check: 'seal key',
    remedy: /rotate-key --lost/,
  },
  {
    name: 'a missing seal key',
    breaks: () => {
      const path = copy();
      rmSync(`${path}.key`);
      return { args: ['--ledger', path] };
    },
    level: 'warning',
    check: 'seal key',
    remedy: /restore it from your secrets/,
  },
  {
    name: 'another seal key next to the ledger',
    breaks: async () => {
      const path = await makeSealed();
      writeFileSync(`${path}.key`, Buffer.alloc(32, 7));
      return { args: ['--ledger', path] };
    },
    level: 'problem',
    check: 'seal key',
    remedy: /rotate-key --lost/,
  },
  {
    name: 'another seal key in the configuration',
    breaks: async () => {
      const path = await makeSealed();
      const key = file('other.key', 'ab'.repeat(32));
      return {
        args: ['--config', file('key-of-another.yaml', JSON.stringify({ ledger: path, seal_key_file: key }))],
      };
    },
    level: 'problem',
    check: 'seal key',
    remedy: /stop all processes, then run quittance rotate-key --lost/,
  },
  {
    name: 'tokens that cannot be read',
    breaks: () => {
      const path = copy();
      writeFileSync(`${path}.tokens`, '{', { mode: 0o600 });
      return { args: ['--ledger', path] };
    },
    level: 'problem',
    check: 'tokens',
    remedy: /from a backup/,
  },
  {
    name: 'sign-ins that cannot be read',
    breaks: () => {
      const path = copy();
      writeFileSync(`${path}.sign-ins`, 'nothing', { mode: 0o600 });
      return { args: ['--ledger', path] };
    },
    level: 'problem',
    check: 'sign-ins',
    remedy: /sign in again: mv /,
  },
  {
    name: 'a folder instead of a ledger',
    breaks: () => {
      const path = copy();
      rmSync(path);
      mkdirSync(path, { mode: 0o700 });
      return { args: ['--ledger', path] };
    },
    level: 'problem',
    check: 'permissions',
    remedy: /^Name another path, or move it away: mv /,
  },
  {
    name: 'a ledger with damaged pages',
    breaks: () => {
      const path = copy();
      const bytes = readFileSync(path);
      for (let page = 4_096; page < bytes.length; page += 8_192) bytes.fill(0xff, page, page + 4_096);
      writeFileSync(path, bytes);
      return { args: ['--ledger', path] };
    },
    level: 'problem',
    check: 'ledger',
    remedy: /restore a backup that verifies/,
  },
  {
    name: 'a ledger of a newer version',
    breaks: async () => {
      const path = copy();
      const database = openBare(path);
      database.pragma('user_version = 9999');
      database.close();
      return { args: ['--ledger', path] };
    },
    level: 'problem',
    check: 'ledger',
    remedy: /^Update the package/,
  },
  {
    name: 'a port that another program has',
    breaks: async () => {
      const port = await listenElsewhere();
      return { args: ['--config', file('taken.yaml', JSON.stringify({ ledger: good, port }))] };
    },
    level: 'problem',
    check: 'port',
    remedy: /lsof -i/,
  },
  {
    name: 'an address of another machine',
    breaks: () => ({
      args: ['--config', file('host.yaml', JSON.stringify({ ledger: good, port: 4747, host: '192.0.2.1' }))],
    }),
    level: 'problem',
    check: 'port',
    remedy: /^Name an address of this machine/,
  },
  {
    name: 'no ledger',
    breaks: () => ({ args: ['--ledger', join(folder, 'none.db')] }),
    level: 'problem',
    check: 'ledger',
    remedy: /--ledger/,
  },
  {
    name: 'another file instead of a ledger',
    breaks: () => ({
      args: ['--ledger', file('text.db', 'not a database, but long enough to be read as one')],
    }),
    level: 'problem',
    check: 'ledger',
    remedy: /--ledger/,
  },
  {
    name: 'a misspelt key in the configuration',
    breaks: () => ({ args: ['--ledger', good, '--config', file('key.yaml', 'publik_url: https://x')] }),
    level: 'problem',
    check: 'config',
    remedy: /settings\.md/,
  },
  {
    name: 'a configuration that others can write',
    breaks: () => {
      const path = file('open.yaml', 'port: 4747');
      chmodSync(path, 0o666);
      return { args: ['--ledger', good, '--config', path] };
    },
    level: 'problem',
    check: 'config',
    remedy: /^chmod go-w /,
  },
  {
    name: 'a missing configuration',
    breaks: () => ({ args: ['--ledger', good], env: { QUITTANCE_CONFIG: join(folder, 'gone.yaml') } }),
    level: 'problem',
    check: 'config',
    remedy: /--config/,
  },
  {
    name: 'a misspelt variable',
    breaks: () => ({ args: ['--ledger', good], env: { QUITTANCE_PUBLIC_URI: 'x' } }),
    level: 'warning',
    check: 'environment',
    remedy: /QUITTANCE_PUBLIC_URL/,
  },
  {
    name: 'two seal keys in the environment',
    breaks: () => ({
      args: ['--ledger', good],
      env: { QUITTANCE_SEAL_KEY: 'a', QUITTANCE_SEAL_KEY_FILE: 'b' },
    }),
    level: 'problem',
    check: 'seal key',
    remedy: /exactly one/,
  },
  {
    name: 'a public address without TLS',
    breaks: () => ({
      args: ['--ledger', good, '--config', file('tls.yaml', 'public_url: http://q.example.org')],
    }),
    level: 'problem',
    check: 'tls',
    remedy: /TLS proxy/,
  },
  {
    name: 'rules that do not load',
    breaks: () => {
      file('rules.yaml', 'kind: Ruleset\n');
      return { args: ['--ledger', good, '--config', file('rules-config.yaml', 'contracts: rules.yaml')] };
    },
    level: 'problem',
    check: 'contracts',
    remedy: /quittance contracts check/,
  },
  {
    name: 'tools that are not there',
    breaks: () => ({ args: ['--ledger', good, '--config', file('tools-config.yaml', 'tools: none.json')] }),
    level: 'problem',
    check: 'tools',
    remedy: /--tools tools\.json/,
  },
  {
    name: 'a misspelt variable of sign-in',
    breaks: () => ({ args: ['--ledger', good], env: { QUITTANCE_SIGN_IN_ISUER: 'x' } }),
    level: 'warning',
    check: 'environment',
    remedy: /QUITTANCE_SIGN_IN_ISSUER/,
  },
  {
    name: 'a variable that hides a key of the configuration',
    breaks: () => ({
      args: ['--config', file('hidden.yaml', 'ledger: other.db')],
      env: { QUITTANCE_LEDGER: good },
    }),
    level: 'warning',
    check: 'environment',
    remedy: /unset QUITTANCE_LEDGER/,
  },
  {
    name: 'a sign-in without roles',
    breaks: () => ({
      args: [
        '--ledger',
        good,
        '--config',
        file('half.yaml', 'sign_in: { issuer: https://x.example, client_id: q }'),
      ],
    }),
    level: 'problem',
    check: 'server',
    remedy: /--sign-in-roles/,
  },
  {
    name: 'an identity provider that does not answer',
    breaks: () => ({
      args: [
        '--ledger',
        good,
        '--config',
        file('away.yaml', `sign_in: { issuer: 'http://127.0.0.1:1', client_id: q, roles: ${roles} }`),
      ],
    }),
    level: 'problem',
    check: 'sign-in',
    remedy: /curl .*openid-configuration/,
  },
  {
    name: 'an unresolved call',
    breaks: () => ({ args: ['--ledger', good] }),
    level: 'warning',
    check: 'unresolved',
    remedy: /quittance reconcile/,
  },
  {
    name: 'a call held for days, of a process that is gone',
    breaks: async () => ({ args: ['--ledger', await makeHeld(-3)] }),
    level: 'warning',
    check: 'held',
    remedy: /quittance pending/,
  },
  {
    name: 'a clock that was set back',
    breaks: async () => ({ args: ['--ledger', await makeHeld(3)] }),
    level: 'problem',
    check: 'clock',
    remedy: /timedatectl/,
  },
  {
    name: 'an old anchor',
    breaks: () => {
      const anchor = createAnchor([], Date.now() - 30 * 86_400_000);
      return { args: ['--ledger', good, '--anchor', file('old.anchor', anchorToText(anchor))] };
    },
    level: 'warning',
    check: 'anchor',
    remedy: /--write-anchor/,
  },
  {
    name: 'a log that is never merged',
    breaks: () => {
      const path = copy();
      writeFileSync(`${path}-wal`, '');
      truncateSync(`${path}-wal`, 300 * 1_048_576);
      return { args: ['--ledger', path] };
    },
    level: 'warning',
    check: 'log',
    remedy: /lsof/,
  },
];

/** A ledger with a held call that has a hidden input. */
async function makeSealed(): Promise<string> {
  const path = join(folder, `sealed-${++copies}/ledger.db`);
  mkdirSync(join(path, '..'), { mode: 0o700 });
  const ledger = await openLedger(path);
  const input = { type: 'object' } as const;
  const tools = [defineTool({ name: 'delete_all', mode: 'destructive', input, run: () => 1 })];
  const runtime = createRuntime({ tools, ledger });
  const call = { id: 'c', name: 'delete_all', arguments: { password: 'hunter2hunter2' } };
  await runtime.turn({ sessionId: 's' }).submit(call).accepted;
  await runtime.close();
  await ledger.close();
  return path;
}

/** A program that is not ours, on a free port. */
async function listenElsewhere(): Promise<number> {
  const server = createServer((_, response) => response.end('hello'));
  afterAll(() => void server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port; // it listens on a port
}

/** A ledger with a held call that was requested so many days from now. */
async function makeHeld(days: number): Promise<string> {
  const path = join(folder, `held${days}/ledger.db`);
  mkdirSync(join(path, '..'), { mode: 0o700 });
  const clock = createManualClock(Date.now() + days * 86_400_000);
  const ledger = await openLedger(path, { clock });
  const input = { type: 'object' } as const;
  const tools = [defineTool({ name: 'delete_all', mode: 'destructive', input, run: () => 1 })];
  const runtime = createRuntime({ tools, ledger, clock });
  await runtime.turn({ sessionId: 's' }).submit({ id: 'c', name: 'delete_all', arguments: {} }).accepted;
  await runtime.close();
  await ledger.close();
  return path;
}

describe('doctor', () => {
  test.each(broken)('finds $name', async ({ breaks, level, check, remedy }) => {
    const { code, findings } = await examine(await breaks());
    const found = findings.filter((finding) => finding.check === check && finding.level === level);
    expect(found.map((finding) => finding.remedy)).toContainEqual(expect.stringMatching(remedy));
    const hasProblem = findings.some((finding) => finding.level === 'problem');
    expect(code).toBe(hasProblem ? 1 : 0);
  });

  test('prints the remedy under each finding, and nothing else by default', async () => {
    const path = copy();
    chmodSync(`${path}.key`, 0o644);
    const { code, out, err } = await runProgramHere(['doctor', '--ledger', path]);
    expect(code).toBe(1);
    expect(out).toMatch(/^problem {2}permissions\n(?: {2}.*\n)+ {2}→ chmod 600 /m);
    expect(out).not.toContain('ok  ');
    expect(err).toMatch(/^1 problem, 1 warning, \d+ checks passed\.\n$/);
  });

  test('accepts a server that already listens, a key in a variable, and the key that opens', async () => {
    const server = createServer((_, response) => response.end('{"status":"ok","version":"0.1.0"}'));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo; // it listens on a port
    const ledger = await makeSealed();
    const key = readFileSync(`${ledger}.key`).toString('hex');
    rmSync(`${ledger}.key`);
    try {
      const { findings } = await examine({
        args: ['--config', file('running.yaml', JSON.stringify({ ledger, port }))],
        env: { QUITTANCE_SEAL_KEY: key },
      });
      expect(findings.filter(({ level }) => level === 'problem')).toEqual([]);
      expect(findings.map(({ check, level, message }) => [check, level, message])).toEqual(
        expect.arrayContaining([
          ['port', 'ok', `a server listens on 127.0.0.1, port ${port}`],
          ['sealed inputs', 'ok', '1 opened'],
        ]),
      );
      expect(findings.some(({ check }) => check === 'seal key')).toBe(false);
      const named = { ledger, seal_key_file: file('right.key', `${key}\n`) };
      const second = await examine({ args: ['--config', file('named.yaml', JSON.stringify(named))] });
      expect(second.findings.filter(({ level }) => level === 'problem')).toEqual([]);
      expect(second.findings).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ check: 'seal key', level: 'ok' }),
          expect.objectContaining({ check: 'sealed inputs', message: '1 opened' }),
        ]),
      );
    } finally {
      server.close();
    }
  });

  test('passes a good set-up, and --strict fails for warnings', async () => {
    const path = copy();
    expect(await runProgramHere(['doctor', '--ledger', path])).toMatchObject({ code: 0 });
    expect(await runProgramHere(['doctor', '--ledger', path, '--strict'])).toMatchObject({ code: 1 });
  });

  test.each([
    `sign_in: { issuer: 'https://x.example', client_id: q, client_secret_file: none, roles: ${roles} }`,
    `sign_in: { issuer: 'http://x.example', client_id: q, roles: ${roles} }`,
    `sign_in: { issuer: 'https://x.example', client_id: q, scopes: [profile], roles: ${roles} }`,
    'sign_in: { client_id: q }',
    'public_url: ftp://x',
    'public_url: https://x.example/path',
    'trust_proxy: [proxy]',
    'proxy_header: x-real-ip',
    'allow_host: [a/b]',
    'trace_url: https://x.example',
    'console: { currency: euro }',
    'notifications: none.yaml',
    'contracts: none.yaml',
    'tools: none.json',
    'runtime: none.ts',
    'port: 70000',
    'prot: 1',
    'runtime: none.ts\ncontracts: none.yaml',
  ])('reports what the server refuses: %s', async (config) => {
    const path = file('refused.yaml', `ledger: refused.db\n${config}`);
    const served = await runProgramHere(['serve', '--config', path], { cwd: folder });
    expect([served.code, existsSync(join(folder, 'refused.db'))]).toEqual([2, false]);
    const { code, findings } = await examine({ args: ['--config', path] });
    const problems = findings.filter(({ level, check }) => level === 'problem' && check !== 'ledger');
    expect([code, problems.every(({ remedy }) => remedy.length > 10)]).toEqual([1, true]);
    expect(problems).not.toEqual([]);
  });

  test('knows every variable that the program reads', async () => {
    const named = globSync('packages/*/src/**/*.ts', { cwd: root, exclude: ['**/*.test.ts'] }).flatMap(
      (path) =>
        [...readFileSync(join(root, path), 'utf8').matchAll(/\bQUITTANCE_[A-Z_]*[A-Z]\b/g)].map(
          ([name]) => name,
        ),
    );
    expect(named).toContain('QUITTANCE_SERVER');
    const env = Object.fromEntries(named.map((name) => [name, '']));
    const { findings } = await examine({ args: ['--ledger', good], env });
    expect(findings.filter(({ check }) => check === 'environment')).toEqual([]);
  });

  test('names an old or odd version of Node', () => {
    const levelOf = (nodeVersion: string): string | undefined =>
      [...checkVersions('1', 'sqlite', nodeVersion)][0]?.level;
    expect(['22.20.0', '24.15.1', '24.16.0', '25.2.0', '26.0.0'].map(levelOf)).toEqual([
      'problem',
      'problem',
      'ok',
      'warning',
      'ok',
    ]);
  });
});

describe('doctor on PostgreSQL', () => {
  let url: string;
  beforeAll(async () => {
    url = `${(await sharePostgres()).url}?schema=doctor_${process.pid}_${Date.now().toString(36)}`;
  });
  const key = '11'.repeat(32);

  test('finds a schema without a ledger, a wrong key, a wrong address, and settings that lose data', async () => {
    const env = { QUITTANCE_SEAL_KEY: key };
    const empty = await examine({ args: ['--ledger', url], env });
    expect(empty.findings).toContainEqual(
      expect.objectContaining({
        level: 'problem',
        check: 'schema',
        remedy: 'Create its tables: quittance migrate',
      }),
    );
    await (await openLedger(url, { sealKey: Buffer.from(key, 'hex') })).close();
    const good = await examine({ args: ['--ledger', url], env });
    const bad = good.findings.filter(({ level }) => level === 'problem').map(({ check }) => check);
    // The shared server of the tests does not flush.
    expect(bad.filter((check) => check !== 'durability')).toEqual([]);
    expect(good.findings).toContainEqual(expect.objectContaining({ check: 'schema', level: 'ok' }));
    const other = await examine({ args: ['--ledger', url], env: { QUITTANCE_SEAL_KEY: '22'.repeat(32) } });
    expect(other.findings).toContainEqual(
      expect.objectContaining({
        level: 'problem',
        check: 'seal key',
        remedy: expect.stringContaining('same key') as string,
      }),
    );
    const named = async (hex: string) => {
      const config = { ledger: url, seal_key_file: file('named.key', hex) };
      const { findings } = await examine({ args: ['--config', file('pg.yaml', JSON.stringify(config))] });
      return findings.filter(({ check }) => check === 'seal key').map(({ level }) => level);
    };
    expect([await named(key), await named('22'.repeat(32))]).toEqual([['ok'], ['problem']]);
    const options = encodeURIComponent('-c default_transaction_read_only=on -c statement_timeout=5s');
    const limited = await examine({ args: ['--ledger', `${url}&options=${options}`], env });
    expect(limited.findings).toMatchObject(
      expect.arrayContaining([
        expect.objectContaining({ level: 'problem', check: 'writes' }),
        expect.objectContaining({ level: 'warning', check: 'timeouts' }),
      ]) as object,
    );
    const away = await examine({ args: ['--ledger', 'postgres://nobody@127.0.0.1:1/none'], env });
    expect(away.findings).toContainEqual(
      expect.objectContaining({
        level: 'problem',
        check: 'postgres',
        remedy: expect.stringContaining('psql') as string,
      }),
    );
    expect([empty.code, other.code, away.code]).toEqual([1, 1, 1]);
  });
});
