import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TokenFile, tokenFilePath } from '../../packages/server/src/http/token-file.ts';
import { fillShop, hostile } from './shop.ts';
import type { Stage, Visitor } from './stage.ts';
import { findBarriers, findBarriersInEveryLook, openStage, pressInTurn } from './stage.ts';
import type { Wire } from './wire.ts';
import { openWire } from './wire.ts';

let wire: Wire;
let stage: Stage;
beforeAll(async () => {
  wire = await openWire();
  stage = await openStage({ server: { allowHosts: [wire.host] } });
  wire.lead(stage.server.port);
});
afterAll(async () => {
  await stage.close();
  await wire.close();
});

const tableOf = (page: Page): Locator => page.getByRole('table', { name: 'Calls' });
const rowsOf = (page: Page): Locator => tableOf(page).locator('.call-rows').getByRole('row');
const linkOf = (page: Page, callId: string): Locator =>
  tableOf(page).getByRole('link', { name: `call ${callId}` });
const rowOf = (page: Page, callId: string): Locator =>
  rowsOf(page).filter({ has: page.getByRole('link', { name: `call ${callId}` }) });
const countRows = (page: Page): Promise<number> => rowsOf(page).count();

let made = 0;
/** Makes a call like an agent and returns its id. */
async function makeCall(): Promise<string> {
  const id = `call_new_${made++}`;
  await stage.runtime
    .turn({ sessionId: 'tail' })
    .call({ id, name: 'look_up_order', arguments: { order: `A-${made}` } });
  return id;
}

async function withVisitor(run: (visitor: Visitor) => Promise<void>, at?: string): Promise<void> {
  const visitor = await stage.visit(at === undefined ? {} : { at });
  try {
    await run(visitor);
  } finally {
    await visitor.context.close();
  }
}

describe('in light and dark', () => {
  test('the list of calls is accessible, in light, in dark and 800 wide', async () => {
    const { page, goTo, complaints, context } = await stage.visit();
    await goTo('/calls');
    await linkOf(page, 'call_retried').waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    expect(await findBarriersInEveryLook(page, 800)).toEqual([]);
    await page.setViewportSize({ width: 1440, height: 900 });
    await goTo('/calls?outcome=ToolDenied&toolName=refund&within=1h');
    await linkOf(page, 'call_blocked').waitFor();
    expect(await findBarriersInEveryLook(page, 800)).toEqual([]);
    expect(complaints).toEqual([]);
    await context.close();
  });
});

test('a row shows outcome, tool, arguments, session, principal, attempts, duration, cost, decision and age', async () => {
  await withVisitor(async ({ page, goTo }) => {
    await goTo('/calls');
    const row = rowOf(page, 'call_retried');
    await row.waitFor();
    const cells = await row.getByRole('cell').allInnerTexts();
    const [outcome, tool, args, session, principal, attempts, duration, cost, decision, age] = cells;
    expect([outcome, args, session, principal, attempts, cost, decision]).toEqual([
      'succeeded',
      'currency: EUR',
      'ticket-42',
      'ines',
      '3',
      '0.0045',
      'allowed',
    ]);
    expect(tool).toContain('get_exchange_rate');
    expect(duration).toMatch(/ms$/);
    expect(age).toMatch(/^(now|\d+[smh])/);
    const denied = rowOf(page, 'call_blocked');
    expect(await denied.getByRole('cell').nth(8).innerText()).toMatch(/rule\s*no-large-refunds/);
  });
});

test('facets count, narrow the list, are in the address, and still offer the other choices', async () => {
  await withVisitor(async ({ page, goTo }) => {
    await goTo('/calls');
    const filters = page.getByRole('group', { name: 'Filters' });
    await filters.getByRole('button', { name: /^denied 3$/ }).click();
    await expect.poll(() => countRows(page)).toBe(3);
    await expect.poll(() => new URL(page.url()).search).toBe('?outcome=ToolDenied');
    await filters.getByRole('button', { name: /^failed \d+$/ }).waitFor();
    await filters.getByRole('button', { name: /^refund 2$/ }).click();
    await expect.poll(() => countRows(page)).toBe(2);
    // The address alone restores the view, and so does going back.
    await page.reload();
    await expect.poll(() => countRows(page)).toBe(2);
    await page.goBack();
    await expect.poll(() => countRows(page)).toBe(3);
    await page.getByRole('button', { name: 'Remove filter outcome denied' }).click();
    await linkOf(page, 'call_read').waitFor();
  });
});

test('a choice that counting did not reach says how many calls are listed, never "at least none"', async () => {
  await withVisitor(async ({ page, goTo }) => {
    const counted = {
      status: [],
      mode: [],
      toolName: [],
      code: [],
      cap: 3_000,
      capOf: 'counted',
      exact: false,
    };
    const others = [{ value: 'ToolExecutionResult', count: 3_000 }];
    let listed: object = { total: 3, exact: true, cap: undefined, capOf: undefined };
    await page.route('**/v1/calls/facets?*', (route) =>
      route.fulfill({
        json: route.request().url().includes('outcome=')
          ? { ...counted, outcome: [], ...listed }
          : { ...counted, total: 3_000, outcome: others },
      }),
    );
    await page.route('**/v1/calls/facets', (route) =>
      route.fulfill({ json: { ...counted, total: 3_000, outcome: others } }),
    );
    await goTo('/calls?outcome=ToolDenied');
    const filters = page.getByRole('group', { name: 'Filters' });
    await filters.getByRole('button', { name: /^denied 3$/ }).waitFor();
    await filters.getByRole('button', { name: /^succeeded ≥ 3,000$/ }).waitFor();
    await filters.getByText('≥ counted among the newest calls only: 3,000 matching.').waitFor();
    listed = { total: 0, exact: false, cap: 30_000, capOf: 'looked_at' };
    await page.reload();
    await filters.getByRole('button', { name: /^denied none recent$/ }).waitFor();
    await filters.getByText('3,000 matching, or about 30,000 checked.').waitFor();
    expect(await filters.textContent()).not.toContain('≥ 0');
    // While the search goes on, none found is not a number.
    await page.route('**/v1/calls?*', (route) =>
      route.fulfill({ json: { rows: [], next: 'a.1', searchedTo: 1_700_000_000_000 } }),
    );
    await page.reload();
    await page.getByText('No calls found yet').waitFor();
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  });
});

test('a search covers ids, tools, codes, messages, arguments, outputs and people', async () => {
  await withVisitor(async ({ page, goTo }) => {
    await goTo('/calls');
    const field = page.getByRole('searchbox');
    for (const [text, callId] of [
      ['call_retr', 'call_retried'],
      ['pay_supp', 'call_unsure'],
      ['tool.indeterminate', 'call_unsure'],
      ['for the office', 'call_blocked'],
      ['lena', 'call_approved'],
      ['rye bread', 'call_read'],
      ['args.cents>50000', 'call_blocked'],
      ['args.customer="Samuel Okoro"', 'call_edited'],
      ['ines args.order=A-1003', 'call_refused'],
    ] as const) {
      await field.fill(text);
      await expect.poll(() => new URL(page.url()).searchParams.get('search')).toBe(text);
      await expect.poll(() => countRows(page)).toBe(1);
      await linkOf(page, callId).waitFor();
    }
    await field.fill('nothing says this');
    await page.getByRole('heading', { name: 'No matching calls' }).waitFor();
    await page.getByRole('button', { name: 'Show all calls' }).click();
    await linkOf(page, 'call_read').waitFor();
    await expect.poll(() => field.inputValue()).toBe('');
  });
});

test('[secrets-stay-out] a search does not find a hidden value, and its link restores the view', async () => {
  await withVisitor(async ({ page, goTo }) => {
    await goTo(`/calls?search=${encodeURIComponent('very secret')}`);
    await page.getByRole('heading', { name: 'No matching calls' }).waitFor();
    await goTo(`/calls?search=${encodeURIComponent('refund args.cents>=1200 args.cents<9000')}`);
    await expect.poll(() => countRows(page)).toBe(2);
    await linkOf(page, 'call_coerced').waitFor();
    await linkOf(page, 'call_refused').waitFor();
    expect(await findBarriers(page)).toEqual([]);
  });
});

test('a view is saved under a free name, renamed, shared by its link, and deleted', async () => {
  await withVisitor(async ({ page, context, goTo }) => {
    await goTo('/calls?mode=destructive');
    const tab = await context.newPage();
    await tab.goto(page.url());
    const save = async (where: Page, name: string): Promise<void> => {
      await where.getByRole('button', { name: 'Save view' }).click();
      await where.getByRole('textbox', { name: 'Name' }).fill(name);
      await where.keyboard.press('Enter');
    };
    await save(page, 'held');
    await page.getByText('There is already a view named "held".').waitFor();
    // A filled in dialog is not closed by accident.
    await page.keyboard.press('Escape');
    await page.getByRole('textbox', { name: 'Name' }).fill('Risky');
    await page.keyboard.press('Enter');
    // Keyboard users continue where they were.
    await expect.poll(() => page.locator(':focus').textContent()).toBe('Delete view');
    await page.getByRole('button', { name: 'Rename' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('Dangerous');
    await page.keyboard.press('Enter');
    // Another tab does not know the new view yet, and keeps it.
    await save(tab, 'From another tab');
    await tab.getByRole('link', { name: 'From another tab' }).waitFor();
    await tab.close();
    await page.evaluate(() => Object.defineProperty(navigator, 'clipboard', { value: undefined }));
    await page.getByRole('button', { name: 'Copy link to this view' }).click();
    await page.getByRole('button', { name: 'The browser did not allow it' }).waitFor();
    await goTo('/calls');
    await page.getByRole('link', { name: 'Dangerous' }).click();
    await expect.poll(() => new URL(page.url()).search).toBe('?mode=destructive');
    // Another person sees the same calls, without the name.
    await expect.poll(() => countRows(page)).toBeGreaterThan(0);
    const { pathname, search } = new URL(page.url());
    const shown = await countRows(page);
    await withVisitor(async (other) => {
      await other.goTo(pathname + search);
      await expect.poll(() => countRows(other.page)).toBe(shown);
      expect(await other.page.getByRole('link', { name: 'Dangerous' }).count()).toBe(0);
    });
    await page.getByRole('button', { name: 'Delete view' }).click();
    await expect.poll(() => page.getByRole('link', { name: 'Dangerous' }).count()).toBe(0);
  });
});

test('everything is reachable by keyboard alone', async () => {
  await withVisitor(async ({ page, goTo }) => {
    await goTo('/calls');
    await linkOf(page, 'call_read').waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('call_undo');
    await expect.poll(() => countRows(page)).toBe(1);
    await page.keyboard.press('Escape');
    await expect.poll(() => countRows(page)).toBeGreaterThan(10);
    const focused = (): Promise<string> =>
      page.evaluate(() => document.activeElement?.closest('.row-link')?.textContent ?? '');
    await page.keyboard.press('j');
    await expect.poll(focused).toContain('call ');
    const first = await focused();
    await page.keyboard.press('j');
    await expect.poll(focused).not.toBe(first);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('k');
    await page.keyboard.press('k');
    await expect.poll(focused).toBe(first);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Waterfall' }).waitFor();
    await pressInTurn(page, 'g', 'c');
    // Keys work by then.
    await page.getByText('Live', { exact: true }).waitFor();
    await page.keyboard.press('p');
    await page.getByText('Paused', { exact: true }).waitFor();
  });
});

test('calls appear as they are made, and wait while the tail is paused', async () => {
  await withVisitor(async ({ page, goTo }) => {
    await goTo('/calls');
    await page.getByText('Live', { exact: true }).waitFor();
    const arrived = await makeCall();
    await linkOf(page, arrived).waitFor();
    // The new row is marked.
    await expect.poll(() => rowOf(page, arrived).getAttribute('data-changed')).toBe('new');
    await page.getByRole('button', { name: 'Pause' }).click();
    const hidden = await makeCall();
    await page.getByText('Paused, 1 new').waitFor();
    expect(await linkOf(page, hidden).count()).toBe(0);
    await page.getByRole('button', { name: 'Resume' }).click();
    await linkOf(page, hidden).waitFor();
  });
});

test('a row is updated in place when its call changes', async () => {
  await withVisitor(async ({ page, goTo }) => {
    await goTo('/calls');
    const row = rowOf(page, 'call_held_too');
    await row.getByText('held', { exact: true }).waitFor();
    const { rows } = await stage.runtime.confirmations.list({ status: 'pending', limit: 10 });
    const held = rows.find(({ callId }) => callId === 'call_held_too');
    if (held === undefined) throw new Error('Nothing is held.');
    await stage.runtime.confirmations.decide(held.confirmationId, {
      decision: 'approve',
      by: 'Ada',
      inputDigest: held.inputDigest,
    });
    await expect.poll(() => row.getByRole('cell').first().innerText()).toBe('succeeded');
    expect(await row.getAttribute('data-changed')).toBe('changed');
  });
});

test('the tail survives a lost connection, and shows every missed call once', async () => {
  await withVisitor(async ({ page, goTo }) => {
    await goTo('/calls?sessionId=tail');
    await page.getByText('Live', { exact: true }).waitFor();
    await linkOf(page, await makeCall()).waitFor();
    wire.cut();
    await page.getByText('Reconnecting').waitFor();
    const meanwhile = [await makeCall(), await makeCall(), await makeCall()];
    wire.mend();
    await page.getByText('Live', { exact: true }).waitFor();
    for (const callId of meanwhile) {
      await linkOf(page, callId).waitFor();
      expect(await linkOf(page, callId).count()).toBe(1);
    }
    await linkOf(page, await makeCall()).waitFor();
  }, wire.url);
});

test('text of tools and models is shown as text, and links lead where they should', async () => {
  await withVisitor(async ({ page, goTo, complaints }) => {
    await goTo('/calls?toolName=say');
    await rowsOf(page).getByRole('link').first().click();
    await page.getByRole('heading', { name: 'Waterfall' }).waitFor();
    await expect
      .poll(() => decodeURIComponent(new URL(page.url()).pathname))
      .toBe(`/calls/odd/${hostile}/call ${hostile}`);
    expect(await page.evaluate(() => 'pwned' in window)).toBe(false);
    expect(await page.locator('img').count()).toBe(0);
    expect(complaints).toEqual([]);
  });
});

test('an unknown filter is refused with a message and a way out', async () => {
  await withVisitor(async ({ page, goTo }) => {
    await goTo('/calls?mode=sideways');
    expect(await page.getByRole('alert').innerText()).toContain('mode');
    await page.getByText('Not counted').waitFor();
    await page.getByRole('button', { name: 'Show all calls' }).click();
    await linkOf(page, 'call_read').waitFor();
    await page.getByRole('searchbox').fill('args.cents>many');
    await page.getByText('To compare an argument, give a number: args.cents>1000.').waitFor();
  });
});

describe('a long list', () => {
  let long: Stage;
  const total = 1_500;
  beforeAll(async () => {
    long = await openStage({
      fill: async ({ runtime }) => {
        const turn = runtime.turn({ sessionId: 'long' });
        for (let n = 0; n < total; n += 100)
          await Promise.all(
            Array.from({ length: 100 }, (_, more) =>
              turn.call({ id: `call_${n + more}`, name: 'say', arguments: { n: n + more } }),
            ),
          );
      },
    });
  });
  afterAll(() => long.close());

  test('renders only visible rows, and loads more while scrolling', async () => {
    const { page, goTo, context } = await long.visit();
    const asked: string[] = [];
    page.on('request', (request) => {
      if (new URL(request.url()).pathname === '/v1/calls') asked.push(request.url());
    });
    await goTo('/calls');
    await rowsOf(page).first().waitFor();
    expect(asked.length).toBeLessThan(5);
    const table = tableOf(page);
    await expect
      .poll(
        async () => {
          await table.evaluate((node) => node.scrollTo({ top: node.scrollHeight }));
          expect(await countRows(page)).toBeLessThan(80);
          return page.getByText('End of list.').count();
        },
        { interval: 50 },
      )
      .toBe(1);
    expect(await table.getAttribute('aria-rowcount')).toBe(String(total + 1));
    expect(asked.every((address) => Number(new URL(address).searchParams.get('limit')) <= 100)).toBe(true);

    // New calls do not move a reader further down; a button leads up to them.
    await table.evaluate((node) => node.scrollTo({ top: 10_000 }));
    await page.getByText('Live', { exact: true }).waitFor();
    await long.runtime.turn({ sessionId: 'long' }).call({ id: 'call_top', name: 'say', arguments: {} });
    await page.getByRole('button', { name: '1 new' }).click();
    await linkOf(page, 'call_top').waitFor();
    await expect.poll(() => table.evaluate((node) => node.scrollTop)).toBe(0);
    await context.close();
  });
});

test('a ledger without calls says how to make the first one', async () => {
  const empty = await openStage({ fill: () => Promise.resolve() });
  const { page, goTo } = await empty.visit();
  await goTo('/calls');
  await page.getByRole('heading', { name: 'No calls yet' }).waitFor();
  await page.getByRole('button', { name: 'Copy snippet' }).waitFor();
  expect(await findBarriers(page)).toEqual([]);
  // The command is wider than a phone; the page is not.
  await page.setViewportSize({ width: 390, height: 844 });
  for (const address of ['/', '/inbox', '/reconcile', '/sessions', '/calls']) {
    await goTo(address);
    await page.locator('.empty').first().waitFor();
    expect([address, await widerThanScreen(page)]).toEqual([address, 0]);
  }
  // It appears as soon as it is made.
  await fillShop(empty.shop);
  await linkOf(page, 'call_read').waitFor();
  await empty.close();
});

test('the clock of this machine may be wrong: ages and spans use the server’s', async () => {
  const { page, goTo } = await stage.visit();
  await page.addInitScript(() => {
    const now = Date.now.bind(Date);
    Date.now = () => now() + 7_200_000;
  });
  await goTo('/calls?within=1h');
  await expect.poll(() => countRows(page)).toBeGreaterThan(0);
  await expect
    .poll(() => rowsOf(page).locator('time').allTextContents())
    .not.toContainEqual(expect.stringContaining('h'));
  await page.context().close();
});

test('a person whose access ends while the page is open sees a message', async () => {
  const file = new TokenFile(tokenFilePath(stage.ledgerPath), Date.now);
  const { token } = file.create({ name: 'Grace', role: 'viewer' });
  const { page } = await stage.visit();
  await page.context().clearCookies();
  await page.goto(`${stage.server.url}/login`);
  await page.getByLabel('Token').fill(token);
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('navigation', { name: 'Pages' }).waitFor();
  file.revoke('Grace');
  await expect
    .poll(() => page.getByRole('heading', { level: 1 }).textContent())
    .toBe('You are not logged in');
  await page.context().close();
});

test('an unreachable server is reported once, and no longer when it answers again', async () => {
  const { page, goTo } = await stage.visit({ at: wire.url });
  await goTo('/inbox');
  // Data that was never read would be reported separately.
  await page.locator('article.question[data-seen="true"]').waitFor();
  wire.cut();
  try {
    await expect
      .poll(() => page.getByRole('alert').allTextContents())
      .toEqual([expect.stringMatching(/The server does not respond.*retries automatically/)]);
  } finally {
    wire.mend();
  }
  await expect.poll(() => page.getByRole('alert').count()).toBe(0);
  await page.context().close();
});

test('a page that is disconnected is not marked as live, even if its stream has not ended', async () => {
  const { page, goTo } = await stage.visit();
  await goTo('/calls');
  await expect.poll(() => page.locator('.tail').innerText()).toBe('Live');
  // Requests fail, and the open stream stays open.
  await page.context().setOffline(true);
  await page.getByRole('alert').first().waitFor();
  expect(await page.locator('.tail').innerText()).toBe('Reconnecting');
  await page.context().close();
});

test('every column is visible on a small laptop, and none is cut without a mark', async () => {
  const { page, goTo } = await stage.visit({ viewport: { width: 1280, height: 800 } });
  await goTo('/calls');
  await expect.poll(() => countRows(page)).toBeGreaterThan(0);
  const hidden = await page
    .locator('.call-table')
    .evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth);
  expect(hidden).toBeLessThanOrEqual(0);
  const edge = (): Promise<string> =>
    page.locator('.call-table').evaluate((table) => getComputedStyle(table).boxShadow);
  expect(await edge()).toBe('none');
  // On a narrower screen, a shadow marks the edge with more columns.
  await page.setViewportSize({ width: 700, height: 800 });
  await expect.poll(edge).toContain('inset');
  await page.context().close();
});

test('no page is wider than the screen, with any names and any width', async () => {
  const long = {
    sessionId: `s-${'x'.repeat(190)}`,
    callId: `call_${'c'.repeat(190)}`,
    name: 'n'.repeat(120),
  };
  const turn = stage.runtime.turn({ sessionId: long.sessionId, principal: { userId: 'u'.repeat(150) } });
  await turn.call({ id: long.callId, name: long.name, arguments: { ['w'.repeat(300)]: 'z'.repeat(2_000) } });
  const { page, goTo } = await stage.visit({ viewport: { width: 390, height: 844 } });
  for (const address of [
    '/',
    '/calls',
    '/calls?outcome=Nonsense',
    `/calls/${long.sessionId}/${long.callId}`,
    '/calls/ticket-42/call_coerced',
    '/calls/ticket-42/call_edited',
    '/inbox',
    '/inbox?tab=decided',
    '/inbox?tab=grants',
    '/reconcile',
    '/sessions',
    `/sessions/${long.sessionId}`,
    '/contracts',
    '/contracts/try',
    '/tools',
    `/tools/${long.name}`,
    '/integrity',
  ]) {
    await goTo(address);
    await page.locator('.skeleton').first().waitFor({ state: 'detached' });
    expect([address, await widerThanScreen(page)]).toEqual([address, 0]);
  }
  // A table scrolls before it breaks the name of a tool into letters.
  await goTo('/sessions/ticket-42');
  const name = page.getByRole('cell', { name: 'delete_customer' }).first().locator('bdi');
  await expect.poll(() => name.evaluate((element) => element.getClientRects().length)).toBe(1);
  await page.context().close();
});

const widerThanScreen = async (page: Page): Promise<number> =>
  Math.max(0, await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth));
