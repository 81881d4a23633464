/** The options of `quittance mcp` and `quittance mcp review`, as a user types them, on a running gateway. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { cliCommand } from '../../run-cli.ts';
import { machineClient, startOidcProvider } from '../../oidc-provider.ts';
import { runInProcess } from '../../run-in-process.ts';
import { effectServer, effectsIn, makeFolder } from './start-gateway.ts';

const resource = 'https://mcp.example.com/mcp';

async function start(ledger: string, config: string, ...options: readonly string[]): Promise<string> {
  const [command, ...args] = cliCommand('mcp', '--config', config, ...options);
  const child = spawn(command, [...args, '--ledger', ledger, '--http', '0', '--json'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const ended = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGTERM');
    await ended;
  });
  for await (const line of createInterface({ input: child.stdout }))
    return (JSON.parse(line) as { url: string }).url;
  throw new Error('The gateway ended before it printed its address.');
}

async function connect(url: string, token: string): Promise<Client> {
  const client = new Client({ name: 'probe', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  onTestFinished(() => client.close());
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  return client;
}

function writeConfig(folder: string, effects: string): string {
  const config = join(folder, 'mcp.json');
  const { name, ...entry } = effectServer('notes', effects);
  const { command, args } = entry as { readonly command: string; readonly args: readonly string[] };
  writeFileSync(config, JSON.stringify({ mcpServers: { [name]: { command, args } } }));
  return config;
}

describe('a gateway over stdio', () => {
  it.each([
    { server: 'a server that works', code: undefined },
    { server: 'a server that never answers', code: 'console.error("up"); process.stdin.resume()' },
  ])('ends when it is asked to, although its client keeps the connection open: $server', async ({ code }) => {
    const folder = makeFolder();
    const server =
      code === undefined
        ? ['--config', writeConfig(folder, join(folder, 'effects'))]
        : ['wrap', '--', process.execPath, '-e', code];
    const [command, ...args] = cliCommand('mcp', ...withLedger(server, join(folder, 'ledger.db')));
    const child = spawn(command, args, { stdio: 'pipe' });
    onTestFinished(() => void child.kill('SIGKILL'));
    const clientInfo = { name: 'probe', version: '1' };
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`);
    await once(code === undefined ? child.stdout : child.stderr, 'data');
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([143, null]);
  });
});

/** Before `--`, after which everything belongs to the server. */
const withLedger = (args: readonly string[], ledger: string): readonly string[] =>
  args[0] === 'wrap' ? ['wrap', '--ledger', ledger, ...args.slice(1)] : [...args, '--ledger', ledger];

describe('on the command line', () => {
  it('--issuer, --resource and --grant let tokens in by a claim; --ask and --block count at once', async () => {
    const [bot, guest] = [machineClient('bot'), machineClient('guest')];
    const provider = await startOidcProvider({
      clients: [bot, guest],
      scopes: [],
      accessClaims: (subject) => ({ groups: subject === 'bot' ? ['ops'] : ['guests'] }),
    });
    onTestFinished(() => provider.close());
    const folder = makeFolder();
    const [ledger, effects] = [join(folder, 'ledger.db'), join(folder, 'effects')];
    const config = writeConfig(folder, effects);
    const options = ['--issuer', provider.issuer, '--resource', resource, '--grant', 'operator=groups=ops'];
    const url = await start(ledger, config, ...options);

    const refused = async (token: string): Promise<string> =>
      connect(url, token).then(
        () => 'connected',
        (error: unknown) => String(error),
      );
    // A token for another address, and one whose claim gives no role.
    expect(await refused(await provider.accessToken(bot, url))).toMatch(/401|nauthorized/);
    expect(await refused(await provider.accessToken(guest, resource))).toMatch(/Insufficient scope/);
    const client = await connect(url, await provider.accessToken(bot, resource));
    const call = async (name: string, given: Record<string, unknown>): Promise<string> =>
      JSON.stringify((await client.callTool({ name, arguments: given })).content);

    const review = (...args: readonly string[]) =>
      runInProcess(['mcp', 'review', ...args], { ledger, answer: () => true });
    const { out } = await review('--json');
    const digests = new Map(
      out
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as Record<string, string>)
        .map(({ tool = '', digest = '' }) => [tool, digest]),
    );
    const digestOf = (tool: string): readonly string[] => ['--digest', digests.get(tool) ?? ''];
    expect(
      await review('--approve', 'notes/get_meta', '--mode', 'read', '--ask', ...digestOf('get_meta')),
    ).toMatchObject({ code: 0, out: 'Approved: notes/get_meta as read. Every call asks.\n' });
    const block = ['--block', 'notes/create_note'];
    for (const args of [
      block,
      [...block, '--ask', ...digestOf('create_note')],
      [...block, '--digest', '000000000000'],
    ])
      expect((await review(...args)).code).not.toBe(0);
    expect(await review(...block, ...digestOf('create_note'))).toMatchObject({ code: 0 });

    await expect
      .poll(async () => (await client.listTools()).tools.map(({ name }) => name))
      .not.toContain('create_note');
    expect(await call('create_note', { text: 'b' })).toContain('blocked');
    expect(await call('get_meta', {})).toContain('pending');
    expect(effectsIn(effects)).toEqual([]);
  });

  it.each([
    [['--issuer', 'https://login.example.com'], '--issuer is about HTTP'],
    [['--http', '0', '--resource', resource], '--resource needs --issuer'],
    [['--http', '0', '--grant', 'operator=groups=ops'], '--grant needs --issuer'],
    [['--http', '0', '--open', '--issuer', 'https://login.example.com'], 'has no effect'],
    [['--http', '0', '--issuer', 'https://login.example.com', '--grant', 'king=groups=ops'], 'king'],
    [['--http', '0', '--issuer', 'https://login.example.com', '--grant', 'operator'], 'operator'],
    [['--http', '0', '--issuer', 'http://login.example.com'], 'unencrypted'],
  ])('%j is refused', async (options, message) => {
    const folder = makeFolder();
    const config = join(folder, 'mcp.json');
    writeFileSync(config, JSON.stringify({ mcpServers: {} }));
    const ran = await runInProcess(['mcp', '--config', config, ...options], {
      ledger: join(folder, 'ledger.db'),
    });
    expect(ran).toMatchObject({ code: 2, err: expect.stringContaining(message) as string });
  });
});
