/** What a browser tells a person about questions that wait for them: the number in the title, and notifications. */
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { keepVisitors } from './keep-visitors.ts';
import { holdCall } from './shop.ts';
import type { Stage } from './stage.ts';
import { openStage } from './stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await openStage({ fill: () => Promise.resolve() });
});
afterAll(() => stage.close());
afterEach(async () => {
  const { rows } = await stage.runtime.confirmations.list({ status: 'pending' });
  for (const { confirmationId } of rows)
    await stage.runtime.confirmations.decide(confirmationId, { decision: 'deny', by: 'sweeper' });
});
const visit = keepVisitors(() => stage, /^$/);

let count = 0;
async function hold(): Promise<string> {
  const turn = stage.runtime.turn({ sessionId: `waiting-${++count}`, principal: { userId: 'ines' } });
  const args = { order: 'A-7', cents: 9_000 };
  return (await holdCall(stage.runtime, turn, `call_${count}`, 'refund', args)).confirmationId;
}

const badge = (page: Page): Promise<string> =>
  page
    .locator('.nav-link', { hasText: 'Inbox' })
    .evaluate((link) => link.querySelector('.count')?.firstChild?.textContent ?? '');

/** The page reads again when it becomes visible, so the test need not wait for its next round. */
const look = (page: Page): Promise<unknown> =>
  page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
const expectTitle = async (page: Page, title: string): Promise<void> => {
  await expect
    .poll(async () => {
      await look(page);
      return page.title();
    })
    .toBe(title);
};
const expectBadge = async (page: Page, number: string): Promise<void> => {
  await expect
    .poll(async () => {
      await look(page);
      return badge(page);
    })
    .toBe(number);
};

/** Records notifications in place of the system, and what the page asked the browser for. */
const watchNotices = (page: Page, permission: NotificationPermission): Promise<unknown> =>
  page.addInitScript((answer) => {
    const noted = { asked: 0, shown: [] as { title: string; tag: string; body: string }[] };
    class Watched extends EventTarget {
      static permission: NotificationPermission = 'default';
      static requestPermission(): Promise<NotificationPermission> {
        noted.asked++;
        Watched.permission = answer;
        return Promise.resolve(answer);
      }
      constructor(title: string, { tag = '', body = '' }: NotificationOptions) {
        super();
        noted.shown.push({ title, tag, body });
        Object.assign(window, { lastNotice: this });
      }
      close(): void {}
    }
    Object.assign(window, { Notification: Watched, noted });
    document.hasFocus = () => false;
  }, permission);
type Noted = { asked: number; shown: { title: string; tag: string; body: string }[] };
const noted = (page: Page): Promise<Noted> =>
  page.evaluate(() => (window as never as { noted: Noted }).noted);

test('the title shows how many questions wait for this person, as the badge of the inbox does', async () => {
  const [admin, viewer] = [await visit(), await visit({ as: 'viewer' })];
  await admin.goTo('/calls');
  expect(await admin.page.title()).toBe('Calls · Quittance');
  const first = await hold();
  await expectTitle(admin.page, '(1) Calls · Quittance');
  await hold();
  await expectTitle(admin.page, '(2) Calls · Quittance');
  expect(await badge(admin.page)).toBe('2');
  // A page with a title of its own has the number too.
  await admin.goTo(`/calls/waiting-1/call_1`);
  await expectTitle(admin.page, '(2) refund · Quittance');
  // This person may not decide: no question waits for them.
  await viewer.goTo('/calls');
  await expectBadge(viewer.page, '2');
  expect(await viewer.page.title()).toBe('Calls · Quittance');
  await stage.runtime.confirmations.decide(first, { decision: 'deny', by: 'eve' });
  await expectTitle(admin.page, '(1) refund · Quittance');
  expect(await badge(admin.page)).toBe('1');
});

test('a browser notification comes for a new question, after the person asked for it with a click', async () => {
  const { page, goTo } = await visit();
  await watchNotices(page, 'granted');
  const before = await hold();
  await goTo('/inbox');
  await expectBadge(page, '1');
  const unasked = await hold();
  await expectBadge(page, '2');
  expect(await noted(page)).toEqual({ asked: 0, shown: [] });
  await page.getByRole('button', { name: 'Notify me' }).click();
  await page.getByRole('button', { name: 'Notifications on', pressed: true }).waitFor();
  const now = await hold();
  await expectBadge(page, '3');
  expect(await noted(page)).toEqual({
    asked: 1,
    shown: [{ title: 'Approval needed', tag: now, body: 'refund' }],
  });
  // Opening it shows the question, and decides nothing.
  await page.evaluate(() =>
    (window as never as { lastNotice: EventTarget }).lastNotice.dispatchEvent(new Event('click')),
  );
  await expect.poll(() => new URL(page.url()).pathname).toBe(`/inbox/${now}`);
  const { rows } = await stage.runtime.confirmations.list({ status: 'pending' });
  expect(rows.map(({ confirmationId }) => confirmationId).toSorted()).toEqual(
    [before, unasked, now].toSorted(),
  );
  await page.getByRole('button', { name: 'Notifications on' }).click();
  await hold();
  await expectBadge(page, '4');
  expect((await noted(page)).shown).toHaveLength(1);
});

test('a browser that blocks notifications says what to do', async () => {
  const { page, goTo } = await visit();
  await watchNotices(page, 'denied');
  await goTo('/inbox');
  await page.getByRole('button', { name: 'Notify me' }).click();
  await page.getByText('This browser blocks notifications. Allow them in its site settings.').waitFor();
  expect(await noted(page)).toEqual({ asked: 1, shown: [] });
});
