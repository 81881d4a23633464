import { readFileSync } from 'node:fs';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { approve } from '../approve.ts';
import type { Stage, Visitor } from './stage.ts';
import { findBarriers, openStage } from './stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

const panelOf = (page: Page, title: string): Locator =>
  page.locator('section.card').filter({ has: page.getByRole('heading', { name: title, exact: true }) });

async function open(callId: string, run: (visitor: Visitor) => Promise<void>): Promise<void> {
  const visitor = await stage.visit();
  try {
    await visitor.goTo(`/calls/ticket-42/${callId}`);
    await visitor.page.getByRole('heading', { name: 'Waterfall' }).waitFor();
    await run(visitor);
    expect(visitor.complaints).toEqual([]);
  } finally {
    await visitor.context.close();
  }
}

const everyEnd = [
  'call_read',
  'call_coerced',
  'call_blocked',
  'call_invalid',
  'call_unknown',
  'call_artifact',
  'call_retried',
  'call_late',
  'call_preview',
  'call_undoable',
  'call_failed',
  'call_unsure',
  'call_approved',
  'call_edited',
  'call_refused',
  'call_held',
];

/** Each page in one of the four looks. */
const looks = [
  { colorScheme: 'light', width: 1440 },
  { colorScheme: 'dark', width: 1440 },
  { colorScheme: 'light', width: 800 },
  { colorScheme: 'dark', width: 800 },
] as const;

test.each(looks.map((look, index) => ({ ...look, index })))(
  'the page of every call is accessible: $colorScheme, $width wide',
  async ({ colorScheme, width, index }) => {
    const { page, goTo, complaints, context } = await stage.visit({
      colorScheme,
      viewport: { width, height: 900 },
      reducedMotion: 'reduce',
    });
    for (const callId of everyEnd.filter((_, at) => at % looks.length === index)) {
      await goTo(`/calls/ticket-42/${callId}`);
      await page.getByRole('heading', { name: 'Waterfall' }).waitFor();
      expect([callId, ...(await findBarriers(page))]).toEqual([callId]);
      expect(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth)).toBe(true);
    }
    expect(complaints).toEqual([]);
    await context.close();
  },
);

test('the waterfall shows every gate with its time, and where a call was stopped', async () => {
  await open('call_blocked', async ({ page }) => {
    const rows = panelOf(page, 'Waterfall').getByRole('row');
    const steps = (await rows.allInnerTexts()).map((text) => text.split(/\s/)[0]);
    // A slow machine needs extra time besides the gates: overhead.
    expect(steps.slice(1).filter((step) => step !== 'overhead')).toEqual([
      'gates',
      'resolve',
      'deadline',
      'blocked',
      'validate',
      'undo',
      'duplicate',
      'policy',
    ]);
    expect(await rows.filter({ hasText: 'policy' }).innerText()).toContain('stopped here');
    expect(await panelOf(page, 'Rules that fired').innerText()).toContain('no-large-refunds');
    expect(await panelOf(page, 'Attempts').innerText()).toContain('The tool was not executed.');
    expect(await panelOf(page, 'Records').innerText()).toContain('blocked');
  });
});

test('inputs are shown from the request to the run, with changes and a badge that they match', async () => {
  await open('call_edited', async ({ page }) => {
    const inputs = panelOf(page, 'Inputs');
    expect(await inputs.locator('.stages li').allInnerTexts()).toEqual([
      expect.stringContaining('from the model'),
      expect.stringContaining('valid without changes'),
      expect.stringContaining('edited by Ada'),
      expect.stringContaining('passed to the tool'),
    ]);
    await inputs.getByText('The executed arguments match the approved ones').waitFor();
    const diff = inputs.getByRole('group', { name: 'Changes to coerced → approved' });
    expect(await diff.locator('del').innerText()).toContain('all of it');
    expect(await diff.locator('ins').innerText()).toContain('keep the invoices');
    expect(await panelOf(page, 'Model content').innerText()).toContain('A person changed the arguments');
  });
});

test('hidden values are nowhere on the page', async () => {
  await open('call_coerced', async ({ page }) => {
    await panelOf(page, 'Inputs').getByText('$.token').waitFor();
    await page.evaluate(() => document.querySelectorAll('details').forEach((each) => (each.open = true)));
    expect(await page.content()).not.toContain('sk-very-secret');
    expect(await panelOf(page, 'Attempts').innerText()).toContain('https://pay.example.com/v1/refunds');
  });
});

test('late results are next to the outcome, and retries in their order', async () => {
  await open('call_late', async ({ page }) => {
    const attempts = panelOf(page, 'Attempts');
    await attempts.getByText('late result').first().waitFor();
    expect(await attempts.locator('.attempt-head strong').allInnerTexts()).toEqual([
      'Attempt 1',
      'Attempt 2',
      'Attempt 3',
    ]);
    expect(await page.getByRole('heading', { level: 1 }).innerText()).toContain('timed out');
  });
});

test('a large output is read in pieces', async () => {
  await open('call_artifact', async ({ page }) => {
    const told = panelOf(page, 'Output');
    await told.getByRole('button', { name: 'Show', exact: true }).click();
    await told.getByText('Mei Tanaka').first().waitFor();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      told.getByRole('button', { name: 'Download' }).click(),
    ]);
    expect(readFileSync(await download.path(), 'utf8')).toContain('"id":399');
  });
});

test('input and output come first, gates are collapsed unless one decided, and events show milliseconds', async () => {
  await open('call_read', async ({ page }) => {
    const titles = await page.locator('.call-main section.card h2').allInnerTexts();
    expect(titles.slice(0, 2)).toEqual(['Inputs', 'Output']);
    const steps = panelOf(page, 'Waterfall').locator('tbody tr');
    const before = await steps.count();
    await page.getByRole('button', { name: /^Show the \d+ gates$/ }).click();
    expect(await steps.count()).toBeGreaterThan(before + 5);
    const events = page.locator('.events > li');
    expect(await events.first().innerText()).toMatch(/\d{2}:\d{2}:\d{2}\.\d{3}[^]*\+0 ms/);
    await events.first().locator('summary').click();
    await events.first().getByText('"tool.requested"').waitFor();
    // The status of a single attempt is that of the call: it is shown once.
    expect(await panelOf(page, 'Attempts').locator('.badge').count()).toBe(0);
  });
});

test('an output opens as tree, text and table, and a search finds its values', async () => {
  await open('call_artifact', async ({ page }) => {
    const output = panelOf(page, 'Output');
    await output.getByRole('button', { name: 'Open in viewer' }).click();
    await output.getByRole('button', { name: 'table' }).click();
    await output.getByRole('columnheader', { name: 'customer' }).waitFor();
    await output.getByRole('button', { name: 'tree' }).click();
    await output.getByRole('button', { name: '[400]' }).click();
    await output.getByRole('button', { name: 'Show more (300)' }).waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await output.getByRole('searchbox').fill('399');
    await output.getByText('1 match', { exact: true }).waitFor();
    await output.getByText('$[399].id').waitFor();
  });
});

test('an output that is read in pieces keeps characters that lie across two of them', async () => {
  const turn = stage.runtime.turn({ sessionId: 'ticket-42' });
  await turn.call({ id: 'call_wide', name: 'search_orders', arguments: { customer: '田中'.repeat(30) } });
  await open('call_wide', async ({ page }) => {
    const output = panelOf(page, 'Output');
    await output.getByRole('button', { name: 'Show', exact: true }).click();
    await output.getByRole('button', { name: 'Show more' }).click();
    await output
      .getByText('first 32768 bytes')
      .or(output.getByLabel(/first 32768 bytes/))
      .first()
      .waitFor();
    expect(await output.innerText()).not.toContain('\uFFFD');
  });
});

test('the page shows a command for the same call', async () => {
  await open('call_read', async ({ page }) => {
    const elsewhere = panelOf(page, 'View via CLI or API');
    expect(await elsewhere.innerText()).toContain('quittance show call_read --session ticket-42');
    expect(await elsewhere.innerText()).toContain('/v1/sessions/ticket-42/calls/call_read');
  });
});

test('a call is undone once, by keyboard, with a reason, and both calls link to each other', async () => {
  await open('call_undoable', async ({ page }) => {
    await page.getByRole('button', { name: 'Undo…' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.type('Wrong ticket.');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Undone' }).waitFor();
    await page.locator('.notice').getByText('Wrong ticket.').waitFor();
    expect(await page.getByRole('button', { name: 'Undo…' }).count()).toBe(0);
    const related = panelOf(page, 'Related calls');
    await related.getByRole('link').click();
    await related.getByText('Undoes').waitFor();
    await related.getByRole('link', { name: 'call_undoable' }).click();
    await related.getByText('Undone by').waitFor();
  });
});

test('a person who may not undo sees why', async () => {
  const { runtime } = stage;
  await runtime
    .turn({ sessionId: 'ticket-42' })
    .call({ id: 'call_undoable_too', name: 'archive_ticket', arguments: { ticket: 'T-8' } });
  const { page, goTo, context } = await stage.visit({ as: 'viewer' });
  await goTo('/calls/ticket-42/call_undoable_too');
  const button = page.getByRole('button', { name: 'Undo…' });
  await button.waitFor();
  expect(await button.isDisabled()).toBe(true);
  expect(await button.getAttribute('title')).toContain('operator');
  await context.close();
});

test('a held call links to the inbox, and its page follows the decision of another person', async () => {
  await open('call_held', async ({ page }) => {
    const link = page.getByRole('link', { name: 'Decide in the inbox' });
    const { rows } = await stage.runtime.confirmations.list({ status: 'pending', limit: 10 });
    const held = rows.find(({ callId }) => callId === 'call_held');
    if (held === undefined) throw new Error('Nothing is held.');
    expect(await link.getAttribute('href')).toBe(`/inbox/${held.confirmationId}`);
    const other = await stage.visit({ as: 'approver' });
    await other.goTo(`/inbox/${held.confirmationId}`);
    await approve(other.page.locator('article.question'));
    await page.getByRole('heading', { level: 1 }).getByText('succeeded').waitFor();
    await other.context.close();
    await panelOf(page, 'Inputs').getByText('The executed arguments match the approved ones').waitFor();
  });
});

test('an unresolved call links to its resolution form', async () => {
  await open('call_unsure', async ({ page }) => {
    await page.getByRole('heading', { level: 1 }).getByText('indeterminate').waitFor();
    expect(await page.getByRole('link', { name: 'Resolve it' }).getAttribute('href')).toBe(
      '/reconcile/ticket-42/call_unsure',
    );
    // One notice says it once.
    expect(await page.locator('.notice').count()).toBe(1);
  });
});

test('the page of a missing call says that it does not exist', async () => {
  const { page, goTo, context } = await stage.visit();
  await goTo('/calls/ticket-42/call_nowhere');
  await page.getByRole('heading', { name: 'Call not found' }).waitFor();
  expect(await findBarriers(page)).toEqual([]);
  await context.close();
});
