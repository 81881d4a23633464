/** Agents of deepagents: their own tools are refused with a message, allowed by name, or governed. */
import { HumanMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { createMiddleware } from 'langchain';
import type { ToolOutcome } from 'quittance';
import { ToolDecision } from 'quittance';
import type { LangChainOptions } from '@quittance/langchain';
import { governTools } from '@quittance/langchain';
import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { apiName } from '../model-api-name.ts';
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

type SubagentOptions = { readonly script: Script; readonly withMiddleware: boolean };

/** Runs a deep agent, with or without the middleware. */
async function run(
  script: Script,
  options: LangChainOptions = {},
  { withMiddleware = true, subagent }: { withMiddleware?: boolean; subagent?: SubagentOptions } = {},
) {
  const pay = vi.fn<() => string>(() => 'paid');
  const governed = await governTools(
    [tool(async () => pay(), { name: 'pay', description: 'Pays.', schema: z.object({}) })],
    options,
  );
  const middleware = createMiddleware({ name: 'quittance', wrapToolCall: governed.wrapToolCall });
  const agent = createDeepAgent({
    model: new ScriptedModel(script),
    tools: governed.tools,
    middleware: withMiddleware ? [middleware] : [],
    ...(subagent !== undefined && {
      subagents: [
        {
          name: 'clerk',
          description: 'Helps.',
          systemPrompt: 'Help.',
          model: new ScriptedModel(subagent.script),
          tools: governed.tools,
          middleware: subagent.withMiddleware ? [middleware] : [],
        },
      ],
    }),
  });
  const input = { messages: [new HumanMessage('Go.')] };
  const state = await agent.invoke(input, { configurable: { thread_id: 'thread-1' } });
  const told = state.messages.filter(({ type }) => type === 'tool').map(({ content }) => String(content));
  const made = await governed.runtime.calls.list({ sessionId: 'thread-1' });
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
    `The agent has a tool "${name}" that was not passed to governTools`,
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

  test('does not run if a rule blocks it, and the model gets the tabled content', async () => {
    const { state, told, outcomes } = await run([write('c1'), done], {
      ...governs,
      onPreToolUse: () => ToolDecision.block('No files.'),
    });
    expect(state.files ?? {}).toEqual({});
    expect(told).toEqual(['{"error":"Blocked: No files.","blocked":true}']);
    expect(outcomes).toMatchObject([{ type: 'ToolDenied' }]);
  });

  test('runs with a person’s edit of its arguments', async () => {
    const { state } = await run([write('c1'), done], {
      ...governs,
      overrides: { write_file: { mode: 'destructive' } },
      onConfirm: () => ({
        decision: 'edit',
        by: 'ada',
        arguments: { file_path: '/edited.txt', content: 'hello' },
      }),
    });
    expect(Object.keys(state.files ?? {})).toEqual(['/edited.txt']);
  });
});

describe('a subagent', () => {
  const task = {
    calls: [{ id: 't1', name: 'task', arguments: { description: 'Go.', subagent_type: 'clerk' } }],
  };
  const pays = { calls: [{ id: 'c1', name: 'pay', arguments: {} }] };
  const names = {
    middlewareTools: ['task', 'write_file'],
    overrides: { task: { mode: 'external' } },
  } as const;
  const outcomesByTool = (outcomes: readonly (ToolOutcome | undefined)[]) =>
    Object.fromEntries(outcomes.map((outcome) => [outcome?.toolName, outcome]));

  test.each([false, true])('has its governed tools governed; its middleware: %s', async (withMiddleware) => {
    const subagent = { script: [pays, done], withMiddleware };
    const ran = await run([task, done], names, { subagent });
    expect(ran.pay).toHaveBeenCalledOnce();
    expect(outcomesByTool(ran.outcomes)).toMatchObject({
      pay: { type: 'ToolExecutionResult' },
      task: { type: 'ToolExecutionResult' },
    });
    const blocked = await run(
      [task, done],
      {
        ...names,
        onPreToolUse: ({ toolName }) => (toolName === 'pay' ? ToolDecision.block('No.') : ToolDecision.allow),
      },
      { subagent },
    );
    expect(blocked.pay).not.toHaveBeenCalled();
  });

  test('a subagent with the middleware has its file tools judged and recorded', async () => {
    const subagent = { script: [write('w1'), done], withMiddleware: true };
    const { state, outcomes } = await run([task, done], names, { subagent });
    expect(Object.keys(state.files ?? {})).toEqual(['/notes.txt']);
    expect(outcomesByTool(outcomes)).toMatchObject({ write_file: { type: 'ToolExecutionResult' } });
    const blocked = await run(
      [task, done],
      {
        ...names,
        onPreToolUse: ({ toolName }) =>
          toolName === 'write_file' ? ToolDecision.block('No.') : ToolDecision.allow,
      },
      { subagent },
    );
    expect(blocked.state.files ?? {}).toEqual({});
  });

  test.each(['clerk', 'general-purpose'])(
    'a subagent without the middleware does not run its file tools, and the record of task says why: %s',
    async (subagent_type) => {
      const asked = {
        calls: [{ id: 't1', name: 'task', arguments: { description: 'Go.', subagent_type } }],
      };
      const subagent = { script: [write('w1'), done], withMiddleware: false };
      // The subagent that deepagents makes itself uses the model of the agent.
      const script = subagent_type === 'clerk' ? [asked, done] : [asked, write('w1'), done, done];
      const { state, told, outcomes } = await run(script, names, { subagent });
      expect(state.files ?? {}).toEqual({});
      expect(told[0]).toContain('not configured correctly');
      expect(told[0]).not.toMatch(apiName);
      const [made] = outcomes;
      expect(made).toMatchObject({ type: 'ToolFailure', toolName: 'task' });
      expect(JSON.stringify(made)).toContain('A tool would run ungoverned inside');
    },
  );

  test('a subagent of a task that is named in ungoverned runs its file tools as they are', async () => {
    const subagent = { script: [write('w1'), done], withMiddleware: false };
    const { state, outcomes } = await run([task, done], { ungoverned: ['task'] }, { subagent });
    expect(Object.keys(state.files ?? {})).toEqual(['/notes.txt']);
    expect(outcomes).toEqual([]);
  });
});
