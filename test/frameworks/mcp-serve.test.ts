/** Real clients of a runtime that is served by `serveMcp`. */
import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client as ClientV2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { expect, onTestFinished, test } from 'vitest';
import { compileCache, packageArguments } from './suite/package-arguments.ts';

const run = promisify(execFile);
const program = [...packageArguments(), join(import.meta.dirname, '../mcp/govern/own-server.ts')];
const me = { name: 'test', version: '1.0.0' };

/**
 * The command of the Inspector reads the manifest of the package around it, which is not installed. So it gets the
 * folders that it expects.
 */
async function installInspector(): Promise<string> {
  const modules = join(import.meta.dirname, 'node_modules');
  const own = join(modules, '@modelcontextprotocol/inspector-cli');
  const folder = await mkdtemp(join(tmpdir(), 'quittance-inspector-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await cp(join(own, 'build'), join(folder, 'cli/build'), { recursive: true });
  await cp(join(own, 'package.json'), join(folder, 'package.json'));
  await cp(join(own, 'package.json'), join(folder, 'cli/package.json'));
  await symlink(join(own, 'node_modules'), join(folder, 'cli/node_modules'));
  await symlink(modules, join(folder, 'node_modules'));
  return join(folder, 'cli/build/index.js');
}

test('the Inspector lists and calls the tools', async () => {
  const inspector = await installInspector();
  const inspect = async (...args: readonly string[]): Promise<unknown> => {
    // It would take options of Node for its own.
    const env = { ...process.env, NODE_OPTIONS: program.slice(0, -1).join(' ') };
    const server = [process.execPath, program.at(-1) ?? ''];
    const { stdout } = await run(process.execPath, [inspector, ...server, ...args], { env });
    return JSON.parse(stdout);
  };
  expect(await inspect('--method', 'tools/list')).toMatchObject({
    tools: [{ name: 'get_sum' }, { name: 'delete_all' }, { name: 'read_artifact' }, { name: 'check_call' }],
  });
  const call = ['--method', 'tools/call', '--tool-name'];
  expect(await inspect(...call, 'get_sum', '--tool-arg', 'a=2', '--tool-arg', 'b=3')).toMatchObject({
    structuredContent: { sum: 5 },
  });
  expect(await inspect(...call, 'delete_all')).toMatchObject({ isError: true });
});

test.each(['v1', 'v2'] as const)(
  'the client of SDK %s calls a tool, and learns that another is held',
  async (sdk) => {
    const started = {
      command: process.execPath,
      args: program,
      env: { ...compileCache },
      stderr: 'ignore' as const,
    };
    const client =
      sdk === 'v1' ? new ClientV1(me) : new ClientV2(me, { versionNegotiation: { mode: 'auto' } });
    await (client instanceof ClientV1
      ? client.connect(new StdioV1(started))
      : client.connect(new StdioV2(started)));
    onTestFinished(() => client.close());
    await client.listTools();
    expect(await client.callTool({ name: 'get_sum', arguments: { a: 2, b: '3' } })).toMatchObject({
      structuredContent: { sum: 5 },
    });
    const held = await client.callTool({ name: 'delete_all', arguments: {} });
    expect(held.isError).toBe(true);
    expect(JSON.stringify(held.content)).toContain('check_call');
  },
);
