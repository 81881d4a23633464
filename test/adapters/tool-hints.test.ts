import { expect, test } from 'vitest';
import { readAiSdkTool } from '../../packages/ai-sdk/src/tool.ts';
import type { AdoptedTool } from '../../packages/adapter-kit/src/adopt/adopted-tool.ts';
import { adoptTools } from '../../packages/adapter-kit/src/adopt/adopted-tool.ts';
import { readMastraTool, mastraToolMark } from '../../packages/mastra/src/tool.ts';
import { readOpenAiAgentsTool } from '../../packages/openai-agents/src/tool.ts';
import { hintedTraits, readHints } from '../../packages/quittance/src/tool/tool-hints.ts';

const hints = (...names: readonly string[]) => ({
  annotations: Object.fromEntries(names.map((name) => [name, true])),
});

test.each([
  ['the tool itself', hints('readOnlyHint')],
  ['mcp', { mcp: hints('readOnlyHint') }],
  ['metadata', { metadata: hints('readOnlyHint') }],
  ['_meta', { _meta: hints('readOnlyHint') }],
])('hints are found in %s', (_, tool) => {
  expect(readHints(tool)).toEqual({ readOnly: true, destructive: false, idempotent: false });
});

test.each([
  [undefined],
  [null],
  ['text'],
  [{}],
  [{ annotations: 'readOnlyHint' }],
  [Object.create({ annotations: { readOnlyHint: true } })],
])('%j has no hints', (tool) => {
  expect(readHints(tool)).toBeUndefined();
});

test('a hint counts only if it is true', () => {
  expect(readHints({ annotations: { readOnlyHint: 'true', destructiveHint: 1 } })).toEqual({
    readOnly: false,
    destructive: false,
    idempotent: false,
  });
});

test.each([
  ['find_user', ['destructiveHint'], false, { mode: 'destructive' }],
  ['get_user', ['destructiveHint', 'readOnlyHint', 'idempotentHint'], true, { mode: 'destructive' }],
  ['shell_run', ['destructiveHint'], false, {}],
  ['wipe', ['readOnlyHint'], false, {}],
  ['look', ['readOnlyHint'], false, {}],
  ['look', ['readOnlyHint'], true, { mode: 'read' }],
  ['put', ['idempotentHint'], false, {}],
  ['put', ['idempotentHint'], true, { idempotent: true }],
] as const)('%s with %j, trusted: %s', (name, said, isTrusted, traits) => {
  expect(hintedTraits(name, readHints(hints(...said)), isTrusted)).toEqual(traits);
});

test("every adapter passes them on, and the host's own settings win", async () => {
  const run = async () => 'done';
  const adopted = [
    await readAiSdkTool('a', { inputSchema: { type: 'object' }, execute: run, ...hints('destructiveHint') }),
    await readMastraTool('b', {
      [mastraToolMark]: true,
      id: 'b',
      execute: run,
      mcp: hints('destructiveHint'),
    }),
    readOpenAiAgentsTool({ type: 'function', name: 'c', invoke: run, ...hints('destructiveHint') }),
    readOpenAiAgentsTool({ type: 'function', name: 'd', invoke: run, ...hints('destructiveHint') }),
    readOpenAiAgentsTool({ type: 'function', name: 'e', invoke: run, ...hints('readOnlyHint') }),
    readOpenAiAgentsTool({ type: 'function', name: 'f', invoke: run, ...hints('readOnlyHint') }),
  ] as AdoptedTool<unknown>[];
  const tools = adoptTools(
    adopted,
    { d: { mode: 'external' } },
    () => undefined,
    (name) => name === 'f',
  );
  expect(tools.map(({ mode }) => mode)).toEqual([
    'destructive',
    'destructive',
    'destructive',
    'external',
    'external',
    'read',
  ]);
});
