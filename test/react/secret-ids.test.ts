/** The card masks ids and tool names that look like secrets: the promise `secrets-stay-out`. */
import { join } from 'node:path';
import { createRuntime, defineTool, ToolError } from 'quittance';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { safeId } from '../../packages/quittance/src/base/safe-id.ts';
import { bundlePage, launchBrowser, openPage } from '../browser.ts';
import { findText } from '../console/find-text.ts';
import { holdCall } from '../console/shop.ts';

const letters = 'aB3dE5gH7jK9mN1pQ2sT4vW6yZ8bC0fG';
const session = `sk-SESSION${letters}`;
const tool = `sk_live_TOOL${letters}`;
const call = (name: string): string => `ghp_CALL${letters}${name}`;

test('the card masks ids that look like secrets, from events and from message parts', async () => {
  const runtime = createRuntime({
    tools: [
      defineTool({ name: tool, mode: 'local', input: z.object({}).loose(), run: () => 'ok' }),
      defineTool({
        name: `${tool}unsure`,
        mode: 'external',
        input: z.object({}).loose(),
        run: (_, context) => {
          context.log('asked', { key: context.idempotencyKey });
          throw new ToolError('tool.indeterminate', `It hung up on ${context.idempotencyKey}.`);
        },
      }),
    ],
  });
  const turn = runtime.turn({ sessionId: session });
  await holdCall(runtime, turn, call('held'), tool, { a: 1 });
  const denied = await holdCall(runtime, turn, call('denied'), tool, { a: 2 });
  await runtime.confirmations.decide(denied.confirmationId, {
    decision: 'deny',
    by: 'Ada',
    reason: `Not ${tool}`,
  });
  await turn.call({ id: call('denied'), name: tool, arguments: { a: 2 } });
  await turn.call({ id: call('unsure'), name: `${tool}unsure`, arguments: { a: 2 } });
  await turn.call({ id: call('unknown'), name: `${tool}unknown`, arguments: {} });
  const events = await runtime.events.list({ sessionId: session });

  const [browser, bundle] = await Promise.all([
    launchBrowser(),
    bundlePage(join(import.meta.dirname, 'page.tsx')),
  ]);
  const { page } = await openPage(browser, bundle, {});
  try {
    await page.evaluate((some) => window.show({ type: 'another source', events: some }), [
      ...events,
    ] as unknown[]);
    await expect.poll(() => page.getByRole('article').count()).toBe(4);
    const scan = async (): Promise<readonly string[]> => {
      await page.evaluate(() => document.querySelectorAll('details').forEach((each) => (each.open = true)));
      return findText(page, ['SESSIONaB3', 'TOOLaB3', 'CALLaB3']);
    };
    expect(await scan()).toEqual([]);
    for (const id of [call('held'), call('denied'), call('unsure'), call('unknown'), tool])
      expect(await page.innerText('body')).toContain(safeId(id));

    await page.evaluate((parts) => window.show({ type: 'parts', parts }), [
      {
        type: `tool-${tool}`,
        toolCallId: call('part'),
        state: 'output-available',
        input: { a: 1 },
        output: 'ok',
      },
    ] as unknown[]);
    await expect.poll(() => page.innerText('body')).toContain(safeId(call('part')));
    expect(await scan()).toEqual([]);
  } finally {
    await browser.close();
    await runtime.close();
  }
});
