import { spawn } from 'node:child_process';
import { readMcpConfig } from '@quittance/mcp/internal/config/read-mcp-config';
import type { HttpAddress, OAuthSetting } from '@quittance/server/internal/mcp-reviews/server-entry';
import { findServerUrlProblem } from '@quittance/mcp/internal/config/server-url';
import { signInFile } from '../client-configs.ts';
import type { CliCommand, Context, Given } from '../command.ts';
import { makes } from '../command.ts';
import type { ExitCode } from '../exit-code.ts';
import { exitCodes } from '../exit-code.ts';
import { needFile } from '../load-or-explain.ts';
import { requireOption } from '../require-option.ts';
import { terminalText } from '../terminal-text.ts';
import { UsageError } from '../usage-error.ts';

const line = 'quittance mcp login github --config .mcp.json';
/** How long the person may take in the browser. */
const patienceMs = 10 * 60_000;

export const mcpLoginCommand: CliCommand = {
  name: 'mcp login',
  summary: 'Sign in at an MCP server, for the gateway',
  takes: '<server>',
  most: 1,
  about: [
    'Opens the page of the issuer that the server names (OAuth 2.1), and stores the tokens in ~/.quittance/mcp/tokens.json, which only you can read. The gateway sends them to the address of this server only, and renews them. A server with "grant": "client_credentials" in its settings needs no browser.',
  ],
  options: {
    config: { value: 'FILE', help: 'Configuration that lists the server', file: true },
    url: { value: 'URL', help: 'Address of the server, instead of a name and a configuration' },
    forget: { help: 'Forget the sign-in' },
    'no-open': { help: 'Show the address only; do not open a browser' },
  },
  examples: [
    [line, 'sign in at a server of a configuration'],
    ['quittance mcp login --url https://mcp.example.com/mcp', 'sign in at an address'],
    [`${line} --forget`, 'remove its tokens from this machine'],
  ],
  effect: makes,
  async run(given, context) {
    const { address, setting, name } = await findServer(given);
    const { UpstreamTokens } = await import('@quittance/mcp/internal/gateway/upstream-tokens');
    const store = new UpstreamTokens(signInFile(context));
    if (given.has('forget')) return forget(store.remove(address.url), name, context);
    const { signInAtServer } = await import('@quittance/mcp/internal/gateway/sign-in');
    const signal = AbortSignal.any([context.signal, AbortSignal.timeout(patienceMs)]);
    await signInAtServer({
      address,
      setting,
      store,
      signal,
      now: context.now,
      onUrl: (url) => {
        void context.err.say(`Sign in at ${terminalText(url.host)}:`);
        void context.out.print(url.href);
        if (!given.has('no-open')) openBrowser(url);
      },
    });
    await context.err.say(`Signed in at ${name}.`);
    return exitCodes.good;
  },
};

async function forget(had: boolean, name: string, { err }: Context): Promise<ExitCode> {
  await err.say(had ? `The sign-in at ${name} is forgotten.` : `There is no sign-in at ${name}.`);
  return had ? exitCodes.good : exitCodes.bad;
}

type Found = {
  readonly address: HttpAddress;
  readonly setting: OAuthSetting | undefined;
  readonly name: string;
};

async function findServer(given: Given): Promise<Found> {
  const [name] = given.args;
  const text = given.text('url');
  if (text !== undefined) {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    const problem = url === undefined ? 'is not a URL' : findServerUrlProblem(url);
    if (url === undefined || problem !== undefined || name !== undefined)
      throw new UsageError(
        name === undefined ? `The address ${problem}.` : 'Give a server or --url, not both.',
        ['quittance mcp login --url https://mcp.example.com/mcp'],
      );
    return { address: { type: 'http', url, headers: {} }, setting: undefined, name: url.host };
  }
  if (name === undefined) throw new UsageError('Name the server to sign in at.', [line]);
  const path = requireOption(given, 'config', 'The command needs the configuration of the server', line);
  needFile(path, line);
  const { servers } = await readMcpConfig(path, { env: process.env });
  const found = servers.find((server) => server.name === name);
  if (found === undefined)
    throw new UsageError(
      `There is no server "${terminalText(name)}". Servers: ${servers.map((server) => terminalText(server.name)).join(', ')}.`,
      [line],
    );
  if (found.type === 'stdio')
    throw new UsageError(`The server "${name}" is a program. Give it its credentials in "env".`, [line]);
  return { address: found, setting: found.oauth, name };
}

/** The address was checked: it is a web page. */
function openBrowser(url: URL): void {
  const commands: Partial<Record<NodeJS.Platform, readonly string[]>> = {
    darwin: ['open'],
    win32: ['rundll32', 'url.dll,FileProtocolHandler'],
  };
  const [command = '', ...args] = commands[process.platform] ?? ['xdg-open'];
  const child = spawn(command, [...args, url.href], { stdio: 'ignore', detached: true });
  child.on('error', () => undefined); // the address is on the terminal
  child.unref();
}
