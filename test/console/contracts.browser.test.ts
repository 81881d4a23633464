import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { createRuntime } from 'quittance';
import type { Runtime } from 'quittance';
import { contractsFromYaml } from 'quittance/contracts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hostile, shopRules } from './shop.ts';
import type { Stage, Visitor } from './stage.ts';
import { findBarriers, findBarriersInEveryLook, openStage } from './stage.ts';
import { findCalls } from '../../packages/quittance/src/ledger/reads.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-contracts-'));
const file = join(folder, 'shop.yaml');
let stage: Stage;
let contracts: Awaited<ReturnType<typeof contractsFromYaml>>;
/** The agents of the shop, under rules from a file. */
let runtime: Runtime;
beforeAll(async () => {
  writeFileSync(file, shopRules);
  contracts = await contractsFromYaml(file);
  stage = await openStage({
    fill: () => Promise.resolve(),
    server: { contracts, reloadContracts: () => contracts.reload() },
  });
  runtime = createRuntime({ tools: stage.shop.tools, ledger: stage.ledger, contracts });
  const turn = runtime.turn({ sessionId: 'ticket-1' });
  for (const [id, cents] of [
    ['small', 100],
    ['large', 90_000],
    ['larger', 95_000],
  ] as const)
    await turn.call({ id, name: 'refund', arguments: { order: `A-${id}`, cents } });
  await turn.call({ id: 'mail', name: 'send_mail', arguments: { to: 'ada@example.com', subject: 'urgent' } });
  await turn.call({ id: 'odd', name: 'say', arguments: { [hostile]: hostile } });
});
afterAll(async () => {
  await runtime.close();
  contracts.close();
  await stage.close();
  rmSync(folder, { recursive: true, force: true });
});

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

const tabs = ['', '/try', '/draft', '/documents?line=7', '/versions'];

describe('in light and dark', () => {
  test('every tab of the contracts is accessible, in light, in dark and 800 wide', async () => {
    await withVisitor(async ({ page, goTo }) => {
      for (const tab of tabs) {
        await page.setViewportSize({ width: 1440, height: 900 });
        await goTo(`/contracts${tab}`);
        await page.locator('.card').first().waitFor();
        if (tab === '/draft') await page.getByText('valid', { exact: true }).waitFor();
        expect([tab, ...(await findBarriersInEveryLook(page, 800))]).toEqual([tab]);
      }
    });
  });
});

test('rules are shown with their rulings, their observed rulings, and the last call they ruled on', async () => {
  await withVisitor(async ({ page, goTo }) => {
    await goTo('/contracts');
    const rows = page.getByRole('table', { name: 'Rules in force' }).getByRole('row');
    const cells = async (ruleId: string): Promise<readonly string[]> =>
      rows
        .filter({ has: page.getByText(ruleId, { exact: true }) })
        .getByRole('cell')
        .allTextContents();
    await expect
      .poll(async () => (await cells('no-large-refunds')).slice(0, 6))
      .toEqual(['refund', 'pre', 'block', '2 calls denied', '2', '0']);
    expect((await cells('watch-urgent-mail')).slice(2, 6)).toEqual(['askobserve', '0', '0', '1']);
    // Both rules ruled on the large ones, and the stricter one won.
    expect((await cells('ask-about-refunds')).slice(2, 6)).toEqual(['ask', '0', '2', '0']);
    // The number of denied calls leads to exactly these.
    await rows.getByRole('link', { name: '2 calls denied' }).click();
    await expect.poll(() => page.url()).toMatch(/\/calls\?ruleId=no-large-refunds$/);
    await expect.poll(() => page.locator('.call-rows').getByRole('row').count()).toBe(2);
    await page.goBack();
    await page.getByLabel('Find rules').fill('urgent');
    await expect.poll(() => rows.count()).toBe(2);
    await rows
      .nth(1)
      .getByRole('link', { name: /shop\.yaml/ })
      .click();
    await expect.poll(() => page.locator('mark').textContent()).toContain('- id: watch-urgent-mail');
    await page.goBack();
    await rows.nth(1).getByRole('link', { name: 'last call' }).click();
    await expect.poll(() => page.url()).toMatch(/\/calls\/ticket-1\/mail$/);
  });
});

const tryCall = async (page: Page, input: string): Promise<void> => {
  await page.getByLabel('Arguments').fill(input);
  await page.getByRole('button', { name: 'Test call' }).click();
};

test('a call is tried without being made, and each rule shows what it checked', async () => {
  await withVisitor(async ({ page, goTo }) => {
    const before = await findCalls(stage.ledger, { limit: 100 });
    await goTo('/contracts/try?tool=refund');
    // Required arguments are filled in at the start.
    await expect.poll(() => page.getByLabel('Arguments').inputValue()).toContain('"cents": 1');
    await tryCall(page, '{"order": "A-9", "cents": 60000}');
    await page.getByText('Blocked: the call does not run').waitFor();
    await page.getByText('A refund of 60000 cents is for the office.').first().waitFor();
    const looked = page.getByRole('table', { name: 'Conditions' }).first();
    await expect
      .poll(() => looked.getByRole('cell').allTextContents())
      .toEqual(['args.cents', 'gt 50000', '60000', 'true']);
    expect(await findBarriers(page)).toEqual([]);
    await tryCall(page, '{"order": "A-9", "cents": 5000}');
    await page.getByText('Held: the call needs approval').waitFor();
    await tryCall(page, '{"order": "A-9", "cents": 5}');
    await page.getByText('Allowed: the call runs').waitFor();
    await page.getByText('1 more rule applies to other tools').waitFor();
    await page.getByLabel('Arguments').fill('{"order": ');
    expect(await page.getByRole('button', { name: 'Test call' }).isDisabled()).toBe(true);
    expect(await page.getByLabel('Arguments').getAttribute('aria-invalid')).toBe('true');
    expect(await findBarriers(page)).toEqual([]);
    expect((await findCalls(stage.ledger, { limit: 100 })).rows.length).toBe(before.rows.length);
  });
});

test('a draft is checked while it is typed, tried on a call, and survives navigation', async () => {
  await withVisitor(async ({ page, goTo }) => {
    await goTo('/contracts/draft');
    const editor = page.getByLabel('Rules in');
    await editor.fill(shopRules.replace('action: block', 'action: blok'));
    await page.getByText('1 problem', { exact: true }).waitFor();
    // The place is one press away.
    await page.getByRole('button', { name: /shop\.yaml:\d+/ }).press('Enter');
    await expect.poll(() => editor.evaluate((field) => field === document.activeElement)).toBe(true);
    const line = await editor.evaluate(
      (field) =>
        (field as HTMLTextAreaElement).value
          .slice(0, (field as HTMLTextAreaElement).selectionStart)
          .split('\n').length,
    );
    expect(shopRules.split('\n')[line - 1]).toContain('action: block');
    await editor.fill(shopRules.replace('gt: 50000', 'gt: 10'));
    await page.getByText('valid', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'Try a call' }).click();
    await page.getByLabel('Tool').fill('refund');
    await page.getByLabel('Draft').check();
    await tryCall(page, '{"order": "A-9", "cents": 11}');
    await page.getByText('Blocked: the call does not run').waitFor();
    await page.getByLabel('In force').check();
    await tryCall(page, '{"order": "A-9", "cents": 11}');
    await page.getByText('Allowed: the call runs').waitFor();
    await page.reload();
    await page.getByRole('link', { name: 'Draft and backtest' }).click();
    await expect.poll(() => editor.inputValue()).toContain('gt: 10 ');
    await page.getByRole('button', { name: 'Discard changes' }).click();
    await expect.poll(() => editor.inputValue()).toBe(shopRules);
  });
});

test('the editor numbers lines, marks the line of a problem, and suggests keys, values, tools and arguments', async () => {
  await withVisitor(async ({ page, goTo }) => {
    // The names of the tools arrive late.
    const typed = Promise.withResolvers<void>();
    await page.route('**/v1/tools', async (route) => {
      await typed.promise;
      await route.continue();
    });
    await goTo('/contracts/draft');
    const editor = page.getByLabel('Rules in');
    const numbers = page.locator('.rule-editor-gutter li');
    expect(await numbers.count()).toBe(shopRules.split('\n').length);
    // Several errors of YAML are one problem: the first one, at its line.
    await editor.fill(`${shopRules}\nbroken: [\n  x: : y\n z: {\n`);
    await page.getByText('1 problem', { exact: true }).waitFor();
    await expect.poll(() => page.locator('.rule-editor-gutter li[data-tone="bad"]').count()).toBe(1);
    expect(await page.locator('.check-list li[data-tone="bad"]').count()).toBe(1);
    expect(await findBarriers(page)).toEqual([]);

    await editor.fill(`${shopRules}  - id: new-rule`);
    const options = page.getByRole('listbox', { name: 'Suggestions' }).getByRole('option');
    const typeLine = async (text: string): Promise<void> => {
      await editor.press('End');
      await editor.press('Enter');
      await editor.pressSequentially(text);
    };
    // A new line starts below the key before it.
    await typeLine('ty');
    await expect.poll(() => options.allTextContents()).toEqual([expect.stringMatching(/^type/)]);
    await editor.press('Enter');
    await expect.poll(() => options.allTextContents()).toEqual(['pre', 'post', 'session', 'sandbox']);
    expect(await findBarriers(page)).toEqual([]);
    await editor.press('Enter');
    await typeLine('tool: ref');
    typed.resolve();
    await expect.poll(() => options.allTextContents()).toEqual(['refund']);
    await editor.press('Tab');
    await typeLine('when:');
    await editor.press('Escape');
    await typeLine('cen');
    await expect.poll(() => options.allTextContents()).toEqual(['args.cents']);
    await options.first().click();
    await editor.pressSequentially('{ gt: 1 }');
    expect(await editor.inputValue()).toBe(
      `${shopRules}  - id: new-rule\n    type: pre\n    tool: refund\n    when:\n      args.cents: { gt: 1 }`,
    );
    // The start of a line is not under the line numbers.
    await page.setViewportSize({ width: 480, height: 900 });
    await editor.evaluate((each) => each.scrollIntoView({ inline: 'start' }));
    expect(await page.locator('.rule-editor').evaluate((each) => each.scrollLeft)).toBe(0);
    // A suggestion is undone like a typed word.
    await page.keyboard.press('Control+z');
    expect(await editor.inputValue()).not.toContain('gt: 1 }');
    await page.getByRole('button', { name: 'Discard changes' }).click();
  });
});

test('a blocked call leads to the line of the rule, and from there to a draft', async () => {
  await withVisitor(async ({ page, goTo }) => {
    await goTo('/calls/ticket-1/large');
    await page.locator('.notice').getByRole('link', { name: 'no-large-refunds' }).click();
    await expect.poll(() => page.locator('mark').textContent()).toContain('- id: no-large-refunds');
    await page.getByRole('link', { name: 'Edit a draft' }).click();
    const editor = page.getByLabel('Rules in');
    await expect
      .poll(() =>
        editor.evaluate(
          (field) =>
            (field as HTMLTextAreaElement).value
              .slice(0, (field as HTMLTextAreaElement).selectionStart)
              .split('\n').length,
        ),
      )
      .toBe(shopRules.split('\n').findIndex((line) => line.includes('- id: no-large-refunds')) + 1);
  });
});

test('a backtest counts calls that would be decided differently, and links to them', async () => {
  await withVisitor(
    async ({ page, goTo }) => {
      await goTo('/contracts/draft');
      const editor = page.getByLabel('Rules in');
      await editor.fill(shopRules.replace('gt: 50000', 'gt: 10'));
      await page.getByText('valid', { exact: true }).waitFor();
      await page.getByLabel('Tool').fill('refund');
      await page.getByRole('button', { name: 'Run backtest' }).click();
      await page.getByText('1 call would be decided differently').waitFor();
      // The result is about the draft of that time, and says so when the draft changes.
      const stale = page.getByText('The draft has changed since this backtest');
      expect(await stale.count()).toBe(0);
      await editor.fill(shopRules.replace('gt: 50000', 'gt: 20'));
      await stale.waitFor();
      await page.getByText('valid', { exact: true }).waitFor();
      expect(await stale.count()).toBe(1);
      expect(await findBarriers(page)).toEqual([]);
      await page.getByText('Changes to the rules in force').click();
      await expect
        .poll(() => page.locator('.draft-changes ins').allTextContents())
        .toEqual([expect.stringContaining('gt: 20')]);
      await editor.fill(shopRules.replace('gt: 50000', 'gt: 10'));
      await expect.poll(() => stale.count()).toBe(0);
      const change = page.getByRole('region', { name: 'Changed decisions' });
      expect(await change.locator('summary').textContent()).toBe('callallow→block1 call');
      await change.locator('summary').press('Enter');
      expect(await findBarriers(page)).toEqual([]);
      await change.getByRole('link', { name: 'call small' }).click();
      await expect.poll(() => page.url()).toMatch(/\/calls\/ticket-1\/small$/);
      await page.goBack();
      await page.getByText('1 call would be decided differently').waitFor();
      expect(await editor.inputValue()).toContain('gt: 10 ');
    },
    { as: 'operator' },
  );
});

test('rules are reloaded, their problems are shown, and versions show the changes', async () => {
  await withVisitor(async ({ page, goTo }) => {
    await goTo('/contracts');
    const again = page.getByRole('button', { name: 'Reload rules' });
    await again.click();
    await page.getByText('The rules have not changed.').waitFor();
    writeFileSync(file, shopRules.replace('action: block', 'action: blok'));
    await again.click();
    await page.getByRole('alert').getByText('The old rules stay in force.').waitFor();
    await page
      .getByRole('alert')
      .getByText(/shop\.yaml:\d+/)
      .waitFor();
    expect(await findBarriers(page)).toEqual([]);
    writeFileSync(file, shopRules.replace('gt: 50000', 'gt: 60000'));
    await again.click();
    await page.getByText('New rules are in force.').waitFor();
    await expect.poll(() => page.getByRole('alert').count()).toBe(0);
    // The next call is made under them, and then the ledger stores them.
    await runtime.turn({ sessionId: 'ticket-2' }).call({ id: 'next', name: 'say', arguments: {} });
    await goTo('/contracts/versions');
    const versions = page.getByRole('navigation', { name: 'Versions' }).getByRole('link');
    await expect.poll(() => versions.count()).toBe(2);
    await expect.poll(() => versions.first().textContent()).toContain('in force');
    const changed = page.getByRole('region', { name: 'Changes' });
    await expect
      .poll(() => changed.locator('del').allTextContents())
      .toEqual([expect.stringContaining('gt: 50000')]);
    expect(await changed.locator('ins').allTextContents()).toEqual([expect.stringContaining('gt: 60000')]);
    expect(await findBarriers(page)).toEqual([]);
    // Another person, in another browser, sees the same change.
    await withVisitor(
      async (other) => {
        await other.goTo('/contracts/versions');
        const theirs = other.page.getByRole('region', { name: 'Changes' }).locator('ins');
        await expect.poll(() => theirs.allTextContents()).toEqual([expect.stringContaining('gt: 60000')]);
      },
      { as: 'viewer' },
    );
    await versions.nth(1).click();
    await page.getByRole('heading', { name: 'First version' }).waitFor();
    // A call of that time still leads to the rule as it was.
    await goTo('/calls/ticket-1/large');
    await page.locator('.notice').getByRole('link', { name: 'no-large-refunds' }).click();
    await page.getByText('An earlier version of the rules').waitFor();
    await expect.poll(() => page.locator('mark').textContent()).toContain('- id: no-large-refunds');
    expect(await page.locator('.rule-source').textContent()).toContain('gt: 50000');
  });
});

test('a viewer reads and checks rules, and sees no actions of other roles', async () => {
  await withVisitor(
    async ({ page, goTo }) => {
      await goTo('/contracts');
      await page.getByText('no-large-refunds').waitFor();
      expect(await page.getByRole('button', { name: 'Reload rules' }).count()).toBe(0);
      await goTo('/contracts/try?tool=refund');
      await page.getByText('Only operators can test calls.').waitFor();
      expect(await page.getByRole('button', { name: 'Test call' }).isDisabled()).toBe(true);
      await goTo('/contracts/draft');
      await page.getByText('valid', { exact: true }).waitFor();
      expect(await page.getByRole('button', { name: 'Run backtest' }).isDisabled()).toBe(true);
      await goTo('/contracts/nothing-like-it');
      await page.getByRole('heading', { name: 'Page not found' }).waitFor();
    },
    { as: 'viewer' },
  );
});
