import { describe, expect, test, vi } from 'vitest';
import { defineTool } from '../tool/define-tool.ts';
import { ToolDecision } from '../runtime/tool-decision.ts';
import { governTools, sendProbe } from './openai-agents.ts';
import type { OpenAiAgentsRunContext, OpenAiAgentsTool } from './openai-agents-tool.ts';
import { probe, selfTest } from './self-test.ts';

/** A tool as tool() makes them, by hand. */
const handMade = (name: string, invoke: (...args: readonly unknown[]) => Promise<unknown>, more = {}) => ({
  type: 'function',
  name,
  description: 'A tool.',
  parameters: { type: 'object', properties: {}, required: [], additionalProperties: true },
  strict: false,
  invoke,
  needsApproval: async () => false,
  isEnabled: async () => true,
  ...more,
});

const runContext = (context: unknown): OpenAiAgentsRunContext => ({
  context,
  isToolApproved: () => undefined,
  getRejectionMessage: () => undefined,
});

const invoke = (
  tool: unknown,
  callId: string | undefined,
  input = '{}',
  context: unknown = { sessionId: 's' },
) =>
  (tool as OpenAiAgentsTool).invoke(
    runContext(context) as never,
    input,
    (callId === undefined ? undefined : { toolCall: { callId, arguments: input } }) as never,
  );

describe('the self-test', () => {
  test.each([
    ['hands tools on as they are', async (tools: readonly unknown[]) => ({ tools }), 'ran all the same'],
    [
      'does nothing at all',
      async () => ({ tools: [{ invoke: async () => 'done' }] }),
      'never reached the ledger',
    ],
    ['throws', () => Promise.reject(new Error('no tools here')), 'no tools here'],
  ])('refuses to start with a wrapper that %s', async (_, broken, why) => {
    const starting = selfTest('quittance/openai-agents', sendProbe(broken));
    await expect(starting).rejects.toMatchObject({
      code: 'adapter.unsafe',
      message: expect.stringContaining(why) as string,
    });
  });

  test('leaves nothing in the ledger of the host', async () => {
    const { runtime } = await governTools([]);
    expect(await runtime.calls({ sessionId: probe.sessionId })).toEqual([]);
  });
});

test('tools stay in their places, and read_artifact comes behind them', async () => {
  const own = defineTool({ name: 'own', input: { type: 'object' }, run: () => 'ours' });
  const given = [handMade('first', async () => 1), own, handMade('constructor', async () => 2)] as const;
  const { tools } = await governTools(given);
  expect(tools.map((tool) => (tool as { name: string }).name)).toEqual([
    'first',
    'own',
    'constructor',
    'read_artifact',
  ]);
  expect([await invoke(tools[0], 'a'), await invoke(tools[1], 'b'), await invoke(tools[2], 'c')]).toEqual([
    '1',
    '"ours"',
    '2',
  ]);
});

test('a tool that is no function here is refused, unless it is named as ungoverned', async () => {
  const search = { type: 'hosted_tool', name: 'web_search', providerData: {} };
  await expect(governTools([search])).rejects.toThrow('ungoverned: ["web_search"]');
  const { tools } = await governTools([search], { ungoverned: ['web_search'] });
  expect(tools[0]).toBe(search);
  for (const nothing of [undefined, null, 'tool', {}, { name: 7 }])
    await expect(governTools([nothing])).rejects.toThrow('what tool() gives');
});

test('two tools of one name are refused', async () => {
  const twice = [handMade('pay', async () => 1), handMade('pay', async () => 2)];
  await expect(governTools(twice)).rejects.toThrow('same name');
});

test('a function tool that is named as ungoverned is handed on as it is', async () => {
  const tool = handMade('nested', async () => 'x');
  const { tools } = await governTools([tool], {
    ungoverned: ['nested'],
    onPreToolUse: () => ToolDecision.block('No.'),
  });
  expect(tools[0]).toBe(tool);
});

test.each([
  null,
  {},
  { sessionId: '' },
  { sessionId: 7 },
  Object.create({ sessionId: 'inherited' }) as object,
])('a run whose context names no session of its own is refused: %s', async (context) => {
  const body = vi.fn<() => Promise<string>>();
  const { tools } = await governTools([handMade('pay', body)]);
  await expect(invoke(tools[0], 'c1', '{}', context)).rejects.toMatchObject({ code: 'config.invalid' });
  expect(body).not.toHaveBeenCalled();
});

test('a call without an id is refused, since it could not be told from others', async () => {
  const body = vi.fn<() => Promise<string>>();
  const { tools } = await governTools([handMade('pay', body)]);
  await expect(invoke(tools[0], undefined)).rejects.toMatchObject({ code: 'config.invalid' });
  expect(body).not.toHaveBeenCalled();
});

test('argument text that is no object is denied, and the body does not run', async () => {
  const body = vi.fn<() => Promise<string>>();
  const { tools } = await governTools([handMade('pay', body)]);
  for (const [index, text] of ['', '[9]', '{"n":', 'null', '"x"'].entries())
    expect(await invoke(tools[0], `c${index}`, text)).toContain('argument_validation_failed');
  expect(body).not.toHaveBeenCalled();
});

test('the body finds what was let through, in its input and in the call, and what the SDK hides in the details', async () => {
  const hidden = Symbol('of the SDK');
  const seen: { input: unknown; details: Record<PropertyKey, unknown> }[] = [];
  const body = async (_context: unknown, input: unknown, details: unknown) => {
    seen.push({ input, details: details as Record<PropertyKey, unknown> });
    return 'ok';
  };
  const parameters = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };
  const { tools } = await governTools([handMade('pay', body, { parameters })]);
  const call = async (callId: string, input: string) => {
    const toolCall = { callId, arguments: input };
    const details = Object.defineProperty({ toolCall }, hidden, { value: 'kept', enumerable: false });
    const wrapped = tools[0] as unknown as OpenAiAgentsTool;
    await wrapped.invoke(runContext({ sessionId: 's' }) as never, input, details as never);
    return toolCall;
  };
  await call('c1', '{"n":"7"}');
  const same = await call('c2', '{ "n": 8 }');
  expect(seen.map(({ input }) => input)).toEqual(['{"n":7}', '{"n":8}']);
  expect(seen[0]?.details['toolCall']).toEqual({ callId: 'c1', arguments: '{"n":7}' });
  expect(seen[1]?.details['toolCall']).toBe(same);
  expect(seen.map(({ details }) => details[hidden])).toEqual(['kept', 'kept']);
  expect(seen.every(({ details }) => details['signal'] instanceof AbortSignal)).toBe(true);
});

test('a tool that asks for approval and needs the run context to say so is asked about where there is none', async () => {
  const body = vi.fn<() => Promise<string>>(async () => 'paid');
  const needsApproval = async ({ context }: OpenAiAgentsRunContext) =>
    (context as { sessionId: string }).sessionId !== '';
  const { runtime } = await governTools([handMade('pay', body, { needsApproval })], {
    onConfirm: () => ({ decision: 'deny', by: 'ada' }),
  });
  const outcome = await runtime.turn({ sessionId: 's' }).call({ id: 'c1', name: 'pay', arguments: {} });
  expect(outcome).toMatchObject({ type: 'ToolDenied', reason: 'write_denied' });
  expect(body).not.toHaveBeenCalled();
});
