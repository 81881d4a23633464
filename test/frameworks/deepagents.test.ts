/** Agents of deepagents: their own tools are refused in words, let through by name, or governed. */
import { HumanMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { createMiddleware } from 'langchain';
import { ToolDecision } from 'quittance';
import type { LangChainOptions } from 'quittance/langchain';
import { governTools } from 'quittance/langchain';
import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { ScriptedModel } from './harnesses/langchain-harness.ts';
import type { Script } from './suite/harness.ts';

type DeepAgent = {
  invoke(
    input: object,
    config: object,
  ): Promise<{
    readonly files?: Readonly<Record<string, unknown>>;
    readonly messages: readonly { readonly type: string; readonly content: unknown }[];
  }>;
};
/** Loaded by name, so that the types of this folder do not need the package. */
const packageName: string = 'deepagents';
const { createDeepAgent } = (await import(packageName)) as {
  createDeepAgent: (options: object) => DeepAgent;
};

const write = (id: string) => ({
  calls: [{ id, name: 'write_file', arguments: { file_path: '/notes.txt', content: 'hello' } }],
});
const done = { text: 'Done.' };

/** Runs a deep agent, with the middleware or without. */
async function run(script: Script, options: LangChainOptions = {}, { withMiddleware = true } = {}) {
  const pay = vi.fn<() => string>(() => 'paid');
  const governed = await governTools(
    [tool(async () => pay(), { name: 'pay', description: 'Pays.', schema: z.object({}) })],
    options,
  );
  const agent = createDeepAgent({
    model: new ScriptedModel(script),
    tools: governed.tools,
    middleware: withMiddleware
      ? [createMiddleware({ name: 'quittance', wrapToolCall: governed.wrapToolCall })]
      : [],
  });
  const input = { messages: [new HumanMessage('Go.')] };
  const state = await agent.invoke(input, { configurable: { thread_id: 'thread-1' } });
  const told = state.messages.filter(({ type }) => type === 'tool').map(({ content }) => String(content));
  const made = await governed.runtime.calls({ sessionId: 'thread-1' });
  return { state, told, pay, outcomes: made.map(({ settled }) => settled?.outcome) };
}

test('a governed tool of a deep agent is governed as in any agent', async () => {
  const script = [{ calls: [{ id: 'c1', name: 'pay', arguments: {} }] }, done];
  const { told, pay } = await run(script);
  expect([told, pay.mock.calls.length]).toEqual([['"paid"'], 1]);
  const blocked = await run(script, { onPreToolUse: () => ToolDecision.block('No.') });
  expect(blocked.pay).not.toHaveBeenCalled();
});

test.each([
  ['write_file', { file_path: '/a', content: 'x' }],
  ['edit_file', { file_path: '/a', old_string: 'x', new_string: 'y' }],
  ['read_file', { file_path: '/a' }],
  ['ls', { path: '/' }],
  ['task', { description: 'Do it.', subagent_type: 'general-purpose' }],
])('with the middleware, a run that calls %s ends with an error that names it', async (name, args) => {
  await expect(run([{ calls: [{ id: 'c1', name, arguments: args }] }, done])).rejects.toThrow(
    `The agent has a tool "${name}" that governTools was not given`,
  );
});

test('a file tool that is named in ungoverned runs, and nothing is on record', async () => {
  const { state, outcomes } = await run([write('c1'), done], { ungoverned: ['write_file'] });
  expect(Object.keys(state.files ?? {})).toEqual(['/notes.txt']);
  expect(outcomes).toEqual([]);
});

test('without the middleware the file tools run as they are, and nothing is on record', async () => {
  const { state, outcomes } = await run([write('c1'), done], {}, { withMiddleware: false });
  expect(Object.keys(state.files ?? {})).toEqual(['/notes.txt']);
  expect(outcomes).toEqual([]);
});

describe('a file tool that is named in middlewareTools', () => {
  const governs = {
    middlewareTools: ['write_file'],
    overrides: { write_file: { mode: 'external' } },
  } as const;

  test('is judged, runs once and is on record; the file is there', async () => {
    const { state, told, outcomes } = await run([write('c1'), done], governs);
    expect(Object.keys(state.files ?? {})).toEqual(['/notes.txt']);
    expect(outcomes).toMatchObject([{ type: 'ToolExecutionResult', toolName: 'write_file' }]);
    expect(told[0]).toContain('/notes.txt');
  });

  test('does not run where a rule blocks it, and the model is told so as tabled', async () => {
    const { state, told, outcomes } = await run([write('c1'), done], {
      ...governs,
      onPreToolUse: () => ToolDecision.block('No files.'),
    });
    expect(state.files ?? {}).toEqual({});
    expect(told).toEqual(['{"error":"Blocked: No files.","blocked":true}']);
    expect(outcomes).toMatchObject([{ type: 'ToolDenied' }]);
  });

  test('runs with what a person made of its arguments', async () => {
    const { state } = await run([write('c1'), done], {
      ...governs,
      overrides: { write_file: { mode: 'local' } },
      onConfirm: () => ({
        decision: 'edit',
        by: 'ada',
        arguments: { file_path: '/edited.txt', content: 'hello' },
      }),
    });
    expect(Object.keys(state.files ?? {})).toEqual(['/edited.txt']);
  });
});
