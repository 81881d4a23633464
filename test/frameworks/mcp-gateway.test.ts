/** Real servers behind the gateway, and clients of both generations of the SDK in front of it. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { Client as ClientV2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio';
import { describe, expect, it, onTestFinished } from 'vitest';
import { tokenFileOptions } from '../make-token.ts';
import { cliCommand } from '../run-cli.ts';
import { compileCache } from './suite/package-arguments.ts';

const packages = join(import.meta.dirname, 'node_modules/@modelcontextprotocol');

/** The command of a gateway in front of three real servers. */
function gateway(): { folder: string; command: string; args: string[] } {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-mcp-real-'));
  writeFileSync(join(folder, 'hello.txt'), 'Hello from a file.');
  const server = (name: string, ...args: string[]): object => ({
    command: process.execPath,
    args: [join(packages, `server-${name}`, 'dist/index.js'), ...args],
    env: compileCache,
  });
  const mcpServers = {
    everything: server('everything', 'stdio'),
    files: server('filesystem', folder),
    memory: { ...server('memory'), env: { ...compileCache, MEMORY_FILE_PATH: join(folder, 'memory.json') } },
  };
  const config = join(folder, 'mcp.json');
  writeFileSync(config, JSON.stringify({ mcpServers }));
  const ledger = join(folder, 'ledger.db');
  const [command, ...args] = cliCommand(
    'mcp',
    '--config',
    config,
    '--observe',
    '--ledger',
    ledger,
    ...tokenFileOptions(ledger),
  );
  return { folder, command, args };
}

type Caller = {
  readonly listTools: () => Promise<{ tools: readonly { name: string }[] }>;
  readonly callTool: (call: { name: string; arguments: Record<string, unknown> }) => Promise<unknown>;
};

const clients: readonly [string, (command: string, args: string[]) => Promise<Caller>][] = [
  [
    'SDK v1',
    async (command, args) => {
      const client = new ClientV1({ name: 'v1', version: '1' });
      onTestFinished(() => client.close());
      await client.connect(new StdioV1({ command, args, stderr: 'ignore' }));
      return client;
    },
  ],
  [
    'SDK v2',
    async (command, args) => {
      const client = new ClientV2({ name: 'v2', version: '1' }, { versionNegotiation: { mode: 'auto' } });
      onTestFinished(() => client.close());
      await client.connect(new StdioV2({ command, args, stderr: 'ignore' }));
      return client;
    },
  ],
];

describe.each(clients)('a client of %s', (_, connect) => {
  it('uses server-everything, server-filesystem and server-memory through one gateway', async () => {
    const { folder, command, args } = gateway();
    const client = await connect(command, args);
    const names: string[] = [];
    for (const { name } of (await client.listTools()).tools) names.push(name);
    expect(names).toContain('everything__echo');
    const call = (name: string, given: Record<string, unknown>): Promise<unknown> =>
      client.callTool({ name, arguments: given });
    expect(await call('everything__echo', { message: 'hi' })).toMatchObject({
      content: [{ text: 'Echo: hi' }],
    });
    expect(await call('everything__get-tiny-image', {})).toMatchObject({
      content: expect.arrayContaining([expect.objectContaining({ type: 'image' })]) as unknown,
    });
    expect(await call('files__read_text_file', { path: join(folder, 'hello.txt') })).toMatchObject({
      content: [{ text: 'Hello from a file.' }],
    });
    expect(await call('files__read_text_file', { path: '/etc/passwd' })).toMatchObject({ isError: true });
    const entities = [{ name: 'Ada', entityType: 'person', observations: ['writes programs'] }];
    await call('memory__create_entities', { entities });
    expect(JSON.stringify(await call('memory__search_nodes', { query: 'Ada' }))).toContain('writes programs');
  });
});
