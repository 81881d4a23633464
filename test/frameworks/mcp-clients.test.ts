/** Real MCP clients and servers: the tools of a client, governed, behave like the client's own. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client as ClientV2, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import type { AnyTool, ToolOutcome } from 'quittance';
import { createRuntime, outcomeToModelContent } from 'quittance';
import type { GovernMcpOptions, McpClient } from '@quittance/mcp';
import { governMcp } from '@quittance/mcp';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { startProgram } from '../../conformance/mcp/start-program.ts';
import { compileCache } from './suite/package-arguments.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quittance-mcp-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const { resolve } = createRequire(import.meta.url);
const serverArgs = (name: string, ...args: readonly string[]): string[] => [
  resolve(`@modelcontextprotocol/server-${name}/dist/index.js`),
  ...args,
];
const me = { name: 'quittance-test', version: '1.0.0' };

const sdks = ['v1', 'v2'] as const;

/** A client of either SDK, connected to a program over stdio. */
async function connect(
  sdk: (typeof sdks)[number],
  args: readonly string[],
  env: Record<string, string> = {},
) {
  const program = {
    command: process.execPath,
    args: [...args],
    env: { ...compileCache, ...env },
    stderr: 'ignore' as const,
  };
  if (sdk === 'v1') {
    const client = new ClientV1(me);
    await client.connect(new StdioV1(program));
    onTestFinished(() => client.close());
    return client;
  }
  const client = new ClientV2(me, { versionNegotiation: { mode: 'auto' } });
  await client.connect(new StdioV2(program));
  onTestFinished(() => client.close());
  return client;
}

async function use(client: McpClient, options?: GovernMcpOptions) {
  const tools = await governMcp(client, options);
  const runtime = createRuntime({ tools, treatments: { destructive: 'run', local: 'run' } });
  onTestFinished(() => runtime.close());
  const turn = runtime.turn({ sessionId: 's' });
  let calls = 0;
  const call = (name: string, args: Readonly<Record<string, unknown>> = {}): Promise<ToolOutcome> => {
    calls += 1;
    return turn.call({ id: `c${calls}`, name, arguments: args });
  };
  return { tools, runtime, call };
}

const toolNamed = (tools: readonly AnyTool[], name: string): AnyTool | undefined =>
  tools.find((tool) => tool.name === name);

describe.each(sdks)('with the client of SDK %s', (sdk) => {
  test('server-everything: text, structured content, images, resources, progress and errors', async () => {
    const { call, tools } = await use(await connect(sdk, serverArgs('everything', 'stdio')));
    expect(tools.length).toBeGreaterThan(5);
    expect(await call('echo', { message: 'hi' })).toMatchObject({ output: 'Echo: hi' });
    expect(await call('get-sum', { a: '2', b: 3 })).toMatchObject({
      output: 'The sum of 2 and 3 is 5.',
      wasCoerced: true,
    });
    expect(await call('get-structured-content', { location: 'Chicago' })).toMatchObject({
      output: { temperature: expect.any(Number) as number },
    });
    const image = await call('get-tiny-image');
    expect(image).toMatchObject({ type: 'ToolExecutionResult', files: [{ mimeType: 'image/png' }] });
    const wrong = await call('echo', { text: 1 });
    expect(wrong).toMatchObject({ type: 'ToolDenied', reason: 'validation' });
  });

  test('server-filesystem: a file is written once, read back, and a refused path is a failure', async () => {
    const { call, tools } = await use(await connect(sdk, serverArgs('filesystem', folder)));
    const path = join(folder, 'a.txt');
    expect(await call('write_file', { path, content: 'hello' })).toMatchObject({
      type: 'ToolExecutionResult',
    });
    expect(await readFile(path, 'utf8')).toBe('hello');
    const read = await call('read_text_file', { path });
    expect(JSON.stringify(read)).toContain('hello');
    const refused = await call('read_text_file', { path: '/etc/passwd' });
    expect(refused).toMatchObject({ type: 'ToolFailure', code: 'tool.reported_error' });
    expect(outcomeToModelContent(refused)).toContain('outside allowed directories');
    // The server says so itself, so an untrusted server counts too.
    expect(toolNamed(tools, 'write_file')?.mode).toBe('destructive');
  });

  test('server-filesystem: a large file becomes an artifact that the model reads in pieces', async () => {
    const { call } = await use(await connect(sdk, serverArgs('filesystem', folder)), { textLimit: 20_000 });
    const path = join(folder, 'large.txt');
    await writeFile(path, 'word '.repeat(20_000));
    const outcome = await call('read_text_file', { path });
    if (outcome.type !== 'ToolArtifactReference') throw new Error(JSON.stringify(outcome).slice(0, 500));
    const piece = await call('read_artifact', { artifactId: outcome.artifactId, offset: 50_000, limit: 100 });
    expect(JSON.stringify(piece)).toContain('word word');
  });

  test('server-memory: structured content that the client would check is checked once, by its schema', async () => {
    const client = await connect(sdk, serverArgs('memory'), {
      MEMORY_FILE_PATH: join(folder, 'memory.json'),
    });
    const { call } = await use(client);
    const entities = [{ name: 'Ada', entityType: 'person', observations: ['wrote notes'] }];
    expect(await call('create_entities', { entities })).toMatchObject({ output: { entities } });
    expect(await call('search_nodes', { query: 'Ada' })).toMatchObject({ output: { entities } });
  });

  test('a server that dies in the middle of a write leaves an unknown outcome, and of a read a network error', async () => {
    const program = join(import.meta.dirname, '../mcp/govern/mortal-server.ts');
    const start = () => connect(sdk, ['--conditions=quittance-source', program]);
    const write = await use(await start());
    expect(await write.call('send_money')).toMatchObject({ code: 'tool.indeterminate', retryable: false });
    expect((await write.runtime.calls.unresolved()).rows).toHaveLength(1);
    const read = await use(await start());
    expect(await read.call('get_balance')).toMatchObject({ code: 'tool.network_error', retryable: true });
    // Nothing was sent over the closed connection.
    const again = await read.call('send_money');
    expect(again).toMatchObject({ code: 'tool.network_error', retryable: true });
  });
});

describe('annotations', () => {
  test('lower the risk of a tool only if the host trusts the server', async () => {
    const client = await connect('v2', serverArgs('filesystem', folder));
    const modeOf = async (options: GovernMcpOptions) =>
      toolNamed(await governMcp(client, options), 'directory_tree')?.mode;
    expect(await modeOf({})).toBe('external');
    expect(await modeOf({ trustAnnotations: true })).toBe('read');
    expect(await modeOf({ overrides: { directory_tree: { mode: 'safe_write' } } })).toBe('safe_write');
  });
});

describe.each(['legacy', 'modern'] as const)('a change of the tools, in the %s era', (era) => {
  test('reaches the host, and a changed tool no longer runs', async () => {
    const server = await startProgram(['test/mcp/govern/changing-server.ts', '--eras', era]);
    onTestFinished(() => server.close());
    const client = new ClientV2(me, { versionNegotiation: { mode: 'auto' } });
    await client.connect(new StreamableHTTPClientTransport(new URL(server.url)));
    onTestFinished(() => client.close());
    const changes = Promise.withResolvers<readonly AnyTool[]>();
    const { call } = await use(client, { onToolsChanged: changes.resolve });
    expect(await call('get_note')).toMatchObject({ output: 'a note' });
    await call('change_tools');
    const tools = await changes.promise;
    expect(tools.map(({ name }) => name)).toEqual(['change_tools', 'get_note', 'get_more']);
    const refused = await call('get_note');
    expect(refused).toMatchObject({ type: 'ToolFailure', code: 'tool.reported_error' });
    expect(outcomeToModelContent(refused)).toContain('changed');
    expect(await call('change_tools')).toMatchObject({ type: 'ToolExecutionResult' });
  });
});
