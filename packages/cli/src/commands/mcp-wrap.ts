import { resolve } from 'node:path';
import { invalid } from '@quittance/mcp/internal/config/config-document';
import { noSettings } from '@quittance/mcp/internal/config/quittance-settings';
import { findOAuthSecret } from '@quittance/mcp/internal/config/read-auth';
import { limitsOf, readSettingsFile } from '@quittance/mcp/internal/config/read-mcp-config';
import type { GatewayConfig } from '@quittance/server/internal/mcp-reviews/server-entry';
import { readWrapOptions } from '@quittance/mcp/internal/config/wrap-arguments';
import { readWrappedServer } from '@quittance/mcp/internal/config/wrapped-server';
import type { CliCommand, Context, Given } from '../command.ts';
import { gatewayEffect, gatewayOptions, runGateway } from '../run-gateway.ts';
import { UsageError } from '../usage-error.ts';

const line = 'quittance mcp wrap -- npx -y @modelcontextprotocol/server-filesystem ~/notes';
const urlLine = 'quittance mcp wrap --name sentry --url https://mcp.sentry.dev/mcp --bearer-env SENTRY_TOKEN';

export const mcpWrapCommand: CliCommand = {
  name: 'mcp wrap',
  summary: 'Run a gateway in front of one MCP server',
  takes: '-- <command> [argument…]',
  most: 10_000,
  about: [
    'Write it in the configuration of a client in place of the server. To do so for all servers of a client, use quittance mcp install. The server gets only the variables that --env names, and a few that every program needs.',
    'Secrets do not belong on a command line, because other users of the machine can read it. Use --header-env, --bearer-env and --url-env, which name variables that hold them.',
  ],
  options: {
    name: { value: 'NAME', help: 'Name of the server in records and reviews; default: server' },
    env: { value: 'NAME', help: 'Variable that the server gets', multiple: true },
    'env-file': { value: 'FILE', help: 'File of variables that the server gets', file: true },
    url: { value: 'URL', help: 'Address of a remote server' },
    'url-env': { value: 'NAME', help: 'Variable that holds the address' },
    'header-env': {
      value: 'HEADER=NAME',
      help: 'Header, and the variable that holds its value',
      multiple: true,
    },
    'bearer-env': { value: 'NAME', help: 'Variable that holds a bearer token' },
    sse: { help: 'The remote server speaks the old HTTP+SSE transport' },
    trusted: { help: 'Believe what the server says about the risk of its tools' },
    settings: { value: 'FILE', help: "File with Quittance's own settings", file: true },
    ...gatewayOptions,
  },
  examples: [
    [line, 'a local server'],
    [urlLine, 'a remote server'],
  ],
  effect: async (given, context) => gatewayEffect(await readWrapConfig(given, context), given, context),
  async run(given, context) {
    return runGateway(await readWrapConfig(given, context), given, context);
  },
};

/** The server that the options name. */
export async function readWrapConfig(given: Given, { env }: Context): Promise<GatewayConfig> {
  const wrapped = readWrapOptions(given, given.args);
  if (wrapped === undefined)
    throw new UsageError('Name one server: a command after "--", --url or --url-env.', [line, urlLine]);
  const { name, settings: file, trusted, target } = wrapped;
  const settings = file === undefined ? noSettings : await readSettingsFile(file);
  const own = settings.servers.get(name);
  const problem = (found: string, remedy: string): ReturnType<typeof invalid> =>
    invalid(`The server ${JSON.stringify(name)} ${found} ${remedy}`);
  const oauth = own?.oauth && findOAuthSecret(own.oauth, env, problem);
  const address = readWrappedServer(target, {
    variable: (variable) => env[variable],
    // The client has already replaced its variables.
    expand: (text) => text,
    resolve: (path) => resolve(path),
    allowHttp: settings.allowHttp,
    problem,
  });
  const server = {
    name,
    isTrusted: trusted || own?.trusted === true,
    tools: own?.tools ?? {},
    isDisabled: false,
    ...(own?.onlyFor !== undefined && { onlyFor: own.onlyFor }),
    ...(oauth !== undefined && { oauth }),
    ...address,
  };
  return {
    servers: [server],
    observe: settings.observe || given.has('observe'),
    askInClient: settings.askInClient,
    ...limitsOf(settings),
  };
}
