import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Locator } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Bundle, OpenedPage } from '../browser.ts';
import { bundlePage, launchBrowser, openPage } from '../browser.ts';
import { everyState } from './staged-calls.ts';

const axe = readFileSync(join(import.meta.dirname, '../../node_modules/axe-core/axe.min.js'), 'utf8');
const states: ReadonlyMap<string, readonly unknown[]> = await everyState();
/** Where to put pictures of every state, for people to look at. */
const pictures = process.env['QUITTANCE_PICTURES'];

let browser: Browser;
let bundle: Bundle;
beforeAll(async () => {
  [browser, bundle] = await Promise.all([launchBrowser(), bundlePage(join(import.meta.dirname, 'page.tsx'))]);
});
afterAll(() => browser.close());

describe.each(['light', 'dark'] as const)('in %s', (colorScheme) => {
  let opened: OpenedPage;
  beforeAll(async () => {
    opened = await openPage(browser, bundle, {
      colorScheme,
      deviceScaleFactor: 2,
      viewport: { width: 720, height: 900 },
      bypassCSP: true,
      reducedMotion: 'reduce',
    });
    await opened.page.addScriptTag({ content: axe });
  });
  afterAll(() => opened.page.context().close());

  test.each([...states.keys()])('a call that is %s is accessible', async (state) => {
    const { page } = opened;
    await page.evaluate((events) => window.show({ type: 'another source', events }), states.get(state) ?? []);
    const card = page.getByRole('article');
    await card.waitFor();
    await expect.poll(() => card.getAttribute('data-status')).toBe(state.split(/[ ,]/)[0]);
    await page.evaluate(() => document.querySelectorAll('details').forEach((each) => (each.open = true)));
    await check(opened, card, `react-${state.replaceAll(/[ ,]+/g, '-')}-${colorScheme}`);
  });

  test.each(['Deny…', 'Edit…', 'Respond…'])('so can the form behind %s, on a narrow page', async (name) => {
    const { page } = opened;
    await page.evaluate(
      (events) => window.show({ type: 'another source', events }),
      states.get('held') ?? [],
    );
    const card = page.getByRole('article');
    await expect.poll(() => card.getAttribute('data-status')).toBe('held');
    await page.setViewportSize({ width: 360, height: 900 });
    const opener = card.getByRole('button', { name });
    if ((await opener.getAttribute('aria-expanded')) === 'false') await opener.click();
    await card.getByRole('textbox').fill(name === 'Deny…' ? 'Not on a Sunday.' : '');
    if (name !== 'Deny…') {
      await page.keyboard.press('Control+Enter');
      await card.getByRole('alert').waitFor();
    }
    await check(opened, card, `react-form-${name.replace('…', '')}-${colorScheme}`);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
    await page.setViewportSize({ width: 720, height: 900 });
  });
});

/** Axe finds nothing and the page has no complaints. Takes a picture on request. */
async function check({ page, complaints }: OpenedPage, card: Locator, name: string): Promise<void> {
  const found = await page.evaluate(
    async () => (await window.axe.run(document, { resultTypes: ['violations'] })).violations,
  );
  expect(found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)).toEqual([]);
  expect(complaints).toEqual([]);
  if (pictures !== undefined) await card.screenshot({ path: join(pictures, `${name}.png`) });
}
