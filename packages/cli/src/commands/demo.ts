import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { BudgetRule } from 'quittance/internal/runtime/budget';
import { retry } from 'quittance/internal/runtime/call-options';
import { createRuntime } from 'quittance/internal/store/create-runtime';
import { hideUrlPasswords, showLedgerUrl } from 'quittance/internal/store/ledger-url';
import { openLedger } from 'quittance/internal/store/open-ledger';
import type { FileContracts } from 'quittance/internal/contracts/from-yaml';
import { contractsFromYaml } from 'quittance/internal/contracts/from-yaml';
import { proofOptions, whyNoLogin } from '../proof.ts';
import type { CliCommand, Context } from '../command.ts';
import { playDemo } from '../demo/play-demo.ts';
import { exitCodes } from '../exit-code.ts';
import { shellWord } from '../find-call.ts';
import { defaultLedger, ledgerFile } from '../find-ledger.ts';
import { makeFolder } from '../make-folder.ts';
import { terminalText } from '../terminal-text.ts';
import { UsageError } from '../usage-error.ts';
import { isQuittanceError } from 'quittance/internal/base/error';
import { sayOldRulesStay } from '../load-contracts.ts';
import { readPort } from '../read-port.ts';
import { findConsole } from './serve.ts';
import { ToolError } from 'quittance/internal/call/tool-error';
import type { AnyTool } from 'quittance/internal/tool/define-tool';
import { defineTool } from 'quittance/internal/tool/define-tool';
import type { JsonObject } from 'quittance/internal/base/json';

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
        const { createHttpServer } = await import('@quittance/server/internal/http/create-http-server');
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

/** The contracts of the demo agent. The console shows them like any contracts. */
export const demoRules = `apiVersion: quittance/v1
kind: Ruleset
metadata:
  name: demo-shop
  description: Limits for the agents of a small shop on money, mail and customers.
defaults:
  mode: enforce

# A refund can be cancelled for ten minutes. Tools that are not listed count as irreversible.
tools:
  refund: { side_effect: write }

rules:
  - id: no-large-refunds
    type: pre
    tool: refund
    when:
      args.cents: { gt: 50000, on_missing: fire }
    then:
      action: block
      message: 'Agents may not refund {args.cents} cents. Ask the office.'
      tags: [money]

  - id: ask-about-refunds
    type: pre
    tool: refund
    when:
      args.cents: { gt: 4000, on_missing: fire }
    then:
      action: ask
      message: 'Refund {args.cents} cents for order {args.order}?'
      tags: [money]

  - id: ask-about-closed-books
    type: pre
    tool: export_report
    when:
      args.month: { starts_with: '2025-', on_missing: fire }
    then:
      action: ask
      message: 'Export the closed books of {args.month}?'
      tags: [books]

  - id: internal-mail-only
    type: pre
    tool: send_mail
    when:
      not:
        # The schema requires an address.
        args.to: { ends_with: '@example.com', on_missing: skip }
    then:
      action: block
      message: 'Mail to {args.to} would leave the company.'
      tags: [mail]

  - id: watch-night-mail
    type: pre
    tool: send_mail
    mode: observe
    when:
      # Mail without a subject is fine.
      args.subject: { contains: 'urgent', on_missing: skip }
    then:
      action: ask
      message: 'A person should review urgent mail first.'
      tags: [mail]

  - id: hide-ibans
    type: post
    tool: '*'
    when:
      output.text: { matches: '\\b[A-Z]{2}[0-9]{2}( ?[0-9]{1,4}){3,8}\\b' }
    then:
      action: redact
      message: Account numbers redacted.
`;

/** The tools of a small shop. The tools are fictional; their calls are real. */

const text = { type: 'string' } as const;
const object = (properties: JsonObject): JsonObject => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
});

/** `chance` returns a number from 0 to 1; `pause` waits. The caller passes both, so that tests can control them. */
function createDemoTools(chance: () => number, pause: (ms: number) => Promise<void>): readonly AnyTool[] {
  const addresses = new Map<string, string>();
  let payments = 0;
  const work = (ms: number): Promise<void> => pause(ms * (0.5 + chance()));
  const order = (id: string): JsonObject => ({
    order: id,
    items: [
      { article: 'rye bread', quantity: 1 + Math.floor(chance() * 3), cents: 480 },
      { article: 'salt', quantity: 1, cents: 120 },
    ],
    status: chance() < 0.7 ? 'delivered' : 'shipped',
    account: 'DE44 5001 0517 5407 3249 31',
  });
  return [
    defineTool({
      name: 'look_up_order',
      description: 'One order with its articles.',
      mode: 'read',
      input: object({ order: text }),
      run: async (args) => {
        await work(40);
        return order((args as { order: string }).order);
      },
    }),
    defineTool({
      name: 'search_orders',
      description: 'All orders of a customer.',
      mode: 'read',
      input: object({ customer: text }),
      run: async (args) => {
        await work(120);
        const { customer } = args as { customer: string };
        return { customer, orders: Array.from({ length: 160 }, (_, n) => order(`A-${1000 + n}`)) };
      },
    }),
    defineTool({
      name: 'get_exchange_rate',
      description: 'The rate of a currency, from a bank that sometimes fails to answer.',
      mode: 'read',
      costMicros: 1_500,
      input: object({ currency: text }),
      run: async (args) => {
        await work(60);
        if (chance() < 0.45) throw new ToolError('tool.network_error', 'The bank did not answer.');
        return { currency: (args as { currency: string }).currency, rate: 1 + chance() / 5 };
      },
    }),
    defineTool({
      name: 'export_report',
      description: 'A report for the office.',
      mode: 'read',
      timeoutMs: 400,
      input: object({ month: text }),
      run: async (args, { signal, progress }) => {
        progress({ fraction: 0.5 });
        await Promise.race([
          work(chance() < 0.3 ? 2_000 : 150),
          new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true })),
        ]);
        return { month: (args as { month: string }).month, turnover: Math.round(chance() * 9_000_000) };
      },
    }),
    defineTool({
      name: 'update_address',
      description: 'Changes the address of a customer. Shows the change first.',
      mode: 'safe_write',
      input: object({ customer: text, address: text }),
      preview: (args) => {
        const { customer, address } = args as { customer: string; address: string };
        const was = addresses.get(customer) ?? '1 Old Mill Lane';
        return {
          kind: 'diff',
          path: `customers/${customer}/address`,
          diff: `-${was}\n+${address}`,
          snapshot: { was, address },
        };
      },
      run: async (args) => {
        const { customer, address } = args as { customer: string; address: string };
        await work(50);
        addresses.set(customer, address);
        return { customer, address };
      },
    }),
    defineTool({
      name: 'refund',
      description: 'Refunds a customer. Can be cancelled for ten minutes.',
      mode: 'external',
      idempotencyKey: (args) => `refund-${(args as { order: string }).order}`,
      costMicros: 20_000,
      input: object({ order: text, cents: { type: 'integer', minimum: 1 } }),
      run: async (args, context) => {
        context.reached('https://pay.example.com/v1/refunds');
        await work(180);
        context.log('The bank accepted the refund', { key: context.idempotencyKey });
        return { ...(args as JsonObject), refund: `re_${Math.floor(chance() * 1e9).toString(36)}` };
      },
      undo: (args) => ({ cancelled: (args as { order: string }).order }),
      undoWithinMs: 600_000,
    }),
    defineTool({
      name: 'send_mail',
      description: 'Sends a mail.',
      mode: 'external',
      input: object({ to: text, subject: text, body: text }),
      run: async (args, context) => {
        context.reached('smtp://mail.example.com');
        await work(90);
        return { sent: true, to: (args as { to: string }).to };
      },
    }),
    defineTool({
      name: 'pay_supplier',
      description: 'Pays a bill. The bank sometimes disconnects before it confirms.',
      mode: 'external',
      costMicros: 50_000,
      input: object({ supplier: text, cents: { type: 'integer', minimum: 1 } }),
      run: async (args, context) => {
        context.reached('https://bank.example.com/transfers');
        await work(250);
        // The first payment always disconnects, so that the demo has a call to reconcile.
        if (payments++ === 0 || chance() < 0.35)
          throw new ToolError('tool.indeterminate', 'The bank disconnected after it received the order.');
        return { paid: true, ...(args as JsonObject) };
      },
    }),
    defineTool({
      name: 'archive_ticket',
      description: 'Archives a ticket. Can be undone for an hour.',
      mode: 'destructive',
      input: object({ ticket: text }),
      run: async (args) => {
        await work(30);
        return { archived: (args as { ticket: string }).ticket };
      },
      undo: (args) => ({ restored: (args as { ticket: string }).ticket }),
      undoWithinMs: 3_600_000,
    }),
    defineTool({
      name: 'delete_customer',
      description: 'Deletes a customer permanently.',
      mode: 'destructive',
      input: object({ customer: text }),
      run: async (args) => {
        await work(60);
        return { deleted: (args as { customer: string }).customer };
      },
    }),
  ];
}
