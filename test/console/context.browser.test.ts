import { afterAll, beforeAll, expect, test } from 'vitest';
import { keepVisitors } from './keep-visitors.ts';
import { fillShop, holdCall } from './shop.ts';
import type { Stage } from './stage.ts';
import { findBarriersInBoth, openStage } from './stage.ts';
import type { Wire } from './wire.ts';
import { openWire } from './wire.ts';

let wire: Wire;
let stage: Stage;
beforeAll(async () => {
  wire = await openWire();
  stage = await openStage({
    fill: async (shop) => {
      await fillShop(shop);
      const turn = shop.runtime.turn({
        sessionId: 'ticket-43',
        attrs: {
          conversation: [
            { role: 'user', text: 'Please refund order A-2001, token: sk-live-abcdefghijklmnopqrstuvwx' },
            { role: 'assistant', text: 'I will refund it.\n\n- 50 euros' },
            { role: 5, text: 'not a message' },
          ],
        },
      });
      await holdCall(shop.runtime, turn, 'call_asked', 'refund', { order: 'A-2001', cents: 5_000 });
    },
    server: { allowHosts: [wire.host] },
  });
  wire.lead(stage.server.port);
});
afterAll(async () => {
  await stage.close();
  await wire.close();
});
const visit = keepVisitors(() => stage, /./u);

test('[secrets-stay-out] an approver sees the conversation, the last similar call and earlier decisions', async () => {
  const { page, goTo } = await visit({ as: 'approver' });
  const { rows } = await stage.runtime.confirmations.list({ status: 'pending', sessionId: 'ticket-43' });
  await goTo(`/inbox/${rows[0]?.confirmationId ?? ''}`);
  const main = page.getByRole('main');
  await main.getByText('Please refund order A-2001').waitFor();
  expect(await main.innerText()).not.toContain('sk-live-abcdef');
  await main.getByText('I will refund it.', { exact: true }).waitFor();
  await main.getByText('- 50 euros', { exact: true }).waitFor();
  const changed = main.getByRole('group', { name: 'Changed arguments' });
  await changed.getByRole('row', { name: /cents\s+1200\s+5000/ }).waitFor();
  await main.getByRole('heading', { name: 'Earlier decisions about the same rule' }).waitFor();
  await main.getByRole('link', { name: 'Refund 7500 cents for order A-1003?' }).waitFor();
  expect(await findBarriersInBoth(page)).toEqual([]);
  // Another person, in another browser, sees the same, and that it is not for them to decide.
  const other = await visit({ as: 'viewer' });
  await other.goTo(`/inbox/${rows[0]?.confirmationId ?? ''}`);
  await other.page.getByRole('main').getByText('I will refund it.').waitFor();
  expect(await other.page.getByRole('button', { name: 'Approve' }).count()).toBe(0);
});

test('the counts in the navigation follow the list at once, without a reload, and so do the figures of another person', async () => {
  const { page, goTo } = await visit({ as: 'approver' });
  await goTo('/inbox');
  const other = await visit({ as: 'operator' });
  await other.goTo('/?span=1h');
  const waiting = other.page
    .locator('section.card')
    .filter({ has: other.page.getByRole('heading', { name: 'Waiting now', exact: true }) });
  await expect.poll(() => waiting.getByRole('link', { name: 'refund' }).count()).toBe(2);
  const inbox = page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: /Inbox/ });
  await expect.poll(() => inbox.innerText()).toMatch(/3/);
  const turn = stage.runtime.turn({ sessionId: 'ticket-44' });
  await holdCall(stage.runtime, turn, 'call_more', 'refund', { order: 'A-2002', cents: 6_000 });
  await page.getByRole('heading', { name: '4 waiting' }).waitFor();
  await expect.poll(() => inbox.innerText()).toMatch(/4/);
  await expect.poll(() => waiting.getByRole('link', { name: 'refund' }).count()).toBe(3);
});

test('a disconnected page says so, and how old its data is', async () => {
  const { page, goTo } = await visit({ at: wire.url });
  await goTo('/tools');
  await page.getByText('search_orders').first().waitFor();
  wire.cut();
  await page.getByText(/^Disconnected\. Everything below is as of/).waitFor();
  wire.mend();
  await expect.poll(() => page.getByText(/^Disconnected/).count()).toBe(0);
});
