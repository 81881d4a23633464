/** What a desktop client does with the entry of README.md: it starts the gateway, which starts the server. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const here = import.meta.dirname;
const cli =
  process.env['QUITTANCE_CLI'] ??
  fileURLToPath(import.meta.resolve('quittance/package.json')).replace('package.json', 'dist/cli.js');
const folder = mkdtempSync(join(tmpdir(), 'desktop-mcp-'));
const ledger = join(folder, 'ledger.db');
const quittance = async (...args: readonly string[]): Promise<string> =>
  (await promisify(execFile)(process.execPath, [...process.execArgv, cli, ...args, '--ledger', ledger]))
    .stdout;

test('reads run, a cancelation waits for a person, and a rule blocks', async () => {
  const client = new Client({ name: 'desktop', version: '1.0.0' });
  const node = [...process.execArgv, '--disable-warning=ExperimentalWarning'];
  const gateway = [cli, 'mcp', 'wrap', '--name', 'shop', '--ledger', ledger];
  const rules = [
    '--contracts',
    join(here, 'rules.yaml'),
    '--settings',
    join(here, 'quittance-settings.json'),
  ];
  const server = [process.execPath, '--disable-warning=ExperimentalWarning', join(here, 'shop-server.ts')];
  const args = [...node, ...gateway, ...rules, '--', ...server];
  await client.connect(new StdioClientTransport({ command: process.execPath, args, stderr: 'inherit' }));
  const call = async (name: string, order: string): Promise<string> => {
    const { content } = await client.callTool({ name, arguments: { order } });
    return JSON.stringify(content);
  };
  const { tools } = await client.listTools();
  const nameOf = (end: string): string => tools.find(({ name }) => name.endsWith(end))?.name ?? end;
  try {
    assert.match(await call(nameOf('get_order'), 'A-7'), /shipped/);
    assert.match(await call(nameOf('cancel_order'), 'OLD-1'), /Old orders are closed/);
    const held = call(nameOf('cancel_order'), 'A-7');
    let pending = '';
    while (pending === '') pending = await quittance('pending', '--json');
    const { confirmationId, inputDigest } = JSON.parse(pending) as Record<string, string>;
    await quittance('approve', `${confirmationId}`, '--by', 'Ada', '--digest', `${inputDigest}`);
    // A client that cannot wait gets the name of the call, and asks later.
    assert.match(await held, /canceled|approval|waits/);
    assert.match(await quittance('calls'), /cancel_order/);
  } finally {
    await client.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
