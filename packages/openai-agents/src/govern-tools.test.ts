import { describe, expect, test, vi } from 'vitest';
import { defineTool } from 'quittance/internal/tool/define-tool';
import { ToolDecision } from 'quittance/internal/runtime/call-options';
import { governTools, sendProbe } from './govern-tools.ts';
import type { OpenAiAgentsRunContext, OpenAiAgentsTool } from './tool.ts';
import { probe, selfTest } from '@quittance/adapter-kit/internal/run/self-test';

/** A tool as made by tool(), built by hand. */
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
    ['hands tools on as they are', async (tools: readonly unknown[]) => ({ tools }), 'still ran'],
    [
      'does nothing at all',
      async () => ({ tools: [{ invoke: async () => 'done' }] }),
      'never reached the ledger',
    ],
    ['throws', () => Promise.reject(new Error('no tools here')), 'no tools here'],
  ])('refuses to start with a wrapper that %s', async (_, broken, why) => {
    const starting = selfTest('@quittance/openai-agents', sendProbe(broken));
    await expect(starting).rejects.toMatchObject({
      code: 'adapter.unsafe',
      message: expect.stringContaining(why) as string,
    });
  });

  test('leaves nothing in the ledger of the host', async () => {
    const { runtime } = await governTools([]);
    expect(await runtime.calls.list({ sessionId: probe.sessionId })).toEqual([]);
  });
});

test('tools keep their places, and read_artifact follows them', async () => {
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

test('refuses a tool that is not a function here, unless it is named as ungoverned', async () => {
  const search = { type: 'hosted_tool', name: 'web_search', providerData: {} };
  await expect(governTools([search])).rejects.toThrow('ungoverned: ["web_search"]');
  const { tools } = await governTools([search], { ungoverned: ['web_search'] });
  expect(tools[0]).toBe(search);
  for (const nothing of [undefined, null, 'tool', {}, { name: 7 }])
    await expect(governTools([nothing])).rejects.toThrow('as made by tool()');
});

test('refuses two tools with one name', async () => {
  const twice = [handMade('pay', async () => 1), handMade('pay', async () => 2)];
  await expect(governTools(twice)).rejects.toThrow('same name');
});

test('passes through a function tool that is named as ungoverned', async () => {
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
])('refuses a run whose context names no session of its own: %s', async (context) => {
  const body = vi.fn<() => Promise<string>>();
  const { tools } = await governTools([handMade('pay', body)]);
  await expect(invoke(tools[0], 'c1', '{}', context)).rejects.toMatchObject({ code: 'config.invalid' });
  expect(body).not.toHaveBeenCalled();
});

test('refuses a call without an id, because it could not be distinguished from others', async () => {
  const body = vi.fn<() => Promise<string>>();
  const { tools } = await governTools([handMade('pay', body)]);
  await expect(invoke(tools[0], undefined)).rejects.toMatchObject({ code: 'config.invalid' });
  expect(body).not.toHaveBeenCalled();
});

test('denies argument text that is not an object, and the tool does not run', async () => {
  const body = vi.fn<() => Promise<string>>();
  const { tools } = await governTools([handMade('pay', body)]);
  for (const [index, text] of ['', '[9]', '{"n":', 'null', '"x"'].entries())
    expect(await invoke(tools[0], `c${index}`, text)).toContain('argument_validation_failed');
  expect(body).not.toHaveBeenCalled();
});

test("the tool finds the allowed arguments in its input and in the call, and the SDK's hidden data in the details", async () => {
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

test('holds a call whose approval function needs a missing run context', async () => {
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

describe('a provider that reuses call ids', () => {
  const free = { overrides: { pay: { mode: 'external' } } } as const;
  const items = (id: string) => [
    { type: 'function_call', callId: id, name: 'pay', arguments: '{}' },
    { type: 'function_call_result', callId: id, name: 'pay', output: 'paid' },
  ];

  async function stage(options: object = {}) {
    const run = vi.fn<() => Promise<string>>(async () => 'paid');
    const governed = await governTools([handMade('pay', run)], { ...free, ...options });
    const [pay] = governed.tools as unknown as readonly OpenAiAgentsTool[];
    const call = async (context: OpenAiAgentsRunContext, toolCall = { callId: 'x', arguments: '{}' }) =>
      pay?.invoke(context as never, '{}', { toolCall });
    return { run, governed, call };
  }

  test('a later item of a run is a new call, the same item is a repeat', async () => {
    const { run, call } = await stage();
    const context = runContext({ sessionId: 's' });
    const item = { callId: 'x', arguments: '{}' };
    await call(context, item);
    await call(context, item);
    await call(context);
    expect(run).toHaveBeenCalledTimes(2);
  });

  test('a run that starts with earlier calls learns them from the host', async () => {
    const { run, governed, call } = await stage({
      conversation: ({ context }: OpenAiAgentsRunContext<{ history: unknown[] }>) => context.history,
    });
    await call(runContext({ sessionId: 's', history: [] }));
    const later = { sessionId: 's', history: items('x') };
    await call(runContext(later));
    await call(runContext(later));
    expect(run).toHaveBeenCalledTimes(2);
    const kept = await governed.runtime.calls.list({ sessionId: 's' });
    expect(kept.map(({ callId }) => callId)).toEqual(['x', 'x~2']);
  });

  test('a run resumed from its state knows the calls before it stopped', async () => {
    const { run, governed, call } = await stage();
    await call(runContext({ sessionId: 's' }));
    const restored = runContext({ sessionId: 's' });
    await governed.takeApprovals({
      _context: restored,
      _generatedItems: [
        ...items('x').map((rawItem) => ({ rawItem })),
        { rawItem: items('x')[0] },
        { type: 'tool_approval_item', rawItem: items('x')[0] },
      ],
      getInterruptions: () => [],
      approve: () => undefined,
    });
    await call(restored);
    expect(run).toHaveBeenCalledTimes(2);
  });

  test('an SDK approval under the id of an earlier call does not approve a later call', async () => {
    const { run, governed, call } = await stage({
      approver: 'grace',
      overrides: { pay: { mode: 'local' } },
    });
    const context = { ...runContext({ sessionId: 's' }), isToolApproved: () => true };
    const [pay] = governed.tools as unknown as readonly OpenAiAgentsTool[];
    expect(await pay?.needsApproval(context, {}, 'x')).toBe(true);
    await call(context);
    expect(run).toHaveBeenCalledOnce();
    // The SDK asks no one about an approved id, and calls the tool.
    const waiting = [call(context)];
    await expect
      .poll(async () => (await governed.runtime.confirmations.list({ status: 'pending' })).rows)
      .toMatchObject([{ callId: 'x~2' }]);
    // Requested again while it is held: the old approval must not be the answer.
    waiting.push(call(context));
    for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate);
    expect(run).toHaveBeenCalledOnce();
    const [question] = (await governed.runtime.confirmations.list({ status: 'pending' })).rows;
    await governed.runtime.confirmations.decide(question?.confirmationId ?? '', {
      decision: 'deny',
      by: 'ada',
      inputDigest: question?.inputDigest ?? '',
    });
    await Promise.all(waiting);
    expect(run).toHaveBeenCalledOnce();
  });
});
