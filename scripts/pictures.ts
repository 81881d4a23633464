/**
 * Takes the screenshots for docs/console.md: `npm run pictures`. The demo runs for a while first. Check the pictures
 * before you commit them.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { launchBrowser } from '../test/browser.ts';

const root = join(import.meta.dirname, '..');
const folder = mkdtempSync(join(tmpdir(), 'quittance-pictures-'));
const demo = spawn(
  process.execPath,
  [
    '--disable-warning=ExperimentalWarning',
    '--conditions=quittance-source',
    'src/cli/main.ts',
    'demo',
    '--ledger',
    join(folder, 'ledger.db'),
    '--port',
    '0',
    '--json',
  ],
  { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] },
);
const [line] = (await once(demo.stdout, 'data')) as [Buffer];
const { url, link, token } = JSON.parse(String(line)) as { url: string; link: string; token: string };
const ask = async <Answer>(path: string): Promise<Answer> =>
  (await (await fetch(url + path, { headers: { authorization: `Bearer ${token}` } })).json()) as Answer;
await new Promise((resolve) => setTimeout(resolve, 25_000));

type Row = { readonly sessionId: string; readonly callId: string };
const [refund] = (
  await ask<{ rows: readonly Row[] }>('/v1/calls?toolName=refund&outcome=ToolExecutionResult')
).rows;
const [round] = (await ask<{ rows: readonly Pick<Row, 'sessionId'>[] }>('/v1/sessions?search=morning-round'))
  .rows;
const step = encodeURIComponent;
const pages = {
  overview: '/?span=5m',
  calls: '/calls',
  call: refund === undefined ? '/calls' : `/calls/${step(refund.sessionId)}/${step(refund.callId)}`,
  inbox: '/inbox',
  reconcile: '/reconcile',
  session: round === undefined ? '/sessions' : `/sessions/${step(round.sessionId)}`,
  contracts: '/contracts',
  tools: '/tools',
  integrity: '/integrity',
};
const browser = await launchBrowser();
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  await page.goto(link);
  await page.getByRole('button', { name: /^Log in as/ }).click();
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    for (const [name, path] of Object.entries(pages)) {
      await page.goto(url + path);
      await page.locator('main h1').waitFor();
      await page.waitForTimeout(1_500);
      // A busy machine may still be loading the data of a page.
      const loading = page.locator('[aria-busy="true"]').first();
      await loading.waitFor({ state: 'detached', timeout: 60_000 });
      await page.waitForTimeout(500);
      await page.screenshot({ path: join(root, `docs/images/console-${name}-${colorScheme}.png`) });
      console.log(`docs/images/console-${name}-${colorScheme}.png`);
    }
  }
} finally {
  await browser.close();
  demo.kill('SIGINT');
  await once(demo, 'close');
  rmSync(folder, { recursive: true, force: true });
}
