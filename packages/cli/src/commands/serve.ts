import { createRequire } from 'node:module';
import { credentialFiles } from '../server/credentials.ts';
import { dirname, join } from 'node:path';
import { isQuittanceError } from 'quittance/internal/base/error';
import { systemClock } from 'quittance/internal/base/deadlines';
import type { QuietHours } from 'quittance/internal/base/quiet-hours';
import { createQuietTimes } from 'quittance/internal/base/quiet-hours';
import type { FileContracts } from 'quittance/internal/contracts/from-yaml';
import type { HttpServer } from '@quittance/server/internal/http/create-http-server';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import { createRuntime } from 'quittance/internal/store/create-runtime';
import type { Contracts } from 'quittance/internal/policy/judge/contracts';
import { showLedgerUrl, hideUrlPasswords } from 'quittance/internal/store/ledger-url';
import { openLedger } from 'quittance/internal/store/open-ledger';
import type { Runtime } from 'quittance/internal/runtime/create-runtime';
import type { AnyTool } from 'quittance/internal/tool/define-tool';
import { proofOptions, whyNoLogin } from '../proof.ts';
import type { CliCommand, Context, Given } from '../command.ts';
import { exitCodes } from '../exit-code.ts';
import { ledgerFile } from '../find-ledger.ts';
import { loadRuntime } from '../load-runtime.ts';
import { loadTelemetry } from '../load-telemetry.ts';
import { makeFolder } from '../make-folder.ts';
import { loadContracts } from '../load-contracts.ts';
import { readServe } from '../serve/read-serve.ts';
import type { ServerOptions } from '../serve/read-serve.ts';
import { safeJson, terminalText } from '../terminal-text.ts';
import { layerOptions } from '../settings/layered-options.ts';
import { serveSettings } from '../settings/serve-settings.ts';
import { givenWithProof } from '../settings/setting.ts';
import { unknownVariables } from '../settings/unknown-variables.ts';
import { UsageError } from '../usage-error.ts';
import type { RetentionRule } from 'quittance/internal/ledger/removal';
import { applyRetention } from 'quittance/internal/ledger/removal';
import { setTimeout as pause } from 'node:timers/promises';
import { duration } from '../time-text.ts';
import type { Terminal } from '../terminal.ts';

const line = 'quittance serve --tools tools.json --contracts rules.yaml';

const secretFiles = ['sign-in-client-secret-file', 'token-file'];

export const serveCommand: CliCommand = {
  name: 'serve',
  summary: 'Serve the ledger over HTTP: the console, and an API for programs',
  about: [
    'Listens on this machine only. At a terminal, or with a token of an admin, it prints a link that logs in one browser, once. Programs use tokens: quittance tokens create. The ledger is created if it does not exist. Press Ctrl-C to stop; held calls stay held.',
    '--tools names a JSON file of tools that programs in other languages run: {"tools": [{"name", "description", "mode", "input": JSON Schema}]}. They ask the server for a call, run it when it is allowed, and report. --runtime names a module of yours instead, which makes the runtime: export default (ledger, { quietHours }) => createRuntime({ tools, contracts, ledger, quietHours }).',
    'Every option can also be an environment variable (--public-url is QUITTANCE_PUBLIC_URL) or a key of the configuration file (public_url). The command line wins over the environment, and the environment over the file. An unknown key in the file is an error.',
    'Sign-in gives rights, and retention removes evidence. A server with these settings starts only with proof: a person who confirms it at a terminal, or --token-file with a token of an admin.',
  ],
  options: {
    config: {
      value: 'FILE',
      help: 'Settings as YAML or JSON; every option below can be in it. Default: QUITTANCE_CONFIG',
      file: true,
    },
    ...serveSettings,
    ...proofOptions,
  },
  examples: [
    ['quittance serve', 'the console on ./.quittance/ledger.db'],
    [line, 'also serve tools of programs in other languages, under contracts'],
    ['quittance serve --config quittance.yaml --token-file admin.token', 'as a service'],
    [
      'quittance serve --port 0 --json --token-file admin.token',
      'for scripts; without a token, the line has no link',
    ],
  ],
  effect(typed, context) {
    const { given } = layerOptions(typed, context.env, serveSettings);
    readServe(given, context);
    const ledgerUrl = context.ledgerUrl(given, 'make');
    const names = givenWithProof(given, serveSettings);
    if (names.length === 0) return { kind: 'serves', ledgerUrl };
    // Sign-in gives rights and retention removes evidence: to be able to start the server is not enough for them.
    const question = `These settings give rights or remove evidence: ${names.join(', ')}. Serve with them?`;
    return {
      kind: 'decides',
      role: 'admin',
      byDefault: context.userName,
      ledgerUrls: [ledgerUrl],
      line: 'quittance serve',
      asks: { question, word: 'serve' },
    };
  },
  async run(typed, context) {
    const { given, configFile } = layerOptions(typed, context.env, serveSettings);
    const {
      port,
      times,
      rules,
      everyMs,
      notifications: settings,
      tools,
      server: options,
    } = readServe(given, context);
    const paths = given.list('contracts');
    const ledgerUrl = context.ledgerUrl(given, 'make');
    const file = ledgerFile(ledgerUrl);
    if (file !== undefined) makeFolder(dirname(file), ['quittance serve --ledger path/to/ledger.db']);
    const log = createServerLog(context.err, {
      format: given.text('log') === 'json' ? 'json' : 'text',
      level: (given.text('log-level') ?? 'info') as LogLevel, // one of the choices
      now: context.now,
    });
    const noLogin = await whyNoLogin(given, context, ledgerUrl);
    const sealKeyFile = given.text('seal-key-file');
    const ledger = await openLedger(ledgerUrl, sealKeyFile === undefined ? {} : { sealKeyFile });
    const closing: (() => unknown)[] = [() => ledger.close()];
    try {
      const contracts =
        paths.length === 0
          ? undefined
          : await loadContracts(paths, (text) => log.write('info', 'contracts', text));
      if (contracts !== undefined) closing.push(() => contracts.close());
      const runtime = await makeRuntime({
        given,
        tools,
        ledger,
        contracts,
        quietHours: settings?.quietHours ?? [],
      });
      const own = ['runtime', 'tools', 'notifications'].map((name) => given.text(name)).concat(configFile);
      runtime.protectFiles({
        readOnly: own.filter((path) => path !== undefined),
        sealed: [...secretFiles.flatMap((name) => given.list(name)), ...credentialFiles(context.env)],
      });
      closing.push(() => runtime.close());
      // Loaded first: no call may arrive between the start of the server and that of the notifications.
      const sending =
        settings && (await import('@quittance/server/internal/notifications/start-notifications'));
      const { localName: _, ...others } = options;
      const server = await start({
        options: noLogin === undefined ? options : others,
        context,
        ledger,
        ledgerUrl,
        runtime,
        port,
        log,
      });
      closing.push(() => server.close());
      if (settings !== undefined && sending !== undefined) {
        const publicUrl = (given.text('public-url') ?? server.url).replace(/\/+$/, '');
        const notifications = sending.startNotifications({ runtime, settings, publicUrl });
        closing.push(() => notifications.close());
      } else {
        const { ReminderClock } = await import('@quittance/server/internal/notifications/reminder-clock');
        const times = { clock: systemClock, quietTimes: createQuietTimes([]), remindAfterMs: [] };
        const reminders = new ReminderClock({ runtime, ...times });
        closing.push(() => reminders.close());
      }
      closing.push(runRetention(ledger, rules, everyMs, log));
      await announce(server, given, context, { ledgerUrl, log, noLogin });
      await untilStopped(context.signal);
      if (!(await stopServer(server, runtime, times, log))) context.endNow?.(exitCodes.broken);
    } finally {
      for (const close of closing.toReversed()) await close();
    }
    return exitCodes.good;
  },
};

type Start = {
  readonly options: ServerOptions;
  readonly context: Context;
  readonly ledger: OpenLedger;
  readonly ledgerUrl: string;
  readonly runtime: Runtime;
  readonly port: number;
  readonly log: ServerLog;
};

async function start({ options, context, log, ...more }: Start): Promise<HttpServer> {
  const { contracts } = more.runtime;
  // Imported here because no other command needs it and each would wait for it to load.
  const { createHttpServer } = await import('@quittance/server/internal/http/create-http-server');
  try {
    return await createHttpServer({
      ...more,
      ...(isReadFromFiles(contracts) && { reloadContracts: () => contracts.reload() }),
      ...options,
      consoleFolder: findConsole(),
      version: context.version,
      onError: (error) => {
        const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
        void log.write('error', 'server.error', message);
      },
      onRequest: ({ method, route, status, elapsedMs, ...ids }) => {
        const level = status >= 500 ? 'warn' : method === 'GET' || log.format === 'text' ? 'debug' : 'info';
        const facts = { method, route, status, elapsedMs: Math.round(elapsedMs), ...ids };
        void log.write(level, 'http.request', `${method} ${route} ${status}`, facts);
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
  { out, env }: Context,
  {
    ledgerUrl,
    log,
    noLogin,
  }: {
    readonly ledgerUrl: string;
    readonly log: ServerLog;
    /** Why there is no link that logs in. */
    readonly noLogin: string | undefined;
  },
): Promise<void> {
  const link = server.loginLink() ?? server.url;
  if (given.has('json')) {
    await out.print(safeJson({ url: server.url, link, token: server.token ?? null }));
    return;
  }
  // A log is stored, and a link in it would let its readers in.
  if (log.format === 'text') await out.print(link);
  await log.write(
    'info',
    'server.ready',
    log.format === 'json'
      ? `Serving ${showLedgerUrl(ledgerUrl)}.`
      : `Serving ${showLedgerUrl(ledgerUrl)}. ${noLogin === undefined ? 'The link logs in one browser, once, within 15 minutes.' : `The address logs no browser in, because ${noLogin}. Log in with a token: quittance tokens create, at a terminal.`} Press Ctrl-C to stop.`,
    { url: server.url },
  );
  // Others may belong to the files that the settings name. A variable that nearly has the name of a setting does not.
  for (const { name, nearest } of unknownVariables(env))
    if (nearest !== undefined)
      await log.write(
        'warn',
        'settings.unknown',
        `The variable ${name} has no effect. Did you mean ${nearest}?`,
      );
  if (isOpen(given))
    await log.write(
      'warn',
      'server.open',
      'Other machines can reach this address, and the traffic is not encrypted. Put a TLS proxy in front of it.',
    );
}

/** Can other machines reach the server directly, or does the public URL lack TLS? */
function isOpen(given: Given): boolean {
  const [host = '127.0.0.1', publicUrl] = [given.text('host'), given.text('public-url')];
  return !/^(?:127\.|localhost$|::1$)/.test(host) || /^http:/i.test(publicUrl ?? '');
}

type Made = {
  readonly given: Given;
  readonly tools: readonly AnyTool[];
  readonly ledger: OpenLedger;
  readonly contracts: FileContracts | undefined;
  readonly quietHours: readonly QuietHours[];
};

async function makeRuntime({ given, tools, ledger, contracts, quietHours }: Made): Promise<Runtime> {
  const own = given.text('runtime');
  if (own !== undefined) return loadRuntime(own, ledger, { quietHours });
  const telemetry = await loadTelemetry(given);
  return createRuntime({
    tools,
    ledger,
    quietHours,
    ...(contracts !== undefined && { contracts }),
    ...(telemetry !== undefined && { telemetry }),
  });
}

const isReadFromFiles = (contracts: Contracts | undefined): contracts is FileContracts =>
  contracts !== undefined && 'reload' in contracts && typeof contracts.reload === 'function';

/** Part of the package of the server. */
export function findConsole(): string {
  return join(
    dirname(createRequire(import.meta.url).resolve('@quittance/server/package.json')),
    'dist',
    'console',
  );
}

const untilStopped = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    // The timer keeps the process alive while the server is idle.
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

/** Applies the retention rules of the settings, now and then, until the server stops. */

const firstDelayMs = 5_000;

/** Returns a function that stops it and waits for the run under way. */
export function runRetention(
  ledger: OpenLedger,
  rules: readonly RetentionRule[],
  everyMs: number,
  log: ServerLog,
  delayMs: number = firstDelayMs,
): () => Promise<void> {
  if (rules.length === 0) return () => Promise.resolve();
  const stop = new AbortController();
  let running: Promise<void> = Promise.resolve();
  const once = async (): Promise<void> => {
    try {
      const { dropped, erased, kept } = await applyRetention(
        ledger,
        rules,
        { by: 'quittance serve', reason: 'retention rules of the configuration' },
        { signal: stop.signal },
      );
      if (dropped.length + erased.length + kept.length > 0)
        await log.write(
          'info',
          'retention.applied',
          `Retention: ${dropped.length} sessions dropped, ${erased.length} erased, ${kept.length} kept with an open or unresolved call.`,
          { dropped: dropped.length, erased: erased.length, kept: kept.length },
        );
    } catch (error) {
      await log.write('error', 'retention.failed', `Retention failed: ${String(error)}`);
    }
  };
  const schedule = (inMs: number): void => {
    const timer = setTimeout(() => {
      running = once().then(() => (stop.signal.aborted ? undefined : schedule(everyMs)));
    }, inMs);
    timer.unref();
    stop.signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
  };
  schedule(delayMs);
  return () => {
    stop.abort();
    return running;
  };
}

/**
 * Stops the server in order: it says that it is not ready, waits until proxies have noticed, ends requests, then waits for
 * running calls. Held calls stay held. The wait is bounded: a call that is still running then has its intent on record, and
 * the next process recovers it.
 */

type StopTimes = { readonly delayMs: number; readonly timeoutMs: number };

/** False if calls were still running when the time was up. */
async function stopServer(
  server: HttpServer,
  runtime: Runtime,
  { delayMs, timeoutMs }: StopTimes,
  log: ServerLog,
): Promise<boolean> {
  server.drain();
  await log.write('info', 'server.stopping', 'Stopping. Held calls stay held.', { delayMs, timeoutMs });
  if (delayMs > 0) await pause(delayMs);
  const timer = new AbortController();
  const isOver = pause(timeoutMs, 'over' as const, { signal: timer.signal }).catch(() => 'over' as const);
  // Requests that wait for a call end at once; the calls themselves go on.
  const stopped = server.close().then(() => runtime.close());
  const first = await Promise.race([stopped.then(() => 'stopped' as const), isOver]);
  timer.abort();
  if (first === 'stopped') {
    await log.write('info', 'server.stopped', 'Stopped.');
    return true;
  }
  await log.write(
    'warn',
    'server.stop_timeout',
    `Calls were still running after ${duration(timeoutMs)}. Their intents are on record: the next process recovers them.`,
  );
  return false;
}

/**
 * The log of the server, on standard error: sentences for people, or one JSON object per line for programs. Passwords in
 * URLs and texts that look like secrets are masked in both.
 */

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';
export type LogFacts = Readonly<Record<string, string | number | boolean | undefined>>;

export type ServerLog = {
  readonly format: 'text' | 'json';
  /** `event` is a stable word for programs, such as `server.ready`. */
  readonly write: (level: LogLevel, event: string, message: string, facts?: LogFacts) => Promise<void>;
};

const levels: readonly LogLevel[] = ['debug', 'info', 'warn', 'error'];

export function createServerLog(
  err: Terminal,
  {
    format,
    level,
    now,
  }: { readonly format: 'text' | 'json'; readonly level: LogLevel; readonly now: () => number },
): ServerLog {
  const least = levels.indexOf(level);
  return {
    format,
    async write(of, event, message, facts = {}) {
      if (levels.indexOf(of) < least) return;
      const lines = message.split('\n').map((each) => safe(each));
      if (format === 'text') {
        const [first = '', ...rest] = lines;
        const tail = of === 'debug' ? ` ${JSON.stringify(safeFacts(facts))}` : '';
        await err.say(`${first}${tail}`);
        for (const each of rest) await err.print(each);
        return;
      }
      const time = new Date(now()).toISOString();
      await err.print(safeJson({ time, level: of, event, message: lines.join(' '), ...safeFacts(facts) }));
    },
  };
}

const safe = (text: string): string => terminalText(hideUrlPasswords(text));

const safeFacts = (facts: LogFacts): LogFacts =>
  Object.fromEntries(
    Object.entries(facts).map(([name, value]) => [name, typeof value === 'string' ? safe(value) : value]),
  );
