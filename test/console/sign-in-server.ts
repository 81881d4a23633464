/**
 * The real program with sign-in, a real identity provider, and browsers of people. The server is a process that can be
 * killed and started again.
 */
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { BrowserContext, Page } from 'playwright-core';
import { readConsoleFiles } from '../../packages/server/src/http/console-files.ts';
import { closePages, shareBrowser } from '../browser.ts';
import { findPort } from '../find-port.ts';
import { isPackageBuilt } from '../frameworks/suite/package-arguments.ts';
import { startCli } from '../run-cli.ts';
import { makeFileToken } from '../make-token.ts';
import type { TestProvider } from '../sign-in/test-provider.ts';
import { startProvider } from '../sign-in/test-provider.ts';
import { untilDecided } from '../until-decided.ts';
import { consoleFolderName } from './build.ts';

/** `approval`: the policy of the rule that asks, as YAML. */
const rules = (approval: string): string => `apiVersion: quittance/v1
kind: Ruleset
metadata: { name: payments }
defaults: { mode: enforce }
rules:
  - id: ask-finance
    type: pre
    tool: pay
    when: { args.cents: { gte: 1 } }
    then: { action: ask, message: Finance must approve., timeout: 86400${approval} }
`;

export type SignInServer = {
  readonly provider: TestProvider;
  readonly url: string;
  readonly folder: string;
  readonly ledger: string;
  /** What the tool did so far, in all processes. */
  runs(): string;
  start(): Promise<void>;
  kill(): Promise<void>;
  /** A person in a browser of their own, who signs in and ends up on a page of the console. */
  openAs(who: string, path?: string): Promise<Page>;
  /** A browser of a person who is not signed in. */
  openBrowser(): Promise<Page>;
  close(): Promise<void>;
};

const people = [
  ['u-ada', 'Ada Lovelace', 'finance'],
  ['u-bob', 'Bob Noyce', 'finance'],
  ['u-ola', 'Ola Asker', 'finance', 'operators'],
  ['u-max', 'Max Other', 'marketing', 'approvers'],
  ['u-eve', 'Eve Outside', 'nothing'],
] as const;

export async function startSignInServer(approval = ''): Promise<SignInServer> {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-sign-in-'));
  const [runs, ledger] = [join(folder, 'runs.txt'), join(folder, 'ledger.db')];
  const provider = await startProvider();
  const port = await findPort();
  const url = `http://127.0.0.1:${port}`;
  provider.serve(url);
  for (const [subject, name, ...groups] of people) provider.people.set(subject, { name, groups });
  writeFileSync(join(folder, 'rules.yaml'), rules(approval));
  writeFileSync(runs, '');
  writeFileSync(join(folder, 'quittance.yaml'), JSON.stringify(configuration(provider, ledger, port)));
  const browser = await shareBrowser();
  const token = makeFileToken(ledger);
  let server: ChildProcessWithoutNullStreams | undefined;
  const openBrowser = async (): Promise<Page> => {
    const context = await browser.newContext({ viewport: { width: 1_280, height: 900 } });
    context.setDefaultTimeout(60_000);
    if (!isPackageBuilt()) await serveConsole(context, url);
    return context.newPage();
  };
  const kill = async (): Promise<void> => {
    const child = server;
    if (child === undefined) return;
    server = undefined;
    const ended = once(child, 'close');
    child.kill('SIGKILL');
    await ended;
  };
  const start = async (): Promise<void> => {
    server = startCli(['serve', '--config', join(folder, 'quittance.yaml'), '--json'], {
      env: {
        QUITTANCE_SIGN_IN_CLIENT_SECRET: provider.clientSecret,
        QUITTANCE_TEST_FOLDER: folder,
        QUITTANCE_TOKEN: token,
      },
    });
    await untilServing(server);
  };
  await start();
  return {
    provider,
    url,
    folder,
    ledger,
    runs: () => readFileSync(runs, 'utf8'),
    start,
    kill,
    openBrowser,
    async openAs(who, path = '/') {
      const page = await openBrowser();
      await page.goto(`${url}/login${path === '/' ? '' : `?returnTo=${encodeURIComponent(path)}`}`);
      await signInAs(page, who);
      // The page after the login stores the page key and opens the next one.
      await page.waitForURL(({ origin, pathname }) => origin === url && pathname !== '/login/done');
      await page.getByRole('heading', { level: 1 }).first().waitFor();
      return page;
    },
    async close() {
      await closePages(browser);
      await kill();
      await provider.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Run from its sources, the program has no console next to it. The pages are then those that the tests built. */
async function serveConsole(context: BrowserContext, url: string): Promise<void> {
  const files = readConsoleFiles(process.env[consoleFolderName]);
  await context.route(`${url}/{inbox,assets}/**`, (route) => {
    const path = new URL(route.request().url()).pathname.slice(1);
    const file = files.get(path.startsWith('assets/') ? path : 'index.html');
    return file === undefined
      ? route.continue()
      : route.fulfill({ body: Buffer.from(file.bytes), contentType: file.type });
  });
}

/** From the button of the server through the page of the provider. */
export async function signInAs(page: Page, who: string): Promise<void> {
  await page.getByRole('link', { name: 'Sign in with Example Login' }).click();
  await page.getByLabel('Who are you?').fill(who);
  await page.getByRole('button', { name: 'Continue' }).click();
}

/** A request of the page, with its cookie and its key. */
export const sendFrom = (
  page: Page,
  path: string,
  body?: unknown,
): Promise<{ status: number; body: unknown }> =>
  untilDecided(
    () =>
      page.evaluate(
        async ([address, text]) => {
          const answer = await fetch(address ?? '', {
            ...(text !== undefined && { method: 'POST', body: text }),
            headers: {
              'content-type': 'application/json',
              'x-quittance-page-key': localStorage.getItem('quittance.page-key') ?? '',
            },
          });
          return { status: answer.status, body: (await answer.json()) as unknown };
        },
        [path, body === undefined ? undefined : JSON.stringify(body)] as const,
      ),
    (answer) => answer.body,
  );

const configuration = (provider: TestProvider, ledger: string, port: number): object => ({
  ledger,
  port,
  runtime: join(import.meta.dirname, 'pay-runtime.ts'),
  sign_in: {
    issuer: provider.issuer,
    client_id: provider.clientId,
    scopes: ['openid', 'profile', 'groups'],
    provider_name: 'Example Login',
    roles: [
      { subject: 'u-ola', role: 'admin' },
      { group: 'finance', role: 'approver' },
      { group: 'approvers', role: 'approver' },
    ],
  },
});

async function untilServing(child: ChildProcessWithoutNullStreams): Promise<void> {
  let errors = '';
  child.stderr.on('data', (chunk) => (errors += String(chunk)));
  const ended = once(child, 'close').then(() => {
    throw new Error(`The server ended: ${errors}`);
  });
  await Promise.race([once(createInterface(child.stdout), 'line'), ended]);
}
