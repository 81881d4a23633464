/** The server's own pages in a real browser, under their own content policy. */
import type { Browser, Page } from 'playwright-core';
import { createRuntime, defineTool } from 'quittance';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CallAnswer } from '@quittance/server';
import { TokenFile, tokenFilePath } from '../../packages/server/src/http/token-file.ts';
import { closePages, shareBrowser } from '../browser.ts';
import { z } from 'zod';
import { holdCall } from './shop.ts';
import { findBarriers } from './stage.ts';
import type { TestServer } from '../http/start-server.ts';
import { startServer } from '../http/start-server.ts';

type Held = Extract<CallAnswer, { decision: 'held' }>;

let app: TestServer;
let browser: Browser;
beforeAll(async () => {
  app = await startServer();
  browser = await shareBrowser();
});
afterAll(async () => {
  await closePages(browser);
  await app.close();
});

async function open(address: string): Promise<{ readonly page: Page; readonly complaints: string[] }> {
  const page = await (await browser.newContext()).newPage();
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  await page.goto(address);
  return { page, complaints };
}

/** The answers to the page's own requests: with the cookie and the page key, or with the cookie alone. */
const statusOf = (
  page: Page,
  path: string,
  { method = 'GET', withKey = true }: { readonly method?: string; readonly withKey?: boolean } = {},
): Promise<number> =>
  page.evaluate(
    async (asked) => {
      const key = window.localStorage.getItem('quittance.page-key');
      const headers: HeadersInit = key === null || !asked.withKey ? {} : { 'x-quittance-page-key': key };
      return (await fetch(asked.path, { method: asked.method, headers })).status;
    },
    { path, method, withKey },
  );

describe('logging in', () => {
  test('logging in with the link works once, leaves nothing of it in the address, and no script can read the cookie', async () => {
    const link = app.server.loginLink() ?? '';
    const { page } = await open(link);
    await page.getByRole('button', { name: /^Log in as/ }).click();
    await page.waitForURL(`${app.server.url}/`);
    expect(await statusOf(page, '/v1/me')).toBe(200);
    expect(await page.evaluate(() => document.cookie)).toBe('');
    expect(await statusOf(page, '/v1/me', { withKey: false })).toBe(401);
    // The login survives a reload and works in another tab, and the address never shows the key again.
    await page.reload();
    const tab = await page.context().newPage();
    await tab.goto(`${app.server.url}/calls`);
    expect(await statusOf(tab, '/v1/me')).toBe(200);
    expect(await page.evaluate(() => [window.location.href, window.history.length])).toEqual([
      `${app.server.url}/`,
      expect.any(Number),
    ]);
    const again = await open(link);
    expect(await again.page.getByRole('alert').textContent()).toContain('This link was used');
    expect(await statusOf(again.page, '/v1/me')).toBe(401);
  });

  test('logging in with an invalid token shows an error, and ends when the token is revoked', async () => {
    const file = new TokenFile(tokenFilePath(app.ledgerPath), Date.now);
    const { token } = file.create({ name: 'Grace', role: 'viewer' });
    const { page, complaints } = await open(`${app.server.url}/login`);
    expect(await findBarriers(page)).toEqual([]);
    await page.setViewportSize({ width: 320, height: 640 });
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(320);
    await page.getByLabel('Token').fill('qt_wrong');
    await page.getByRole('button', { name: 'Log in' }).click();
    expect(await page.getByRole('alert').textContent()).toContain('This server does not know the token');
    await page.getByLabel('Token').fill(token);
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.waitForURL(`${app.server.url}/`);
    expect(await statusOf(page, '/v1/me')).toBe(200);
    expect(await statusOf(page, '/logout', { method: 'POST', withKey: false })).toBe(403);
    file.revoke('Grace');
    expect(await statusOf(page, '/v1/me')).toBe(401);
    expect(complaints.every((each) => each.includes('Failed to load resource'))).toBe(true);
  });
});

describe('deciding with a link', () => {
  const linkTo = async (confirmationId: string, more: object = {}): Promise<string> => {
    const made = await app.post<{ url: string }>(
      `/v1/confirmations/${confirmationId}/link`,
      { expiresInMs: 60_000, ...more },
      'approver',
    );
    return made.body.url;
  };
  const link = async (
    id: string,
    more: object = {},
    path = `<img src=x onerror=alert(1)>${id}`,
  ): Promise<string> => {
    const { body } = await app.ask<Held>(id, 'delete_file', { path, password: 'hunter2' });
    return linkTo(body.confirmationId, more);
  };
  const questionOf = async (callId: string): Promise<object | undefined> =>
    (await app.runtime.confirmations.list({})).rows.find((each) => each.callId === callId);

  test('shows the question as text, hides hidden values, and accepts one answer', async () => {
    const url = await link('d1');
    const { page, complaints } = await open(url);
    const button = page.getByRole('button', { name: 'Approve' });
    await button.waitFor();
    await expect.poll(() => page.url()).toBe(`${app.server.url}/decide`);
    expect(await page.locator('pre').textContent()).toContain('<img src=x onerror=alert(1)>d1');
    expect(await page.locator('img').count()).toBe(0);
    expect(await page.content()).not.toContain('hunter2');
    expect(await findBarriers(page)).toEqual([]);
    await page.getByLabel('Your name').fill('Grace');
    await page.getByLabel('Reason').fill('It is old.');
    await button.click();
    await page
      .getByText('This was approved by Grace, by link of approver-person (self-asserted name).')
      .waitFor();
    expect(await questionOf('d1')).toMatchObject({
      status: 'approved',
      by: {
        identity: {
          kind: 'link',
          maker: { name: 'approver-person' },
          holder: { kind: 'typed', name: 'Grace' },
        },
      },
      reason: 'It is old.',
    });
    expect(complaints).toEqual([]);
    const again = await open(url);
    await again.page
      .getByText('This was approved by Grace, by link of approver-person (self-asserted name).')
      .waitFor();
    expect(await again.page.getByRole('button').count()).toBe(0);
  });

  test('shows the tool’s preview, and nothing that looks like something else', async () => {
    const bakery = createRuntime({
      ledger: app.ledger,
      tools: [
        defineTool({
          name: 'raise_price',
          mode: 'destructive',
          input: z.object({ cents: z.number() }),
          preview: ({ cents }) => ({
            kind: 'diff',
            path: 'prices.txt',
            diff: `@@ -1 +1 @@\n-rye 480\n+rye ${cents}`,
          }),
          run: ({ cents }) => ({ cents }),
        }),
      ],
    });
    const held = await holdCall(bakery, bakery.turn({ sessionId: 'prices' }), 'p1', 'raise_price', {
      cents: 520,
    });
    const { page } = await open(await linkTo(held.confirmationId));
    const preview = page.getByRole('group', { name: 'Preview' });
    await expect
      .poll(() => preview.allTextContents())
      .toEqual(['prices.txt\n@@ -1 +1 @@\n-rye 480\n+rye 520']);
    expect(await findBarriers(page)).toEqual([]);
    // The next link in the same tab differs only after the #.
    await page.goto(await link('p2', {}, 'notes/\u202Etxt.exe'));
    const shown = page.getByRole('group', { name: 'Arguments' }).getByText('notes/');
    await shown.waitFor();
    expect(await shown.textContent()).toContain(String.raw`notes/\u202etxt.exe`);
    await expect.poll(() => page.url()).toBe(`${app.server.url}/decide`);
    await bakery.close();
  });

  test('explains a link that is cut or for others, and offers only the allowed decisions', async () => {
    const url = await link('d2', { by: 'Grace', decisions: ['deny'] });
    const cut = await open(url.slice(0, -3));
    expect(await cut.page.getByRole('alert').textContent()).toContain(
      'This decision link is not of this ledger',
    );
    const empty = await open(`${app.server.url}/decide`);
    expect(await empty.page.getByRole('alert').textContent()).toContain('The link is incomplete');
    const { page } = await open(url);
    const deny = page.getByRole('button', { name: 'Deny' });
    await deny.waitFor();
    expect(await page.getByRole('button').allTextContents()).toEqual(['Deny']);
    await page.getByText('You decide as Grace, the person named in this link.').waitFor();
    expect(await page.getByLabel('Your name').count()).toBe(0);
    await deny.click();
    await page.getByText('This was denied by Grace.').waitFor();
    expect(await questionOf('d2')).toMatchObject({ status: 'denied' });
  });
});
