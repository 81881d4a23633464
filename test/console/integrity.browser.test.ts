import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Job } from '@quittance/server';
import { openLedger } from 'quittance/ledger';
import type { Locator, Page, Route } from 'playwright-core';
import { anchorToText, createAnchor } from '../../packages/quittance/src/ledger/anchor.ts';
import { fillShop, openShop } from './shop.ts';
import type { Stage } from './stage.ts';
import { findBarriers, findBarriersInEveryLook, openStage, pressInTurn } from './stage.ts';
import { readHeads } from '../../packages/quittance/src/ledger/reads.ts';
import { openBare } from '../bare-database.ts';

const runningJob = {
  kind: 'verify',
  jobId: 'job_x',
  startedAt: Date.now(),
  startedBy: 'ada',
  status: 'running',
  progress: { done: 1_200, total: 5_000, label: 'verify' },
};
const tellRunning = (route: Route): Promise<void> =>
  route.fulfill({
    contentType: 'text/event-stream',
    body: `retry: 50\n\nevent: job\ndata: ${JSON.stringify(runningJob)}\n\n`,
  });
const readJob = (page: Page, jobId: string): Promise<Job> =>
  page.evaluate(async (id) => {
    const headers = { 'x-quittance-page-key': window.localStorage.getItem('quittance.page-key') ?? '' };
    return (await (await fetch(`/v1/jobs/${id}`, { headers })).json()) as Job;
  }, jobId);
/** The verification that is followed; the list of the latest shows the same. */
const found = (page: Page): Locator =>
  page.getByRole('region', { name: 'Verification', exact: true }).getByText('No problems found');

const many = 260;
let stage: Stage;
beforeAll(async () => {
  stage = await openStage({
    fill: async (shop) => {
      await fillShop(shop);
      for (let index = 0; index < many; index++)
        await shop.runtime
          .turn({ sessionId: `row-${String(index).padStart(3, '0')}` })
          .call({ id: 'only', name: 'look_up_order', arguments: { order: 'A-1' } });
    },
  });
});
afterAll(() => stage.close());

describe('in light and dark', () => {
  test('the integrity page is accessible, in light, in dark and 800 wide', async () => {
    const { page, goTo, complaints, context } = await stage.visit();
    await goTo('/integrity');
    await page.getByRole('link', { name: 'row-000', exact: true }).waitFor();
    await page.getByText('Compare with an anchor').click();
    expect(await findBarriersInEveryLook(page, 800)).toEqual([]);
    expect(complaints).toEqual([]);
    await context.close();
  });
});

test('the ledger is verified by keyboard alone, and navigation does not lose the findings', async () => {
  const { page, goTo, context } = await stage.visit();
  await goTo('/integrity');
  await page.getByRole('button', { name: 'Verify now' }).focus();
  await page.keyboard.press('Enter');
  await found(page).waitFor();
  const told = await page.getByRole('region', { name: 'Verification', exact: true }).textContent();
  expect(told).toMatch(/Checked: [\d,]+ entries of [\d,]+ sessions, [\d,]+ calls\./);
  expect(told).toContain('Started by admin-person');
  expect(await findBarriers(page)).toEqual([]);
  await pressInTurn(page, 'g', 'c');
  await page.getByRole('heading', { level: 1, name: 'Calls' }).waitFor();
  await page.goBack();
  await found(page).waitFor();
  await context.close();
});

test('a running verification shows its progress, can be stopped, and is found again after an interruption', async () => {
  const { page, goTo, context } = await stage.visit();
  await goTo('/integrity');
  // The work on a small ledger ends at once, so the server's last message is held back for a while.
  await page.route('**/v1/jobs/*/events', tellRunning);
  const [answer] = await Promise.all([
    page.waitForResponse((response) => response.url().endsWith('/v1/verify')),
    page.getByRole('button', { name: 'Verify now' }).click(),
  ]);
  const { jobId } = (await answer.json()) as Job;
  // On a busy machine it may not have ended: one that is stopped early ends differently from the one awaited
  // below.
  await expect.poll(async () => (await readJob(page, jobId)).status).toBe('done');
  const progress = page.getByRole('progressbar', { name: 'Verifying' });
  await page.getByText('1,200 of 5,000 entries').waitFor();
  expect(await progress.getAttribute('aria-valuenow')).toBe('1200');
  expect(await page.getByRole('button', { name: 'Verify now' }).isDisabled()).toBe(true);
  expect(await findBarriers(page)).toEqual([]);
  const stopped = page.waitForRequest(
    (request) => request.method() === 'DELETE' && request.url().includes('/v1/jobs/'),
  );
  await page.getByRole('button', { name: 'Stop' }).click();
  expect((await (await stopped).response())?.status()).toBe(200);
  await page.unroute('**/v1/jobs/*/events');
  await found(page).waitFor();
  await context.close();
});

test('the latest verifications are listed with person, time and result, for every visitor', async () => {
  const { page, goTo, context } = await stage.visit();
  await goTo('/integrity');
  await page.getByRole('button', { name: 'Verify now' }).click();
  await found(page).waitFor();
  await context.close();
  const viewer = await stage.visit({ as: 'viewer' });
  await viewer.goTo('/integrity');
  const row = viewer.page
    .getByRole('group', { name: 'Results of the latest checks' })
    .getByRole('row')
    .nth(1);
  await expect
    .poll(() => row.textContent())
    .toMatch(/^Verification.*admin-person.*done.*No problems in [\d,]+ entries$/);
  expect(await findBarriers(viewer.page)).toEqual([]);
  await viewer.context.close();
});

test('a running verification is found by a tab that did not start it, and after a reload', async () => {
  const { page, goTo, context } = await stage.visit();
  await page.route('**/v1/jobs?*', (route) => route.fulfill({ json: { rows: [runningJob] } }));
  await page.route('**/v1/jobs/*/events', tellRunning);
  await goTo('/integrity');
  await page.getByText('1,200 of 5,000 entries').waitFor();
  expect(await page.getByRole('button', { name: 'Verify now' }).isDisabled()).toBe(true);
  await page.reload();
  await page.getByText('1,200 of 5,000 entries').waitFor();
  await page
    .getByRole('group', { name: 'Results of the latest checks' })
    .getByText('1,200 of 5,000')
    .waitFor();
  expect(await findBarriers(page)).toEqual([]);
  await context.close();
});

test('an anchor that does not match is a problem that names the session', async () => {
  const { page, goTo, context } = await stage.visit();
  const heads = await readHeads(stage.ledger);
  const wrong = heads.map((head) =>
    head.sessionId === 'row-007' ? { ...head, hash: '0'.repeat(64) } : head,
  );
  await goTo('/integrity');
  await page.getByText('Compare with an anchor').click();
  await page.getByLabel('or anchor file').setInputFiles({
    name: 'monday.anchor',
    mimeType: 'application/json',
    buffer: Buffer.from(anchorToText(createAnchor(wrong, stage.ledger.now()))),
  });
  await expect.poll(() => page.getByLabel('Anchor text').inputValue()).toContain('quittance_anchor');
  await page.getByRole('button', { name: 'Verify now' }).click();
  const verification = page.getByRole('region', { name: 'Verification', exact: true });
  await verification.getByText('1 problem found').waitFor();
  await page.getByRole('group', { name: 'Problems' }).getByRole('link', { name: 'row-007' }).waitFor();
  expect(await findBarriers(page)).toEqual([]);
  await page.getByLabel('Anchor text').fill('{"quittance_anchor": 2}');
  await page.getByRole('button', { name: 'Verify now' }).click();
  await verification.getByText('The verification failed').waitFor();
  await context.close();
});

test('all chains can be scrolled through, and only visible ones are rendered', async () => {
  const { page, goTo, context } = await stage.visit();
  await goTo('/integrity');
  const region = page.getByRole('group', { name: 'Chain heads' });
  await region.getByRole('link', { name: 'row-000', exact: true }).waitFor();
  const last = region.getByRole('link', { name: `row-${many - 1}`, exact: true });
  await region.focus();
  await expect
    .poll(async () => {
      await region.press('End');
      return last.isVisible();
    })
    .toBe(true);
  expect(await region.getByRole('row').count()).toBeLessThan(80);
  expect(await region.getByRole('table').getAttribute('aria-rowcount')).toBe(String(many + 4));
  await context.close();
});

test('the ledger and a session are exported as files that verify', async () => {
  const { page, goTo, context } = await stage.visit();
  await goTo('/integrity');
  const save = async (name: string): Promise<readonly string[]> => {
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name, exact: true }).click(),
    ]);
    return readFileSync(await download.path(), 'utf8')
      .trimEnd()
      .split('\n');
  };
  const whole = await save('Download ledger');
  expect(whole.length).toBeGreaterThan(many);
  const session = await save('Export row-003');
  expect(session.length).toBeLessThan(10);
  expect(session.slice(1, -1).every((line) => line.includes('row-003'))).toBe(true);
  await context.close();
});

test('a viewer sees the heads of the chains, and who verifies and how', async () => {
  const { page, goTo, context } = await stage.visit({ as: 'viewer' });
  await goTo('/integrity');
  await page.getByRole('link', { name: 'row-000', exact: true }).waitFor();
  expect(await page.getByRole('button', { name: 'Verify now' }).isDisabled()).toBe(true);
  await page.getByText('Only admins can verify here').waitFor();
  expect(await page.getByRole('link', { name: /Export|Download/ }).count()).toBe(0);
  expect(await findBarriers(page)).toEqual([]);
  await context.close();
});

test('a changed ledger is reported, and the page leads to the position', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-integrity-'));
  const ledgerPath = join(folder, 'ledger.db');
  const ledger = await openLedger(ledgerPath);
  const shop = openShop(ledger);
  await shop.runtime
    .turn({ sessionId: 'books' })
    .call({ id: 'c1', name: 'look_up_order', arguments: { order: 'A-1' } });
  await shop.runtime.close();
  await ledger.close();
  const file = openBare(ledgerPath);
  const { changes } = file
    .prepare(`UPDATE entries SET text = replace(text, '"read"', '"external"') WHERE call = 'c1'`)
    .run();
  file.close();
  expect(changes).toBeGreaterThan(0);
  const changed = await openStage({ ledgerPath });
  try {
    const { page, goTo } = await changed.visit();
    await goTo('/integrity');
    await page.getByRole('button', { name: 'Verify now' }).click();
    await page
      .getByRole('region', { name: 'Verification', exact: true })
      .getByText(/problems? found/)
      .waitFor();
    await page
      .getByRole('group', { name: 'Problems' })
      .getByRole('link', { name: 'books' })
      .first()
      .waitFor();
    expect(await findBarriers(page)).toEqual([]);
  } finally {
    await changed.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
