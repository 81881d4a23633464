import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRuntime, defineTool } from 'quittance';
import { createHttpServer } from '@quittance/server';
import { openLedger } from 'quittance/ledger';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { fillShop, hostile } from './shop.ts';
import type { Stage, Visitor } from './stage.ts';
import { findBarriers, findBarriersInEveryLook, openStage } from './stage.ts';
import type { Stats } from '../../packages/server/src/http/api/stats.ts';

let stage: Stage;
const folder = mkdtempSync(join(tmpdir(), 'quittance-tools-'));
beforeAll(async () => {
  const ledgerPath = join(folder, 'ledger.db');
  await serveOlderRefund(ledgerPath);
  stage = await openStage({ ledgerPath });
  await fillShop(stage.shop);
});
afterAll(async () => {
  await stage.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A server with another `refund`, so that its schema has changed since. */
async function serveOlderRefund(ledgerPath: string): Promise<void> {
  const ledger = await openLedger(ledgerPath);
  const tools = [
    defineTool({
      name: 'refund',
      input: z.object({ order: z.string(), euros: z.number() }),
      run: () => null,
    }),
  ];
  const runtime = createRuntime({ tools, ledger });
  const server = await createHttpServer({
    ledger,
    ledgerUrl: ledgerPath,
    runtime,
    tools,
    port: 0,
    localName: 'ada',
  });
  await server.close();
  await runtime.close();
  await ledger.close();
}

async function withVisitor(
  run: (visitor: Visitor) => Promise<void>,
  options: Parameters<Stage['visit']>[0] = {},
): Promise<void> {
  const visitor = await stage.visit({ reducedMotion: 'reduce', ...options });
  try {
    await run(visitor);
    expect(visitor.complaints).toEqual([]);
  } finally {
    await visitor.context.close();
  }
}

describe('in light and dark', () => {
  test('overview and tools are accessible, in light, in dark and 800 wide', async () => {
    await withVisitor(async (visitor) => {
      const { page, goTo } = visitor;
      const expectAccessible = async (): Promise<void> => {
        expect(await findBarriersInEveryLook(page, 800)).toEqual([]);
        await page.setViewportSize({ width: 1440, height: 900 });
      };
      await goTo('/');
      await page.getByRole('heading', { name: 'Outcomes over time' }).waitFor();
      await expectAccessible();
      await goTo('/tools');
      await page.getByRole('link', { name: 'refund', exact: true }).waitFor();
      await expectAccessible();
      await goTo('/tools/refund');
      await page.getByRole('heading', { name: 'Schema history' }).waitFor();
      await page.getByText('Show diff').click();
      await page.getByText('JSON Schema', { exact: true }).click();
      await page.getByRole('heading', { name: 'Latest calls' }).waitFor();
      await expectAccessible();
    });
  });
});

test('a time span without calls says so, instead of showing empty charts', async () => {
  await withVisitor(async ({ page, goTo }) => {
    await page.route('**/v1/stats?*', async (route) => {
      const answer = await route.fetch();
      const stats = (await answer.json()) as Stats;
      const totals = Object.fromEntries(Object.keys(stats.totals).map((name) => [name, 0]));
      const none = { failingTools: [], slowTools: [], costlyTools: [], codes: [] };
      const quiet = { totals, latency: { count: 0 }, ...none };
      await route.fulfill({ json: { ...stats, ...quiet } });
    });
    await goTo('/');
    const main = page.getByRole('main');
    await main.getByText('No calls in this period. Choose').waitFor();
    await main.getByText('No tool ran in this period.').first().waitFor();
    await main.getByText('No call ended in this period.').waitFor();
    expect(await main.getByText('No call failed in this period.').count()).toBe(0);
    expect(await main.getByRole('figure').count()).toBe(0);
    // The numbers may be read again at any moment, and the page is about to be closed.
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  });
});

test('the overview says what waits and for how long, why calls fail, and each figure leads to its calls', async () => {
  await withVisitor(async ({ page, goTo }) => {
    await goTo('/?span=1h');
    const card = (title: string) =>
      page.locator('section.card').filter({ has: page.getByRole('heading', { name: title, exact: true }) });
    // Held calls lead to their question.
    await card('Waiting now').getByRole('link', { name: 'delete_customer' }).first().click();
    await expect.poll(() => page.url()).toMatch(/\/inbox\/.+/);
    await page.goBack();
    // A reason says what to do, and its tool leads to exactly these calls.
    const failing = card('Why calls fail').locator('.reasons > li').first();
    await failing.locator('.ranked-note').waitFor();
    const code = await failing.locator('code').first().textContent();
    const chip = failing.locator('a.chip').first();
    const [, count] = /(\d+)$/.exec((await chip.textContent()) ?? '') ?? [];
    await chip.click();
    await expect.poll(() => new URL(page.url()).searchParams.get('code')).toBe(code);
    await page
      .getByText(`${count} ${count === '1' ? 'call' : 'calls'}`, { exact: true })
      .first()
      .waitFor();
    await page.goBack();
    // So does the number of calls that a rule denied.
    const rule = page.getByRole('region', { name: 'Rules that denied calls' }).getByRole('listitem').first();
    const denied = rule.getByRole('link', { name: /^\d+ calls?$/ });
    const ruleId = await rule.locator('code').textContent();
    const deniedCalls = Number.parseInt((await denied.textContent()) ?? '', 10);
    await denied.click();
    await expect.poll(() => new URL(page.url()).searchParams.get('ruleId')).toBe(ruleId);
    await expect.poll(() => page.locator('.call-rows').getByRole('row').count()).toBe(deniedCalls);
    await page.goBack();
    // A bar leads to the calls of its time, by pointer and by key.
    const bars = page.getByRole('group', { name: /^Outcomes over time/ });
    await bars.focus();
    const moment = page.locator('.legend-moment').first();
    await bars.press('ArrowLeft');
    await expect.poll(() => moment.textContent()).not.toBe('');
    const whole = await page.locator('.chart table tbody tr').count();
    expect(whole).toBeGreaterThan(0);
    const counts = page.locator('.legend').first().locator('strong');
    for (let step = 0; step < 60; step++) {
      if ((await counts.allTextContents()).some((count) => count !== '0')) break;
      await bars.press('ArrowLeft');
    }
    await bars.press('Enter');
    await page.waitForURL(/\/calls\?/);
    const { searchParams } = new URL(page.url());
    expect(Number(searchParams.get('until'))).toBeGreaterThan(Number(searchParams.get('since')));
    await page.locator('[role="row"], tbody tr').first().waitFor();
    expect(await findBarriers(page)).toEqual([]);
  });
});

test('nothing moves while the overview loads', async () => {
  await withVisitor(async ({ page, goTo }) => {
    await page.addInitScript(() => {
      window.jumps = [];
      new PerformanceObserver((list) => {
        // A layout shift as the standard defines it: the share of the window that moved, times the distance.
        for (const entry of list.getEntries() as (PerformanceEntry & { value: number })[])
          if (entry.value > 0.02) window.jumps.push(entry.value);
      }).observe({ type: 'layout-shift', buffered: true });
    });
    await goTo('/');
    await page.locator('.chart svg').nth(1).waitFor();
    await page.waitForLoadState('networkidle');
    expect(await page.evaluate(() => window.jumps)).toEqual([]);
  });
});

declare global {
  interface Window {
    jumps: number[];
  }
}

test('the overview counts calls, draws them, and links to those that wait for a person', async () => {
  await withVisitor(async ({ page, goTo }) => {
    await goTo('/');
    const main = page.getByRole('main');
    const leading = (name: RegExp): Promise<string | null> => main.getByRole('link', { name }).textContent();
    await expect.poll(() => leading(/^Awaiting approval/)).toContain('2');
    await expect.poll(() => leading(/^To reconcile/)).toMatch(/[12]/);
    const chart = main.getByRole('figure', { name: 'Outcomes over time' });
    await expect.poll(() => chart.locator('svg rect').count()).toBeGreaterThan(2);
    // The data of a chart is available to people who do not see it.
    expect(await chart.getByRole('table').getByRole('columnheader').allTextContents()).toContain(
      'indeterminate',
    );
    const slow = main
      .locator('section.card')
      .filter({ has: page.getByRole('heading', { name: 'Slowest tools' }) });
    // Most tools take no time, so their order is chance. The list begins with one that does.
    const slowest = slow.getByRole('link').first();
    const name = (await slowest.textContent()) ?? '';
    await slowest.click();
    await page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
    await page.goBack();
    await page.getByRole('combobox', { name: 'Time' }).selectOption('24h');
    await expect.poll(() => page.url()).toContain('span=24h');
    await main.getByRole('link', { name: /^Awaiting approval/ }).click();
    await page.getByRole('heading', { level: 1, name: 'Inbox' }).waitFor();
  });
});

test('tools are listed with their numbers, sorted and searched, and the address stores that', async () => {
  await withVisitor(async ({ page, goTo }) => {
    await goTo('/tools');
    const rows = page.getByRole('table').getByRole('row');
    const rate = rows.filter({ has: page.getByRole('link', { name: 'get_exchange_rate' }) });
    await rate.waitFor();
    await expect.poll(() => rate.textContent()).toContain('0.0 %');
    const unsure = rows.filter({ has: page.getByRole('link', { name: 'pay_supplier' }) });
    expect(await unsure.textContent()).toContain('1 indeterminate');
    expect(await unsure.textContent()).toContain('100.0 %');
    const refund = rows.filter({ has: page.getByRole('link', { name: 'refund', exact: true }) });
    expect(await refund.textContent()).toContain('changed');
    const named = (row: number): Promise<string | null> => rows.nth(row).getByRole('link').textContent();
    await page.getByRole('button', { name: 'Tool', exact: true }).click();
    // Above it is only a name that a model made up.
    await expect.poll(() => named(2)).toBe('archive_ticket');
    expect(await page.getByRole('columnheader', { name: 'Tool' }).getAttribute('aria-sort')).toBe(
      'ascending',
    );
    await page.getByRole('button', { name: 'Tool', exact: true }).click();
    await expect.poll(() => named(1)).toBe('update_address');
    // By keyboard alone: to the search, and from row to row.
    await page.locator('body').press('/');
    await page.keyboard.type('mail server');
    await expect.poll(() => rows.count()).toBe(2);
    await expect.poll(() => page.url()).toContain('search=mail+server');
    await page.keyboard.press('Tab');
    await page.getByRole('main').press('j');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'send_mail' }).waitFor();
    await page.goBack();
    await expect.poll(() => rows.count()).toBe(2);
    await page.getByLabel('Find tools').fill('no such thing');
    await page.getByRole('heading', { name: 'No matching tools' }).waitFor();
  });
});

test('a tool shows its schema, its history, the causes of its failures, and the latest calls', async () => {
  await withVisitor(async ({ page, goTo }) => {
    await goTo('/tools/refund');
    const fields = page.getByRole('table', { name: 'Fields of the arguments' });
    await fields.waitFor();
    expect(await fields.getByRole('row', { name: /cents/ }).textContent()).toContain('integer, 1 or more');
    const history = page.getByRole('region', { name: 'Schema history' });
    await expect.poll(() => history.textContent()).toMatch(/added.*cents/);
    expect(await history.textContent()).toMatch(/removed.*euros/);
    await history.getByText('Show diff').click();
    expect(await history.locator('ins').allTextContents()).toContainEqual(expect.stringContaining('"cents"'));
    const latest = page.getByRole('table', { name: 'Latest calls' });
    await latest.getByRole('link', { name: 'call_held' }).waitFor();
    expect(await page.getByRole('link', { name: 'policy.contract' }).getAttribute('href')).toBe(
      '/calls?toolName=refund&code=policy.contract',
    );
  });
});

test('a tool shows its outcomes over time, in a span that the address stores', async () => {
  await withVisitor(async ({ page, goTo }) => {
    await goTo('/tools/send_mail');
    const section = page.getByRole('region', { name: 'Over time' });
    const outcomes = section.getByRole('figure', { name: 'Outcomes over time' });
    await expect.poll(() => outcomes.locator('svg rect').count()).toBeGreaterThan(0);
    // The data of the chart is available to people who do not see it: only this tool's calls.
    const failed = await outcomes.getByRole('table').getByRole('row').allTextContents();
    expect(failed.length).toBeGreaterThan(1);
    const latency = section.getByRole('table', { name: 'Execution time' });
    await expect
      .poll(() => latency.getByRole('columnheader').allTextContents())
      .toEqual(['Time', 'p50', 'p95']);
    await section.getByRole('combobox', { name: 'Time' }).selectOption('30d');
    await expect.poll(() => page.url()).toMatch(/\/tools\/send_mail\?span=30d$/);
    await page.reload();
    await outcomes.waitFor();
    expect(await section.getByRole('combobox', { name: 'Time' }).inputValue()).toBe('30d');
  });
});

test('a tool whose body never ran has no latency to show', async () => {
  await withVisitor(async ({ page, goTo }) => {
    await goTo(`/tools/${encodeURIComponent(hostile)}`);
    await page.getByText('The tool did not run in this period.').waitFor();
    await expect.poll(() => page.getByRole('main').textContent()).toContain('Latency p50–');
  });
});

test('a name that a model made up is text, and distinct from the tools of the server', async () => {
  await withVisitor(async ({ page, goTo }) => {
    await goTo(`/tools/${encodeURIComponent(hostile)}`);
    await page.getByText('not a tool of this server').waitFor();
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toContain('<img src=x');
    expect(await page.evaluate(() => 'pwned' in window)).toBe(false);
    await goTo('/tools');
    await page.getByRole('link', { name: '<img src=x' }).waitFor();
    expect(await page.evaluate(() => 'pwned' in window)).toBe(false);
  });
});

test('a period without calls in a ledger that has older ones names the newest and leads to the list', async () => {
  await withVisitor(async ({ page, goTo }) => {
    await page.route('**/v1/stats?*', async (route) => {
      const answer = await route.fetch();
      const stats = (await answer.json()) as Stats;
      const totals = Object.fromEntries(Object.keys(stats.totals).map((name) => [name, 0]));
      const now = { ...stats.now, held: 0, open: 0, unresolved: 0 };
      await route.fulfill({ json: { ...stats, totals, now } });
    });
    const main = page.getByRole('main');
    await goTo('/?span=1h');
    await main
      .getByText(/The newest call is from .* Choose a longer period above, or list all calls\./)
      .waitFor();
    expect(await main.getByText('createRuntime').count()).toBe(0);
    // No period is longer than this one.
    await goTo('/?span=30d');
    await main.getByText(/The newest call is from .* List all calls\./).waitFor();
    expect(await main.getByText('longer period').count()).toBe(0);
    expect(await main.getByRole('link', { name: 'List all calls' }).getAttribute('href')).toBe('/calls');
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  });
});

test('empty pages say how to start, with a snippet to copy', async () => {
  await withVisitor(async ({ page, context, goTo }) => {
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.route('**/v1/tools', (route) => route.fulfill({ json: { rows: [] } }));
    await page.route('**/v1/contracts', (route) =>
      route.fulfill({ json: { loaded: false, documents: [], rules: [], workflows: [], canReload: false } }),
    );
    await goTo('/tools');
    await page.getByRole('heading', { name: 'No tools yet' }).waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await goTo('/contracts');
    await page.getByRole('heading', { name: 'No rules in force' }).waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await page.getByRole('button', { name: 'Copy snippet' }).click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    // The copied text works unchanged.
    await goTo('/contracts/draft');
    await page.getByLabel('Rules in').fill(copied);
    await page.getByText('valid', { exact: true }).waitFor();
    await goTo('/contracts/try');
    await expect.poll(() => page.getByLabel('In force').isDisabled()).toBe(true);
    await expect.poll(() => page.getByLabel('Draft').isChecked()).toBe(true);
  });
});

test('an unreachable server is reported, and a retry brings it back', async () => {
  const { page, goTo, context } = await stage.visit();
  await page.clock.install();
  const openTool = (): Promise<void> => page.getByRole('link', { name: 'refund', exact: true }).click();
  const problem = page.getByRole('alert').getByText('Check that quittance serve is running.');
  await goTo('/tools');
  await page.route('**/v1/tools/**', (route) => route.abort());
  await openTool();
  await problem.waitFor();
  expect(await page.getByRole('alert').textContent()).toContain('The server does not respond.');
  expect(await findBarriers(page)).toEqual([]);
  await goTo('/tools');
  // The page's clock stands still, so that it does not retry by itself.
  await page.clock.pauseAt((await page.evaluate(() => Date.now())) + 60_000);
  await openTool();
  // React replaces a placeholder only after the clock has advanced a little.
  await expect
    .poll(async () => {
      await page.clock.runFor(400);
      return problem.isVisible();
    })
    .toBe(true);
  await page.unroute('**/v1/tools/**');
  await page.getByRole('button', { name: 'Retry' }).click();
  await page.getByRole('table', { name: 'Latest calls' }).waitFor();
  await expect.poll(() => page.getByRole('alert').count()).toBe(0);
  await context.close();
});
