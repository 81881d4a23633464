/** An attacker takes a wrapped tool apart: the body is not in it, and every entry leads to the gates. */
import { tool as agentsTool } from '@openai/agents';
import { tool as claudeTool } from '@anthropic-ai/claude-agent-sdk';
import { tool as langChainTool } from '@langchain/core/tools';
import { createTool } from '@mastra/core/tools';
import { FunctionTool } from '@google/adk';
import { tool as aiTool } from 'ai';
import { ToolDecision } from 'quittance';
import * as aiSdk from '@quittance/ai-sdk';
import * as anthropic from '@quittance/anthropic';
import * as claudeAgent from '@quittance/claude-agent';
import * as adk from '@quittance/google-adk';
import * as genAi from '@quittance/google-genai';
import * as langChain from '@quittance/langchain';
import * as mastra from '@quittance/mastra';
import * as openai from '@quittance/openai';
import * as openaiAgents from '@quittance/openai-agents';
import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';

type Body = () => string;
type Wrapped = {
  /** The tool as its author made it. */
  readonly original: object;
  /** All that the host is given. */
  readonly governed: object;
  /** What the framework gets. */
  readonly tools: unknown;
};
const sessionId = 'thread-1';
const blocks = { onPreToolUse: () => ToolDecision.block('No.') };
const shape = z.object({ cents: z.number().optional() });
const named = { name: 'pay', description: 'Pays.' };

const wraps: readonly (readonly [string, (body: Body) => Promise<Wrapped>])[] = [
  [
    'AI SDK',
    async (body) => {
      const original = aiTool({ inputSchema: shape, execute: body });
      const governed = await aiSdk.governTools({ pay: original }, { ...blocks, approver: 'grace' });
      const run = governed.run({ sessionId });
      return { original, governed: { governed, run }, tools: run.tools };
    },
  ],
  [
    'OpenAI Agents',
    async (body) => {
      const original = agentsTool({ ...named, parameters: z.object({}), execute: body });
      const governed = await openaiAgents.governTools([original], { ...blocks, approver: 'grace' });
      return { original, governed, tools: governed.tools };
    },
  ],
  [
    'LangChain',
    async (body) => {
      const original = langChainTool(body, { ...named, schema: shape });
      const governed = await langChain.governTools([original], { ...blocks, approver: 'grace' });
      return { original, governed, tools: governed.tools };
    },
  ],
  [
    'Mastra',
    async (body) => {
      const original = createTool({
        id: 'pay',
        description: 'Pays.',
        inputSchema: shape,
        execute: async () => body(),
      });
      const governed = await mastra.governTools({ pay: original }, { ...blocks, approver: 'grace' });
      return { original, governed, tools: governed.tools };
    },
  ],
  [
    'Claude Agent SDK',
    async (body) => {
      const original = claudeTool('pay', 'Pays.', shape.shape, async () => ({
        content: [{ type: 'text', text: body() }],
      }));
      const governed = await claudeAgent.governTools([original], {
        ...blocks,
        approver: 'grace',
        server: 'shop',
      });
      const run = governed.run({ sessionId });
      return { original, governed: { governed, run }, tools: run.options };
    },
  ],
  [
    'Anthropic SDK',
    async (body) => {
      const original = { ...named, inputSchema: shape, execute: body };
      const governed = await anthropic.governTools([original], blocks);
      const run = governed.run({ sessionId });
      return { original, governed: { governed, run }, tools: run.tools };
    },
  ],
  [
    'OpenAI SDK',
    async (body) => {
      const original = { ...named, inputSchema: shape, execute: body };
      const governed = await openai.governTools([original], blocks);
      const run = governed.run({ sessionId });
      return { original, governed: { governed, run }, tools: run.responseTools };
    },
  ],
  [
    'Google ADK',
    async (body) => {
      const original = new FunctionTool({ ...named, parameters: shape, execute: body });
      const governed = await adk.governTools([original], { ...blocks, approver: 'grace' });
      return { original, governed, tools: governed.tools };
    },
  ],
  [
    'Google GenAI SDK',
    async (body) => {
      const original = { ...named, inputSchema: shape, execute: body };
      const governed = await genAi.governTools([original], blocks);
      const run = governed.run({ sessionId, conversation: [] });
      return { original, governed: { governed, run }, tools: [run.callableTool(), ...run.tools] };
    },
  ],
];

/** Where a tool stores its author's functions, by the framework's names. */
const bodyKeys = [
  'execute',
  'invoke',
  'handler',
  'func',
  '_call',
  'call',
  'stream',
  'callTool',
  'runAsync',
] as const;

describe.each(wraps)('%s', (_, wrap) => {
  test('neither the tool nor its body can be reached from the wrapped tool', async () => {
    const body = vi.fn<Body>(() => 'paid');
    const { original, governed } = await wrap(body);
    const secret = new Set<unknown>([original, body, ...ownFunctions(original)]);
    expect(findIn(governed, secret)).toBeUndefined();
    // It would be found, were it there.
    expect(findIn({ deep: [governed, { original }] }, secret)).toBe('governed.deep.1.original');
  });

  test('every function of a wrapped tool leads to the gates, or nowhere', async () => {
    const body = vi.fn<Body>(() => 'paid');
    const { tools } = await wrap(body);
    const context = {
      toolCallId: 'c1',
      agent: { toolCallId: 'c1', threadId: sessionId, messages: [] },
      configurable: { thread_id: sessionId },
      toolCall: { id: 'c1', name: 'pay', args: {}, callId: 'c1', arguments: '{}', type: 'tool_call' },
      context: { sessionId },
      isToolApproved: () => undefined,
      args: {},
      toolContext: {
        functionCallId: 'c1',
        invocationContext: { invocationId: 'i', session: { id: sessionId, events: [] } },
        toolConfirmation: { confirmed: true },
      },
    };
    for (const tool of Object.values(tools as Record<string, Record<string, unknown>>))
      for (const key of bodyKeys)
        for (const given of [{}, '{}', context.toolCall, context]) {
          const found = tool[key];
          if (typeof found !== 'function') continue;
          await attempt(() => found.call(tool, given, context, context) as unknown);
        }
    expect(body).not.toHaveBeenCalled();
  });

  test('a body that is put into the original later does not bypass the gates', async () => {
    const body = vi.fn<Body>(() => 'paid');
    const { original, tools } = await wrap(body);
    for (const key of bodyKeys) Reflect.set(original, key, body);
    for (const tool of Object.values(tools as Record<string, Record<string, unknown>>))
      for (const key of bodyKeys) {
        const found = tool[key];
        const call = { id: 'c1', name: 'pay', args: {}, type: 'tool_call' };
        const context = { toolCallId: 'c1', agent: { toolCallId: 'c1', threadId: sessionId } };
        if (typeof found === 'function') await attempt(() => found.call(tool, call, context) as unknown);
      }
    expect(body).not.toHaveBeenCalled();
  });
});

test('a governed tool that is governed again has both gates before its body', async () => {
  const body = vi.fn<Body>(() => 'paid');
  const inner = await aiSdk.governTools({ pay: aiTool({ inputSchema: shape, execute: body }) }, blocks);
  const { pay } = inner.run({ sessionId }).tools;
  const outer = await aiSdk.governTools({ pay });
  const { pay: twice } = outer.run({ sessionId }).tools;
  await expect(twice.execute({}, { toolCallId: 'c1', messages: [] } as never)).rejects.toThrow(
    'Blocked: No.',
  );
  expect(body).not.toHaveBeenCalled();
  const [made] = await inner.runtime.calls.list({ sessionId, callId: 'c1' });
  expect(made?.settled?.outcome.type).toBe('ToolDenied');
});

async function attempt(code: () => unknown): Promise<void> {
  try {
    const made = await code();
    if (typeof made !== 'object' || made === null || !(Symbol.asyncIterator in made)) return;
    for await (const item of made as AsyncIterable<unknown>) void item;
  } catch {
    // Refused, which is as good.
  }
}

const ownFunctions = (tool: object): unknown[] =>
  Reflect.ownKeys(tool).flatMap((key) => {
    const value: unknown = Reflect.get(tool, key);
    // A function that decides about approval or availability is not a body.
    return typeof value === 'function' && bodyKeys.includes(key as never) ? [value] : [];
  });

/** The way to one of `wanted` through properties, of any kind, and prototypes. */
function findIn(root: object, wanted: ReadonlySet<unknown>): string | undefined {
  const seen = new Set<unknown>();
  const ways: [value: unknown, way: string][] = [[root, 'governed']];
  for (const [value, way] of ways) {
    if (wanted.has(value)) return way;
    if ((typeof value !== 'object' && typeof value !== 'function') || value === null || seen.has(value))
      continue;
    seen.add(value);
    for (const [key, property] of Object.entries(Object.getOwnPropertyDescriptors(value)))
      for (const [kind, held] of Object.entries(property))
        ways.push([held, kind === 'value' ? `${way}.${key}` : `${kind} of ${way}.${key}`]);
    for (const symbol of Object.getOwnPropertySymbols(value))
      ways.push([Reflect.get(value, symbol), `${way}[${String(symbol)}]`]);
    ways.push([Object.getPrototypeOf(value), `${way}.__proto__`]);
    if (value instanceof Map || value instanceof Set)
      for (const item of value.values() as Iterable<unknown>) ways.push([item, `${way}[]`]);
  }
  return undefined;
}
