import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect, it, onTestFinished } from 'vitest';
import { createPeopleRuntime } from '../../../packages/cli/src/people-runtime.ts';
import { openLedger } from '../../../packages/quittance/src/store/open-ledger.ts';
import { tokenFileOptions } from '../../make-token.ts';
import { cliCommand } from '../../run-cli.ts';
import type { RawAnswer } from './raw-server.ts';
import { postModern, startRawServer } from './raw-server.ts';
import { ada, callsIn, effectServer, effectsIn, makeFolder, startGateway } from './start-gateway.ts';

/** Starts `quittance mcp` as clients do, in front of the server with effects. */
async function startProgram(folder: string): Promise<{ client: Client; pid: number }> {
  const entry = effectServer('notes', join(folder, 'effects'));
  if (entry.type !== 'stdio') throw new TypeError('The server runs over stdio.');
  const config = join(folder, 'mcp.json');
  writeFileSync(
    config,
    JSON.stringify({ mcpServers: { notes: { command: entry.command, args: entry.args } } }),
  );
  const ledger = join(folder, 'ledger.db');
  const [command, ...args] = cliCommand(
    'mcp',
    '--observe',
    '--config',
    config,
    '--ledger',
    ledger,
    ...tokenFileOptions(ledger),
  );
  const transport = new StdioClientTransport({ command, args, stderr: 'ignore' });
  const client = new Client({ name: 'agent', version: '1' });
  onTestFinished(() => client.close());
  await client.connect(transport);
  return { client, pid: transport.pid ?? 0 };
}

// one-outcome, no-silent-rerun
it('does not repeat an effect when the gateway is killed in the middle and the client tries again', async () => {
  const folder = makeFolder();
  const file = join(folder, 'effects');
  const first = await startProgram(folder);
  const cut = first.client.callTool({ name: 'create_until_cancelled', arguments: {} });
  cut.catch(() => undefined);
  await expect.poll(() => effectsIn(file)).toContain('waiting');
  process.kill(first.pid, 'SIGKILL');
  await expect(cut).rejects.toThrow('closed');

  const second = await startProgram(folder);
  const again = await second.client.callTool({ name: 'create_until_cancelled', arguments: {} });
  expect(JSON.stringify(again)).toContain('pending');
  const noted = await second.client.callTool({ name: 'create_note', arguments: { text: 'a' } });
  expect(noted.content).toEqual([{ type: 'text', text: 'noted a' }]);
  expect(effectsIn(file).filter((effect) => effect === 'waiting')).toHaveLength(1);
  await second.client.close();

  const ledger = await openLedger(join(folder, 'ledger.db'));
  onTestFinished(() => ledger.close());
  expect(await callsIn(ledger)).toEqual([
    ['create_until_cancelled', 'settled', 'tool.indeterminate'],
    ['create_until_cancelled', 'held'],
    ['create_note', 'settled'],
  ]);
  expect((await createPeopleRuntime(ledger).calls.unresolved()).rows).toHaveLength(1);
});

const withTasks = { extensions: { 'io.modelcontextprotocol/tasks': {} } };

/** Sends a call to `quittance mcp` over its pipes as a client of 2026-07-28, and returns the answer. */
async function callOverPipes(
  folder: string,
  url: URL,
): Promise<{ readonly answer: RawAnswer; readonly kill: () => Promise<void> }> {
  const config = join(folder, 'mcp.json');
  writeFileSync(config, JSON.stringify({ mcpServers: { raw: { type: 'http', url: url.href } } }));
  const ledger = join(folder, 'ledger.db');
  const [command, ...args] = cliCommand(
    'mcp',
    '--observe',
    '--config',
    config,
    '--ledger',
    ledger,
    ...tokenFileOptions(ledger),
  );
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'ignore'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': withTasks,
  };
  const params = { name: 'create_note', arguments: {}, _meta };
  child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })}\n`);
  for await (const line of createInterface({ input: child.stdout })) {
    const message = JSON.parse(line) as RawAnswer & { readonly id?: number };
    if (message.id !== 1) continue;
    const gone = new Promise<void>((resolve) => void child.once('exit', () => resolve()));
    return {
      answer: message,
      kill: () => {
        child.kill('SIGKILL');
        return gone;
      },
    };
  }
  throw new Error('The gateway ended without an answer.');
}

// one-outcome, no-silent-rerun
it('a task whose gateway is killed is unknown to others, works until recovery, and then tells that its end is unknown', async () => {
  const folder = makeFolder();
  const mark = 'kwzvqjhrmtyp';
  const server = await startRawServer(({ method }) => {
    switch (method) {
      case 'tools/list':
        return {
          resultType: 'complete',
          tools: [{ name: 'create_note', inputSchema: { type: 'object', properties: {} } }],
        };
      case 'tools/call':
        return { resultType: 'task', taskId: mark, status: 'working', pollIntervalMs: 50, ttlMs: 60_000 };
      case 'tasks/get':
        return { resultType: 'complete', taskId: mark, status: 'working', pollIntervalMs: 50, ttlMs: 60_000 };
      default:
        return undefined;
    }
  });
  if (server.entry.type !== 'http') throw new TypeError('The server runs over HTTP.');
  const { answer, kill } = await callOverPipes(folder, server.entry.url);
  expect(answer.result).toMatchObject({ resultType: 'task', status: 'working' });
  const taskId = String(answer.result?.['taskId']);
  const { callerId } = JSON.parse(Buffer.from(taskId.split('.')[1] ?? '', 'base64url').toString()) as {
    callerId: string;
  };

  // Another gateway on the same ledger, while the first one lives.
  const ledger = await openLedger(join(folder, 'ledger.db'));
  onTestFinished(() => ledger.close());
  const { gateway, url: others } = await startGateway([server.entry], { ledger, observe: true });
  const { url } = await gateway.listen({
    port: 0,
    access: { type: 'open', caller: { ...ada, id: callerId } },
  });
  const get = (at: string): Promise<RawAnswer> => postModern(at, 'tasks/get', { taskId }, withTasks);
  expect((await get(url)).result).toMatchObject({ status: 'working' });
  expect(await get(others)).toMatchObject({ error: { code: -32_602 } });

  await kill();
  await expect.poll(async () => (await get(url)).result?.['status']).toBe('completed');
  const end = await get(url);
  expect(JSON.stringify(end.result)).toContain('tool.indeterminate');
  expect(JSON.stringify(end)).not.toContain(mark);
  expect(await get(others)).toMatchObject({ error: { code: -32_602 } });
  expect(await callsIn(ledger)).toEqual([['create_note', 'settled', 'tool.indeterminate']]);
  expect(server.received.filter(({ method }) => method === 'tools/call')).toHaveLength(1);
});
