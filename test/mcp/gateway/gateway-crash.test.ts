import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect, it, onTestFinished } from 'vitest';
import { createPeopleRuntime } from '../../../src/cli/people-runtime.ts';
import { openLedger } from '../../../src/store/open-ledger.ts';
import { tokenFileOptions } from '../../make-token.ts';
import { cliCommand } from '../../run-cli.ts';
import { callsIn, effectServer, effectsIn, makeFolder } from './start-gateway.ts';

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
