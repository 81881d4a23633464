/** Every surface that draws texts of tools and models marks invisible characters and isolates directions. */
import { join } from 'node:path';
import { createRuntime, defineTool, ToolError } from 'quittance';
import type { Runtime } from 'quittance';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { findHidden, hostileText } from './find-hidden.ts';
import { runCli } from '../run-cli.ts';
import { holdCall } from './shop.ts';
import { readWhole } from './read-whole.ts';
import type { Stage, Visitor } from './stage.ts';
import { openStage } from './stage.ts';

const sessionId = `s ${hostileText.replaceAll('\u0000', '')}`;
const callId = `c ${hostileText.replaceAll('\u0000', '')}`;
const input = {
  [`k ${hostileText}`]: `v ${hostileText}`,
  list: [hostileText],
  fake: `x",${' '.repeat(120)}"amount": 5,${' '.repeat(100)}"to": "me`,
  amount: 100,
  '\u0430mount': 900,
};
let stage: Stage;
let runtime: Runtime;
let confirmationId: string;
let inputDigest: string;

beforeAll(async () => {
  stage = await openStage();
  const schema = z.record(z.string(), z.unknown());
  runtime = createRuntime({
    ledger: stage.ledger,
    tools: [
      defineTool({
        name: 'pay',
        mode: 'destructive',
        description: hostileText,
        input: schema,
        preview: () => ({
          kind: 'fields',
          fields: [{ name: `${hostileText}\nTo: bob`, before: hostileText, after: { [hostileText]: 1 } }],
        }),
        run: () => ({ [hostileText]: hostileText }),
      }),
      defineTool({
        name: 'write',
        mode: 'destructive',
        input: schema,
        preview: () => ({
          kind: 'diff',
          path: hostileText,
          diff: `@@ -1 +1 @@\n-${hostileText}\n+b ${hostileText}`,
        }),
        run: () => {
          throw new ToolError('tool.network_error', hostileText);
        },
      }),
      defineTool({ name: 'read', mode: 'read', input: schema, run: () => hostileText }),
    ],
  });
  const turn = runtime.turn({ sessionId, principal: { userId: hostileText, role: hostileText } });
  await turn.call({ id: 'read', name: 'read', arguments: input });
  await turn.call({ id: 'none', name: hostileText, arguments: input });
  ({ confirmationId, inputDigest } = await holdCall(runtime, turn, callId, 'pay', input));
  const denied = await holdCall(runtime, turn, 'denied', 'write', input);
  await runtime.confirmations.decide(denied.confirmationId, {
    decision: 'deny',
    by: 'Ada',
    reason: hostileText,
  });
  const failed = await holdCall(runtime, turn, 'failed', 'write', input);
  await runtime.confirmations.decide(failed.confirmationId, {
    decision: 'approve',
    by: 'Ada',
    inputDigest: failed.inputDigest,
    revision: 1,
  });
  await turn.call({ id: 'failed', name: 'write', arguments: input });
});
afterAll(async () => {
  await runtime.close();
  await stage.close();
});

describe('the console', () => {
  let visitor: Visitor;
  beforeAll(async () => {
    visitor = await stage.visit();
  });
  afterAll(() => visitor.context.close());
  const session = (): string => encodeURIComponent(sessionId);
  test.each([
    ['overview', () => '/'],
    ['calls', () => '/calls'],
    ['a call that waits', () => `/calls/${session()}/${encodeURIComponent(callId)}`],
    ['a call that was denied', () => `/calls/${session()}/denied`],
    ['a call that failed', () => `/calls/${session()}/failed`],
    ['a call that read', () => `/calls/${session()}/read`],
    ['a call of an unknown tool', () => `/calls/${session()}/none`],
    ['inbox', () => `/inbox/${confirmationId}`],
    ['decided questions', () => '/inbox?tab=decided'],
    ['reconcile', () => '/reconcile'],
    ['sessions', () => '/sessions'],
    ['a session', () => `/sessions/${session()}`],
    ['tools', () => '/tools'],
    ['a tool', () => `/tools/${encodeURIComponent(hostileText)}`],
    ['integrity', () => '/integrity'],
  ])('%s', async (_name, address) => {
    const { page, goTo } = visitor;
    await goTo(address());
    await page.locator('.skeleton').first().waitFor({ state: 'detached' });
    await page.evaluate(() => document.querySelectorAll('details').forEach((each) => (each.open = true)));
    expect(await findHidden(page)).toEqual([]);
  });

  test('the edit form shows what the panel shows, and sends the same value if nothing is changed', async () => {
    const { page, goTo } = visitor;
    await goTo(`/inbox/${confirmationId}`);
    await page.locator('article.question[data-seen="true"] .question-answers').waitFor();
    await readWhole(page.locator('article.question'));
    await page.getByRole('button', { name: 'Edit…' }).click();
    const field = page.getByRole('textbox', { name: 'Arguments to run with instead' });
    expect(await findHidden(page)).toEqual([]);
    expect(JSON.parse(await field.inputValue())).toEqual(input);
    // A text that imitates lines of JSON: every run of spaces is counted, or written out in the form.
    expect(await field.inputValue()).not.toMatch(/\S {8}/);
    expect(await page.getByText(/^\[\d+ spaces\]$/).allTextContents()).toEqual([
      '[120 spaces]',
      '[100 spaces]',
    ]);
    expect(await field.inputValue()).toContain(
      String.raw`pay\u2800\u3164\u200b\u00a0\udb40\udc41\ufe0f\u202e`,
    );
    expect(await page.getByText('The name "\\u0430mount" looks like "amount".').count()).toBe(1);
  });
});

test('the decision page', async () => {
  const made = await fetch(`${stage.server.url}/v1/confirmations/${confirmationId}/link`, {
    method: 'POST',
    headers: { authorization: `Bearer ${stage.tokens.approver}`, 'content-type': 'application/json' },
    body: JSON.stringify({ expiresInMs: 60_000 }),
  });
  const { url } = (await made.json()) as { readonly url: string };
  const page = await stage.browser.newPage();
  await page.goto(url);
  await page.getByRole('button', { name: 'Deny' }).waitFor();
  expect(await findHidden(page)).toEqual([]);
  const shown = await page.getByRole('group', { name: 'Preview' }).textContent();
  expect(shown).toContain(String.raw`\nTo: bob": `);
  expect(await page.getByText('The name "\\u0430mount" looks like "amount".').count()).toBe(1);
  await page.context().close();
});

test('the command line', async () => {
  const hidden =
    /[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Co}\p{Zl}\p{Zp}\u2800\u0430\u0590-\u08ff]|(?!\n)\p{Cc}|(?![ \n])\p{White_Space}/u;
  const env = { QUITTANCE_LEDGER: stage.ledgerPath, NO_COLOR: '1' };
  for (const args of [
    ['calls'],
    ['pending'],
    ['show', callId, '--session', sessionId],
    ['show', 'failed', '--session', sessionId],
    ['trace', sessionId],
  ]) {
    const { out, err } = await runCli(args, { cwd: join(stage.ledgerPath, '..'), env });
    expect([args[0], hidden.exec(out + err)?.[0]]).toEqual([args[0], undefined]);
    expect([args[0], err]).toEqual([args[0], '']);
    expect(out.length).toBeGreaterThan(20);
  }
  expect(inputDigest).toMatch(/^sha256:/);
});
