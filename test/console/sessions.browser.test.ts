import type { Locator, Page } from 'playwright-core';
import { createRuntime, defineTool } from 'quittance';
import type { Runtime } from 'quittance';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { fillShop, hostile } from './shop.ts';
import { keepVisitors } from './keep-visitors.ts';
import type { Stage } from './stage.ts';
import { findBarriersInBoth, openStage } from './stage.ts';

let stage: Stage;
/** Another agent's runtime on the same ledger, whose tools end when a test says so. */
let workshop: Runtime;
const finish = new Map<string, () => void>();
/** Returns the function that ends a call, once its body runs. */
async function endOf(id: string): Promise<() => void> {
  await expect.poll(() => finish.has(id)).toBe(true);
  return finish.get(id) ?? (() => undefined);
}
beforeAll(async () => {
  stage = await openStage({ fill: fillShop });
  workshop = createRuntime({
    ledger: stage.ledger,
    tools: [
      defineTool({
        name: 'work_slowly',
        mode: 'external',
        input: z.object({ id: z.string() }),
        run: ({ id }) => new Promise((resolve) => finish.set(id, () => resolve({ id }))),
      }),
      defineTool({
        name: 'put_label',
        mode: 'safe_write',
        idempotent: true,
        input: z.object({ order: z.string() }),
        run: ({ order }) => ({ order }),
      }),
      defineTool({ name: 'delete_all', mode: 'destructive', input: z.object({}), run: () => ({}) }),
    ],
  });
});
afterAll(async () => {
  for (const end of finish.values()) end();
  await workshop.close();
  await stage.close();
});

const visit = keepVisitors(() => stage, /status of 404/);

const bar = (page: Page, name: RegExp): Locator => page.locator('.timeline').getByRole('link', { name });
const topOf = (each: Locator): Promise<string> => each.evaluate((element) => element.style.top);

describe('the list of sessions', () => {
  test('shows each with its numbers, finds them by name, and opens one by keyboard', async () => {
    const { page, goTo } = await visit();
    await goTo('/sessions');
    const row = page.getByRole('row').filter({ hasText: 'ticket-42' });
    await expect.poll(() => row.textContent()).toContain('17');
    await page.keyboard.press('/');
    await page.keyboard.type('ticket');
    await expect.poll(() => page.url()).toContain('search=ticket');
    await expect.poll(() => page.locator('tbody tr').count()).toBe(1);
    await page.getByRole('searchbox').blur();
    await page.keyboard.press('j');
    await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe('ticket-42');
    await page.keyboard.press('Enter');
    await expect.poll(() => new URL(page.url()).pathname).toBe('/sessions/ticket-42');
    await page.goBack();
    await expect.poll(() => page.getByRole('searchbox').inputValue()).toBe('ticket');
    await page.getByRole('searchbox').fill('no such thing');
    await page.getByText('No matching sessions').waitFor();
  });

  test('renders only visible rows, and loads older ones while scrolling', async () => {
    for (let n = 0; n < 230; n++)
      await workshop
        .turn({ sessionId: `bulk-${String(n).padStart(3, '0')}` })
        .call({ id: 'c', name: 'put_label', arguments: { order: 'A' } });
    const { page, goTo } = await visit();
    await goTo('/sessions?search=bulk');
    await page.getByText('bulk-229').waitFor();
    expect(await page.locator('tbody tr').count()).toBeLessThan(60);
    const table = page.locator('.session-table');
    await expect
      .poll(async () => {
        await table.evaluate((element) => element.scrollTo(0, element.scrollHeight));
        return page.getByText('bulk-000').count();
      })
      .toBe(1);
    expect(await page.locator('tbody tr').count()).toBeLessThan(60);
  });
});

describe('the timeline of a session', () => {
  test('has a lane for each parallel call, and follows new events', async () => {
    const turn = workshop.turn({ sessionId: 'beside' });
    const [one, two] = ['one', 'two'].map((id) => turn.call({ id, name: 'work_slowly', arguments: { id } }));
    const [endOne, endTwo] = [await endOf('one'), await endOf('two')];
    const { page, goTo } = await visit();
    await goTo('/sessions/beside');
    await expect.poll(() => bar(page, /work_slowly, running/).count()).toBe(2);
    expect(await topOf(bar(page, /work_slowly/).first())).not.toBe(
      await topOf(bar(page, /work_slowly/).last()),
    );
    endOne();
    await one;
    await expect.poll(() => bar(page, /work_slowly, succeeded/).count()).toBe(1);
    endTwo();
    await two;
    await expect.poll(() => bar(page, /work_slowly, succeeded/).count()).toBe(2);
    // After both, there is room in the first lane again.
    await turn.call({ id: 'three', name: 'put_label', arguments: { order: 'B' } });
    await expect.poll(() => bar(page, /put_label, succeeded/).count()).toBe(1);
    expect(await topOf(bar(page, /put_label/))).toBe('4px');
  });

  test('marks waits for a person, and shortens them unless switched off', async () => {
    const { page, goTo } = await visit();
    await goTo('/sessions/ticket-42');
    const held = page.locator('.lane-bar').filter({ has: page.locator('.span[data-kind="held"]') });
    await expect.poll(() => held.count()).toBe(5);
    expect(
      await held
        .first()
        .locator('.span[data-kind="held"]')
        .evaluate((element) => getComputedStyle(element).backgroundImage),
    ).toContain('repeating-linear-gradient');
    const first = bar(page, /look_up_order, succeeded/);
    await expect.poll(() => page.locator('.squeezed').count()).toBeGreaterThan(0);
    const shortened = (await first.boundingBox())?.width ?? 0;
    await page.getByLabel('Shorten waits').uncheck();
    await expect.poll(() => page.url()).toContain('time=true');
    await expect.poll(() => page.locator('.squeezed').count()).toBe(0);
    await expect.poll(async () => (await first.boundingBox())?.width ?? 0).toBeLessThan(shortened);
  });

  test('draws a line from a repeated call to its original, and says so in words', async () => {
    const turn = workshop.turn({ sessionId: 'twice' });
    for (const id of ['first', 'again'])
      await turn.call({ id, name: 'put_label', arguments: { order: 'A-1' } });
    const { page, goTo } = await visit();
    await goTo('/sessions/twice');
    await expect.poll(() => page.locator('.links path').count()).toBe(1);
    const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: 'again' }) });
    await expect.poll(() => row.textContent()).toContain('duplicate of first');
  });

  test('is navigated by arrow keys, with one tab stop, and Enter opens a call', async () => {
    const { page, goTo } = await visit();
    await goTo('/sessions/ticket-42');
    await page.locator('.lane-bar').first().waitFor();
    expect(await page.locator('.lane-bar[tabindex="0"]').count()).toBe(1);
    await page.locator('.lane-bar[tabindex="0"]').focus();
    await page.keyboard.press('End');
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('Home');
    await page.keyboard.press('ArrowRight');
    await expect
      .poll(() => page.evaluate(() => document.activeElement?.getAttribute('aria-label')))
      .toContain('refund');
    expect(await page.locator('tr[data-active="true"]').textContent()).toContain('call_coerced');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.url()).toContain('/calls/ticket-42/call_coerced');
  });

  test('shows a long session a page at a time', async () => {
    const turn = workshop.turn({ sessionId: 'long' });
    for (let n = 0; n < 130; n++)
      await turn.call({ id: `c${n}`, name: 'put_label', arguments: { order: `A-${n}` } });
    const { page, goTo } = await visit();
    await goTo('/sessions/long');
    await page.getByText('Newest 100 of 130').waitFor();
    expect(await page.locator('.lane-bar').count()).toBe(100);
    await page.getByRole('link', { name: 'Older' }).click();
    await expect.poll(() => page.locator('.lane-bar').count()).toBe(30);
    await page.getByRole('link', { name: 'c0', exact: true }).waitFor();
    await page.getByRole('link', { name: 'Newest' }).click();
    await expect.poll(() => page.locator('.lane-bar').count()).toBe(100);
  });

  test('opens with any session name, as text, and says that an unknown session does not exist', async () => {
    const { page, goTo } = await visit();
    await goTo('/sessions?search=odd');
    await page.getByRole('link', { name: 'odd' }).click();
    await expect.poll(() => page.locator('.lane-bar').count()).toBe(2);
    expect(await page.evaluate(() => 'pwned' in window)).toBe(false);
    expect(await page.getByRole('heading', { level: 1 }).textContent()).not.toContain('\u202E');
    await expect
      .poll(() => decodeURIComponent(new URL(page.url()).pathname))
      .toBe(`/sessions/odd/${hostile}`);
    await goTo('/sessions/nowhere');
    await page.getByRole('heading', { name: 'Session not found' }).waitFor();
    await page.getByRole('main').getByRole('link', { name: 'All sessions' }).click();
    await page.waitForURL(/\/sessions$/);
  });
});

test('an operator forks a session from a call, and two people compare it with its source', async () => {
  const source = stage.runtime.turn({ sessionId: 'fork-source' });
  await source.call({ id: 'look', name: 'look_up_order', arguments: { order: 'A-1001' } });
  await source.call({ id: 'pay', name: 'refund', arguments: { order: 'A-1001', cents: 90_000 } });
  await source.end();
  const operator = await visit({ as: 'operator' });
  await operator.goTo('/calls/fork-source/look');
  await operator.page.getByRole('link', { name: 'Fork from here…' }).click();
  const dialog = operator.page.getByRole('dialog', { name: 'Fork this session' });
  await dialog.getByRole('button', { name: 'Make 2 calls again' }).waitFor();
  expect(await findBarriersInBoth(operator.page)).toEqual([]);
  await dialog.getByRole('button', { name: 'Make 2 calls again' }).click();
  await operator.page.waitForURL(/\/sessions\/fork-source-fork-/);
  await operator.page.getByRole('link', { name: 'Compare the two' }).click();
  await operator.page.getByRole('heading', { name: 'No differences' }).waitFor();
  // Another person, on a phone, finds a session that differs.
  await stage.runtime
    .turn({ sessionId: 'fork-other' })
    .call({ id: 'look', name: 'look_up_order', arguments: { order: 'A-404' } });
  const viewer = await visit({ as: 'viewer', viewport: { width: 390, height: 844 } });
  await viewer.goTo('/sessions/fork-source');
  expect(await viewer.page.getByRole('button', { name: 'Fork…' }).isDisabled()).toBe(true);
  await viewer.page.getByRole('button', { name: 'Compare with…' }).click();
  const search = viewer.page.getByRole('dialog');
  await search.getByRole('searchbox').fill('fork-other');
  await search.getByRole('link', { name: /fork-other/ }).click();
  await viewer.page.getByRole('heading', { name: 'The sessions differ' }).waitFor();
  const ends = viewer.page.getByRole('region', { name: 'Other ends and decisions' });
  await ends.getByText('only in the first session').waitFor();
  expect(await findBarriersInBoth(viewer.page)).toEqual([]);
  expect(await viewer.page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth)).toBe(
    true,
  );
});

test('everybody can use the pages, in light and dark', async () => {
  const { page, goTo } = await visit();
  await goTo('/sessions');
  await page.getByRole('table').waitFor();
  expect(await findBarriersInBoth(page)).toEqual([]);
  await goTo('/sessions/ticket-42');
  await page.locator('.lane-bar').first().waitFor();
  expect(await findBarriersInBoth(page)).toEqual([]);
  await page.setViewportSize({ width: 800, height: 900 });
  expect(await findBarriersInBoth(page)).toEqual([]);
  expect(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth)).toBe(true);
});
