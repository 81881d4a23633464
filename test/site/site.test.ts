/** The documentation site, built once, served as static files, and opened in a real browser. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  createReadStream,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, extname, join, sep } from 'node:path';
import { promisify } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { navigation, titleOf } from '../../scripts/site/navigation.ts';
import { closePages, shareBrowser } from '../browser.ts';
import { root } from '../sources.ts';

/** Everything that the site is built from. A build of the same sources is used again. */
const sources = createHash('sha256').update(process.version);
for (const path of globSync(
  [
    'docs/**/*.{md,txt,png,svg}',
    'site/{package-lock.json,.vitepress/{config.ts,theme/**/*.*}}',
    'scripts/{site,cookbook}.ts',
    'scripts/site/*.ts',
    'package.json',
  ],
  { cwd: root },
).toSorted())
  sources.update(`${path} `).update(readFileSync(join(root, path)));
const folder = join(root, 'node_modules/.cache/site', sources.digest('hex').slice(0, 16));
const version = join(folder, manifest.version);
let server: Server;
let browser: Browser;
let origin = '';

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
};

/** As a static host answers: a page without its ending, and a folder by its index. */
function findFile(path: string): string | undefined {
  const bare = join(folder, decodeURIComponent(path));
  return [bare, `${bare}.html`, join(bare, 'index.html')].find(
    (file) => file.startsWith(folder) && existsSync(file) && statSync(file).isFile(),
  );
}

async function build(): Promise<void> {
  const node = (...args: readonly string[]) =>
    promisify(execFile)(process.execPath, [...args], { cwd: root });
  await node('scripts/frameworks.ts', 'site');
  for (const old of existsSync(dirname(folder)) ? readdirSync(dirname(folder)) : [])
    rmSync(join(dirname(folder), old), { recursive: true, force: true });
  mkdirSync(dirname(folder), { recursive: true });
  await node('scripts/site.ts', '--out', `${folder}.draft`);
  // Only a complete build has this name.
  renameSync(`${folder}.draft`, folder);
}

beforeAll(async () => {
  if (!existsSync(folder)) await build();
  server = createServer(({ url = '/' }, response) => {
    const file = findFile(new URL(url, 'http://site').pathname);
    response.writeHead(file === undefined ? 404 : 200, { 'content-type': types[extname(file ?? '')] ?? '' });
    if (file === undefined) response.end();
    else createReadStream(file).pipe(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  browser = await shareBrowser();
});
afterAll(async () => {
  if (browser !== undefined) await closePages(browser);
  server?.closeAllConnections();
  server?.close();
});

/** Opens a page. Fails the test if the page has an error or asks another host for anything. */
async function open(
  path: string,
  options: Parameters<Browser['newPage']>[0] = {},
): Promise<{ readonly page: Page; readonly problems: string[] }> {
  const page = await browser.newPage(options);
  const problems: string[] = [];
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
  page.on('request', (request) => {
    if (!request.url().startsWith(origin) && !request.url().startsWith('data:')) problems.push(request.url());
  });
  await page.goto(`${origin}/${manifest.version}${path}`, { waitUntil: 'networkidle' });
  return { page, problems };
}

test('every link of every built page leads to a file, and to an element with that id', () => {
  const pages = new Map(
    globSync('**/*.html', { cwd: version }).map((path) => {
      const text = readFileSync(join(version, path), 'utf8');
      const ids = new Set([...text.matchAll(/ id="([^"]+)"/g)].map(([, id = '']) => id));
      return [path.split(sep).join('/'), { text, ids }] as const;
    }),
  );
  expect(pages.size).toBeGreaterThan(navigation.flatMap((section) => section.pages).length);
  const broken = [...pages].flatMap(([path, { text, ids }]) =>
    [...text.matchAll(/<(?:a|img|link|script)\b[^>]* (?:href|src)="([^"]+)"/g)]
      .map(([, link = '']) => link.replaceAll('&amp;', '&'))
      .filter((link) => !/^(?:https?:|data:|mailto:)/.test(link))
      .filter((link) => {
        const { pathname, hash } = new URL(link, `http://site/${manifest.version}/${path}`);
        const file = findFile(pathname);
        if (file === undefined) return true;
        if (hash === '') return false;
        const target = file
          .slice(version.length + 1)
          .split(sep)
          .join('/');
        const known = target === path ? ids : pages.get(target)?.ids;
        return known !== undefined && !known.has(decodeURIComponent(hash.slice(1)));
      })
      .map((link) => `${path}: ${link}`),
  );
  expect(broken).toEqual([]);
});

test('the plain pages and llms.txt are next to the built ones', () => {
  const list = readFileSync(join(version, 'llms.txt'), 'utf8');
  const links = [...list.matchAll(/\]\(([^)]+)\)/g)].map(([, link = '']) => link);
  expect(links.length).toBeGreaterThan(80);
  expect(links.filter((link) => !existsSync(join(version, link)))).toEqual([]);
});

describe('in a browser', () => {
  test('the site is searched without a network, and finds the right page', async () => {
    const { page, problems } = await open('/getting-started');
    const search = page.getByRole('searchbox').or(page.locator('#localsearch-input')).first();
    // Keys have an effect only when the scripts of the page have run.
    await expect
      .poll(async () => {
        await page.keyboard.press('Control+k');
        return search.isVisible();
      })
      .toBe(true);
    await search.fill('twin guard');
    await page.locator('.result', { hasText: 'Asking again' }).first().click();
    await page.waitForURL(/\/calls\.html#asking-again|\/calls#asking-again/);
    expect(problems).toEqual([]);
    await page.close();
  });

  test('every section is in the sidebar, and pages for contributors are not', async () => {
    const { page } = await open('/concepts');
    const texts = await page.locator('.VPSidebar').innerText();
    for (const { title } of navigation) expect(texts).toContain(title);
    const links = await page
      .locator('.VPSidebar a')
      .evaluateAll((all) => all.map((each) => each.textContent));
    for (const name of navigation.flatMap((section) => section.pages)) expect(links).toContain(titleOf(name));
    expect(links.filter((text) => /deviations|names of/i.test(text ?? ''))).toEqual([]);
    await page.close();
  });

  test('the picture follows the color scheme of the system, and the switch of the site', async () => {
    const { page, problems } = await open('/concepts', { colorScheme: 'light' });
    const shows = async (scheme: string, other: string): Promise<void> => {
      await page.locator(`img.only-${scheme}`).waitFor();
      expect(await page.locator(`img.only-${other}`).isVisible()).toBe(false);
      const width = await page.locator(`img.only-${scheme}`).evaluate((image) => {
        const { naturalWidth } = image as unknown as { naturalWidth: number };
        return naturalWidth;
      });
      expect(width).toBeGreaterThan(500);
    };
    await shows('light', 'dark');
    await page.emulateMedia({ colorScheme: 'dark' });
    await shows('dark', 'light');
    await page.locator('.VPSwitchAppearance').first().click();
    await shows('light', 'dark');
    expect(problems).toEqual([]);
    await page.close();
  });

  test('in a browser on a phone, pages do not scroll sideways, and drawings keep a readable size', async () => {
    const { page, problems } = await open('/', { viewport: { width: 390, height: 844 } });
    for (const path of ['/', '/tools', '/cli', '/cookbook/undo', '/comparison', '/concepts']) {
      await page.goto(`${origin}/${manifest.version}${path}`);
      const wide = await page.evaluate(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      );
      expect([path, wide]).toEqual([path, 0]);
    }
    const drawing = await page.locator('.drawing img:visible').boundingBox();
    expect(drawing?.width).toBeGreaterThan(700);
    expect(problems).toEqual([]);
    await page.close();
  });

  test('the versions are listed, and the root leads to the latest', async () => {
    const { page } = await open('/concepts');
    await page.getByRole('button', { name: `v${manifest.version}` }).hover();
    await page.getByRole('link', { name: 'All versions' }).first().click();
    await page.waitForURL(`${origin}/versions.html`);
    expect(await page.getByRole('link').allInnerTexts()).toEqual([`Quittance ${manifest.version}`]);
    await page.goto(origin);
    await page.waitForURL(`${origin}/${manifest.version}/`);
    await page.getByRole('heading', { name: 'Documentation' }).waitFor();
    await page.close();
  });
});
