/**
 * Measures the built console: its size, and the time until a browser can use the first page, from a local server.
 * Fails if it exceeds its budget.
 */
import { join } from 'node:path';
import { createMemoryLedger } from '../packages/quittance/src/store/memory/memory-ledger.ts';
import { createRuntime } from '../packages/quittance/src/store/create-runtime.ts';
import { createHttpServer } from '../packages/server/src/http/create-http-server.ts';
import { launchBrowser } from '../test/browser.ts';
import { consoleBudget, weighConsole } from './console-weight.ts';

const folder = join(import.meta.dirname, '../packages/server/dist/console');
const weight = weighConsole(folder);
const kilobytes = (bytes: number): string => `${(bytes / 1_000).toFixed(1)} kB`;

const ledger = createMemoryLedger();
const runtime = createRuntime({ tools: [], ledger });
const server = await createHttpServer({
  ledger,
  runtime,
  port: 0,
  localName: 'build',
  consoleFolder: folder,
});
const browser = await launchBrowser();
const times: number[] = [];
try {
  const page = await browser.newPage();
  // Measured inside the page, because polling from outside is too coarse.
  await page.addInitScript(`
    new MutationObserver((_, observer) => {
      if (document.querySelector('main h1') === null) return;
      observer.disconnect();
      performance.mark('usable');
    }).observe(document, { childList: true, subtree: true });
  `);
  await page.goto(server.loginLink() ?? server.url);
  await page.getByRole('button', { name: /^Log in as/ }).click();
  // The login leads to the first page. A load that starts before it has arrived would be interrupted, and the login page
  // has a heading too.
  await page.locator('#page h1').waitFor();
  for (let round = 0; round < 5; round++) {
    await page.goto(server.url, { waitUntil: 'commit' });
    await page.locator('main h1').waitFor();
    times.push(await page.evaluate(() => performance.getEntriesByName('usable')[0]?.startTime ?? Infinity));
  }
} finally {
  await browser.close();
  await server.close();
  await runtime.close();
}
const median = times.toSorted((left, right) => left - right)[2] ?? 0;
console.log(
  `console: first load ${kilobytes(weight.first)} of ${kilobytes(consoleBudget.first)}, all ${kilobytes(weight.all)} of ${kilobytes(consoleBudget.all)} in ${weight.files} files (compressed). First page usable after ${Math.round(median)} ms, the median of ${times.length} loads here`,
);
if (weight.first > consoleBudget.first || weight.all > consoleBudget.all) {
  console.error('The console exceeds its budget: scripts/console-weight.ts');
  process.exitCode = 1;
}
