import { join } from 'node:path';
import type { JsonObject } from 'quittance';
import type { QuittanceEvent } from 'quittance/events';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { approve, untilStill } from '../approve.ts';
import type { Bundle } from '../browser.ts';
import { bundlePage, launchBrowser, openPage } from '../browser.ts';
import type { Staged } from './staged-calls.ts';
import { stageCalls } from './staged-calls.ts';

let browser: Browser;
let bundle: Bundle;
beforeAll(async () => {
  [browser, bundle] = await Promise.all([launchBrowser(), bundlePage(join(import.meta.dirname, 'page.tsx'))]);
});
afterAll(() => browser.close());
const opened: Page[] = [];
afterEach(async () => {
  for (const page of opened.splice(0)) await page.context().close();
});

/** A page over a real runtime: actions of a person there happen here. */
async function open(staged: Staged = stageCalls()): Promise<{
  readonly page: Page;
  readonly staged: Staged;
  readonly complaints: readonly string[];
  readonly decisions: readonly unknown[];
  readonly undos: readonly unknown[];
  readonly feed: (...callIds: string[]) => Promise<void>;
}> {
  const decisions: unknown[] = [];
  const undos: unknown[] = [];
  const { page, complaints } = await openPage(browser, bundle, {
    prepare: async (fresh) => {
      await fresh.exposeFunction('decide', async (confirmationId: string, decision: never) => {
        decisions.push(decision);
        await staged.runtime.confirmations.decide(confirmationId, {
          ...(decision as object),
          by: 'ada',
        } as never);
      });
      await fresh.exposeFunction('undo', async (call: never, request: never) => {
        undos.push(call);
        await staged.runtime.calls.undo(call, { ...(request as object), by: 'ada' });
      });
    },
  });
  opened.push(page);
  return {
    page,
    staged,
    complaints,
    decisions,
    undos,
    feed: async (...callIds) => {
      for (const callId of callIds) await push(page, await staged.eventsOf(callId));
    },
  };
}

const push = (page: Page, events: readonly QuittanceEvent[]): Promise<void> =>
  page.evaluate((some: readonly unknown[]) => window.feed.push(some), events as readonly unknown[]);

const cardOf = (page: Page, callId: string): Locator => page.getByRole('article').filter({ hasText: callId });
const expectStatus = async (page: Page, callId: string, status: string): Promise<void> => {
  await expect.poll(() => cardOf(page, callId).getAttribute('data-status')).toBe(status);
};

const priceOf = { bread: 'rye', cents: 480 };

test('two parallel calls of one tool that finish out of order are each shown correctly, in request order', async () => {
  const { page, staged, feed } = await open();
  const calls = ['one', 'two'].map((id) => staged.begin(`call_${id}`, 'create_report', { id }));
  await staged.until('call_one', 'tool.started');
  await staged.until('call_two', 'tool.started');
  await feed('call_one', 'call_two');
  await expectStatus(page, 'call_one', 'running');
  await expectStatus(page, 'call_two', 'running');

  staged.finish('two');
  await calls[1];
  await feed('call_two');
  await expectStatus(page, 'call_two', 'succeeded');
  await expectStatus(page, 'call_one', 'running');

  staged.finish('one');
  await calls[0];
  await feed('call_one');
  await expectStatus(page, 'call_one', 'succeeded');
  expect(await page.locator('.qt-call-id').allTextContents()).toEqual(['call_one', 'call_two']);
  for (const id of ['one', 'two']) {
    await cardOf(page, `call_${id}`).getByText('Output').click();
    await expect
      .poll(() => cardOf(page, `call_${id}`).getByRole('group', { name: 'Output' }).textContent())
      .toContain(`"id": "${id}"`);
  }
});

test('events in any order, and again after a reconnect, give the same card', async () => {
  const { page, staged } = await open();
  await staged.begin('call_mail', 'send_email', { to: 'kim@example.com', subject: 'Hi' });
  const events = await staged.eventsOf('call_mail');
  await push(page, events.toReversed());
  await expectStatus(page, 'call_mail', 'succeeded');
  const shown = await cardOf(page, 'call_mail').innerHTML();
  await push(page, [...events, ...events.slice(1)]);
  await push(page, [{ ...events[0], id: 'x', type: 'tool.dreamt' } as unknown as QuittanceEvent]);
  await push(page, [null, 7, { type: 'tool.held', callId: 'call_mail' }] as unknown as QuittanceEvent[]);
  await page.evaluate(() => window.feed.end());
  await expect.poll(() => page.getByTestId('reading').textContent()).toBe('ended');
  expect(await cardOf(page, 'call_mail').innerHTML()).toBe(shown);
});

describe('a question', () => {
  async function ask(input: JsonObject = priceOf) {
    const opened = await open();
    const told = opened.staged.begin('call_price', 'set_price', input);
    await opened.staged.until('call_price', 'tool.held');
    await opened.feed('call_price');
    await expectStatus(opened.page, 'call_price', 'held');
    const card = cardOf(opened.page, 'call_price');
    await untilStill(card);
    return { ...opened, told, card };
  }

  test('is not answered by a click meant for what was there before', async () => {
    const { page, staged, feed, decisions } = await open();
    const stop = async (): Promise<void> =>
      page.clock.pauseAt((await page.evaluate(() => Date.now())) + 60_000);
    // The page's clock stands still: however slow the machine is, the clicked content came a moment ago.
    await page.clock.install();
    await stop();
    void staged.begin('call_price', 'set_price', priceOf);
    await staged.until('call_price', 'tool.held');
    await feed('call_price');
    await page.clock.runFor(1); // events of one moment are shown together
    const card = cardOf(page, 'call_price');
    const refusal = card.getByText('This just changed or moved.');
    await card.locator('button[aria-disabled="false"]', { hasText: 'Approve' }).waitFor();
    await page.clock.runFor(100);
    await card.getByRole('button', { name: 'Approve' }).click();
    await refusal.waitFor();
    expect(decisions).toEqual([]);

    // New content above moves the button under the pointer.
    await page.clock.resume();
    await untilStill(card);
    await stop();
    await page.evaluate(() => {
      const above = document.createElement('p');
      above.textContent = 'Something new';
      document.body.prepend(above);
      for (const each of document.querySelectorAll('button'))
        if (each.textContent === 'Approve') each.click();
    });
    await refusal.waitFor();
    expect(decisions).toEqual([]);
    await page.clock.resume();
    await approve(card);
    await expect.poll(() => decisions).toMatchObject([{ decision: 'approve' }]);
  });

  test('a question that is mostly out of view says so, and is approved after a look at its end or an explicit choice', async () => {
    const many = Object.fromEntries(Array.from({ length: 3_000 }, (_, index) => [`key_${index}`, index]));
    const { page, card, decisions } = await ask({ ...priceOf, note: JSON.stringify(many, null, 2) });
    const block = card.getByRole('group', { name: 'Arguments' });
    const button = card.getByRole('button', { name: 'Approve' });
    await card.getByText(/About [\d,]+ of [\d,]+ lines viewed/).waitFor();
    expect(await button.getAttribute('aria-disabled')).toBe('true');
    await button.click({ force: true });
    expect(decisions).toEqual([]);
    // The choice can be undone.
    const choice = card.getByLabel('Continue without reading to the end');
    await choice.check();
    await expect.poll(() => button.getAttribute('aria-disabled')).toBe('false');
    await choice.uncheck();
    await expect.poll(() => button.getAttribute('aria-disabled')).toBe('true');
    await block.scrollIntoViewIfNeeded();
    await expect
      .poll(async () => {
        await block.evaluate((each) => each.scrollTo(0, each.scrollHeight));
        return choice.count();
      })
      .toBe(0);
    await expect.poll(() => button.getAttribute('aria-disabled')).toBe('false');
    await approve(card);
    await expect.poll(() => decisions).toMatchObject([{ decision: 'approve' }]);
    await page.context().close();
  });

  test('sends the choice not to read to the end with the approval, and the runtime records it', async () => {
    const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`k${index}`, index]));
    const { page, card, decisions, staged } = await ask({ ...priceOf, note: JSON.stringify(many, null, 2) });
    await card.getByText(/About [\d,]+ of [\d,]+ lines viewed/).waitFor();
    await card.getByLabel('Continue without reading to the end').check();
    await approve(card);
    await expect.poll(() => decisions).toMatchObject([{ decision: 'approve', notReadToEnd: true }]);
    const events = await staged.eventsOf('call_price');
    expect(events.find(({ type }) => type === 'confirmation.decided')).toMatchObject({
      by: { name: 'ada', notReadToEnd: true },
    });
    await page.context().close();
  });

  test('shows the arguments, and a double click approves once, bound to what was shown', async () => {
    const { page, card, decisions, told, feed, complaints } = await ask();
    expect(await card.getByRole('group', { name: 'Arguments' }).textContent()).toContain('"cents": 480');
    await approve(card, (button) => button.dblclick());
    expect((await told).type).toBe('ToolExecutionResult');
    await card.getByRole('button', { name: 'Approve' }).click({ force: true });
    await feed('call_price');
    await expectStatus(page, 'call_price', 'succeeded');
    expect(decisions).toEqual([
      { decision: 'approve', inputDigest: expect.any(String) as string, revision: 1 },
    ]);
    expect(await card.getByRole('button').count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  test('can be answered by keyboard alone, and the focus stays in the card', async () => {
    const { page, card, decisions, told, feed } = await ask();
    for (;;) {
      await page.keyboard.press('Tab');
      if (
        await card
          .getByRole('button', { name: 'Approve' })
          .evaluate((each) => each === document.activeElement)
      )
        break;
    }
    await approve(card, () => page.keyboard.press('Enter'));
    await told;
    await feed('call_price');
    await expectStatus(page, 'call_price', 'succeeded');
    expect(decisions).toHaveLength(1);
    await expect.poll(() => card.evaluate((each) => each.contains(document.activeElement))).toBe(true);
  });

  test('is denied with a reason, by keyboard; Escape closes the form and restores the focus', async () => {
    const { page, card, decisions, told, feed } = await ask();
    const deny = card.getByRole('button', { name: 'Deny…' });
    await deny.focus();
    await page.keyboard.press('Enter');
    await page.keyboard.type('never mind');
    await page.keyboard.press('Escape');
    await expect.poll(() => deny.evaluate((each) => each === document.activeElement)).toBe(true);
    expect(await card.getByRole('textbox').count()).toBe(0);
    await page.keyboard.press('Enter');
    await page.keyboard.type('Too dear.');
    await page.keyboard.press('Control+Enter');
    expect(await told).toMatchObject({ type: 'ToolDenied', code: 'confirmation.rejected' });
    await feed('call_price');
    await expectStatus(page, 'call_price', 'denied');
    expect(decisions).toMatchObject([{ decision: 'deny', reason: 'Too dear.' }]);
  });

  test('is approved with other arguments, which must be a JSON object', async () => {
    const { card, decisions, told } = await ask();
    await card.getByRole('button', { name: 'Edit…' }).click();
    const field = card.getByRole('textbox');
    expect(await field.inputValue()).toBe(JSON.stringify(priceOf, null, 2));
    for (const [text, problem] of [
      ['{"bread": ', 'Invalid JSON'],
      ['[1]', 'Arguments must be an object'],
      ['{"bread": "rye", "cents": 12345678901234567890}', 'cents'],
    ] as const) {
      await field.fill(text);
      await card.getByRole('button', { name: 'Run with these' }).click();
      await expect.poll(() => card.getByRole('alert').textContent()).toContain(problem);
    }
    expect(decisions).toEqual([]);
    await field.fill('{"bread": "rye", "cents": 470}');
    // The other approve button would run the requested arguments, not the edited ones.
    await card.getByRole('button', { name: 'Approve' }).click({ force: true });
    await card.getByRole('button', { name: 'Run with these' }).click();
    await expect
      .poll(() => decisions)
      .toMatchObject([{ decision: 'edit', arguments: { bread: 'rye', cents: 470 } }]);
    void told;
  });

  test('is answered instead of running the tool', async () => {
    const { page, card, told, feed } = await ask();
    await card.getByRole('button', { name: 'Respond…' }).click();
    await card.getByRole('button', { name: 'Send response' }).click();
    await expect
      .poll(() => card.getByRole('alert').textContent())
      .toContain('Enter a response for the model');
    await card.getByRole('textbox').fill('Rye stays at 450.');
    await card.getByRole('button', { name: 'Send response' }).click();
    expect(await told).toMatchObject({ type: 'ToolDenied', code: 'confirmation.answered' });
    await feed('call_price');
    await expectStatus(page, 'call_price', 'denied');
    expect(await card.textContent()).toContain('Rye stays at 450.');
  });

  test('a question that another person answered first says so, and the record names them', async () => {
    const { page, staged, card, told, feed } = await ask();
    const [asked] = (await staged.runtime.confirmations.list({ status: 'pending' })).rows;
    await staged.runtime.confirmations.decide(asked?.confirmationId ?? '', {
      decision: 'deny',
      by: 'cy',
      reason: 'no',
    });
    await told;
    await approve(card);
    await expect.poll(() => card.getByRole('alert').textContent()).toContain('denied already by cy');
    await feed('call_price');
    await expectStatus(page, 'call_price', 'denied');
  });

  test('a question whose arguments have not arrived cannot be approved, only denied', async () => {
    const { page, staged, decisions, complaints } = await open();
    void staged.begin('call_blind', 'drop_table', { table: 'orders' });
    await staged.until('call_blind', 'tool.held');
    await push(page, (await staged.eventsOf('call_blind')).slice(1));
    await expectStatus(page, 'call_blind', 'held');
    const card = cardOf(page, 'call_blind');
    await card.getByRole('button', { name: 'Approve' }).click({ force: true });
    await card.getByRole('button', { name: 'Edit…' }).click({ force: true });
    expect(await card.textContent()).toContain('cannot be approved');
    await card.getByRole('button', { name: 'Deny…' }).click();
    await card.getByRole('button', { name: 'Deny', exact: true }).click();
    await expect.poll(() => decisions).toMatchObject([{ decision: 'deny' }]);
    expect(complaints).toEqual([]);
  });
});

test('a call is undone once', async () => {
  const { page, staged, undos, feed } = await open();
  await staged.begin('call_row', 'delete_row', { table: 'carts', id: 7 });
  await feed('call_row');
  const card = cardOf(page, 'call_row');
  await card.getByRole('button', { name: 'Undo' }).dblclick();
  await staged.until('call_row', 'tool.undone');
  await feed('call_row');
  await expectStatus(page, 'call_row', 'undone');
  expect(undos).toEqual([{ sessionId: 'shop', callId: 'call_row' }]);
  expect(await card.textContent()).toContain('Undone by ada');
});

test('changes are announced in an existing live region', async () => {
  const { page, staged, feed } = await open();
  const told = staged.begin('call_slow', 'create_report', { id: 'slow' });
  await staged.until('call_slow', 'tool.started');
  await feed('call_slow');
  await expectStatus(page, 'call_slow', 'running');
  const region = await cardOf(page, 'call_slow').getByRole('status').first().elementHandle();
  await expect.poll(() => region?.textContent()).toBe('create_report: Running.');
  staged.finish('slow');
  await told;
  await feed('call_slow');
  await expect.poll(() => region?.textContent()).toBe('create_report: Succeeded.');
});

describe('a source', () => {
  test('is read once in strict mode, and released when nothing shows it any more', async () => {
    const { page, staged, feed } = await open();
    await staged.begin('call_get', 'get_order', { id: '1' });
    await feed('call_get');
    await expectStatus(page, 'call_get', 'succeeded');
    const readings = () => page.evaluate(() => window.feed.readings);
    await expect.poll(readings).toEqual({ begun: 1, open: 1 });
    await page.evaluate(() => window.show({ type: 'nothing' }));
    await expect.poll(readings).toEqual({ begun: 1, open: 0 });
    await page.evaluate(() => window.show({ type: 'list' }));
    await expectStatus(page, 'call_get', 'succeeded');
    await expect.poll(readings).toEqual({ begun: 2, open: 1 });
  });

  test('a source that changes takes its calls with it', async () => {
    const { page, staged, feed } = await open();
    await staged.begin('call_a', 'get_order', { id: 'a' });
    await staged.begin('call_b', 'get_order', { id: 'b' });
    await feed('call_a');
    await expectStatus(page, 'call_a', 'succeeded');
    await page.evaluate(
      (events: readonly unknown[]) => window.show({ type: 'another source', events }),
      (await staged.eventsOf('call_b')) as readonly unknown[],
    );
    await expectStatus(page, 'call_b', 'succeeded');
    expect(await cardOf(page, 'call_a').count()).toBe(0);
  });

  test('a source that fails is shown as failed, with its events so far, and can be read again', async () => {
    const { page, staged, feed, complaints } = await open();
    await staged.begin('call_get', 'get_order', { id: '1' });
    await page.evaluate(() => window.show({ type: 'one', callId: 'call_get' }));
    await page.getByText('Waiting for this call').waitFor();
    await page.evaluate(() => window.feed.fail('the line is down'));
    await expect.poll(() => page.getByRole('alert').textContent()).toContain('the line is down');
    await page.getByRole('button', { name: 'Retry' }).click();
    await feed('call_get');
    await expectStatus(page, 'call_get', 'succeeded');
    expect(await page.getByRole('alert').count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  test('renders a call again only for events of that call', async () => {
    const { page, staged, feed } = await open();
    await page.evaluate(() => window.show({ type: 'headless', callId: 'call_mine' }));
    await staged.begin('call_mine', 'get_order', { id: '1' });
    await feed('call_mine');
    await expect.poll(() => page.getByText('get_order is Succeeded').count()).toBe(1);
    const before = await page.evaluate(() => window.rendered['call_mine']);
    for (let index = 0; index < 5; index++) {
      await staged.begin(`call_${index}`, 'get_order', { id: String(index) });
      await feed(`call_${index}`);
    }
    await page.evaluate(() => window.show({ type: 'list' }));
    await expectStatus(page, 'call_4', 'succeeded');
    expect(await page.evaluate(() => window.rendered['call_mine'])).toBe(before);
  });
});

test('a headless renderer gets handlers that answer', async () => {
  const { page, staged, decisions, feed } = await open();
  await page.evaluate(() => window.show({ type: 'headless', callId: 'call_drop' }));
  const told = staged.begin('call_drop', 'drop_table', { table: 'carts' });
  await staged.until('call_drop', 'tool.held');
  await feed('call_drop');
  await page.getByRole('button', { name: 'Yes' }).dblclick();
  expect((await told).type).toBe('ToolExecutionResult');
  expect(decisions).toHaveLength(1);
});

test('message parts of the AI SDK are cards too, with approve and deny', async () => {
  const { page } = await open();
  const part = { type: 'tool-delete_row', toolCallId: 'p1', input: { id: 7 } };
  await page.evaluate(
    (parts: readonly unknown[]) => window.show({ type: 'parts', parts }),
    [
      { type: 'text', text: 'hello' },
      { ...part, state: 'approval-requested', approval: { id: 'a1', requestReason: 'May I?' } },
      {
        type: 'dynamic-tool',
        toolName: 'get_order',
        toolCallId: 'p2',
        state: 'output-available',
        input: {},
        output: 1,
      },
    ],
  );
  await expectStatus(page, 'p1', 'held');
  await expectStatus(page, 'p2', 'succeeded');
  expect(await cardOf(page, 'p1').getByRole('button').allTextContents()).toEqual(['Approve', 'Deny…']);
});

test('text of tools and models is shown and never executed', async () => {
  const { page, staged, complaints, feed } = await open();
  const evil = '<img src=x onerror="window.evil=1"></pre><script>window.evil=1</script>\u202egnp.exe\u0000';
  void staged.begin('call_evil', 'drop_table', { table: evil, ['__proto__']: { isAdmin: true } });
  await staged.until('call_evil', 'tool.held');
  await feed('call_evil');
  await expectStatus(page, 'call_evil', 'held');
  const text =
    (await cardOf(page, 'call_evil').getByRole('group', { name: 'Arguments' }).textContent()) ?? '';
  expect(text).toContain('<script>window.evil=1</script>');
  expect(text).toContain('\\u202egnp.exe\\u0000');
  expect(await page.evaluate(() => 'evil' in window)).toBe(false);
  expect(complaints).toEqual([]);
});

test('a theme around the card overrides the system', async () => {
  const { page, staged, feed } = await open();
  await staged.begin('call_get', 'get_order', { id: '1' });
  await feed('call_get');
  await expectStatus(page, 'call_get', 'succeeded');
  const color = (): Promise<string> =>
    cardOf(page, 'call_get').evaluate((card) => getComputedStyle(card).backgroundColor);
  const light = await color();
  await page.evaluate(() => document.body.setAttribute('data-quittance-theme', 'dark'));
  expect(await color()).not.toBe(light);
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.evaluate(() => document.body.setAttribute('data-quittance-theme', 'light'));
  expect(await color()).toBe(light);
});
