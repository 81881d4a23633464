/**
 * Ids and tool names that look like secrets are masked on every surface that draws them: the promise
 * `secrets-stay-out`. The ledger stores them exactly, and so does the API: they are addresses.
 */
import { createRuntime, defineTool, ToolError } from 'quittance';
import type { Runtime } from 'quittance';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { safeId } from '../../packages/quittance/src/base/safe-id.ts';
import { runInProcess } from '../run-in-process.ts';
import { findText } from './find-text.ts';
import { holdCall } from './shop.ts';
import type { Stage, Visitor } from './stage.ts';
import { openStage } from './stage.ts';

/** Made up here, so that no scanner mistakes this file for a leak. */
const letters = 'aB3dE5gH7jK9mN1pQ2sT4vW6yZ8bC0fG';
const key = (prefix: string, mark: string): string => `${prefix}${mark}${letters}${letters}`.slice(0, 46);
const session = key('sk-', 'SESSION');
const turnId = key('gsk_', 'TURN');
const tool = key('sk_live_', 'TOOL');
const reader = `${tool}reader`;
const unsure = `${tool}unsure`;
const unknown = `${tool}unknown`;
const call = (name: string): string => `${key('ghp_', 'CALL')}${name}`;
/** In every one of them, and in nothing else. */
const marks = ['SESSIONaB3', 'TURNaB3', 'TOOLaB3', 'CALLaB3'];

const blockAll = `apiVersion: edictum/v1
kind: Ruleset
metadata: { name: none }
defaults: { mode: enforce }
rules:
  - { id: none, type: pre, tool: '*', when: { args.a: { gt: 0 } }, then: { action: block, message: No. } }
`;

let stage: Stage;
let runtime: Runtime;
let visitor: Visitor;
let confirmationId: string;

beforeAll(async () => {
  stage = await openStage({ fill: async () => undefined });
  const input = z.object({ a: z.number(), note: z.string().optional() });
  runtime = createRuntime({
    ledger: stage.ledger,
    tools: [
      defineTool({ name: tool, mode: 'destructive', input, run: ({ a }) => a }),
      defineTool({ name: reader, mode: 'read', idempotent: true, input, run: ({ a }) => a }),
      defineTool({
        name: unsure,
        mode: 'external',
        input,
        run: (_, context) => {
          context.log('asked', { key: context.idempotencyKey });
          throw new ToolError('tool.indeterminate', `The bank hung up on ${context.idempotencyKey}.`);
        },
      }),
    ],
  });
  const turn = runtime.turn({ sessionId: session, turnId, principal: { userId: 'ines' } });
  await turn.call({ id: call('read'), name: reader, arguments: { a: 1 } });
  await turn.call({ id: call('again'), name: reader, arguments: { a: 1 } });
  await turn.call({ id: call('invalid'), name: reader, arguments: { a: 'x' } });
  await turn.call({ id: call('unknown'), name: unknown, arguments: {} });
  await turn.call({ id: call('unsure'), name: unsure, arguments: { a: 1 } });
  const denied = await holdCall(runtime, turn, call('denied'), tool, { a: 2 });
  await runtime.confirmations.decide(denied.confirmationId, {
    decision: 'deny',
    by: 'Ada',
    reason: `Not ${tool} again`,
  });
  await runtime.grants.give({
    sessionId: session,
    toolName: tool,
    by: 'Ada',
    forMs: 600_000,
    where: { 'args.a': { equals: 7 } },
  });
  ({ confirmationId } = await holdCall(runtime, turn, call('held'), tool, { a: 3 }));
  visitor = await stage.visit();
});
afterAll(async () => {
  await visitor?.context.close();
  await runtime?.close();
  await stage?.close();
});

const at = (...steps: readonly string[]): string => `/${steps.map(encodeURIComponent).join('/')}`;

/** Opens collapsed parts, waits for pending reads, and scans. */
async function scan({ page }: Visitor): Promise<readonly string[]> {
  await page.locator('.skeleton').first().waitFor({ state: 'detached' });
  await page.evaluate(() => document.querySelectorAll('details').forEach((each) => (each.open = true)));
  return findText(page, marks);
}

describe('the console masks ids that look like secrets', () => {
  test.each<readonly [page: string, address: () => string, shows: readonly string[]]>([
    ['overview', () => '/', [safeId(unsure)]],
    ['calls', () => '/calls', [safeId(session), safeId(tool)]],
    ['calls of a session', () => `/calls?sessionId=${session}`, [safeId(session)]],
    ['calls of a tool', () => `/calls?toolName=${tool}`, [safeId(tool)]],
    ['a search', () => `/calls?search=${call('read')}`, [safeId(reader)]],
    ...['held', 'denied', 'read', 'again', 'invalid', 'unknown', 'unsure'].map(
      (name) =>
        [
          `the call "${name}"`,
          () => at('calls', session, call(name)),
          [safeId(session), safeId(call(name))],
        ] as const,
    ),
    ['a call that is not there', () => at('calls', session, call('none')), [safeId(call('none'))]],
    ['inbox', () => at('inbox', confirmationId), [safeId(session), safeId(tool)]],
    ['decided questions', () => '/inbox?tab=decided', [safeId(tool)]],
    ['grants', () => '/inbox?tab=grants', [safeId(session), safeId(tool)]],
    ['grants of a session', () => `/inbox?tab=grants&session=${session}`, [safeId(tool)]],
    ['reconcile', () => at('reconcile', session, call('unsure')), [safeId(session), safeId(unsure)]],
    ['sessions', () => '/sessions', [safeId(session)]],
    ['a search of sessions', () => `/sessions?search=${session}`, [safeId(session)]],
    ['a session', () => at('sessions', session), [safeId(session), safeId(call('read'))]],
    ['a session that is not there', () => at('sessions', `${session}none`), [safeId(`${session}none`)]],
    ['tools', () => '/tools', [safeId(tool)]],
    ['a search of tools', () => `/tools?search=${tool}`, [safeId(tool)]],
    ['a tool', () => at('tools', tool), [safeId(tool), safeId(call('held'))]],
    ['a tool that is not there', () => at('tools', `${tool}none`), [safeId(`${tool}none`)]],
    ['contracts', () => '/contracts', []],
    ['a call to try', () => `/contracts/try?tool=${tool}`, []],
    ['integrity', () => '/integrity', [safeId(session)]],
  ])('%s', async (_name, address, shows) => {
    await visitor.goTo(address());
    for (const words of shows) await expect.poll(() => visitor.page.innerText('main')).toContain(words);
    expect(await scan(visitor)).toEqual([]);
  });

  test('rows that arrive while the list is open', async () => {
    const { page, goTo } = visitor;
    await goTo('/calls');
    await page.locator('.skeleton').first().waitFor({ state: 'detached' });
    const late = `${key('sk-', 'SESSION')}late`;
    await runtime.turn({ sessionId: late }).call({ id: call('late'), name: reader, arguments: { a: 9 } });
    await expect.poll(() => page.innerText('main')).toContain(safeId(late));
    expect(await scan(visitor)).toEqual([]);
  });

  test('a backtest and a verification', async () => {
    const { page, goTo } = visitor;
    await goTo('/contracts/draft');
    await page.getByLabel('Rules in').fill(blockAll);
    await page.getByText('valid', { exact: true }).waitFor();
    await page.getByLabel('Tool').fill(reader);
    await page.getByLabel('Session').fill(session);
    await page.getByRole('button', { name: 'Run backtest' }).click();
    await page
      .getByText(/calls? would be decided differently/)
      .first()
      .waitFor();
    expect(await page.getByLabel('Tool').inputValue()).toBe(safeId(reader));
    expect(await scan(visitor)).toEqual([]);
    expect(await page.innerText('main')).toContain(safeId(call('read')));
    await goTo('/integrity');
    await page.getByRole('button', { name: /^Verify/ }).click();
    await page.getByText('No problems found').first().waitFor();
    expect(await scan(visitor)).toEqual([]);
  });

  test('the grant form shows the mask and gives the grant to the exact tool', async () => {
    const { page, goTo } = visitor;
    await goTo(at('inbox', confirmationId));
    await page.getByRole('button', { name: 'Grant similar calls…' }).click();
    const form = page.getByRole('dialog');
    expect(await form.getByLabel('Session').inputValue()).toBe(safeId(session));
    expect(await form.getByLabel('Tool', { exact: true }).inputValue()).toBe(safeId(tool));
    expect(await scan(visitor)).toEqual([]);
    await form.getByRole('button', { name: 'Add grant' }).click();
    await form.waitFor({ state: 'detached' });
    expect(await scan(visitor)).toEqual([]);
    expect((await runtime.grants.list({ sessionId: session })).map(({ toolName }) => toolName)).toEqual([
      tool,
      tool,
    ]);
  });

  test('a decision and its message', async () => {
    const { page, goTo } = visitor;
    await goTo(at('inbox', confirmationId));
    await page.locator('article.question[data-seen="true"] .question-answers').waitFor();
    await page.getByRole('button', { name: 'Deny…' }).click();
    await page.getByRole('textbox', { name: /Why|Reason/ }).fill('No.');
    await page.keyboard.press('Control+Enter');
    await expect.poll(() => page.innerText('body')).toContain(`Denied ${safeId(tool)}`);
    expect(await scan(visitor)).toEqual([]);
  });
});

test('the decision page masks ids that look like secrets', async () => {
  const turn = runtime.turn({ sessionId: session, turnId });
  const held = await holdCall(runtime, turn, call('linked'), tool, { a: 4 });
  const made = await fetch(`${stage.server.url}/v1/confirmations/${held.confirmationId}/link`, {
    method: 'POST',
    headers: { authorization: `Bearer ${stage.tokens.approver}`, 'content-type': 'application/json' },
    body: JSON.stringify({ expiresInMs: 60_000 }),
  });
  const { url } = (await made.json()) as { readonly url: string };
  const page = await stage.browser.newPage();
  await page.goto(url);
  await page.getByRole('button', { name: 'Deny' }).waitFor();
  expect(await findText(page, marks)).toEqual([]);
  expect(await page.innerText('main')).toContain(safeId(tool));
  await page.context().close();
});

test('the command line masks ids that look like secrets, in sentences too', async () => {
  for (const args of [
    ['calls'],
    ['sessions'],
    ['pending'],
    ['errors'],
    ['trace', session],
    ['reconcile'],
    ['grants'],
    ['verify'],
    ...['held', 'linked', 'denied', 'again', 'unknown', 'unsure'].map((name) => ['show', call(name)]),
  ]) {
    const { out, err } = await runInProcess(args, { ledger: stage.ledgerPath });
    expect([args[0], args[1], marks.filter((mark) => (out + err).includes(mark))]).toEqual([
      args[0],
      args[1],
      [],
    ]);
  }
});
