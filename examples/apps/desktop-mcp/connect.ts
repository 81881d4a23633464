/** Starts the gateway as a desktop client does: over stdio, and the gateway starts the server. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const here = import.meta.dirname;

export const cli: string =
  process.env['QUITTANCE_CLI'] ?? fileURLToPath(import.meta.resolve('@quittance/cli/main'));

export type Desktop = {
  readonly call: (tool: string, order: string) => Promise<string>;
  /** What became of a call that waited for a person. */
  readonly check: (callId: string) => Promise<string>;
  readonly close: () => Promise<void>;
};

export async function connect(ledger: string): Promise<Desktop> {
  const client = new Client({ name: 'desktop', version: '1.0.0' });
  const node = process.execArgv;
  const gateway = [cli, 'mcp', 'wrap', '--name', 'shop', '--ledger', ledger];
  const rules = [
    '--contracts',
    join(here, 'rules.yaml'),
    '--settings',
    join(here, 'quittance-settings.json'),
  ];
  const server = [process.execPath, join(here, 'shop-server.ts')];
  const args = [...node, ...gateway, ...rules, '--', ...server];
  await client.connect(new StdioClientTransport({ command: process.execPath, args, stderr: 'inherit' }));
  const { tools } = await client.listTools();
  const nameOf = (end: string): string => tools.find(({ name }) => name.endsWith(end))?.name ?? end;
  const callTool = async (tool: string, args: Record<string, string>): Promise<string> => {
    const { content } = await client.callTool({ name: nameOf(tool), arguments: args });
    return content.map((part) => (part.type === 'text' ? part.text : part.type)).join('\n');
  };
  return {
    call: (tool, order) => callTool(tool, { order }),
    check: (callId) => callTool('check_call', { call_id: callId }),
    close: () => client.close(),
  };
}
