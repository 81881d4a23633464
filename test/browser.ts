/** A real Chromium for tests, and pages that are bundled and opened in it. */
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import chromium from '@sparticuz/chromium';
import react from '@vitejs/plugin-react';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { chromium as playwright } from 'playwright-core';
import { build } from 'vite';

/** The apparent origin of pages. Nothing listens there: requests are answered here. */
const origin = 'http://quittance.test';

/**
 * Flags of the packaged browser that would make it differ from people's browsers, or draw with a simulated
 * GPU.
 */
const unwanted = new Set([
  '--single-process',
  '--no-zygote',
  '--disable-web-security',
  '--allow-running-insecure-content',
  '--ignore-gpu-blocklist',
  '--in-process-gpu',
  '--use-gl=angle',
  '--use-angle=swiftshader',
  '--enable-unsafe-swiftshader',
]);

/** Where the tests of a run find the browser. */
export const browserPathName = 'QUITTANCE_TEST_BROWSER';

/** Unpacks the browser into a folder that outlives the run, unless it exists. */
export async function unpackBrowser(folder: string): Promise<string> {
  const path = join(folder, 'chromium');
  if (existsSync(path)) return path;
  const { TMPDIR } = process.env;
  // Renamed only when complete: a run that is killed here, or a parallel one, leaves nothing half done.
  const unfinished = `${folder}-${process.pid}`;
  mkdirSync(unfinished, { recursive: true });
  process.env['TMPDIR'] = unfinished; // where the package unpacks to
  try {
    await chromium.executablePath();
    renameSync(unfinished, folder);
  } catch (error) {
    if (!existsSync(path)) throw error;
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
    if (TMPDIR === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = TMPDIR;
  }
  return path;
}

let shared: Promise<Browser> | undefined;

/**
 * One browser for all files of a worker of the project `browser`, because to start one takes a second of two cores. It
 * ends with the worker. In the project `react` each file has modules of its own, so its files use `launchBrowser`.
 */
export const shareBrowser = (): Promise<Browser> => (shared ??= launchBrowser());

/** For the end of a file that shares the browser: the files of a worker follow each other, so all pages are its own. */
export async function closePages(browser: Browser): Promise<void> {
  await Promise.all(browser.contexts().map((context) => context.close()));
}

/** Starts the browser. Throws if it cannot, so that a test that needs one fails and is not skipped. */
export async function launchBrowser(): Promise<Browser> {
  return await playwright.launch({
    args: [...chromium.args.filter((flag) => !unwanted.has(flag)), '--no-sandbox', '--disable-gpu'],
    executablePath: process.env[browserPathName] ?? (await chromium.executablePath()),
    headless: true,
  });
}

/** The parts of a page. */
export type Bundle = { readonly script: string; readonly styles: string };

/** Bundles a page from its sources, with the development build of React, which checks the most. */
export async function bundlePage(entry: string): Promise<Bundle> {
  const built = await build({
    configFile: false,
    logLevel: 'error',
    mode: 'development',
    plugins: [react()],
    resolve: { conditions: ['quittance-source'] },
    define: { 'process.env.NODE_ENV': '"development"' },
    build: {
      write: false,
      minify: false,
      cssCodeSplit: false,
      rolldownOptions: { input: entry, output: { format: 'iife' } },
    },
  });
  const [output] = Array.isArray(built) ? built : [built];
  if (output === undefined || !('output' in output)) throw new Error(`Vite built nothing from ${entry}.`);
  let [script, styles] = ['', ''];
  for (const file of output.output)
    if (file.type === 'chunk') script += file.code;
    else if (file.fileName.endsWith('.css')) styles += String(file.source);
  return { script, styles };
}

/** Only what a page may need. */
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'";

export type OpenedPage = {
  readonly page: Page;
  /** Complaints of the page: errors, and everything written to its console. */
  readonly complaints: readonly string[];
};

/** Opens a bundle under a strict content policy. */
export async function openPage(
  browser: Browser,
  { script, styles }: Bundle,
  options: BrowserContextOptions & { readonly prepare?: (page: Page) => Promise<void> } = {},
): Promise<OpenedPage> {
  const { prepare, ...contextOptions } = options;
  const context = await browser.newContext(contextOptions);
  context.setDefaultTimeout(120_000);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  const files: Readonly<Record<string, readonly [string, string]>> = {
    '/': [
      'text/html; charset=utf-8',
      '<!doctype html><html lang="en"><title>Test</title><link rel="stylesheet" href="/page.css">' +
        '<body><main id="root"></main><script src="/page.js"></script></body></html>',
    ],
    '/page.js': ['text/javascript; charset=utf-8', script],
    '/page.css': ['text/css; charset=utf-8', styles],
  };
  await page.route(`${origin}/**`, async (route) => {
    const [contentType, body] = files[new URL(route.request().url()).pathname] ?? ['text/plain', ''];
    await route.fulfill({ contentType, body, headers: { 'content-security-policy': contentPolicy } });
  });
  await prepare?.(page);
  await page.goto(`${origin}/`);
  return { page, complaints };
}
