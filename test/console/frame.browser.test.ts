/** What stands around the pages: they are there when one goes to them, and one that fails leaves the others. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { keepVisitors } from './keep-visitors.ts';
import type { Stage } from './stage.ts';
import { findBarriers, openStage } from './stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
}, 60_000);
afterAll(() => stage.close());
const visit = keepVisitors(
  () => stage,
  /Failed to load resource|dynamically imported|was taken down|is not a function/,
);

const link = (name: string) => ({ name, exact: false }) as const;

test('once the first page is there every page can be gone to, server or no server', async () => {
  const { page, context, goTo } = await visit();
  await goTo('/');
  await page.waitForLoadState('networkidle');
  await context.setOffline(true);
  for (const name of ['Calls', 'Sessions', 'Contracts', 'Tools', 'Integrity']) {
    await page.getByRole('navigation').getByRole('link', link(name)).click();
    await page.getByRole('main').getByRole('heading', { level: 1, name }).waitFor();
  }
});

test('a page whose part is gone says what to do, and the others go on', async () => {
  const { page, goTo } = await visit();
  await page.route(/assets\/contracts-.*\.js/, (route) => route.fulfill({ status: 404 }));
  await goTo('/calls');
  await page.getByRole('navigation').getByRole('link', link('Contracts')).click();
  const said = page.getByRole('alert');
  await said.getByRole('heading', { name: 'This page cannot be shown' }).waitFor();
  expect(await said.textContent()).toContain(
    'It may have stopped, or be a newer one than the page you have open.',
  );
  expect(await findBarriers(page)).toEqual([]);
  await page.getByRole('navigation').getByRole('link', link('Tools')).click();
  await page.getByRole('main').getByRole('heading', { level: 1, name: 'Tools' }).waitFor();
  expect(await said.count()).toBe(0);

  await page.getByRole('navigation').getByRole('link', link('Contracts')).click();
  await page.unroute(/assets\/contracts-.*\.js/);
  await page.getByRole('button', { name: 'Load it again' }).click();
  await page.getByRole('main').getByRole('heading', { level: 1, name: 'Contracts' }).waitFor();
});

test('an answer that no page expects takes down that page and no other', async () => {
  const { page, goTo } = await visit();
  await page.route('**/v1/tools*', (route) =>
    route.fulfill({ json: { tools: [{ toolName: {} }], rows: 5 } }),
  );
  await goTo('/tools');
  await page.getByRole('heading', { name: 'This page cannot be shown' }).waitFor();
  await page.getByRole('navigation').getByRole('link', link('Calls')).click();
  await page.getByRole('main').getByRole('heading', { level: 1, name: 'Calls' }).waitFor();
});
