/**
 * Calls that are too large for the server to send: a person sees that they exist, their size, and the command
 * to type.
 */
import type { Turn } from 'quittance';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { keepVisitors } from './keep-visitors.ts';
import { holdCall } from './shop.ts';
import type { Stage } from './stage.ts';
import { findBarriers, openStage } from './stage.ts';

/** More than the 4 MiB that the server reads of one call. */
const long = 'x'.repeat(4_400_000);
const command = "quittance show 'big call' --session ticket-9";

let stage: Stage;
let turn: Turn;
beforeAll(async () => {
  stage = await openStage({ fill: () => Promise.resolve() });
  turn = stage.runtime.turn({ sessionId: 'ticket-9' });
  await holdCall(stage.runtime, turn, 'big call', 'delete_customer', { customer: 'Mei', note: long });
});
afterAll(() => stage.close());
const visit = keepVisitors(() => stage, /status of 413/);

test('the inbox names a question that is too large, with its size and the command that shows it', async () => {
  const { page, goTo } = await visit();
  await goTo('/inbox');
  const note = page.getByRole('region', { name: 'Calls too large to show here' });
  await note.waitFor();
  expect(await note.textContent()).toMatch(/1 call is too large to show here.*has (?:4\.\d|8\.\d) MB/s);
  expect(await note.locator('code').textContent()).toBe(command);
  expect(await page.getByText('No open questions').count()).toBe(0);
  expect(await findBarriers(page)).toEqual([]);
});

test('the page of such a call says the same', async () => {
  const { page, goTo } = await visit();
  await goTo('/calls/ticket-9/big%20call');
  const note = page.getByRole('region', { name: 'Calls too large to show here' });
  await note.waitFor();
  expect(await note.locator('code').textContent()).toBe(command);
});

test('lists follow the ledger past an entry that is too large to send', async () => {
  const { page, goTo } = await visit();
  await goTo('/calls');
  await page.getByText('Live').waitFor();
  const rows = page.locator('.call-rows .call-row');
  const small = (id: string): Promise<unknown> =>
    turn.call({ id, name: 'look_up_order', arguments: { order: id } });
  // The list has caught up, and reads again only after an event.
  await small('one');
  await expect.poll(() => rows.filter({ hasText: 'succeeded' }).count()).toBe(1);
  // One entry that no other follows: only the message about it says that something is new.
  await turn.call({ id: 'big too', name: 'no_such_tool', arguments: { note: long } });
  await expect.poll(() => rows.count()).toBe(3);
  // The feed continues after it.
  await small('two');
  await expect.poll(() => rows.count()).toBe(4);
  await expect.poll(() => page.getByText('Live').count()).toBe(1);
});
