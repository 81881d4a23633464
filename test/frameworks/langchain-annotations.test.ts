/** MCP annotations that come with a tool of LangChain, as its MCP adapter hands them over: in the tool's metadata. */
import type { ToolMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { createMemoryLedger } from 'quittance/ledger';
import type { LangChainOptions } from '@quittance/langchain';
import { governTools } from '@quittance/langchain';
import { expect, test } from 'vitest';
import { findCalls } from '../../packages/quittance/src/ledger/reads.ts';

const anything = { type: 'object' as const, properties: {} };
const config = { configurable: { thread_id: 'thread-1' } };

function annotated(name: string, annotations: Readonly<Record<string, unknown>>) {
  const given = tool(() => 'done', { name, description: '', schema: anything });
  given.metadata = { annotations };
  return given;
}

/** Calls it once, and returns its mode and whether an approval was needed. */
async function callOnce(
  given: ReturnType<typeof annotated>,
  options: LangChainOptions = {},
): Promise<{ readonly mode: string | undefined; readonly asked: number; readonly content: unknown }> {
  const ledger = createMemoryLedger();
  let asked = 0;
  const { tools } = await governTools([given], {
    ledger,
    onConfirm: () => {
      asked++;
      return { decision: 'approve', by: 'Ada' };
    },
    ...options,
  });
  const [first] = tools as unknown as (typeof given)[];
  const call = { id: 'c1', name: given.name, args: {}, type: 'tool_call' as const };
  const message = (await first?.invoke(call, config)) as ToolMessage;
  const { rows } = await findCalls(ledger, {});
  return { mode: rows[0]?.mode, asked, content: message.content };
}

test('destructiveHint makes a call riskier: a person is asked', async () => {
  const given = annotated('update_page', { destructiveHint: true });
  expect(await callOnce(given)).toEqual({ mode: 'destructive', asked: 1, content: '"done"' });
});

test('a name that only reads does not outweigh destructiveHint', async () => {
  const given = annotated('get_page', { destructiveHint: true, readOnlyHint: true });
  const trusted = await callOnce(given, { trustAnnotations: true });
  expect([trusted.mode, trusted.asked]).toEqual(['destructive', 1]);
});

test.each([
  ['no server is trusted', {}, 'destructive', 1],
  ['all are', { trustAnnotations: true }, 'read', 0],
  ['this one is', { trustAnnotations: (name: string) => name === 'wipe_cache' }, 'read', 0],
  ['another one is', { trustAnnotations: (name: string) => name === 'other' }, 'destructive', 1],
])(
  'readOnlyHint makes a call safer only if the host trusts the server: %s',
  async (_, options, mode, asked) => {
    const came = await callOnce(annotated('wipe_cache', { readOnlyHint: true }), options);
    expect([came.mode, came.asked]).toEqual([mode, asked]);
  },
);

test('the host’s setting wins', async () => {
  const given = annotated('update_page', { destructiveHint: true });
  const came = await callOnce(given, { overrides: { update_page: { mode: 'safe_write' } } });
  expect([came.mode, came.asked]).toEqual(['safe_write', 0]);
});

test('hints that are not booleans are ignored', async () => {
  const given = annotated('update_page', { destructiveHint: 'true', readOnlyHint: 1 });
  expect((await callOnce(given, { trustAnnotations: true })).mode).toBe('safe_write');
});
