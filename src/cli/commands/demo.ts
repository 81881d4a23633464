import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { BudgetRule } from '../../runtime/host/budget.ts';
import { retry } from '../../runtime/host/retry.ts';
import { createRuntime } from '../../store/create-runtime.ts';
import { hideUrlPasswords, showLedgerUrl } from '../../store/ledger-url.ts';
import { openLedger } from '../../store/open-ledger.ts';
import type { FileContracts } from '../../contracts/from-yaml.ts';
import { contractsFromYaml } from '../../contracts/from-yaml.ts';
import { proofOptions, whyNoLogin } from '../proof.ts';
import type { CliCommand, Context } from '../command.ts';
import { playDemo } from '../demo/play-demo.ts';
import { demoRules } from '../demo/demo-rules.ts';
import { createDemoTools } from '../demo/demo-tools.ts';
import { exitCodes } from '../exit-code.ts';
import { shellWord } from '../find-call.ts';
import { defaultLedger, ledgerFile } from '../find-ledger.ts';
import { makeFolder } from '../make-folder.ts';
import { terminalText } from '../terminal-text.ts';
import { UsageError } from '../usage-error.ts';
import { isQuittanceError } from '../../base/error.ts';
import { sayOldRulesStay } from '../load-contracts.ts';
import { readPort } from '../read-port.ts';
import { findConsole } from './serve.ts';

const budgets: readonly BudgetRule[] = [
  { scope: 'shop', per: 'day', costMicros: 50_000_000, toolCalls: 100_000 },
];

export const demoCommand: CliCommand = {
  name: 'demo',
  summary: 'Open the console on a live ledger with a scripted agent',
  about: [
    'The demo is a small shop. A scripted agent, without a model or an API key, looks up orders, sends mail, pays and refunds. Some calls are held for your approval, and one ends with an unknown effect. The calls go to a real ledger, by default ./.quittance/ledger.db. The next run continues with that ledger.',
    'Prints a link that logs in one browser, and opens it if there is a desktop. Press Ctrl-C to stop; held calls stay held.',
  ],
  options: {
    port: { value: 'PORT', help: 'Default: 4747, or a free port if it is taken; 0 takes any free port' },
    name: { value: 'NAME', help: 'Name recorded for decisions made in the console' },
    ...proofOptions,
    'no-open': { help: 'Do not open a browser' },
    json: { help: 'JSON instead of text: one line with the address, the link and a token for this run' },
  },
  examples: [
    ['quittance demo', 'the shop, with its ledger in ./.quittance'],
    ['quittance demo --ledger /tmp/shop.db --port 0 --no-open', 'with another ledger'],
  ],
  effect: (given, context) => ({ kind: 'serves', ledgerUrl: context.ledgerUrl(given, 'make') }),
  async run(given, context) {
    const ledgerUrl = context.ledgerUrl(given, 'make');
    // A ledger in a database has no folder: the rules and the seal key are in the one of this project.
    const folder = dirname(ledgerFile(ledgerUrl) ?? defaultLedger);
    makeFolder(folder, ['quittance demo --ledger path/to/shop.db']);
    const noLogin = await whyNoLogin(given, context, ledgerUrl);
    const ledger = await openLedger(ledgerUrl);
    const closing: (() => unknown)[] = [() => ledger.close()];
    try {
      const rules = join(folder, 'demo-rules.yaml');
      if (!existsSync(rules)) writeFileSync(rules, demoRules);
      const contracts = await loadRules(rules, context);
      closing.push(() => contracts.close());
      const tools = createDemoTools(Math.random, (ms) => pause(ms, context.signal));
      const runtime = createRuntime({
        tools,
        ledger,
        contracts,
        behaviors: [retry({ attempts: 3, initialMs: 150 })],
        budgets,
      });
      closing.push(() => runtime.close());
      const serve = async (port: number) => {
        // Imported here because no other command needs it and each would wait for it to load.
        const { createHttpServer } = await import('../../http/create-http-server.ts');
        return createHttpServer({
          ledger,
          ledgerUrl,
          runtime,
          tools,
          contracts,
          reloadContracts: () => contracts.reload(),
          budgets,
          port,
          ...(noLogin === undefined && { localName: given.text('name') ?? context.userName }),
          consoleFolder: findConsole(),
          console: { name: 'demo', color: 'green', currency: 'EUR' },
          version: context.version,
          onError: (error) => void context.err.print(terminalText(hideUrlPasswords(String(error)))),
        });
      };
      const server = await onFreePort(serve, given.text('port'), context);
      closing.push(() => server.close());
      const link = server.loginLink() ?? server.url;
      if (given.has('json'))
        await context.out.print(JSON.stringify({ url: server.url, link, token: server.token ?? null }));
      else await announce(context, { link, ledgerUrl, rules, noLogin });
      if (!given.has('no-open') && !given.has('json')) openBrowser(link);
      const stem = randomBytes(4).toString('hex');
      let count = 0;
      await playDemo(
        {
          runtime,
          chance: Math.random,
          pause: (ms) => pause(ms, context.signal),
          nextId: () => `${stem}${(count++).toString(36)}`,
          signal: context.signal,
        },
        { warmUp: 14, everyMs: 1_500 },
      );
      if (!given.has('json')) await context.err.say('Stopping. Held calls stay held.');
    } finally {
      for (const close of closing.toReversed()) await close();
    }
    return exitCodes.good;
  },
};

/** Reloads the contracts when the file changes. Contracts that do not load leave the old ones in force. */
const loadRules = (path: string, { err }: Context): Promise<FileContracts> =>
  contractsFromYaml([path], {
    watch: true,
    onReload: (result) => {
      if (result.ok) void err.say('New contracts are in force.');
      else void sayOldRulesStay(result.error, err.say);
    },
  });

/** Uses the requested port. Without one, it uses the default port or a free one. */
async function onFreePort<Server>(
  serve: (port: number) => Promise<Server>,
  typed: string | undefined,
  { err }: Context,
): Promise<Server> {
  try {
    return await serve(readPort(typed));
  } catch (error) {
    if (!isQuittanceError(error, 'config.invalid')) throw error;
    if (typed !== undefined) throw new UsageError(error.message, ['quittance demo --port 0']);
    await err.say(terminalText(`${error.message.split('. ')[0] ?? ''}, so the console uses another port.`));
    return serve(0);
  }
}

async function announce(
  { out, err }: Context,
  {
    link,
    ledgerUrl,
    rules,
    noLogin,
  }: {
    readonly link: string;
    readonly ledgerUrl: string;
    readonly rules: string;
    /** Why there is no link that logs in. */
    readonly noLogin: string | undefined;
  },
): Promise<void> {
  const shown = showLedgerUrl(ledgerUrl);
  await err.say(`The shop is running. Its ledger is ${terminalText(shown)}.`);
  await err.say(`Its contracts are in ${terminalText(rules)}. Edit the file to change them.`);
  await err.say(
    noLogin === undefined
      ? 'The console link, valid for one browser, once, within 15 minutes:'
      : `The console logs no browser in, because ${noLogin}. Start the demo at a terminal, or log in with a token:`,
  );
  await out.print(link);
  // With a hidden password the URL would not work as printed.
  const url = shown === ledgerUrl ? shellWord(terminalText(ledgerUrl)) : '"$QUITTANCE_LEDGER"';
  const where = ledgerUrl === defaultLedger ? '' : ` --ledger ${url}`;
  await err.say(
    `In another terminal: ${typed} pending${where}, ${typed} calls${where}. Press Ctrl-C to stop.`,
  );
}

/** The command as typed here: in a source checkout it is an npm script, because the program is not installed. */
const typed = import.meta.url.endsWith('.ts') ? 'npm run -s quittance --' : 'npx quittance';

/** Opens the link if there is a desktop. Errors are ignored, because the printed link can be clicked. */
function openBrowser(link: string): void {
  const { platform, env } = process;
  const hasDesktop =
    platform === 'darwin' ||
    platform === 'win32' ||
    env['DISPLAY'] !== undefined ||
    env['WAYLAND_DISPLAY'] !== undefined;
  if (!hasDesktop || env['CI'] !== undefined) return;
  const [program, ...args] =
    platform === 'darwin'
      ? ['open', link]
      : platform === 'win32'
        ? ['rundll32', 'url.dll,FileProtocolHandler', link]
        : ['xdg-open', link];
  if (program === undefined) return;
  const child = spawn(program, args, { stdio: 'ignore', detached: true });
  child.once('error', () => undefined);
  child.unref();
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done, { once: true });
  });
