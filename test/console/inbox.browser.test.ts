import type { Locator, Page } from 'playwright-core';
import { createRuntime, defineTool } from 'quittance';
import type { JsonObject, Runtime, ToolOutcome } from 'quittance';
import type { QuittanceEvent } from 'quittance/events';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { approve, untilStill } from '../approve.ts';
import { holdCall, hostile } from './shop.ts';
import { keepVisitors } from './keep-visitors.ts';
import type { Stage, Visitor } from './stage.ts';
import { findBarriers, findBarriersInBoth, openStage, pressInTurn } from './stage.ts';

let stage: Stage;
/** Another agent's runtime on the same ledger, with a preview. */
let bakery: Runtime;
beforeAll(async () => {
  stage = await openStage({ fill: () => Promise.resolve() });
  bakery = createRuntime({
    ledger: stage.ledger,
    ownFiles: 'reachable',
    tools: [
      defineTool({
        name: 'set_price',
        mode: 'local',
        input: z.object({ bread: z.string(), cents: z.number() }),
        preview: ({ bread, cents }) => ({
          kind: 'diff',
          path: 'prices.txt',
          diff: `@@ -1 +1 @@\n-${bread} 480\n+${bread} ${cents}`,
        }),
        run: ({ cents }) => ({ cents }),
      }),
      defineTool({
        name: 'import_prices',
        mode: 'destructive',
        input: z.object({ prices: z.record(z.string(), z.number()) }),
        run: () => null,
      }),
    ],
  });
});
afterAll(async () => {
  await bakery.close();
  await stage.close();
});

afterEach(async () => {
  const { rows } = await stage.runtime.confirmations.list({ status: 'pending' });
  for (const { confirmationId } of rows)
    await stage.runtime.confirmations.decide(confirmationId, { decision: 'deny', by: 'sweeper' });
});
// Defined last and so ended first: no page is open while the rest is cleaned up.
const visit = keepVisitors(() => stage, /status of 409|ERR_FAILED/);

type Held = {
  readonly confirmationId: string;
  readonly sessionId: string;
  readonly events: () => Promise<readonly QuittanceEvent[]>;
  readonly outcome: () => Promise<ToolOutcome | undefined>;
};

let count = 0;
/** Holds a call in its own session. */
async function hold(name: string, args: JsonObject, by: Runtime = stage.runtime): Promise<Held> {
  const sessionId = `inbox-${++count}`;
  const turn = by.turn({ sessionId, principal: { userId: 'ines', role: 'support' } });
  const { confirmationId } = await holdCall(by, turn, `call_${count}`, name, args);
  return {
    confirmationId,
    sessionId,
    events: () => stage.runtime.events.list({ sessionId }),
    outcome: async () => (await stage.runtime.calls.list({ sessionId }))[0]?.settled?.outcome,
  };
}
const refund = (cents = 9_000): Promise<Held> => hold('refund', { order: 'A-7', cents });

const question = (page: Page): Locator => page.locator('article.question');
const button = (page: Page, name: string): Locator =>
  question(page).getByRole('button', { name, exact: true });
const open = async ({ page, goTo }: Visitor, { confirmationId }: Held): Promise<void> => {
  await goTo(`/inbox/${confirmationId}`);
  await seen(page);
};
/** Waits until the content was visible long enough to be answered. */
const seen = (page: Page): Promise<void> => untilStill(page.locator('article.question[data-seen="true"]'));
const expectVerdict = async (page: Page, text: string): Promise<void> => {
  await expect
    .poll(() => page.locator('.verdict').allTextContents())
    .toEqual([expect.stringContaining(text)]);
};

function decisionsSent(page: Page): readonly string[] {
  const sent: string[] = [];
  page.on('request', (request) => {
    if (request.url().endsWith('/decision')) sent.push(request.postData() ?? '');
  });
  return sent;
}
const decisionsIn = async (held: Held): Promise<readonly QuittanceEvent[]> =>
  (await held.events()).filter(({ type }) => type === 'confirmation.decided');

describe('a held call', () => {
  test('is listed by risk, with the reason, its preview and the time left', async () => {
    const priced = await hold('set_price', { bread: 'rye', cents: 520 }, bakery);
    await refund();
    await hold('delete_customer', { customer: 'Lena Vogt' });
    const visitor = await visit();
    const { page, goTo } = visitor;
    await goTo('/inbox');
    await expect
      .poll(() => page.locator('.side-row strong').allTextContents())
      .toEqual(['refund', 'delete_customer', 'set_price']);
    await seen(page);
    await expect.poll(() => page.getByRole('heading', { level: 2, name: 'refund' }).count()).toBe(1);
    for (const text of [
      'Refund 9000 cents for order A-7?',
      'rule ask-about-refunds',
      '"cents": 9000',
      'left, then it is denied',
    ])
      await expect.poll(() => question(page).textContent()).toContain(text);
    await open(visitor, priced);
    await expect.poll(() => question(page).textContent()).toContain('prices.txt');
    expect(await question(page).locator('ins').textContent()).toContain('rye 520');
  });

  test('is approved: it runs with what was shown, and the page says so', async () => {
    const held = await refund();
    const visitor = await visit({ as: 'approver' });
    await open(visitor, held);
    await approve(question(visitor.page));
    await expectVerdict(visitor.page, 'You approved this.');
    await expect
      .poll(held.outcome)
      .toMatchObject({ type: 'ToolExecutionResult', output: { refunded: 9_000 } });
    expect(await decisionsIn(held)).toMatchObject([
      { decision: 'approve', by: { type: 'person', name: 'approver-person' } },
    ]);
    await expect.poll(() => visitor.page.locator('.qt-card[data-status="succeeded"]').count()).toBe(1);
  });

  test('is denied with a reason', async () => {
    const held = await refund();
    const visitor = await visit();
    await open(visitor, held);
    await button(visitor.page, 'Deny…').click();
    await visitor.page.getByLabel('Reason (optional)').fill('Not twice.');
    await button(visitor.page, 'Deny').click();
    await expectVerdict(visitor.page, 'You denied this: Not twice.');
    await expect.poll(held.outcome).toMatchObject({ type: 'ToolDenied', code: 'confirmation.rejected' });
    expect(await decisionsIn(held)).toMatchObject([{ decision: 'deny', reason: 'Not twice.' }]);
  });

  test('is approved with other arguments, once they are valid', async () => {
    const held = await refund();
    const visitor = await visit();
    const sent = decisionsSent(visitor.page);
    await open(visitor, held);
    await button(visitor.page, 'Edit…').click();
    // The form comes from the schema. What does not fit is said beside its field.
    const order = visitor.page.locator('.edit-form').getByLabel('order');
    const cents = visitor.page.locator('.edit-form').getByLabel('cents');
    await order.fill('A-7');
    await cents.fill('');
    // The form keeps the margins of the card, and the answers below it cover nothing.
    const { inset, covered } = await visitor.page.getByRole('form').evaluate((form) => {
      const panel = (form.parentElement ?? form).getBoundingClientRect();
      const { left, right, bottom } = form.getBoundingClientRect();
      const answers = form.parentElement?.querySelector('.question-answers')?.getBoundingClientRect();
      return {
        inset: Math.min(left - panel.left, panel.right - right),
        covered: bottom - (answers?.top ?? 0),
      };
    });
    expect(inset).toBeGreaterThanOrEqual(12);
    expect(covered).toBeLessThanOrEqual(0);
    await button(visitor.page, 'Run with these').click();
    await expect.poll(() => cents.getAttribute('aria-invalid')).toBe('true');
    expect(sent).toEqual([]);
    // A rule that blocks the edit is found before it is sent, and the question stays open with what was typed.
    await cents.fill('60000');
    await button(visitor.page, 'Run with these').click();
    await expect
      .poll(() => question(visitor.page).getByRole('alert').textContent())
      .toContain('A refund of 60000 cents is for the office.');
    expect(sent).toEqual([]);
    expect(await decisionsIn(held)).toEqual([]);
    expect([await order.inputValue(), await cents.inputValue()]).toEqual(['A-7', '60000']);
    expect(await findBarriers(visitor.page)).toEqual([]);
    // Another person sees that it is still open.
    const other = await visit();
    await open(other, held);
    await button(other.page, 'Approve').waitFor();
    await cents.fill('100');
    await cents.press('Escape');
    expect(await cents.inputValue()).toBe('100');
    // The other approve button would run the requested arguments, not the edited ones.
    await button(visitor.page, 'Approve').click({ force: true });
    expect(await button(visitor.page, 'Approve').getAttribute('aria-disabled')).toBe('true');
    expect(sent).toEqual([]);
    await button(visitor.page, 'Run with these').click();
    await expectVerdict(visitor.page, 'You approved this with edited arguments.');
    await expect.poll(held.outcome).toMatchObject({ output: { refunded: 100 } });
  });

  test('is answered instead of run', async () => {
    const held = await refund();
    const visitor = await visit();
    await open(visitor, held);
    await button(visitor.page, 'Respond…').click();
    await button(visitor.page, 'Send response').click();
    await expect
      .poll(() => question(visitor.page).getByRole('alert').textContent())
      .toContain('Enter a response');
    await visitor.page.getByLabel('Response for the model').fill('Ask the office.');
    await button(visitor.page, 'Send response').click();
    await expectVerdict(visitor.page, 'You responded to the model, and the tool did not run.');
    await expect.poll(held.outcome).toMatchObject({ code: 'confirmation.answered' });
  });

  test('appears in an open inbox by itself, and does not replace the open question', async () => {
    const first = await refund();
    const { page, goTo } = await visit();
    await goTo('/inbox');
    await seen(page);
    const graver = await hold('delete_customer', { customer: 'Priya Nair' });
    await page.locator(`.side-row[href$="${graver.confirmationId}"]`).waitFor();
    expect(new URL(page.url()).pathname).toBe(`/inbox/${first.confirmationId}`);
    await expect.poll(() => question(page).getByRole('heading', { level: 2 }).textContent()).toBe('refund');
  });

  test('says at its top if it is too long to be shown whole', async () => {
    const held = await hold('set_price', { bread: 'rye '.repeat(6_000), cents: 520 }, bakery);
    const visitor = await visit();
    await open(visitor, held);
    expect(await question(visitor.page).textContent()).toMatch(
      /The preview is cut: the first 20,000 of 48,\d{3} characters are shown\./,
    );
    expect(await findBarriers(visitor.page)).toEqual([]);
  });

  test('a held call with 10,000 keys is shown in parts, and cannot be approved before its end was in view', async () => {
    const keys = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`key-${index}`, index]));
    const held = await hold('import_prices', { prices: keys }, bakery);
    const { page, goTo } = await visit();
    await goTo(`/inbox/${held.confirmationId}`);
    await question(page)
      .getByText(/About [\d,]+ of 10,0\d\d lines viewed/)
      .waitFor();
    const sent = decisionsSent(page);
    const approval = button(page, 'Approve');
    await expect.poll(() => approval.getAttribute('aria-disabled')).toBe('true');
    // The button says why, also on a phone, where the note is below it.
    expect(await approval.getAttribute('title')).toBe('Scroll to the end first');
    expect(await approval.textContent()).toContain('scroll to the end first');
    const block = question(page).locator('[data-qt-unfinished]').first();
    const toEnd = (): Promise<void> => block.evaluate((each) => each.scrollTo(0, each.scrollHeight));
    for (let left = 10_004 - 2_000; left > 0; left -= 2_000) {
      await toEnd();
      expect(await approval.getAttribute('aria-disabled')).toBe('true');
      await question(page)
        .getByRole('button', { name: /^Show the next [\d,]+ of [\d,]+ more lines$/ })
        .click();
      await expect
        .poll(() => block.textContent())
        .toContain(`"key-${Math.min(9_999, 10_004 - left + 1_900)}"`);
    }
    await approval.click({ force: true });
    expect(sent).toEqual([]);
    // The panel measures what is in view once per frame, so a person may have to scroll again.
    await expect
      .poll(async () => {
        await toEnd();
        await block.scrollIntoViewIfNeeded();
        return approval.getAttribute('aria-disabled');
      })
      .toBe('false');
    await approve(question(page));
    await expect.poll(() => sent).toHaveLength(1);
  });

  test('shows text of tools and models as text', async () => {
    const held = await hold('delete_customer', { customer: hostile, note: hostile });
    const visitor = await visit();
    await open(visitor, held);
    await visitor.page.getByText('onerror').first().waitFor();
    expect(await visitor.page.evaluate(() => 'pwned' in window)).toBe(false);
    expect(await question(visitor.page).locator('img').count()).toBe(0);
    expect(await question(visitor.page).textContent()).not.toContain('\u202E');
  });

  test('can be read but not answered by a person who may not decide', async () => {
    const held = await refund();
    const visitor = await visit({ as: 'operator' });
    await open(visitor, held);
    expect(await button(visitor.page, 'Approve').count()).toBe(0);
    expect(await question(visitor.page).textContent()).toContain('Your role cannot decide');
    await visitor.page.keyboard.press('a');
    await visitor.page.keyboard.press('Control+Enter');
    await visitor.page.keyboard.press('d');
    expect(await question(visitor.page).getByRole('textbox').count()).toBe(0);
    expect(await decisionsIn(held)).toEqual([]);
  });
});

describe('two tabs', () => {
  test('two tabs on one call: the second sees at once that it was decided, and by whom', async () => {
    const held = await refund();
    const [one, other] = [await visit({ as: 'approver' }), await visit({ as: 'admin' })];
    await open(one, held);
    await open(other, held);
    await approve(question(one.page));
    await expectVerdict(other.page, 'Already decided by approver-person (token ');
    expect(await button(other.page, 'Approve').count()).toBe(0);
  });

  test('two tabs that decide about one call: the first counts, and the second learns who was first', async () => {
    const held = await refund();
    const [one, other] = [await visit({ as: 'approver' }), await visit({ as: 'admin' })];
    // The second gets no events from the first until it answers.
    await other.page.route('**/v1/events**', (route) => route.abort());
    await open(one, held);
    await open(other, held);
    let isCut = true;
    await other.page.route('**/v1/sessions/**', (route) => (isCut ? route.abort() : route.fallback()));
    await other.page.route('**/v1/confirmations/**', (route) =>
      isCut && route.request().method() === 'GET' ? route.abort() : route.fallback(),
    );
    await approve(question(one.page));
    await expectVerdict(one.page, 'You approved this.');
    await button(other.page, 'Deny…').click();
    const refused = other.page.waitForResponse((response) => response.url().endsWith('/decision'));
    await button(other.page, 'Deny').click();
    expect((await refused).status()).toBe(409);
    isCut = false;
    await expectVerdict(other.page, 'Already decided by approver-person (token ');
    await expectVerdict(other.page, 'Your answer came later and had no effect.');
    expect(await decisionsIn(held)).toMatchObject([{ decision: 'approve' }]);
  });
});

describe('an answer', () => {
  test('is not given by typing into the wrong window', async () => {
    const held = await refund();
    const visitor = await visit();
    const sent = decisionsSent(visitor.page);
    await open(visitor, held);
    const { keyboard } = visitor.page;
    for (const text of ['a \n', 'ship it, it is fine as a whole\n', 'aaa\n']) await keyboard.type(text);
    await visitor.page.keyboard.press('Escape');
    await visitor.page.reload();
    await seen(visitor.page);
    await keyboard.press('Control+Enter');
    await keyboard.press('a');
    await keyboard.press('x');
    await keyboard.press('Control+Enter');
    expect(sent).toEqual([]);
    expect(await decisionsIn(held)).toEqual([]);
  });

  test('is sent once, however often it is clicked', async () => {
    const held = await refund();
    const visitor = await visit();
    const sent = decisionsSent(visitor.page);
    await open(visitor, held);
    await approve(question(visitor.page), (each) =>
      each.evaluate((element) => {
        for (let n = 0; n < 5; n++) (element as HTMLElement).click();
      }),
    );
    await expectVerdict(visitor.page, 'You approved this.');
    expect(sent).toHaveLength(1);
  });

  test('does not count for a question that replaced another a moment ago', async () => {
    const [first, second] = [await refund(), await refund(8_000)];
    const visitor = await visit();
    const { page } = visitor;
    const sent = decisionsSent(page);
    await page.clock.install();
    await open(visitor, first);
    // The page's clock stands still: however slow the machine is, the other question came a moment ago.
    await page.clock.pauseAt((await page.evaluate(() => Date.now())) + 60_000);
    await page.keyboard.press('j');
    await question(page).getByText('"cents": 8000').waitFor();
    await question(page).locator('button[aria-disabled="false"]', { hasText: 'Approve' }).waitFor();
    await page.clock.runFor(100);
    await button(page, 'Approve').click();
    await expect.poll(() => question(page).getByRole('alert').textContent()).toContain('just changed');
    expect(sent).toEqual([]);
    expect(await decisionsIn(second)).toEqual([]);
    await page.clock.resume();
    await approve(question(page));
    await expectVerdict(page, 'You approved this.');
  });

  test('can be given by keyboard alone, from the first page on, and the focus is never lost', async () => {
    const [first, second] = [await refund(5_000), await refund(6_000)];
    const { page, goTo } = await visit();
    await goTo('/');
    await pressInTurn(page, 'g', 'i');
    await seen(page);
    await page.keyboard.press('j');
    await expect.poll(() => page.url()).toContain(second.confirmationId);
    await page.keyboard.press('k');
    await expect.poll(() => page.url()).toContain(first.confirmationId);
    await expect.poll(() => focusIn(page, '.side-row[aria-current]')).toBe(true);
    await seen(page);
    // The first key of an approval does not move the answers: the second one would be refused.
    await page.setViewportSize({ width: 1440, height: 480 });
    const top = (): Promise<number> =>
      button(page, 'Approve').evaluate((each) => each.getBoundingClientRect().top);
    const before = await top();
    await page.keyboard.press('a');
    await page.getByText('or any other key to cancel').waitFor();
    expect(await top()).toBe(before);
    await page.keyboard.press('Escape');
    await page.setViewportSize({ width: 1440, height: 900 });
    await seen(page);
    await page.keyboard.press('d');
    await page.keyboard.type('Too soon.');
    await page.keyboard.press('Control+Enter');
    await expectVerdict(page, 'You denied this: Too soon.');
    await expect.poll(() => page.evaluate(() => document.activeElement !== document.body)).toBe(true);
    await page.keyboard.press('j');
    await expect.poll(() => page.url()).toContain(second.confirmationId);
    await seen(page);
    await page.keyboard.press('a');
    await page.getByText('to approve, or any other key').waitFor();
    await page.keyboard.press('Control+Enter');
    await expectVerdict(page, 'You approved this.');
    await expect.poll(second.outcome).toMatchObject({ output: { refunded: 6_000 } });
  });
});

const focusIn = (page: Page, selector: string): Promise<boolean> =>
  page.evaluate((some) => document.activeElement?.matches(some) === true, selector);

describe('grants', () => {
  test('are given with an approval for the session, within its bounds', async () => {
    const held = await refund();
    const visitor = await visit({ as: 'approver' });
    const { page } = visitor;
    await open(visitor, held);
    await question(page).getByLabel('Approve for this session').check();
    await question(page).getByLabel('for the next').selectOption('3 calls');
    await question(page).getByLabel('within').selectOption('15 minutes');
    expect(await findBarriersInBoth(page)).toEqual([]);
    await approve(question(page));
    await expectVerdict(page, 'You approved this.');
    const turn = stage.runtime.turn({ sessionId: held.sessionId });
    const call = { id: 'call_next', name: 'refund', arguments: { order: 'B-2', cents: 5_000 } };
    expect(await turn.call(call)).toMatchObject({ type: 'ToolExecutionResult' });
    const [grant] = await stage.runtime.grants.list({ sessionId: held.sessionId });
    expect(grant).toMatchObject({ by: 'approver-person', toolName: 'refund', uses: 3, used: 1 });
    const lasts = (grant?.until ?? 0) - (grant?.givenAt ?? 0);
    expect([lasts > 840_000, lasts <= 900_000]).toEqual([true, true]);
  });

  test('are given from a question, approve the next such call, and are revoked', async () => {
    const held = await refund();
    const visitor = await visit({ as: 'approver' });
    const { page, goTo } = visitor;
    await open(visitor, held);
    await button(page, 'Grant similar calls…').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Condition (JSON)').fill('[1]');
    await dialog.getByRole('button', { name: 'Add grant' }).click();
    await expect
      .poll(() => dialog.getByRole('alert').textContent())
      .toContain('A condition must be an object');
    await dialog.getByLabel('Condition (JSON)').fill('{"args.cents": {"lte": 9000}}');
    await dialog.getByLabel('Number of calls').fill('2');
    await dialog.getByRole('button', { name: 'Add grant' }).click();
    await expect.poll(() => dialog.count()).toBe(0);
    const turn = stage.runtime.turn({ sessionId: held.sessionId });
    const call = { id: 'call_granted', name: 'refund', arguments: { order: 'B-1', cents: 8_000 } };
    expect(await turn.call(call)).toMatchObject({ type: 'ToolExecutionResult' });
    expect((await decisionsIn(held)).length).toBe(0);

    await goTo(`/inbox?tab=grants&session=${held.sessionId}`);
    const row = page.getByRole('row').filter({ hasText: 'args.cents' });
    await expect.poll(() => row.textContent()).toContain('1 of 2');
    await row.getByRole('button', { name: 'Revoke' }).click();
    await dialog.getByLabel('Reason (optional)').fill('Enough.');
    await dialog.getByRole('button', { name: 'Revoke' }).click();
    await expect
      .poll(() => row.textContent())
      .toMatch(/Revoked by approver-person \(token \w+ in a browser\): Enough\./);
    const [grant] = await stage.runtime.grants.list({ sessionId: held.sessionId });
    expect(grant).toMatchObject({ status: 'revoked', uses: 2, where: { 'args.cents': { lte: 9_000 } } });
  });

  test('grants and decisions are listed with person and reason', async () => {
    const held = await refund();
    await stage.runtime.confirmations.decide(held.confirmationId, {
      decision: 'deny',
      by: 'grace',
      reason: 'No budget.',
    });
    const { page, goTo } = await visit({ as: 'viewer' });
    await goTo('/inbox?tab=decided');
    const row = page.getByRole('row').filter({ hasText: 'No budget.' });
    await expect.poll(() => row.textContent()).toContain('grace');
    expect(await page.getByRole('button', { name: 'Add grant…' }).count()).toBe(0);
    await row.getByRole('link').click();
    await expectVerdict(page, 'Already decided by grace (self-asserted name): denied: No budget.');
  });
});

test('an empty inbox says how calls get there, and an unknown question leads back to it', async () => {
  const { page, goTo, complaints } = await stage.visit();
  await goTo('/inbox');
  await page.getByText('No open questions').waitFor();
  await page.getByRole('button', { name: 'Copy snippet' }).waitFor();
  await goTo('/inbox/no-such');
  await page.getByRole('heading', { name: 'Question not found' }).waitFor();
  // The browser logs the 404.
  expect(complaints.every((text) => text.includes('status of 404'))).toBe(true);
  await page.context().close();
});

test('delegations are listed, given with an end, and withdrawn', async () => {
  const { page, goTo } = await visit({ as: 'approver' });
  await goTo('/inbox?tab=delegations');
  await page.getByRole('heading', { name: 'No delegations' }).waitFor();
  await page.getByRole('button', { name: 'Delegate…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Delegate' }).click();
  await expect.poll(() => dialog.getByRole('alert').textContent()).toBe('Enter the name of the person.');
  await dialog.getByLabel('Person').fill('dan');
  await dialog.getByLabel('Ends after').selectOption('2 weeks');
  await dialog.getByLabel('Reason (optional)').fill('Holiday');
  expect(await findBarriersInBoth(page)).toEqual([]);
  const before = Date.now();
  await dialog.getByRole('button', { name: 'Delegate' }).click();
  const row = page.getByRole('row').filter({ hasText: 'dan' });
  await expect.poll(() => row.textContent()).toContain('Holiday');
  expect(await findBarriersInBoth(page)).toEqual([]);
  const [given] = await stage.runtime.delegations.list();
  expect(given).toMatchObject({ by: 'approver-person', to: 'dan', status: 'active' });
  const lasts = (given?.until ?? 0) - before;
  expect([lasts >= 14 * 86_400_000, lasts < 15 * 86_400_000]).toEqual([true, true]);
  // A person who may not approve reads it, and has no buttons.
  const viewer = await visit({ as: 'viewer' });
  await viewer.goTo('/inbox?tab=delegations');
  await viewer.page.getByRole('row').filter({ hasText: 'dan' }).waitFor();
  expect(await viewer.page.getByRole('button', { name: /Delegate|Withdraw/ }).count()).toBe(0);
  await row.getByRole('button', { name: 'Withdraw the delegation to dan' }).click();
  await expect.poll(async () => (await stage.runtime.delegations.list())[0]?.status).not.toBe('active');
  await expect.poll(() => page.getByRole('button', { name: /^Withdraw/ }).count()).toBe(0);
});

test('everybody can use the inbox, in light and dark', async () => {
  const held = await hold('set_price', { bread: 'rye', cents: 520 }, bakery);
  await refund();
  await stage.runtime.grants.give({
    sessionId: held.sessionId,
    toolName: 'refund',
    by: 'ada',
    forMs: 60_000,
  });
  const visitor = await visit();
  const { page, goTo } = visitor;
  await open(visitor, held);
  expect(await findBarriersInBoth(page)).toEqual([]);
  for (const name of ['Deny…', 'Edit…', 'Respond…']) {
    await button(page, name).click();
    await question(page).getByRole('textbox').waitFor();
    expect(await findBarriersInBoth(page)).toEqual([]);
  }
  await page.keyboard.press('Escape');
  await button(page, 'Grant similar calls…').click();
  await page.getByRole('dialog').waitFor();
  expect(await findBarriersInBoth(page)).toEqual([]);
  await page.keyboard.press('Escape');
  await approve(question(page));
  await expectVerdict(page, 'You approved this.');
  expect(await findBarriersInBoth(page)).toEqual([]);
  for (const tab of ['decided', 'grants']) {
    await goTo(`/inbox?tab=${tab}`);
    await page.getByRole('table').waitFor();
    expect(await findBarriersInBoth(page)).toEqual([]);
  }
  await page.setViewportSize({ width: 800, height: 900 });
  expect(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth)).toBe(true);
  await page.getByRole('button', { name: 'Revoke' }).first().click({ trial: true });
  await goTo('/inbox');
  await page.locator('.side-row').first().waitFor();
  expect(await findBarriersInBoth(page)).toEqual([]);
  expect(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth)).toBe(true);
});
