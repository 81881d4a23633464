/**
 * The console as users have it: built, served by the real server on a filled ledger, and open in a real
 * Chromium.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import type { Runtime } from 'quittance';
import type { OpenLedger } from 'quittance/store';
import { createHttpServer } from '@quittance/server';
import type { HttpServer, HttpServerOptions, Role } from '@quittance/server';
import { openLedger } from 'quittance/ledger';
import { TokenFile, tokenFilePath } from '../../packages/server/src/http/token-file.ts';
import { closePages, shareBrowser } from '../browser.ts';
import { consoleFolderName } from './build.ts';
import { fillShop, openShop } from './shop.ts';
import type { Shop } from './shop.ts';

const root = join(import.meta.dirname, '../..');

export type Visitor = {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Complaints of the page: errors, and everything written to the browser's console. */
  readonly complaints: readonly string[];
  /** Opens an address of the console and waits for its heading. */
  readonly goTo: (address: string) => Promise<void>;
};

export type Stage = {
  readonly server: HttpServer;
  readonly ledger: OpenLedger;
  readonly ledgerPath: string;
  readonly runtime: Runtime;
  readonly shop: Shop;
  readonly tokens: Readonly<Record<Role, string>>;
  readonly browser: Browser;
  /**
   * A separate browser, logged in, with an empty page. Default role: admin. `at`: another address of the
   * server.
   */
  readonly visit: (
    options?: BrowserContextOptions & { readonly as?: Role; readonly at?: string },
  ) => Promise<Visitor>;
  readonly close: () => Promise<void>;
};

export type StageOptions = {
  /** Fills the ledger. Default: the shop's day. */
  readonly fill?: (shop: Shop) => Promise<unknown>;
  /** An existing ledger. It is kept. */
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
  const browser = await shareBrowser();
  return {
    server,
    ledger,
    ledgerPath,
    runtime: shop.runtime,
    shop,
    tokens,
    browser,
    async visit({ as = 'admin', at = server.url, ...options } = {}) {
      // Without motion: half-faded content has other colors, and moving content cannot be clicked.
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
      // The request of the login form; the login page has its own tests.
      const login = await context.request.post(`${at}/login`, {
        form: { token: tokens[as] },
        headers: { origin: at },
        maxRedirects: 0,
      });
      if (login.status() !== 303) throw new Error(`Nobody was logged in: ${await login.text()}`);
      const pageKey = login.headers()['location']?.split('#page-key=')[1] ?? '';
      // Once: changes by a test persist.
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
      await closePages(browser);
      await server.close();
      await shop.runtime.close();
      await ledger.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The folder of the built console. */
export function builtConsole(): string {
  const folder = process.env[consoleFolderName];
  if (folder === undefined)
    throw new Error('The console was not built: see globalSetup in vitest.config.ts.');
  return folder;
}

/**
 * Keys or taps that the page gets at one moment of its clock. A shortcut of two keys and a double tap end after a second,
 * and a busy machine may take longer between two of them.
 */
export async function atOneMoment(page: Page, work: () => Promise<void>): Promise<void> {
  const original = await page.evaluateHandle(() => {
    const descriptor = Object.getOwnPropertyDescriptor(Event.prototype, 'timeStamp');
    const now = performance.now();
    Object.defineProperty(Event.prototype, 'timeStamp', { configurable: true, get: () => now });
    return descriptor;
  });
  await work();
  await original.evaluate((descriptor) =>
    Object.defineProperty(Event.prototype, 'timeStamp', descriptor ?? {}),
  );
}

export const pressInTurn = (page: Page, ...keys: readonly string[]): Promise<void> =>
  atOneMoment(page, async () => {
    for (const key of keys) await page.keyboard.press(key);
  });

const axe = readFileSync(join(root, 'node_modules/axe-core/axe.min.js'), 'utf8');

/** The problems that axe finds in a page in light and in dark, as texts. One load serves both. */
export async function findBarriersInBoth(page: Page): Promise<readonly string[]> {
  const barriers: string[] = [];
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    // Only colors differ in dark.
    const found = await findBarriers(page, colorScheme === 'dark' ? { runOnly: ['color-contrast'] } : {});
    for (const barrier of found) barriers.push(`${colorScheme}: ${barrier}`);
  }
  return barriers;
}

/** What the width of a page changes: the boxes that scroll, and the contrast of what is laid out anew. */
const rulesOfWidth = ['color-contrast', 'scrollable-region-focusable'];

/**
 * The problems of a page in light, in dark and on a screen of this width, as texts. One load serves all of them. The
 * page keeps the narrow screen.
 */
export async function findBarriersInEveryLook(page: Page, narrow: number): Promise<readonly string[]> {
  const isTooWide = (): Promise<boolean> =>
    page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
  const barriers = [...(await findBarriersInBoth(page))];
  if (await isTooWide()) barriers.push('The page is wider than the screen.');
  await page.setViewportSize({ width: narrow, height: 900 });
  for (const barrier of await findBarriers(page, { runOnly: rulesOfWidth }))
    barriers.push(`${narrow} wide: ${barrier}`);
  if (await isTooWide()) barriers.push(`The page is wider than a screen of ${narrow} pixels.`);
  return barriers;
}

/** The problems that axe finds in the current page, as texts. Empty if there are none. */
export async function findBarriers(
  page: Page,
  options: { readonly runOnly?: readonly string[] } = {},
): Promise<readonly string[]> {
  // By evaluation, which the content policy of the page does not restrict.
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe);
  const found = await page.evaluate(
    async (given) => (await window.axe.run(document, { resultTypes: ['violations'], ...given })).violations,
    options,
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
