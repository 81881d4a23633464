import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isQuittanceError } from '../../base/error.ts';
import { parseJson } from '../../base/json.ts';
import type { FileContracts } from '../../contracts/from-yaml.ts';
import { contractsFromYaml } from '../../contracts/from-yaml.ts';
import type { HttpServer } from '../../http/create-http-server.ts';
import { toolsFromCatalogue } from '../../http/tool-catalogue.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { createRuntime } from '../../store/memory/create-runtime.ts';
import type { Contracts } from '../../policy/judge/contracts.ts';
import { openLedger } from '../../store/open-ledger.ts';
import type { Runtime } from '../../runtime/create-runtime.ts';
import type { AnyTool } from '../../tool/define-tool.ts';
import type { CliCommand, Context, Given } from '../command.ts';
import { loadOrExplain, needFile } from '../load-or-explain.ts';
import { exitCodes } from '../exit-code.ts';
import { ledgerPath } from '../find-ledger.ts';
import { loadRuntime } from '../load-runtime.ts';
import { makeFolder } from '../make-folder.ts';
import { safeJson, terminalText } from '../terminal-text.ts';
import { UsageError } from '../usage-error.ts';

const line = 'quittance serve --tools tools.json --contracts rules.yaml';

export const serveCommand: CliCommand = {
  name: 'serve',
  summary: 'Serve the ledger over HTTP: the console, and an API for programs',
  about: [
    'Listens on this machine alone and prints one link that logs a browser in, once. Programs use tokens: quittance tokens create. The ledger is made if there is none. Ctrl-C ends it; calls that are held stay held.',
    '--tools names a JSON file of tools that programs in other languages run: {"tools": [{"name", "description", "mode", "input": JSON Schema}]}. They ask the server for a call, run it when it is allowed, and report. --runtime names a module of yours instead, which makes the runtime: export default (ledger) => createRuntime({ tools, contracts, ledger }).',
  ],
  options: {
    host: { value: 'ADDRESS', help: 'Where to listen; 127.0.0.1 unless told' },
    port: { value: 'PORT', help: '4747 unless told; 0 takes any that is free' },
    contracts: {
      value: 'FILE',
      help: 'Rules in force; read again when they change',
      file: true,
      multiple: true,
    },
    tools: { value: 'FILE', help: 'Tools that other programs run, as JSON', file: true },
    runtime: { value: 'FILE', help: 'The module that makes the runtime', file: true },
    name: { value: 'NAME', help: 'Whose decisions they are that are made after logging in with the link' },
    'allow-host': { value: 'NAME', help: 'Another name the server answers under', multiple: true },
    'public-url': { value: 'URL', help: 'Where people reach it, behind a proxy' },
    'trust-proxy': {
      value: 'ADDRESS',
      help: 'A proxy whose word about the address of callers counts, or a network of them',
      multiple: true,
    },
    'proxy-header': { value: 'NAME', help: 'Where it says so: x-forwarded-for unless told, or forwarded' },
    json: { help: 'JSON instead of text: one line with the address, the link and a token for this run' },
  },
  examples: [
    ['quittance serve', 'the console on ./.quittance/ledger.db'],
    [line, 'and tools of programs in other languages, under rules'],
    ['quittance serve --port 0 --json', 'for scripts'],
  ],
  async run(given, context) {
    if (given.has('runtime') && (given.has('contracts') || given.has('tools')))
      throw new UsageError('--runtime brings its own tools and rules.', [
        'quittance serve --runtime runtime.ts',
        line,
      ]);
    const port = readPort(given.text('port'));
    const paths = given.list('contracts');
    for (const path of paths) needFile(path, 'quittance serve --contracts contracts.yaml');
    const ledgerUrl = context.ledgerUrl(given, 'make');
    makeFolder(dirname(ledgerPath(ledgerUrl)), ['quittance serve --ledger path/to/ledger.db']);
    const ledger = await openLedger(ledgerUrl);
    const closing: (() => unknown)[] = [() => ledger.close()];
    try {
      const contracts = paths.length === 0 ? undefined : await loadContracts(paths, context);
      if (contracts !== undefined) closing.push(() => contracts.close());
      const runtime = await makeRuntime(given, ledger, contracts);
      for (const name of ['runtime', 'tools']) {
        const path = given.text(name);
        if (path !== undefined) runtime.protectFiles({ readOnly: [path] });
      }
      closing.push(() => runtime.close());
      const server = await start({ given, context, ledger, ledgerUrl, runtime, port });
      closing.push(() => server.close());
      await announce(server, given, context, ledgerUrl);
      await untilStopped(context.signal);
      if (!given.has('json'))
        await context.err.say('Stopping. Held calls stay held, and the ledger stays where it is.');
    } finally {
      for (const close of closing.toReversed()) await close();
    }
    return exitCodes.good;
  },
};

type Start = {
  readonly given: Given;
  readonly context: Context;
  readonly ledger: Ledger;
  readonly ledgerUrl: string;
  readonly runtime: Runtime;
  readonly port: number;
};

async function start({ given, context, ...more }: Start): Promise<HttpServer> {
  const { contracts } = more.runtime;
  const [host, publicUrl] = [given.text('host'), given.text('public-url')];
  const proxyHeader = readProxyHeader(given.text('proxy-header'));
  // No other command needs it, and they should not wait for it to load.
  const { createHttpServer } = await import('../../http/create-http-server.ts');
  try {
    return await createHttpServer({
      ...more,
      ...(isReadFromFiles(contracts) && { reloadContracts: () => contracts.reload() }),
      ...(host !== undefined && { host }),
      ...(publicUrl !== undefined && { publicUrl }),
      allowHosts: given.list('allow-host'),
      trustProxies: given.list('trust-proxy'),
      ...(proxyHeader !== undefined && { proxyHeader }),
      localName: given.text('name') ?? context.userName,
      consoleFolder: findConsole(),
      version: context.version,
      onError: (error) => {
        const told = error instanceof Error ? (error.stack ?? error.message) : String(error);
        void context.err.print(terminalText(told));
      },
    });
  } catch (error) {
    if (isQuittanceError(error, 'config.invalid'))
      throw new UsageError(error.message, [
        error.facts['port'] === undefined ? 'quittance serve --help' : 'quittance serve --port 0',
      ]);
    throw error;
  }
}

async function announce(
  server: HttpServer,
  given: Given,
  { out, err }: Context,
  ledgerUrl: string,
): Promise<void> {
  const link = server.loginLink() ?? server.url;
  if (given.has('json')) {
    await out.print(safeJson({ url: server.url, link, token: server.token ?? null }));
    return;
  }
  await out.print(link);
  await err.say(
    `Serving ${terminalText(ledgerUrl)}. The link logs one browser in, once, within 15 minutes. Ctrl-C ends it.`,
  );
  if (isOpen(given))
    await err.say(
      'Others can reach this address, and what they send is not encrypted: put a proxy with TLS before it.',
    );
}

/** Whether others than this machine can reach it as it is, or are told to without TLS. */
function isOpen(given: Given): boolean {
  const [host = '127.0.0.1', publicUrl] = [given.text('host'), given.text('public-url')];
  return !/^(?:127\.|localhost$|::1$)/.test(host) || /^http:/i.test(publicUrl ?? '');
}

/** Rules that are put into force again when their files change; a bad one leaves the old ones. */
async function loadContracts(paths: readonly string[], { err }: Context): Promise<FileContracts> {
  await loadOrExplain(paths, {}); // says what is wrong in the words of the command line
  return contractsFromYaml(paths, {
    watch: true,
    onReload: (result) => {
      if (result.ok) void err.say(`New rules are in force: ${result.version.slice(0, 12)}.`);
      else void sayOldRulesStay(result.error, err);
    },
  });
}

/** What is wrong with changed rules may be a list, of a line each. */
export async function sayOldRulesStay(error: unknown, err: Context['err']): Promise<void> {
  const [first = '', ...more] = (error instanceof Error ? error.message : String(error)).split('\n');
  await err.say(`The changed rules cannot be loaded; the old ones stay in force. ${terminalText(first)}`);
  for (const line of more) await err.say(`  ${terminalText(line)}`);
}

async function makeRuntime(
  given: Given,
  ledger: Ledger,
  contracts: FileContracts | undefined,
): Promise<Runtime> {
  const own = given.text('runtime');
  if (own !== undefined) {
    needFile(own, 'quittance serve --runtime runtime.mjs');
    return loadRuntime(own, ledger);
  }
  const tools = readTools(given.text('tools'));
  return createRuntime({ tools, ledger, ...(contracts !== undefined && { contracts }) });
}

const isReadFromFiles = (contracts: Contracts | undefined): contracts is FileContracts =>
  contracts !== undefined && 'reload' in contracts && typeof contracts.reload === 'function';

function readTools(path: string | undefined): readonly AnyTool[] {
  if (path === undefined) return [];
  needFile(path, 'quittance serve --tools tools.json');
  const read = parseJson(readFileSync(path, 'utf8'));
  if (!read.ok) throw new UsageError(`${path} is no JSON: ${read.problem}`, ['quittance help serve']);
  try {
    return toolsFromCatalogue(read.value);
  } catch (error) {
    if (isQuittanceError(error)) throw new UsageError(`${path}: ${error.message}`, ['quittance help serve']);
    throw error;
  }
}

function readProxyHeader(typed: string | undefined): 'x-forwarded-for' | 'forwarded' | undefined {
  const name = typed?.toLowerCase();
  if (name === undefined || name === 'x-forwarded-for' || name === 'forwarded') return name;
  throw new UsageError(`--proxy-header is x-forwarded-for or forwarded; found ${JSON.stringify(typed)}.`, [
    'quittance serve --trust-proxy 127.0.0.1 --proxy-header forwarded',
  ]);
}

export function readPort(typed: string | undefined): number {
  if (typed === undefined) return 4747;
  const port = /^\d{1,5}$/.test(typed) ? Number(typed) : Number.NaN;
  if (!(port <= 65_535))
    throw new UsageError(`--port is a number up to 65535; found ${JSON.stringify(typed)}.`, ['--port 4747']);
  return port;
}

/** Built into the package beside us; where a checkout is run as it is, in its `dist`. */
export function findConsole(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json')) && dirname(folder) !== folder) folder = dirname(folder);
  return join(folder, 'dist', 'console');
}

const untilStopped = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    // A server with nothing to do is still a server: the timer keeps the process there.
    const alive = setInterval(() => undefined, 3_600_000);
    signal.addEventListener(
      'abort',
      () => {
        clearInterval(alive);
        resolve();
      },
      { once: true },
    );
  });
