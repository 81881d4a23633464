import { afterAll, beforeAll, expect, test } from 'vitest';
import { foldStored } from '../../packages/quittance/src/ledger/fold-stored.ts';
import { keepVisitors } from './keep-visitors.ts';
import type { Stage } from './stage.ts';
import { findBarriersInBoth, openStage } from './stage.ts';
import { findCalls } from '../../packages/quittance/src/ledger/reads.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());
const visit = keepVisitors(() => stage, /./u);

test('an operator runs a tool by a form from its schema, and the call is recorded as theirs', async () => {
  const { page, goTo } = await visit({ as: 'operator' });
  await goTo('/tools/refund');
  await page.getByRole('button', { name: 'Run…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Run: refund' });
  await dialog.getByRole('button', { name: 'Run', exact: true }).click();
  // Problems are beside their fields, and nothing was sent.
  await expect.poll(() => dialog.getByText('This field is required.').count()).toBe(2);
  await dialog.getByLabel(/^order/).fill('A-77');
  await dialog.getByLabel(/^cents/).fill('12a');
  await dialog.getByText('Enter a whole number.').waitFor();
  expect(await dialog.getByLabel(/^cents/).inputValue()).toBe('12a');
  expect(await findBarriersInBoth(page)).toEqual([]);
  await dialog.getByLabel(/^cents/).fill('120');
  // The same arguments as JSON, and back.
  await dialog.getByRole('button', { name: 'JSON' }).click();
  expect(JSON.parse(await dialog.getByLabel('Arguments', { exact: true }).inputValue())).toEqual({
    order: 'A-77',
    cents: 120,
  });
  await dialog.getByRole('button', { name: 'Fields' }).click();
  await dialog.getByRole('button', { name: 'Run', exact: true }).click();
  // The page of the tool has such a heading and such a word too.
  await page.waitForURL(/\/calls\/[^/]+\/[^/]+$/);
  await page.getByText('succeeded', { exact: true }).first().waitFor();
  const [, sessionId = '', callId = ''] = new URL(page.url()).pathname.split('/').slice(1);
  const stored = await stage.ledger.readCall(sessionId, callId);
  const call = stored && foldStored(stored);
  expect(call?.requestedInput).toEqual({ order: 'A-77', cents: 120 });
  expect(call?.askedBy).toMatchObject({ kind: 'token', name: 'operator-person', via: 'browser' });
});

test('a filled in form stays open, and a call whose answer was lost is not made twice', async () => {
  const { page, goTo } = await visit({ as: 'operator' });
  await goTo('/tools/refund');
  await page.getByRole('button', { name: 'Run…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Run: refund' });
  await dialog.getByLabel(/^order/).fill('A-79');
  await dialog.getByLabel(/^cents/).fill('130');
  // A selection by mouse may end outside the dialog.
  await dialog.getByLabel(/^order/).hover();
  await page.mouse.down();
  await page.mouse.move(5, 5);
  await page.mouse.up();
  await page.keyboard.press('Escape');
  const sent: string[] = [];
  await page.route('**/v1/calls', async (route) => {
    const { sessionId } = route.request().postDataJSON() as { readonly sessionId: string };
    if (sent.push(sessionId) > 1) return route.continue();
    await route.fetch();
    return route.abort();
  });
  await dialog.getByRole('button', { name: 'Run', exact: true }).click();
  await dialog.getByText('may not have received this').waitFor();
  await dialog.getByRole('button', { name: 'Run', exact: true }).click();
  await page.waitForURL(/\/calls\/[^/]+\/[^/]+$/);
  expect(sent).toHaveLength(2);
  const { rows } = await findCalls(stage.ledger, { sessionId: sent[0] ?? '', limit: 9 });
  expect(rows).toHaveLength(1);
});

test('[deny-wins] a call from the console passes every gate: it is blocked, or held for an approval', async () => {
  const { page, goTo } = await visit({ as: 'operator' });
  await goTo('/tools/refund');
  await page.getByRole('button', { name: 'Run…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Run: refund' });
  await dialog.getByLabel(/^order/).fill('A-78');
  await dialog.getByLabel(/^cents/).fill('90000');
  await dialog.getByRole('button', { name: 'Run', exact: true }).click();
  await dialog.getByText('A refund of 90000 cents is for the office.').waitFor();
  await dialog.getByRole('link', { name: 'Open call' }).waitFor();
  // The typed values are kept.
  expect(await dialog.getByLabel(/^order/).inputValue()).toBe('A-78');
  await dialog.getByLabel(/^cents/).fill('9000');
  await dialog.getByRole('button', { name: 'Run', exact: true }).click();
  await page.getByRole('heading', { name: 'Waiting for approval' }).waitFor();
});

test('[secrets-stay-out] a repeated call starts with its arguments, and never runs with the mask of a hidden value', async () => {
  const { page, goTo } = await visit({ as: 'operator', viewport: { width: 390, height: 844 } });
  await goTo('/calls/ticket-42/call_coerced');
  await page.getByRole('button', { name: 'Run again…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Run again: refund' });
  await dialog.getByText('The record hides a value: $.token. Enter it again.').waitFor();
  expect(await dialog.getByLabel(/^order/).inputValue()).toBe('A-1001');
  expect(await dialog.getByLabel(/^token/).inputValue()).toBe('');
  expect(await findBarriersInBoth(page)).toEqual([]);
  expect(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth)).toBe(true);
  await dialog.getByRole('button', { name: 'Run', exact: true }).click();
  // The new call names the first one.
  await page.getByRole('link', { name: 'call_coerced' }).waitFor();
  await expect.poll(() => new URL(page.url()).pathname).toMatch(/^\/calls\/console-\w+\/console_/);
  await page.getByText('ines as support', { exact: true }).waitFor();
});

test('a tool that the server does not have cannot be run, and the dialog says why', async () => {
  const { page, goTo } = await visit({ as: 'operator' });
  await goTo('/calls/ticket-42/call_unknown');
  await page.getByRole('button', { name: 'Run again…' }).click();
  await page.getByRole('dialog').getByText('This server cannot run the tool').waitFor();
  expect(await page.getByRole('dialog').getByRole('textbox').count()).toBe(0);
});

test('a viewer cannot run anything', async () => {
  const { page, goTo } = await visit({ as: 'viewer' });
  await goTo('/tools/refund');
  await page.getByRole('button', { name: 'Run…' }).waitFor();
  expect(await page.getByRole('button', { name: 'Run…' }).isDisabled()).toBe(true);
});

test('a tool of a worker waits for that worker', async () => {
  const { page, goTo } = await visit({ as: 'operator' });
  await goTo('/tools/print_label');
  await page.getByRole('button', { name: 'Run…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel(/^order/).fill('A-79');
  await dialog.getByRole('button', { name: 'Run', exact: true }).click();
  await page.waitForURL(/\/calls\/[^/]+\/[^/]+$/);
  const waiting = await stage.runtime.handoffs.list();
  expect(waiting).toMatchObject([{ toolName: 'print_label', status: 'waiting' }]);
});
