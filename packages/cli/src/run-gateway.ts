/** Runs a gateway in front of MCP servers until it is stopped: for `mcp`, and for `mcp wrap`. */
import { dirname } from 'node:path';
import { isQuittanceError } from 'quittance/internal/base/error';
import type { FileContracts } from 'quittance/internal/contracts/from-yaml';
import type { OpenLedger, Documents } from 'quittance/internal/ledger/ledger';
import type { ConfigTable } from '@quittance/mcp/internal/config/config-document';
import { isTable } from '@quittance/mcp/internal/config/config-document';
import type { GatewayConfig } from '@quittance/server/internal/mcp-reviews/server-entry';
import { readWrapWords } from '@quittance/mcp/internal/config/wrap-arguments';
import type { Caller } from '@quittance/mcp/internal/gateway/client-request';
import { openReviewDocuments } from '@quittance/server/internal/mcp-reviews/review-documents';
import { ToolReviews } from '@quittance/server/internal/mcp-reviews/tool-reviews';
import type { HttpAccess } from '@quittance/mcp/internal/gateway/authenticate';
import { readOAuthRole } from '@quittance/mcp/internal/gateway/auth-role';
import { GatewayBoard } from '@quittance/server/internal/mcp-reviews/gateway-board';
import type { McpGateway } from '@quittance/mcp/internal/gateway/create-gateway';
import { LedgerTokens } from '@quittance/server/internal/http/ledger-tokens';
import type { Tokens } from 'quittance/internal/runtime/tokens';
import { TokenFile, tokenFilePath } from '@quittance/server/internal/http/token-file';
import { openLedger } from 'quittance/internal/store/open-ledger';
import { allClientPaths, signInFile } from './client-configs.ts';
import { credentialFiles } from './server/credentials.ts';
import type { Context, Effect, Given, Options } from './command.ts';
import { makes } from './command.ts';
import type { ExitCode } from './exit-code.ts';
import { exitCodes } from './exit-code.ts';
import { findLedger, ledgerFile } from './find-ledger.ts';
import { needFile } from './load-or-explain.ts';
import { makeFolder } from './make-folder.ts';
import { loadContracts } from './load-contracts.ts';
import { loadQuietHours } from './load-notifications.ts';
import { loadTelemetry } from './load-telemetry.ts';
import { proofOptions } from './proof.ts';
import { readPort } from './read-port.ts';
import { safeJson, terminalText } from './terminal-text.ts';
import { UsageError } from './usage-error.ts';

/** The options of every command that runs a gateway. */
export const gatewayOptions: Options = {
  http: {
    value: 'PORT',
    help: 'Serve clients over HTTP on this port instead of stdio; 0 takes any free port',
  },
  host: { value: 'ADDRESS', help: 'Address to listen on; default: 127.0.0.1' },
  'allow-host': { value: 'NAME', help: 'Additional host name the gateway answers to', multiple: true },
  issuer: {
    value: 'URL',
    help: 'Over HTTP: accept access tokens of this OAuth issuer too',
  },
  resource: {
    value: 'URL',
    help: 'With --issuer: public address of the endpoint, for which tokens are issued',
  },
  grant: {
    value: 'ROLE=CLAIM=VALUE',
    help: 'With --issuer: claim of a token that gives a role, e.g. operator=groups=ops; default: scopes such as quittance:operator',
    multiple: true,
  },
  open: { help: 'Over HTTP on this machine: accept clients without a token' },
  contracts: {
    value: 'FILE',
    help: 'Contract files to apply; reloaded when they change',
    file: true,
    multiple: true,
  },
  'quiet-hours': {
    value: 'FILE',
    help: 'Notifications file; its quiet hours extend the time to decide',
    file: true,
  },
  telemetry: {
    value: 'KIND',
    help: 'Traces and metrics of calls, through the OpenTelemetry SDK that the host loads; default: none',
    choices: ['none', 'opentelemetry'],
  },
  observe: {
    help: 'Run tools that would ask, and record that they would have asked. Needs proof, unless `mcp install --observe` wrote the entry',
  },
  ...proofOptions,
  json: { help: 'With --http: one line of JSON with the address' },
  'console-url': { value: 'URL', help: 'Address of quittance serve, for links to held calls' },
};

/**
 * The effect of a gateway. In observe mode, tools run without the question. That needs proof, unless an admin accepted it
 * for each server when `quittance mcp install --observe` wrote the entries: clients start gateways without a terminal.
 */
export async function gatewayEffect(
  { servers, observe }: GatewayConfig,
  given: Given,
  context: Context,
): Promise<Effect> {
  if (!observe && !given.has('observe')) return makes;
  const ledgerUrl = context.ledgerUrl(given, 'make');
  const accepted = await withObserved(ledgerUrl, (list) => list);
  const keys = servers.map((server) =>
    observedKey(server.name, server.type === 'stdio' ? undefined : server.url.href),
  );
  if (keys.every((key) => accepted.includes(key))) return makes;
  return {
    kind: 'decides',
    role: 'admin',
    byDefault: context.userName,
    ledgerUrls: [ledgerUrl],
    line: 'quittance mcp --config .mcp.json --observe',
    asks: { question: 'Run the tools of these servers without a question?', word: 'observe' },
  };
}

/** Accepts observe mode for the servers of these entries, at the ledger that each names, or ends that. */
export async function setObserved(
  entries: readonly ConfigTable[],
  isAccepted: boolean,
  given: Given,
  context: Context,
): Promise<void> {
  for (const { args, env } of entries) {
    const words = Array.isArray(args) ? readWrapWords(args) : undefined;
    if (words === undefined) continue;
    const { name, ledger, target } = words;
    const variables = isTable(env) ? env : {};
    const url =
      target.type === 'stdio'
        ? undefined
        : String('text' in target.url ? target.url.text : variables[target.url.variable]);
    const ledgerUrl =
      ledger === undefined ? context.ledgerUrl(given, 'make') : findLedger(ledger, undefined, true);
    const file = ledgerFile(ledgerUrl);
    if (file !== undefined) makeFolder(dirname(file), ['quittance mcp install --ledger path/to/ledger.db']);
    const key = observedKey(name, url);
    await withObserved(ledgerUrl, (list) =>
      list.includes(key) === isAccepted
        ? list
        : [...list.filter((each) => each !== key), ...(isAccepted ? [key] : [])],
    );
  }
}

/** A server's name and, for a remote one, the place it is at. */
function observedKey(name: string, url: string | undefined): string {
  if (url === undefined) return name;
  return `${name} ${URL.canParse(url) ? new URL(url).origin : url}`;
}

/** Reads the accepted servers of a ledger, and stores what the function makes of them. */
async function withObserved(
  ledgerUrl: string,
  change: (list: readonly string[]) => readonly string[],
): Promise<readonly string[]> {
  const file = ledgerFile(ledgerUrl);
  const update = async (documents: Documents): Promise<readonly string[]> => {
    for (;;) {
      const { version, text = '[]' } = await documents.read('observed');
      const value: unknown = JSON.parse(text);
      const list = Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];
      const next = change(list);
      if (next === list || (await documents.replace('observed', version, JSON.stringify(next)))) return next;
    }
  };
  if (file !== undefined) return update(openReviewDocuments({}, file));
  const ledger = await openLedger(ledgerUrl);
  try {
    return await update(openReviewDocuments(ledger, file));
  } finally {
    await ledger.close();
  }
}

export async function runGateway(config: GatewayConfig, given: Given, context: Context): Promise<ExitCode> {
  const port = given.has('http') ? readPort(given.text('http')) : undefined;
  checkOpen(given, port);
  checkIssuer(given, port);
  const paths = given.list('contracts');
  for (const path of paths) needFile(path, 'quittance mcp --contracts contracts.yaml');
  const ledgerUrl = context.ledgerUrl(given, 'make');
  const file = ledgerFile(ledgerUrl);
  if (file !== undefined) makeFolder(dirname(file), ['quittance mcp --ledger path/to/ledger.db']);
  const ledger = await openLedger(ledgerUrl);
  const closing: (() => unknown)[] = [() => ledger.close()];
  try {
    const contracts = paths.length === 0 ? undefined : await loadContracts(paths, context.err.say);
    if (contracts !== undefined) closing.push(() => contracts.close());
    const reviews = new ToolReviews(openReviewDocuments(ledger, file), () => ledger.now());
    const board = new GatewayBoard(openReviewDocuments(ledger, file, 'gateways'), ledger, () => ledger.now());
    const gateway = await createGateway(config, given, context, { ledger, contracts, reviews, board });
    closing.push(() => gateway.close());
    const caller: Caller = {
      id: context.userName,
      principal: { userId: context.userName },
      askedBy: context.identity,
      readsOnly: false,
    };
    if (port === undefined) {
      const { stdin, stdout } = process;
      await Promise.race([gateway.serveStdio({ caller, stdin, stdout }), untilStopped(context.signal)]);
      return exitCodes.good;
    }
    const host = given.text('host');
    const access: HttpAccess = given.has('open')
      ? { type: 'open', caller }
      : readAccess(given, openTokens(ledger, file));
    await gateway.start();
    const http = await gateway.listen({
      access,
      port,
      ...(host !== undefined && { host }),
      allowHosts: given.list('allow-host'),
    });
    closing.push(() => http.close());
    await context.out.print(given.has('json') ? safeJson({ url: http.url }) : http.url);
    await context.err.say(
      given.has('open')
        ? 'Every program on this machine can use this address. Press Ctrl-C to stop.'
        : 'Clients need a token: quittance tokens create --role operator. Press Ctrl-C to stop.',
    );
    await untilStopped(context.signal);
  } catch (error) {
    if (isQuittanceError(error, 'config.invalid'))
      throw new UsageError(error.message, ['quittance help mcp']);
    throw error;
  } finally {
    for (const close of closing.toReversed()) await close();
  }
  return exitCodes.good;
}

type GatewayParts = {
  readonly ledger: OpenLedger;
  readonly contracts: FileContracts | undefined;
  readonly reviews: ToolReviews;
  readonly board: GatewayBoard;
};

async function createGateway(
  config: GatewayConfig,
  given: Given,
  context: Context,
  { ledger, contracts, reviews, board }: GatewayParts,
): Promise<McpGateway> {
  // Imported here because no other command needs it and each would wait for it to load.
  const { createMcpGateway } = await import('@quittance/mcp/internal/gateway/create-gateway');
  const { err, version } = context;
  const [consoleUrl, quietHoursFile] = [given.text('console-url'), given.text('quiet-hours')];
  const telemetry = await loadTelemetry(given);
  return createMcpGateway({
    config: { ...config, observe: config.observe || given.has('observe') },
    ledger,
    version,
    reviews,
    board,
    ...(telemetry !== undefined && { telemetry }),
    tokenFile: signInFile(context),
    protectedFiles: {
      readOnly: [
        ...allClientPaths(context),
        ...given.list('config'),
        ...(quietHoursFile ? [quietHoursFile] : []),
      ],
      sealed: [signInFile(context), ...credentialFiles(context.env)],
    },
    ...(contracts !== undefined && { contracts }),
    ...(quietHoursFile !== undefined && { quietHours: loadQuietHours(quietHoursFile) }),
    ...(consoleUrl !== undefined && { consoleUrl }),
    log: (server, line) => void err.say(`[${terminalText(server)}] ${terminalText(line)}`),
  });
}

/** Tokens of the ledger always count. Access tokens of an issuer may count too. */
function readAccess(given: Given, tokens: Tokens): HttpAccess {
  const issuer = given.text('issuer');
  if (issuer === undefined) return { type: 'tokens', tokens };
  const resource = given.text('resource');
  const roles = given.list('grant').map(readOAuthRole);
  return {
    type: 'oauth',
    issuer,
    tokens,
    ...(resource !== undefined && { resource }),
    ...(roles.length > 0 && { roles }),
  };
}

function checkIssuer(given: Given, port: number | undefined): void {
  const about = ['issuer', 'resource', 'grant'].find((name) => given.has(name));
  if (about === undefined) return;
  const example = ['quittance mcp --config mcp.json --http 4748 --issuer https://login.example.com'];
  if (port === undefined) throw new UsageError(`--${about} is about HTTP.`, example);
  if (given.has('open'))
    throw new UsageError(`--open accepts every program, so --${about} has no effect.`, example);
  if (!given.has('issuer')) throw new UsageError(`--${about} needs --issuer.`, example);
}

function checkOpen(given: Given, port: number | undefined): void {
  const host = given.text('host') ?? '127.0.0.1';
  if (!given.has('open')) return;
  if (port === undefined)
    throw new UsageError('--open is about HTTP. Over stdio, the client starts the gateway itself.', [
      'quittance mcp --config mcp.json --http 4748 --open',
    ]);
  if (!/^(?:127\.\d+\.\d+\.\d+|localhost|::1)$/.test(host))
    throw new UsageError(`--open is allowed on this machine only, not on ${host}. Use tokens there.`, [
      'quittance tokens create --role operator',
    ]);
}

const openTokens = (ledger: OpenLedger, file: string | undefined): Tokens => {
  const now = (): number => ledger.now();
  return file === undefined && ledger.documents !== undefined
    ? new LedgerTokens(ledger.documents, now)
    : new TokenFile(file === undefined ? undefined : tokenFilePath(file), now);
};

const untilStopped = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
