/** The command line, started by the shell tool of the agent whose call is held: no spelling of the command decides. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { TokenFile, tokenFilePath } from '../../packages/server/src/http/token-file.ts';
import type { ConfirmationView } from '../../packages/quittance/src/runtime/views.ts';
import { listConfirmations } from '../../packages/quittance/src/runtime/decide-confirmation.ts';
import { openLedger } from '../../packages/quittance/src/store/open-ledger.ts';
import { eventually } from '../eventually.ts';
import { startHost } from './start-host.ts';
import { makeFileToken } from '../make-token.ts';
import { cliCommand, runCli, startCli } from '../run-cli.ts';
import { quoteWord as quote, sitAtTerminal } from '../sit-at-terminal.ts';
import { root } from '../sources.ts';

let folder: string;
let ledger: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'quittance-shell-'));
  ledger = join(folder, 'ledger.db');
});

/** The question as the lists show it. They may be behind the ledger for a moment. */
const readHeld = (): Promise<ConfirmationView> => eventually(readNow);

async function readNow(): Promise<ConfirmationView> {
  const opened = await openLedger(ledger, { readOnly: true });
  try {
    const [view] = (await listConfirmations({ ledger: opened }, {})).rows;
    if (view === undefined) throw new Error('The host holds no call.');
    return view;
  } finally {
    await opened.close();
  }
}

async function approveArguments(): Promise<readonly string[]> {
  const { inputDigest } = await readHeld();
  return ['approve', 'call_refund', '--digest', inputDigest, '--ledger', ledger];
}

const words = (...args: readonly string[]): string =>
  cliCommand(...args)
    .map(quote)
    .join(' ');

describe('a shell that the host started', () => {
  /** The whole program under another name and in another folder. */
  let copy: string;
  beforeAll(() => {
    const place = mkdtempSync(join(tmpdir(), 'quittance-shell-'));
    cpSync(join(root, 'packages/cli'), join(place, 'packages/cli'), { recursive: true });
    cpSync(join(root, 'package.json'), join(place, 'package.json'));
    symlinkSync(join(root, 'node_modules'), join(place, 'node_modules'));
    copy = join(place, 'packages/cli/src/main.ts');
  });

  const spellings: Readonly<Record<string, (command: string, other: string) => string>> = {
    'the command itself': (command) => command,
    'a condition': (command) => `if true; then ${command}; fi`,
    'a loop': (command) => `for each in 1; do ${command} && break; done`,
    env: (command) => `env AGENT= ${command}`,
    'a second shell': (command) => `sh -c ${quote(command)}`,
    'a function': (command) => `decide() { ${command}; }; decide`,
    nohup: (command) => `nohup ${command}`,
    'a session of its own': (command) => `setsid --wait ${command}`,
    'a subshell in the background': (command) => `( ${command} ) & wait $!`,
    'a pipe of confirmations': (command) => `yes | ${command}`,
    xargs: (command) => `echo | xargs ${command}`,
    'a copy of the program': (command, other) =>
      command.replace(quote(cliCommand().at(-1) ?? ''), quote(other)),
    'a symbolic link to the program': (command) => {
      const link = join(folder, 'tool.ts');
      symlinkSync(cliCommand().at(-1) ?? '', link);
      return command.replace(quote(cliCommand().at(-1) ?? ''), quote(link));
    },
    'a terminal that the agent made': (command) => `echo | script -qec ${quote(command)} /dev/null`,
    'a symbolic link to the ledger': (command) => {
      symlinkSync(ledger, join(folder, 'alias.db'));
      return command.replace(quote(ledger), quote(join(folder, 'alias.db')));
    },
  };

  test('cannot decide in any spelling, even with a valid token', async () => {
    const host = await startHost(ledger);
    const token = makeFileToken(ledger, 'approver');
    const approve = `env QUITTANCE_TOKEN=${token} ${words(...(await approveArguments()))}`;
    for (const [name, spell] of Object.entries(spellings)) {
      const { out, err, code } = await host.run(spell(approve, copy));
      expect(`${name}: ${out}${err}`.replaceAll(/\s+/g, ' ')).toContain(
        `Process ${host.pid} (${processName(host.pid)}) started this command and has the ledger open to run calls`,
      );
      // A pseudo terminal, a pipe and xargs have exit codes of their own.
      expect({ name, failed: code !== 0 || name === 'a subshell in the background' }).toMatchObject({
        failed: true,
      });
      expect({ name, ...(await readHeld()) }).toMatchObject({ name, status: 'pending' });
    }
  });

  // `packages/cli/src/effects.test.ts` has the effect of every command. These are one command of each effect.
  test('cannot run a command of any effect that needs proof, and may run one that only reads', async () => {
    const host = await startHost(ledger);
    const token = makeFileToken(ledger, 'admin', 'admin');
    const commands: readonly (readonly string[])[] = [
      ['tokens', 'create', '--name', 'agent', '--role', 'admin'],
      ['grants', 'give', 'refund', '--session', 'ticket-42'],
      ['approve', 'call_refund', '--server', 'http://127.0.0.1:9'],
      ['demo', '--port', '0', '--json'],
    ];
    for (const args of commands) {
      const line = words(...args, '--ledger', ledger);
      const without = await host.run(line);
      expect({ args, ...without }).toMatchObject({ args, out: '' });
      expect({ args, code: without.code }).not.toEqual({ args, code: 0 });
      const { err, out, code } = await host.run(`env QUITTANCE_TOKEN=${token} ${line}`);
      expect({ args, out, code }).toEqual({ args, out: '', code: 1 });
      expect(err).toContain(`Process ${host.pid} (`);
    }
    expect(await readHeld()).toMatchObject({ status: 'pending' });
    expect((await host.run(words('pending', '--json', '--ledger', ledger))).out).toContain('call_refund');
    expect((await host.run(words('tokens', '--json', '--ledger', ledger))).out).toContain('admin');
  });

  test('cannot decide under a second name of the ledger file with tokens of its own', async () => {
    const host = await startHost(ledger);
    const alias = join(folder, 'alias.db');
    execFileSync('ln', [ledger, alias]);
    const { token } = new TokenFile(tokenFilePath(alias), Date.now).create({ name: 'a', role: 'admin' });
    const args = (await approveArguments()).map((word) => (word === ledger ? alias : word));
    const { err, code } = await host.run(`env QUITTANCE_TOKEN=${token} ${words(...args)}`);
    expect({ err, code }).toMatchObject({ err: expect.stringContaining('has several names'), code: 1 });
    expect(await readHeld()).toMatchObject({ status: 'pending' });
  });

  test('differs by its start time from an earlier process with the same id', async () => {
    const host = await startHost(ledger);
    const token = makeFileToken(ledger, 'approver', 'Ada');
    const [name = ''] = readdirSync(`${ledger}.owners`).filter((each) => each.endsWith('.process'));
    const path = join(`${ledger}.owners`, name);
    const [pid, startedAt] = readFileSync(path, 'utf8').trim().split(' ');
    expect(pid).toBe(String(host.pid));
    const approve = `env QUITTANCE_TOKEN=${token} ${words(...(await approveArguments()))}`;
    expect(await host.run(approve)).toMatchObject({ code: 1, out: '' });
    writeFileSync(path, `${pid} ${Number(startedAt) - 1}\n`);
    expect(await host.run(approve)).toMatchObject({ code: 0, err: '' });
  });

  test('cannot decide after it removed the mark of the host or left its process namespace', async () => {
    const host = await startHost(ledger);
    const token = makeFileToken(ledger, 'approver', 'Ada');
    const approve = `env QUITTANCE_TOKEN=${token} ${words(...(await approveArguments()))}`;
    const [name = ''] = readdirSync(`${ledger}.owners`).filter((each) => each.endsWith('.process'));
    const path = join(`${ledger}.owners`, name);
    const mark = readFileSync(path, 'utf8');
    const refused = async (command: string, why: string): Promise<void> => {
      const { out, err, code } = await host.run(command);
      expect({ out, code, err: err.replaceAll(/\s+/g, ' ') }).toMatchObject({
        out: '',
        code: 1,
        err: expect.stringContaining(why),
      });
      expect(await readHeld()).toMatchObject({ status: 'pending' });
    };
    await refused(`rm ${quote(path)}; ${approve}`, 'is missing or cannot be read');
    writeFileSync(path, 'nothing\n');
    await refused(approve, 'is missing or cannot be read');
    // As the command sees it in another namespace: the id of the host means nothing there.
    writeFileSync(path, mark.replace(/^\d+ \d+ pid:\[\d+\]/, '1 1 pid:[1]'));
    await refused(approve, 'is in another process namespace');
    writeFileSync(path, mark);
    if ((await host.run('unshare --user --map-root-user --pid --fork --mount-proc true')).code === 0)
      for (const proc of ['', '--mount-proc'])
        await refused(`unshare --user --map-root-user --pid --fork ${proc} ${approve}`, 'process');
  });

  test('a shell that the host started that is detached is no longer below the host, and then needs a token', async () => {
    const host = await startHost(ledger);
    const token = makeFileToken(ledger, 'approver', 'Ada');
    const args = await approveArguments();
    /** Starts it in the background of a shell that ends, so that init adopts it, and waits for its end. */
    const detach = async (name: string, command: string): Promise<{ code: string; said: string }> => {
      const [said, code] = [join(folder, `${name}.txt`), join(folder, `${name}.code`)];
      const job = `${command} > ${quote(said)} 2>&1 < /dev/null; echo $? > ${quote(`${code}.new`)}; mv ${quote(`${code}.new`)} ${quote(code)}`;
      await host.run(`setsid sh -c ${quote(job)} > /dev/null 2>&1 &`);
      await eventually(() => expect(existsSync(code)).toBe(true));
      return { code: readFileSync(code, 'utf8').trim(), said: readFileSync(said, 'utf8') };
    };
    for (const [name, command] of [
      ['approve', words(...args, '--by', 'Ada')],
      ['token', words('tokens', 'create', '--name', 'x', '--role', 'admin', '--ledger', ledger)],
    ] as const) {
      const { code, said } = await detach(name, command);
      expect({ code, said }).toMatchObject({
        code: '2',
        said: expect.stringContaining('There is no terminal and no token'),
      });
    }
    expect(await readHeld()).toMatchObject({ status: 'pending' });
    const passed = await detach('with-token', `env QUITTANCE_TOKEN=${token} ${words(...args)}`);
    expect(passed).toMatchObject({ code: '0', said: expect.stringMatching(/Approved by Ada \(token /) });
    await eventually(async () =>
      expect(await readNow()).toMatchObject({ status: 'approved', by: { name: 'Ada' } }),
    );
  });
});

const processName = (pid: number): string => readFileSync(`/proc/${pid}/comm`, 'utf8').trim();

describe('a person at a terminal that the host did not start', () => {
  test('approves by typing the beginning of the digest', async () => {
    await startHost(ledger);
    const { inputDigest, confirmationId } = await readHeld();
    const args = ['approve', confirmationId, '--by', 'Ada', '--ledger', ledger];
    for (const wrong of ['yes', 'y', '']) {
      const { out, code } = await sitAtTerminal(args, () => wrong);
      expect({ out, code }).toMatchObject({
        out: expect.stringContaining('No decision was recorded'),
        code: 1,
      });
    }
    expect(await readHeld()).toMatchObject({ status: 'pending' });
    const words: string[] = [];
    const { out, code } = await sitAtTerminal(args, (word) => (words.push(word), word));
    expect({ out, code }).toMatchObject({
      out: expect.stringContaining('Approved by Ada (typed by'),
      code: 0,
    });
    expect(words).toEqual([inputDigest.slice(inputDigest.indexOf(':') + 1).slice(0, 4)]);
    await eventually(async () =>
      expect(await readNow()).toMatchObject({
        status: 'approved',
        by: { name: 'Ada', identity: { kind: 'os_user' } },
      }),
    );
  });

  test('makes the first token, which nothing else can make', async () => {
    const args = ['tokens', 'create', '--name', 'Ada', '--role', 'admin', '--ledger', ledger];
    expect(await runCli(args)).toMatchObject({ code: 2, out: '' });
    expect(await runCli(args, { env: { QUITTANCE_TOKEN: 'qt_guess' } })).toMatchObject({ code: 1, out: '' });
    expect(existsSync(tokenFilePath(ledger))).toBe(false);
    const made = await sitAtTerminal(args, (word) => word);
    expect(made.code).toBe(0);
    const token = /qt_[\w-]+/.exec(made.out)?.[0] ?? '';
    const next = ['tokens', 'create', '--name', 'Ben', '--role', 'approver', '--ledger', ledger];
    const later = await runCli(next, { env: { QUITTANCE_TOKEN: token } });
    expect(later).toMatchObject({ code: 0, out: expect.stringMatching(/^qt_/) });
    const third = ['tokens', 'create', '--name', 'Cy', '--role', 'admin', '--ledger', ledger];
    const refused = await runCli(third, { env: { QUITTANCE_TOKEN: later.out.trim() } });
    expect(refused).toMatchObject({ code: 1, out: '', err: expect.stringContaining('this needs admin') });
  });
});

describe('a server that gives rights or removes evidence', () => {
  const roles = '[{"group":"x","role":"admin"}]';
  const signIn = { issuer: 'http://127.0.0.1:9', client_id: 'q', roles: JSON.parse(roles) as unknown };
  const rules = '[{"older_than":"1s"}]';

  test('starts from an option, a variable or the file only with the token of an admin', async () => {
    const config = join(folder, 'quittance.yaml');
    writeFileSync(config, JSON.stringify({ sign_in: signIn }));
    const options = ['--sign-in-issuer', signIn.issuer, '--sign-in-client-id', 'q', '--sign-in-roles', roles];
    const ways: readonly {
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
    }[] = [
      { args: options, env: {} },
      { args: ['--config', config], env: {} },
      { args: ['--retention-rules', rules], env: {} },
      { args: [], env: { QUITTANCE_RETENTION_RULES: rules } },
    ];
    const approver = makeFileToken(ledger, 'approver');
    for (const { args, env } of ways) {
      const line = ['serve', '--port', '0', '--json', '--ledger', ledger, ...args];
      expect(await runCli(line, { env })).toMatchObject({
        code: 2,
        out: '',
        err: expect.stringContaining('There is no terminal and no token'),
      });
      expect(await runCli(line, { env: { ...env, QUITTANCE_TOKEN: approver } })).toMatchObject({
        code: 1,
        out: '',
        err: expect.stringContaining('this needs admin'),
      });
    }
    const server = startCli(
      ['serve', '--port', '0', '--json', '--ledger', ledger, '--retention-rules', rules],
      {
        env: { QUITTANCE_TOKEN: makeFileToken(ledger) },
      },
    );
    const [ready] = (await once(server.stdout, 'data')) as [Buffer];
    expect(ready.toString()).toContain('"url":"http://127.0.0.1:');
    server.kill('SIGTERM');
    await once(server, 'close');
  });
});

describe('a program with a token', () => {
  test('decides as the token, within its role, from a file that only its owner can read', async () => {
    await startHost(ledger);
    const args = await approveArguments();
    for (const role of ['viewer', 'operator'] as const) {
      const refused = await runCli(args, { env: { QUITTANCE_TOKEN: makeFileToken(ledger, role) } });
      expect(refused).toMatchObject({
        code: 1,
        out: '',
        err: expect.stringContaining(`has the role ${role}, and this needs approver`),
      });
    }
    const path = join(folder, 'secrets', 'token');
    mkdirSync(join(folder, 'secrets'), { mode: 0o700 });
    writeFileSync(path, `${makeFileToken(ledger, 'approver', 'Ada')}\n`, { mode: 0o644 });
    chmodSync(path, 0o644);
    const open = await runCli([...args, '--token-file', path]);
    expect(open).toMatchObject({ code: 2, out: '', err: expect.stringContaining('can be read by others') });
    chmodSync(path, 0o600);
    const other = await runCli([...args, '--token-file', path, '--by', 'Ben']);
    expect(other).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringContaining('--by cannot name "Ben"'),
    });
    const blind = args.filter((word, index) => word !== '--digest' && args[index - 1] !== '--digest');
    expect((await runCli([...blind, '--token-file', path])).err).toContain('--digest is missing');
    expect(await readHeld()).toMatchObject({ status: 'pending' });
    const done = await runCli([...args, '--token-file', path, '--by', 'Ada']);
    expect(done).toMatchObject({ code: 0, err: '', out: expect.stringMatching(/Approved by Ada \(token /) });
    await eventually(async () =>
      expect(await readNow()).toMatchObject({
        status: 'approved',
        by: { name: 'Ada', identity: { kind: 'token', name: 'Ada', via: 'bearer', roles: ['approver'] } },
      }),
    );
  });
});
