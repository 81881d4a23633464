/** Two ledgers that must not be mistaken for each other, and the console on a phone. */
import { createRuntime } from 'quittance';
import type { HttpServer } from '@quittance/server';
import { createHttpServer } from '@quittance/server';
import { createMemoryLedger } from 'quittance/ledger';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { keepVisitors } from './keep-visitors.ts';
import { holdCall } from './shop.ts';
import type { Stage } from './stage.ts';
import { atOneMoment, findBarriers, findBarriersInBoth, openStage } from './stage.ts';

let stage: Stage;
let other: HttpServer;
const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

beforeAll(async () => {
  const ledger = createMemoryLedger();
  other = await createHttpServer({
    ledger,
    runtime: createRuntime({ tools: [], ledger }),
    port: 0,
    localName: 'ada',
    console: { name: 'test', color: 'green' },
  });
  stage = await openStage({
    server: {
      console: {
        name: 'production',
        color: 'red',
        currency: 'EUR',
        others: [{ name: 'test', url: other.url, color: 'green' }],
      },
    },
  });
});
afterAll(async () => {
  await stage.close();
  await other.close();
});
const visit = keepVisitors(() => stage, /Failed to load resource/);

test('every page names its ledger, in its color and in the title, and leads to the other one', async () => {
  const { page, goTo } = await visit();
  for (const address of ['/', '/calls', '/inbox', '/contracts', '/integrity']) {
    await goTo(address);
    await expect.poll(() => page.title()).toContain('production');
    expect(await page.locator('.frame').getAttribute('data-ledger-color')).toBe('red');
    expect(await page.getByRole('navigation', { name: 'Pages' }).textContent()).toContain('production');
  }
  await goTo('/');
  await expect.poll(() => page.locator('.figures').textContent()).toContain('€');
  await page.locator('.ledger-switch summary').press('Enter');
  expect(await findBarriersInBoth(page)).toEqual([]);
  await page.getByRole('link', { name: /^test/ }).click();
  await expect.poll(() => page.url()).toMatch(new RegExp(`^${other.url}/`));
});

test('on a phone, lists are cards, a stray or double tap approves nothing, and two taps approve once', async () => {
  const turn = stage.runtime.turn({ sessionId: 'phone' });
  const { confirmationId } = await holdCall(stage.runtime, turn, 'held', 'refund', {
    order: 'A-7',
    cents: 9_000,
  });
  const { page, goTo } = await visit({ ...phone, as: 'approver' });
  const fits = (): Promise<boolean> =>
    page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth);
  await goTo('/calls');
  await page.locator('.call-rows .call-row').first().waitFor();
  const table = page.locator('.call-table');
  // No part of a card is cut: the list does not scroll sideways.
  const tooWide = await table.evaluate((each) => {
    const { right } = each.getBoundingClientRect();
    return [...each.querySelectorAll('.call-rows [role="cell"]')]
      .filter((part) => part.getBoundingClientRect().right > right + 1)
      .map(({ className }) => String(className));
  });
  expect(tooWide).toEqual([]);
  expect(await fits()).toBe(true);
  expect(await findBarriers(page)).toEqual([]);
  // A card has no line for a missing value, and no gap next to a single figure.
  await goTo('/sessions/phone');
  const card = page.locator('.card-rows tbody tr').first();
  await card.waitFor();
  expect(await card.locator('[data-label="Message"]').isVisible()).toBe(false);
  const widthOf = (label: string): Promise<number> =>
    card.locator(`[data-label="${label}"]`).evaluate((each) => each.getBoundingClientRect().width);
  await expect.poll(async () => (await widthOf('Age')) - (await widthOf('Outcome'))).toBe(0);

  const sent: string[] = [];
  page.on('request', (request) => {
    if (request.method() === 'POST' && request.url().endsWith('/decision')) sent.push(request.url());
  });
  await goTo(`/inbox/${confirmationId}`);
  await page.locator('article.question[data-seen="true"]').waitFor();
  await page.locator('.question-panel[data-still="true"]').waitFor();
  const approve = page.locator('button.approve');
  // Within reach of a thumb: in the lower half of the screen, and large.
  const box = await approve.boundingBox();
  expect(box?.y).toBeGreaterThan(844 / 2);
  expect(box?.height).toBeGreaterThanOrEqual(44);
  expect(await fits()).toBe(true);
  await atOneMoment(page, async () => {
    await approve.tap();
    await page.getByRole('button', { name: 'Tap again to approve' }).waitFor();
    await approve.tap(); // the second half of a double tap
  });
  expect(sent).toEqual([]);
  expect(await findBarriersInBoth(page)).toEqual([]);
  // Another person, in another browser, still sees an open question.
  const second = await visit({ as: 'admin' });
  await second.goTo(`/inbox/${confirmationId}`);
  await second.page.getByRole('button', { name: 'Approve' }).waitFor();
  await expect
    .poll(async () => {
      if (sent.length === 0) await approve.tap();
      return sent.length;
    })
    .toBe(1);
  await page.getByText('You approved this.').waitFor();
  await second.page.getByText(/Already decided by approver-person/).waitFor();
});

test('on a phone, no table scrolls sideways, and every value says what it is', async () => {
  const { page, goTo } = await visit(phone);
  await goTo('/integrity');
  await page.getByRole('button', { name: 'Verify now' }).click();
  await page.locator('[data-label="Result"]').first().waitFor();
  for (const [address, shown] of [
    ['/integrity', '[data-label="Started by"]'],
    ['/tools', '[data-label="Error rate"]'],
    ['/tools/refund', '[data-label]'],
    ['/contracts', '[data-label="Hits"]'],
    ['/sessions', '[data-label^="call"]'],
    ['/sessions/ticket-42', '[data-label="Outcome"]'],
  ] as const) {
    await goTo(address);
    await page.locator(shown).first().waitFor();
    const sideways = await page.evaluate(() =>
      [...document.querySelectorAll('main *')]
        .filter((each) => each.scrollWidth > each.clientWidth + 1 && each.querySelector('table') !== null)
        .filter((each) => getComputedStyle(each).overflowX !== 'hidden')
        .map(({ className }) => className),
    );
    expect([address, sideways]).toEqual([address, []]);
  }
});

test('the console can be installed, and keeps no copy of data on the device', async () => {
  const { page, context, goTo } = await visit(phone);
  await goTo('/');
  const protocol = await context.newCDPSession(page);
  const { errors, url } = await protocol.send('Page.getAppManifest');
  expect({ errors, url }).toEqual({ errors: [], url: `${stage.server.url}/manifest.webmanifest` });
  for (const path of ['/favicon.svg', '/icon-maskable.svg', '/apple-touch-icon.png'])
    expect((await context.request.get(stage.server.url + path)).status()).toBe(200);
  const kept = await page.evaluate(async () => ({
    workers: (await navigator.serviceWorker.getRegistrations()).length,
    caches: (await window.caches.keys()).length,
  }));
  expect(kept).toEqual({ workers: 0, caches: 0 });
});
