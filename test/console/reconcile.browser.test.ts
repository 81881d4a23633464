import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { keepVisitors } from './keep-visitors.ts';
import type { Stage } from './stage.ts';
import { findBarriers, findBarriersInBoth, openStage, pressInTurn } from './stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await openStage({ fill: () => Promise.resolve() });
});
afterAll(() => stage.close());

afterEach(async () => {
  for (const call of (await stage.runtime.calls.unresolved()).rows)
    await stage.runtime.calls.reconcile(call, { resolution: 'failed', by: 'sweeper' });
});
// Defined last and so ended first: no page is open while the rest is cleaned up.
const visit = keepVisitors(() => stage, /status of 4\d\d/);

let count = 0;
type Doubt = { readonly sessionId: string; readonly callId: string };
/** An unresolved call. */
async function doubt(): Promise<Doubt> {
  const ref = { sessionId: `doubt/${++count}`, callId: `call ${count}` };
  const turn = stage.runtime.turn({ sessionId: ref.sessionId, principal: { userId: 'mei' } });
  const outcome = await turn.call({
    id: ref.callId,
    name: 'pay_supplier',
    arguments: { supplier: 'mill', cents: 18_000 + count },
  });
  expect(outcome).toMatchObject({ code: 'tool.indeterminate' });
  return ref;
}
const addressOf = ({ sessionId, callId }: Doubt): string =>
  `/reconcile/${encodeURIComponent(sessionId)}/${encodeURIComponent(callId)}`;
const resolutionOf = async ({ sessionId, callId }: Doubt) =>
  (await stage.runtime.calls.list({ sessionId })).find((call) => call.callId === callId)?.resolution;
const expectVerdict = async (page: Page, text: string): Promise<void> => {
  await expect
    .poll(() => page.locator('.verdict').allTextContents())
    .toEqual([expect.stringContaining(text)]);
};

test('an unresolved call is shown with the facts to check, and the resolution is stored with its evidence and person', async () => {
  const [older, newer] = [await doubt(), await doubt()];
  const { page, goTo } = await visit({ as: 'approver' });
  await goTo('/reconcile');
  await expect.poll(() => page.locator('.side-row').count()).toBe(2);
  await expect.poll(() => page.url()).toContain(addressOf(newer));
  await expect.poll(() => page.locator('article.question').textContent()).toContain('mei');
  await page.getByRole('button', { name: 'Save permanently' }).click();
  await expect.poll(() => page.getByRole('alert').textContent()).toContain('Select what you found');
  await page.getByLabel('It happened').check();
  await page.getByLabel('How do you know?').fill('It is on the list of the bank.');
  await page.getByLabel('Result as JSON').fill('{"transfer": ');
  await page.getByRole('button', { name: 'Save permanently' }).click();
  await expect.poll(() => page.getByRole('alert').textContent()).toContain('not valid JSON');
  expect(await resolutionOf(newer)).toBeUndefined();
  await page.getByLabel('Result as JSON').fill('{"transfer": 4711}');
  await page.getByRole('button', { name: 'Save permanently' }).dblclick();
  await expectVerdict(page, 'Resolved by you: it happened. It is on the list of the bank.');
  expect(await resolutionOf(newer)).toMatchObject({
    resolution: 'succeeded',
    by: { type: 'person', name: 'approver-person' },
    result: { transfer: 4711 },
  });
  await expect.poll(() => page.locator('.side-row').count()).toBe(1);
  await page.getByRole('link', { name: 'Next call' }).click();
  await expect.poll(() => page.url()).toContain(addressOf(older));
});

test('the second person learns who was first', async () => {
  const call = await doubt();
  const { page, goTo } = await stage.visit({ as: 'approver' });
  await goTo(addressOf(call));
  await page.getByLabel('It did not happen').check();
  // The page cannot read the call until its own answer was refused, and not at the first try after that.
  let readsAfter = Number.NaN;
  await page.route('**/v1/sessions/**', (route) => {
    const isRead = route.request().method() === 'GET';
    if (!isRead) readsAfter = 0;
    return isRead && !(readsAfter++ > 0) ? route.abort() : route.fallback();
  });
  await stage.runtime.calls.reconcile(call, {
    resolution: 'succeeded',
    by: 'grace',
    reason: 'Asked the bank.',
  });
  const refused = page.waitForResponse((response) => response.url().endsWith('/resolution'));
  await page.getByRole('button', { name: 'Save permanently' }).click();
  expect((await refused).status()).toBe(409);
  await expectVerdict(page, 'Already resolved by grace (self-asserted name): it happened. Asked the bank.');
  await expectVerdict(page, 'Your resolution came later and had no effect.');
  await page.context().close();
});

test('a tool with reconcile is asked: while it cannot tell the call stays unresolved, then its answer counts', async () => {
  const call = { sessionId: 'courier', callId: 'call_courier' };
  await stage.runtime
    .turn({ sessionId: call.sessionId })
    .call({ id: call.callId, name: 'book_courier', arguments: { order: 'A-1001' } });
  const { page, goTo } = await visit({ as: 'approver' });
  await goTo(addressOf(call));
  const ask = page.getByRole('button', { name: 'Ask the tool' });
  while ((await resolutionOf(call)) === undefined) {
    const answered = page.waitForResponse((response) => response.url().endsWith('/resolution'));
    await ask.click();
    expect((await answered).status()).toBe(200);
    if ((await resolutionOf(call)) === undefined)
      await page.getByText('The tool does not know either. The call stays unresolved.').first().waitFor();
    await expect.poll(() => ask.or(page.locator('.verdict')).first().textContent()).not.toBe('Asking…');
  }
  await expectVerdict(page, 'Resolved by the tool: it happened. Asked by approver-person.');
  expect(await resolutionOf(call)).toMatchObject({
    resolution: 'succeeded',
    by: { type: 'hook', name: 'reconcile' },
    result: { comesAt: '10:30' },
  });
  await expect.poll(() => page.locator('article.question').textContent()).toContain('10:30');
});

test('a tool that cannot be asked after all refuses, and the page says so', async () => {
  const call = await doubt();
  const { page, goTo } = await visit({ as: 'approver' });
  await page.route('**/v1/unresolved**', async (route) => {
    const answer = await route.fetch();
    const { rows, ...rest } = (await answer.json()) as { rows: object[] };
    await route.fulfill({ json: { ...rest, rows: rows.map((row) => ({ ...row, canAskTool: true })) } });
  });
  await goTo(addressOf(call));
  const asked = page.waitForRequest((request) => request.url().endsWith('/resolution'));
  await page.getByRole('button', { name: 'Ask the tool' }).click();
  expect((await asked).postDataJSON()).toEqual({ ask: 'tool' });
  await expect.poll(() => page.getByRole('alert').textContent()).toContain('the tool cannot be asked');
  expect(await resolutionOf(call)).toBeUndefined();
  // The list may be read again at any moment, and the page is about to be closed.
  await page.unrouteAll({ behavior: 'wait' });
});

test('an operator cannot resolve a call, but can ask the tool', async () => {
  const call = { sessionId: 'operator', callId: 'call_courier' };
  await stage.runtime
    .turn({ sessionId: call.sessionId })
    .call({ id: call.callId, name: 'book_courier', arguments: { order: 'A-2002' } });
  const { page, goTo } = await visit({ as: 'operator' });
  await goTo(addressOf(call));
  const ask = page.getByRole('button', { name: 'Ask the tool' });
  const answered = page.waitForResponse((response) => response.url().endsWith('/resolution'));
  await ask.click();
  expect((await answered).status()).toBe(200);
  await page.getByText('The tool does not know either. The call stays unresolved.').first().waitFor();
  await page.getByText('A user with the role approver can resolve this call.').waitFor();
  expect(await page.getByRole('radio').count()).toBe(0);
});

test('a viewer reads, and sees neither action', async () => {
  const call = await doubt();
  const { page, goTo } = await visit({ as: 'viewer' });
  await goTo(addressOf(call));
  await page.getByText('A user with the role approver can resolve this call.').waitFor();
  expect(await page.getByRole('button', { name: 'Ask the tool' }).count()).toBe(0);
  expect(await page.getByRole('radio').count()).toBe(0);
});

test('a page whose read failed reads again by itself', async () => {
  const call = await doubt();
  const { page, goTo } = await stage.visit({ as: 'approver' });
  await goTo(`/calls/${encodeURIComponent(call.sessionId)}/${encodeURIComponent(call.callId)}`);
  await page.getByRole('link', { name: 'Resolve it' }).waitFor();
  // The call page reads only when the ledger grows. That read fails, and the ledger does not grow again.
  let failed = 0;
  await page.route('**/v1/sessions/**', (route) => (failed++ === 0 ? route.abort() : route.fallback()));
  await stage.runtime.calls.reconcile(call, { resolution: 'succeeded', by: 'grace' });
  await page.getByRole('heading', { name: 'Resolved: succeeded' }).waitFor();
  // A read that started before the route was set may have shown the end already.
  await expect.poll(() => failed).toBeGreaterThan(1);
  await page.context().close();
});

test('everything can be done by keyboard', async () => {
  const [older, newer] = [await doubt(), await doubt()];
  const { page, goTo } = await visit({ as: 'approver' });
  await goTo('/');
  await pressInTurn(page, 'g', 'r');
  await expect.poll(() => page.url()).toContain(addressOf(newer));
  await page.keyboard.press('j');
  await expect.poll(() => page.url()).toContain(addressOf(older));
  await page.getByRole('radio').first().waitFor();
  for (let n = 0; n < 40; n++) {
    await page.keyboard.press('Tab');
    if (await page.evaluate(() => document.activeElement?.getAttribute('type') === 'radio')) break;
  }
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Tab');
  await page.keyboard.type('Not on the list.');
  await page.keyboard.press('Control+Enter');
  await expectVerdict(page, 'Resolved by you: it did not happen. Not on the list.');
  await expect.poll(() => page.evaluate(() => document.activeElement !== document.body)).toBe(true);
});

test('without unresolved calls the page says how calls get there', async () => {
  const { page, goTo } = await visit();
  await goTo('/reconcile');
  await page.getByText('No unresolved calls').waitFor();
  expect(await findBarriers(page)).toEqual([]);
});

test('everybody can use the page, in light and dark', async () => {
  await doubt();
  const { page, goTo } = await visit();
  await goTo('/reconcile');
  await page.getByLabel('It happened').check();
  expect(await findBarriersInBoth(page)).toEqual([]);
  await page.getByRole('button', { name: 'Save permanently' }).click();
  await expectVerdict(page, 'Resolved by you: it happened.');
  expect(await findBarriersInBoth(page)).toEqual([]);
  await page.setViewportSize({ width: 800, height: 900 });
  expect(await findBarriersInBoth(page)).toEqual([]);
  expect(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth)).toBe(true);
});
