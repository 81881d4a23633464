/** The console as people have it: built, served by the real server on a filled ledger, and open in a real Chromium. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import type { Runtime } from 'quittance';
import type { Ledger } from 'quittance/store';
import { createHttpServer } from 'quittance/http';
import type { HttpServer, HttpServerOptions, Role } from 'quittance/http';
import { openLedger } from 'quittance/ledger';
import { TokenFile, tokenFilePath } from '../../src/http/token-file.ts';
import { launchBrowser } from '../browser.ts';
import { consoleFolderName } from './build.ts';
import { fillShop, openShop } from './shop.ts';
import type { Shop } from './shop.ts';

const root = join(import.meta.dirname, '../..');

export type Visitor = {
  readonly page: Page;
  readonly context: BrowserContext;
  /** What the page complained of: errors, and everything the browser's console was told. */
  readonly complaints: readonly string[];
  /** Goes to an address of the console and waits for its heading. */
  readonly goTo: (address: string) => Promise<void>;
};

export type Stage = {
  readonly server: HttpServer;
  readonly ledger: Ledger;
  readonly ledgerPath: string;
  readonly runtime: Runtime;
  readonly shop: Shop;
  readonly tokens: Readonly<Record<Role, string>>;
  readonly browser: Browser;
  /** A browser of their own, logged in and with an empty page; an admin unless told. `at`: another address of the server. */
  readonly visit: (
    options?: BrowserContextOptions & { readonly as?: Role; readonly at?: string },
  ) => Promise<Visitor>;
  readonly close: () => Promise<void>;
};

export type StageOptions = {
  /** What is in the ledger: the shop's day unless told. */
  readonly fill?: (shop: Shop) => Promise<unknown>;
  /** A ledger that is there already. It is kept. */
  readonly ledgerPath?: string;
  readonly server?: Partial<HttpServerOptions>;
};

export async function openStage({
  fill = fillShop,
  ledgerPath: given,
  server: more,
}: StageOptions = {}): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-console-'));
  const consoleFolder = builtConsole();
  const ledgerPath = given ?? join(folder, 'ledger.db');
  const ledger = await openLedger(ledgerPath);
  const shop = openShop(ledger);
  if (given === undefined) await fill(shop);
  const file = new TokenFile(tokenFilePath(ledgerPath), Date.now);
  const make = (role: Role): string => file.create({ name: `${role}-person`, role }).token;
  const tokens = {
    viewer: make('viewer'),
    operator: make('operator'),
    approver: make('approver'),
    admin: make('admin'),
  };
  const server = await createHttpServer({
    ledger,
    ledgerUrl: ledgerPath,
    ...shop,
    port: 0,
    localName: 'ada',
    consoleFolder,
    ...more,
    limits: { strangerRate: { perSecond: 1_000, burst: 10_000 }, ...more?.limits },
  });
  const browser = await launchBrowser();
  return {
    server,
    ledger,
    ledgerPath,
    runtime: shop.runtime,
    shop,
    tokens,
    browser,
    async visit({ as = 'admin', at = server.url, ...options } = {}) {
      // Without motion: what is half faded in has other colors, and what moves is not clicked.
      const context = await browser.newContext({
        viewport: { width: 1440, height: 900 },
        reducedMotion: 'reduce',
        ...options,
      });
      context.setDefaultTimeout(60_000);
      const page = await context.newPage();
      const complaints: string[] = [];
      page.on('pageerror', (error) => complaints.push(String(error)));
      page.on('console', (message) => {
        if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
      });
      // What the form of the login page sends; that page has tests of its own.
      const login = await context.request.post(`${at}/login`, {
        form: { token: tokens[as] },
        headers: { origin: at },
        maxRedirects: 0,
      });
      if (login.status() !== 303) throw new Error(`Nobody was logged in: ${await login.text()}`);
      const pageKey = login.headers()['location']?.split('#page-key=')[1] ?? '';
      // Once: what a test changes or removes later stays so.
      await context.addInitScript(
        ([origin, key]) => {
          if (window.location.origin !== origin || window.sessionStorage.getItem('logged-in') !== null)
            return;
          window.sessionStorage.setItem('logged-in', 'yes');
          window.localStorage.setItem('quittance.page-key', key);
        },
        [new URL(at).origin, pageKey] as const,
      );
      return {
        page,
        context,
        complaints,
        async goTo(address) {
          await page.goto(at + address);
          await page.getByRole('heading', { level: 1 }).waitFor();
        },
      };
    },
    async close() {
      await browser.close();
      await server.close();
      await shop.runtime.close();
      await ledger.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The folder that the console was built into. */
export function builtConsole(): string {
  const folder = process.env[consoleFolderName];
  if (folder === undefined)
    throw new Error('The console was not built: see globalSetup in vitest.config.ts.');
  return folder;
}

const axe = readFileSync(join(root, 'node_modules/axe-core/axe.min.js'), 'utf8');

/** What axe finds wrong with a page as it is now, in words; nothing where all is well. */
export async function findBarriers(page: Page): Promise<readonly string[]> {
  // By evaluation, which the content policy of the page has no say in.
  await page.evaluate(axe);
  const found = await page.evaluate(
    async () => (await window.axe.run(document, { resultTypes: ['violations'] })).violations,
  );
  return found.map(
    ({ id, help, nodes }) =>
      `${id}: ${help}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary ?? ''}`).join(' | ')}`,
  );
}

declare global {
  interface Window {
    axe: {
      run(
        page: Document,
        options: object,
      ): Promise<{
        violations: { id: string; help: string; nodes: { html: string; failureSummary?: string }[] }[];
      }>;
    };
  }
}
