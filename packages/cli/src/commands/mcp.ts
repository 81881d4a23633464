import { readMcpConfig } from '@quittance/mcp/internal/config/read-mcp-config';
import type { GatewayConfig } from '@quittance/server/internal/mcp-reviews/server-entry';
import type { CliCommand, Given } from '../command.ts';
import { needFile } from '../load-or-explain.ts';
import { requireOption } from '../require-option.ts';
import { gatewayEffect, gatewayOptions, runGateway } from '../run-gateway.ts';

const line = 'quittance mcp --config .mcp.json';

export const mcpCommand: CliCommand = {
  name: 'mcp',
  summary: 'Run a gateway in front of MCP servers: every tool call is checked, recorded and settled once',
  about: [
    'Reads the configuration of an MCP client: Claude Desktop, Claude Code, Cursor, VS Code or Codex. Serves its servers to one client over stdio, or to many over HTTP. Calls of tools go through the ledger and the contracts; everything else passes through.',
    'Start with --observe to see what would be asked. Held calls are decided with quittance approve, or in the console of quittance serve.',
  ],
  options: {
    config: { value: 'FILE', help: 'Configuration that lists the servers', file: true },
    ...gatewayOptions,
  },
  examples: [
    [line, 'serve one client over stdio'],
    [`${line} --observe`, 'run everything, and record which calls would have asked'],
    [`${line} --http 4748`, 'serve clients with tokens over HTTP'],
  ],
  effect: async (given, context) => gatewayEffect(await readConfig(given), given, context),
  run: async (given, context) => runGateway(await readConfig(given), given, context),
};

async function readConfig(given: Given): Promise<GatewayConfig> {
  const path = requireOption(given, 'config', 'The gateway needs a list of servers', line);
  needFile(path, line);
  return readMcpConfig(path, { env: process.env });
}
