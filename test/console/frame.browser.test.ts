/** The frame around the pages: every page opens, and one that fails leaves the others intact. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { keepVisitors } from './keep-visitors.ts';
import type { Stage } from './stage.ts';
import { builtConsole, findBarriers, openStage } from './stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());
const visit = keepVisitors(
  () => stage,
  /Failed to load resource|dynamically imported|The page failed to render|is not a function/,
);

async function follow(page: Page, name: string): Promise<string | null> {
  await page.getByRole('navigation').getByRole('link', { name }).click();
  return page.getByRole('main').getByRole('heading', { level: 1, name }).textContent();
}

test('after the first page has loaded every page opens, even without the server', async () => {
  const { page, context, goTo } = await visit();
  await goTo('/');
  const assets = readdirSync(join(builtConsole(), 'assets')).map((name) => name.replace(/\.br$/, ''));
  const missing = (): Promise<readonly string[]> =>
    page.evaluate((names) => {
      const loaded = performance.getEntriesByType('resource').map(({ name }) => name.split('/').at(-1));
      return names.filter((name) => !loaded.includes(name));
    }, assets);
  await expect.poll(missing).toEqual([]);
  await context.setOffline(true);
  for (const name of ['Calls', 'Sessions', 'Contracts', 'Tools', 'Integrity'])
    expect(await follow(page, name)).toBe(name);
});

test('a page whose code is missing says what to do, and the others continue', async () => {
  const { page, goTo } = await visit();
  await page.route(/assets\/contracts-.*\.js/, (route) => route.fulfill({ status: 404 }));
  await goTo('/calls');
  await page.getByRole('navigation').getByRole('link', { name: 'Contracts' }).click();
  const said = page.getByRole('alert');
  await said.getByRole('heading', { name: 'This page cannot be shown' }).waitFor();
  expect(await said.textContent()).toContain(
    'The server may have stopped, or may run a newer version than this page.',
  );
  expect(await findBarriers(page)).toEqual([]);
  expect(await follow(page, 'Tools')).toBe('Tools');
  expect(await said.count()).toBe(0);

  await page.getByRole('navigation').getByRole('link', { name: 'Contracts' }).click();
  await page.unroute(/assets\/contracts-.*\.js/);
  await page.getByRole('button', { name: 'Reload' }).click();
  await page.getByRole('main').getByRole('heading', { level: 1, name: 'Contracts' }).waitFor();
});

test('an unexpected answer breaks only its own page', async () => {
  const { page, goTo } = await visit();
  await page.route('**/v1/tools*', (route) =>
    route.fulfill({ json: { tools: [{ toolName: {} }], rows: 5 } }),
  );
  await goTo('/tools');
  await page.getByRole('heading', { name: 'This page cannot be shown' }).waitFor();
  expect(await follow(page, 'Calls')).toBe('Calls');
});

test('a tool name with a lone surrogate breaks no page', async () => {
  const { page, goTo } = await visit();
  const turn = stage.runtime.turn({ sessionId: 'half' });
  await turn.call({ id: 'half', name: 'refund\ud800', arguments: { '\udfff': '\ud800' } });
  for (const address of ['/', '/calls', '/tools', '/sessions/half', '/calls/half/half']) {
    await goTo(address);
    await expect.poll(() => page.getByRole('main').textContent()).toContain('refund\\ud800');
  }
});

test('every page says in plain words that something does not exist, and leads to its list', async () => {
  const { page, goTo } = await visit();
  const lists: Readonly<Record<string, string>> = {
    '/nowhere': 'overview',
    '/calls/ticket-42': 'overview',
    '/calls/ticket-42/nothing': 'Calls of the session',
    '/sessions/nothing': 'All sessions',
    '/sessions/nothing?compare=nowhere': 'All sessions',
    '/tools/nothing': 'All tools',
    '/servers/nothing': 'All servers',
    '/servers/nothing?tool=none': 'Tools of this server',
    '/inbox/nothing': 'Open questions',
    '/reconcile/ticket-42/nothing': 'Unresolved calls',
  };
  for (const [address, list] of Object.entries(lists)) {
    await goTo(address);
    const main = page.getByRole('main');
    await main.getByRole('heading', { name: 'not found' }).waitFor();
    await main.getByRole('link', { name: list }).waitFor();
    expect([address, await page.getByRole('alert').count()]).toEqual([address, 0]);
    expect(await main.textContent()).not.toMatch(/\/v1\/|\b(?:GET|POST) |http\.not_found/);
  }
  expect(await findBarriers(page)).toEqual([]);
});
