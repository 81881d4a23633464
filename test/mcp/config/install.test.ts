/** `quittance mcp install` and `uninstall`, as a user runs them. */
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseCommandLine } from '../../../packages/cli/src/command-line.ts';
import type { Context } from '../../../packages/cli/src/command.ts';
import { mcpWrapCommand } from '../../../packages/cli/src/commands/mcp-wrap.ts';
import { changeConfigFile } from '../../../packages/mcp/src/config/config-change.ts';
import type { McpClient } from '../../../packages/cli/src/client-configs.ts';
import { clientPaths } from '../../../packages/cli/src/client-configs.ts';
import { readConfigDocument } from '../../../packages/mcp/src/config/config-document.ts';
import { findAllServers } from '../../../packages/mcp/src/config/server-table.ts';
import { isWrapped } from '../../../packages/mcp/src/config/wrap-entry.ts';
import { makeFileToken } from '../../make-token.ts';
import { confirming, runProgramHere } from '../../run-program.ts';
import { clientFile, secret } from './client-files.ts';

type Home = {
  readonly home: string;
  readonly project: string;
  readonly file: string;
  readonly text: string;
  /** Of an admin. */
  readonly token: string;
};

/** A home with the configuration of one client, where that client looks for it. */
function makeHome(client: McpClient, which: string, place = 0): Home {
  const home = mkdtempSync(join(tmpdir(), 'quittance-home-'));
  const project = join(home, 'shop');
  mkdirSync(project);
  const file = clientPaths(client, { platform: process.platform, home, project, env: {} })[place] ?? '';
  const { text } = clientFile(which);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  const token = makeFileToken(join(home, '.quittance', 'ledger.db'));
  return { home, project, file, text, token };
}

const run = ({ home, project, token }: Home, ...args: string[]) =>
  runProgramHere(args, { cwd: project, env: { HOME: home, QUITTANCE_TOKEN: token } });
const isGoverned = async ({ file }: Home): Promise<boolean> =>
  findAllServers(await readConfigDocument(file)).rows.every(({ entry }) => isWrapped(entry));
const program = ['--program', '/opt/quittance'];

describe.each([
  ['claude-desktop', 'Claude Desktop', 0],
  ['claude-code', 'Claude Code, the file', 0],
  ['claude-code', 'Claude Code, a project', 1],
  ['cursor', 'Cursor', 0],
  ['vscode', 'VS Code', 1],
  ['codex', 'Codex', 0],
  ['copilot', 'Copilot', 0],
] as const)('%s (%s)', (client, which, place) => {
  test('install shows the change, changes the file with --yes, and uninstall restores every byte', async () => {
    const home = makeHome(client, which, place);
    const shown = await run(home, 'mcp', 'install', '--client', client, ...program);
    expect(shown.code).toBe(1);
    expect(shown.err).toContain('add --yes');
    expect(shown.out).toContain('+ command: /opt/quittance');
    expect(shown.out).not.toContain(secret);
    expect(readFileSync(home.file, 'utf8')).toBe(home.text);

    const installed = await run(home, 'mcp', 'install', '--client', client, '--yes', ...program);
    expect(installed).toMatchObject({ code: 0, err: expect.stringContaining('A copy is in') as string });
    expect(installed.out + installed.err).not.toContain(secret);
    expect(await isGoverned(home)).toBe(true);

    const again = await run(home, 'mcp', 'install', '--client', client, '--yes', ...program);
    expect(again).toMatchObject({ code: 0, out: expect.stringContaining('Nothing to change.') as string });

    const unproven = await runProgramHere(['mcp', 'uninstall', '--client', client, '--yes'], {
      cwd: home.project,
      env: { HOME: home.home },
    });
    expect(unproven).toMatchObject({
      code: 2,
      err: expect.stringContaining('There is no terminal and no token') as string,
    });
    expect(await isGoverned(home)).toBe(true);

    const back = await run(home, 'mcp', 'uninstall', '--client', client, '--yes');
    expect(back.code).toBe(0);
    expect(readFileSync(home.file, 'utf8')).toBe(home.text);
  });
});

describe('the file', () => {
  test('may be a link: the link stays, and its target keeps its mode', async () => {
    const home = makeHome('cursor', 'Cursor');
    const target = join(home.home, 'dotfiles.json');
    writeFileSync(target, home.text);
    chmodSync(target, 0o640);
    const link = join(home.home, '.cursor', 'link.json');
    symlinkSync(target, link);
    for (const command of ['install', 'uninstall']) {
      const ran = await run(
        home,
        'mcp',
        command,
        '--config',
        link,
        '--yes',
        ...(command === 'install' ? program : []),
      );
      expect(ran.code).toBe(0);
      expect(lstatSync(link).isSymbolicLink()).toBe(true);
      expect(statSync(target).mode & 0o777).toBe(0o640);
    }
    expect(readFileSync(target, 'utf8')).toBe(home.text);
    expect(readdirSync(home.home).filter((name) => name.includes('quittance-'))).toEqual([]);
  });

  test('is not written if it changed in between', () => {
    const home = makeHome('cursor', 'Cursor');
    const change = {
      file: home.file,
      folder: join(home.home, '.quittance'),
      to: '{}',
      installed: [],
      now: 0,
    };
    expect(() => changeConfigFile({ ...change, from: 'something else' })).toThrow(
      'changed while this program worked',
    );
    expect(readFileSync(home.file, 'utf8')).toBe(home.text);
  });

  test('has a copy that only its owner can read', async () => {
    const home = makeHome('claude-desktop', 'Claude Desktop');
    await run(home, 'mcp', 'install', '--client', 'claude-desktop', '--yes', ...program);
    const folder = join(home.home, '.quittance', 'mcp');
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    const files = readdirSync(folder);
    expect(files.map((name) => statSync(join(folder, name)).mode & 0o777)).toEqual(files.map(() => 0o600));
    const copy = files.find((name) => name.endsWith('.bak')) ?? '';
    expect(readFileSync(join(folder, copy), 'utf8')).toBe(home.text);
  });

  test('is restored after the user edited other parts', async () => {
    const home = makeHome('claude-desktop', 'Claude Desktop');
    await run(home, 'mcp', 'install', '--client', 'claude-desktop', '--yes', ...program);
    writeFileSync(home.file, readFileSync(home.file, 'utf8').replace('Ctrl+Space', 'Alt+Q'));
    await run(home, 'mcp', 'uninstall', '--client', 'claude-desktop', '--yes');
    expect(readFileSync(home.file, 'utf8')).toBe(home.text.replace('Ctrl+Space', 'Alt+Q'));
  });

  test('gets a server that was added later behind the gateway too, and all of them back', async () => {
    const home = makeHome('claude-desktop', 'Claude Desktop');
    const add = (text: string): string =>
      text.replace('"mcpServers": {', '"mcpServers": { "new": { "command": "uvx" },');
    await run(home, 'mcp', 'install', '--client', 'claude-desktop', '--yes', ...program);
    writeFileSync(home.file, add(readFileSync(home.file, 'utf8')));
    await run(home, 'mcp', 'install', '--client', 'claude-desktop', '--yes', ...program);
    expect(await isGoverned(home)).toBe(true);
    await run(home, 'mcp', 'uninstall', '--client', 'claude-desktop', '--yes');
    expect(readFileSync(home.file, 'utf8')).toBe(add(home.text));
  });
});

describe('the command', () => {
  test('gives every entry an absolute ledger, and no password', async () => {
    const home = makeHome('cursor', 'Cursor');
    const observe = ['mcp', 'install', '--client', 'cursor', '--yes', '--observe', ...program];
    const surroundings = { cwd: home.project, env: { HOME: home.home } };
    expect(await runProgramHere(observe, surroundings)).toMatchObject({ code: 2 });
    expect(readFileSync(home.file, 'utf8')).toBe(home.text);
    await runProgramHere(observe, { ...surroundings, readTyped: confirming });
    const [row] = findAllServers(await readConfigDocument(home.file)).rows;
    expect(row?.entry['args']).toEqual([
      ...'mcp wrap --name local-server --ledger'.split(' '),
      join(home.home, '.quittance', 'ledger.db'),
      ...'--observe --env API_KEY -- python ${workspaceFolder}/tools/mcp_server.py --home ${userHome}'.split(
        ' ',
      ),
    ]);
    // Clients start it without a terminal, so the ledger records what was accepted.
    const effectOf = async (args: readonly string[]): Promise<string> => {
      const given = parseCommandLine(mcpWrapCommand, args);
      const ledger = given.text('ledger') ?? '';
      const context = { env: {}, userName: 'ada', ledgerUrl: () => ledger } as unknown as Context; // what it reads
      const { effect } = mcpWrapCommand;
      return (typeof effect === 'function' ? await effect(given, context) : effect).kind;
    };
    const words = ((row?.entry['args'] ?? []) as readonly string[]).slice(2);
    expect(await effectOf(words)).toBe('makes');
    expect(await effectOf(words.map((word) => (word === 'local-server' ? 'other' : word)))).toBe('decides');
    const remote = words.slice(0, words.indexOf('--env'));
    expect(await effectOf([...remote, '--url', 'https://example.com/mcp'])).toBe('decides');
    const uninstall = ['mcp', 'uninstall', '--client', 'cursor', '--yes'];
    await runProgramHere(uninstall, { ...surroundings, readTyped: confirming });
    expect(readFileSync(home.file, 'utf8')).toBe(home.text);
    expect(await effectOf(words)).toBe('decides');
    const url = 'postgres://ada:secret@db/calls';
    const refused = await run(home, 'mcp', 'install', '--client', 'cursor', '--ledger', url, ...program);
    expect(refused).toMatchObject({ code: 2, err: expect.stringContaining('has a password') as string });
  });

  test('says what it cannot govern', async () => {
    const home = makeHome('cursor', 'Cursor');
    writeFileSync(home.file, '{"mcpServers": {"a": {"url": "https://a.b", "auth": {"CLIENT_ID": "x"}}}}');
    const ran = await run(home, 'mcp', 'install', '--client', 'cursor', '--yes', ...program);
    expect(ran.out).toContain('a is left alone and NOT governed: its client signs in by "auth".');
  });

  test('leaves a server alone that the gateway would not start, by the settings that the gateway gets', async () => {
    const home = makeHome('cursor', 'Cursor');
    const text = '{"mcpServers": {"a": {"url": "http://intranet.example/mcp"}}}';
    writeFileSync(home.file, text);
    const install = ['mcp', 'install', '--client', 'cursor', '--yes', ...program];
    expect((await run(home, ...install)).out).toContain(
      'NOT governed: its "url" sends everything unencrypted',
    );
    expect(readFileSync(home.file, 'utf8')).toBe(text);
    const settings = join(home.project, 'quittance.json');
    writeFileSync(settings, '{"allowHttp": ["intranet.example"]}');
    expect((await run(home, ...install, '--settings', settings)).out).not.toContain('NOT governed');
    expect(readFileSync(home.file, 'utf8')).toContain('"--url"');
  });

  test('needs a client with servers, or a file', async () => {
    const home = makeHome('cursor', 'Cursor');
    expect((await run(home, 'mcp', 'install')).err).toContain('Name a client or a configuration file');
    const none = await run(home, 'mcp', 'install', '--client', 'codex');
    expect(none).toMatchObject({
      code: 2,
      err: expect.stringContaining('codex has no servers. Looked in') as string,
    });
  });
});

test('clients have their files in other places on other systems', () => {
  const at = (client: McpClient, platform: NodeJS.Platform, home: string, env = {}): string | undefined =>
    clientPaths(client, { platform, home, project: '/p', env })[0];
  expect([
    at('claude-desktop', 'darwin', '/Users/ada'),
    at('claude-desktop', 'win32', String.raw`C:\Users\ada`, {
      APPDATA: String.raw`C:\Users\ada\AppData\Roaming`,
    }),
    at('claude-desktop', 'linux', '/home/ada'),
    at('vscode', 'darwin', '/Users/ada'),
    at('vscode', 'win32', String.raw`C:\Users\ada`),
    at('vscode', 'linux', '/home/ada', { XDG_CONFIG_HOME: '/x' }),
    at('codex', 'linux', '/home/ada', { CODEX_HOME: '/c' }),
  ]).toEqual([
    '/Users/ada/Library/Application Support/Claude/claude_desktop_config.json',
    String.raw`C:\Users\ada\AppData\Roaming\Claude\claude_desktop_config.json`,
    '/home/ada/.config/Claude/claude_desktop_config.json',
    '/Users/ada/Library/Application Support/Code/User/mcp.json',
    String.raw`C:\Users\ada\AppData\Roaming\Code\User\mcp.json`,
    '/x/Code/User/mcp.json',
    '/c/config.toml',
  ]);
});
