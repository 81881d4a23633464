/** Loops without a framework. The SDKs themselves are tested in test/frameworks. */
import { describe, expect, test, vi } from 'vitest';
import { governTools as governAnthropic } from '../../packages/anthropic/src/govern-tools.ts';
import { governTools as governGenAi } from '../../packages/google-genai/src/govern-tools.ts';
import { governTools as governOpenAi } from '../../packages/openai/src/govern-tools.ts';
import { governLoop } from '../../packages/adapter-kit/src/run/govern-loop.ts';

const sessionId = 's';
const held = { overrides: { pay: { mode: 'local' } } } as const;

function payTool() {
  const run = vi.fn<(args: { cents: number }) => string>(() => 'paid');
  return { run, tools: { pay: run, add: ({ a, b }: { a: number; b: number }) => a + b } };
}

test('a helper whose answer makes no call refuses to start', async () => {
  const starting = governLoop('@quittance/openai', import.meta.url, payTool().tools, {}, async () => []);
  await expect(starting).rejects.toMatchObject({
    code: 'adapter.unsafe',
    message: expect.stringContaining('never reached the ledger') as string,
  });
});

describe('@quittance/anthropic', () => {
  const use = (id: string, name: string, input: unknown) => ({ type: 'tool_use', id, name, input });

  test('answers every tool-use block in order, and no other block', async () => {
    const governed = await governAnthropic(payTool().tools);
    const run = governed.run({ sessionId });
    const blocks = [
      { type: 'text', text: 'Let me see.' },
      use('t1', 'add', { a: 1, b: 2 }),
      { type: 'server_tool_use', id: 's1', name: 'web_search', input: {} },
      use('t2', 'nothing', {}),
    ];
    expect(await run.answer({ content: blocks, stop_reason: 'tool_use' })).toEqual([
      { type: 'tool_result', tool_use_id: 't1', content: [{ type: 'text', text: '3' }] },
      {
        type: 'tool_result',
        tool_use_id: 't2',
        is_error: true,
        content: [{ type: 'text', text: expect.stringContaining('No tool named') as string }],
      },
    ]);
    expect(await run.answer([{ type: 'text', text: 'Done.' }])).toEqual([]);
  });

  test("does not make a call that the model's limit cut off, and makes those before it", async () => {
    const { run, tools } = payTool();
    const governed = await governAnthropic(tools);
    const content = [use('t1', 'pay', { cents: 5 }), use('t2', 'pay', { cents: 1 })];
    const results = await governed.run({ sessionId }).answer({ content, stop_reason: 'max_tokens' });
    expect(run.mock.calls.map(([args]) => args)).toEqual([{ cents: 5 }]);
    expect(results[1]).toMatchObject({ tool_use_id: 't2', is_error: true });
    expect(await governed.runtime.calls.list({ sessionId })).toHaveLength(1);
  });

  test('returns nothing to send while approvals are pending, and everything afterwards', async () => {
    const { run, tools } = payTool();
    const governed = await governAnthropic(tools, held);
    const message = [use('t1', 'add', { a: 1, b: 2 }), use('t2', 'pay', { cents: 5 })];
    const first = await governed.run({ sessionId }).answerOrPending(message);
    expect(first).toMatchObject({ results: [], pending: [{ callId: 't2' }] });
    const [question] = (await governed.runtime.confirmations.list({ status: 'pending' })).rows;
    await governed.runtime.confirmations.decide(question?.confirmationId ?? '', {
      decision: 'approve',
      by: 'ada',
      inputDigest: question?.inputDigest ?? '',
    });
    const { results, pending } = await governed.run({ sessionId }).answerOrPending(message);
    expect([pending, results.map(({ tool_use_id: id }) => id)]).toEqual([[], ['t1', 't2']]);
    expect(run).toHaveBeenCalledOnce();
  });

  test.each(['answer', 'answerOrPending'] as const)('%s runs writes of one message in order', async (how) => {
    const log: string[] = [];
    const write = (name: string) => async (): Promise<string> => {
      log.push(`${name} begins`);
      await new Promise(setImmediate);
      log.push(`${name} ends`);
      return name;
    };
    const governed = await governAnthropic({ create_file: write('create'), update_file: write('update') });
    await governed.run({ sessionId })[how]([use('t1', 'create_file', {}), use('t2', 'update_file', {})]);
    expect(log).toEqual(['create begins', 'create ends', 'update begins', 'update ends']);
  });

  test('passes images on as images', async () => {
    const governed = await governAnthropic([
      {
        name: 'draw',
        execute: (_: object, { attach }: { attach: (file: object) => object }) =>
          attach({ mimeType: 'image/png', content: Uint8Array.of(1, 2, 3) }),
      },
    ]);
    const [result] = await governed.run({ sessionId }).answer([use('t1', 'draw', {})]);
    expect(result?.content.at(-1)).toEqual({
      type: 'image',
      source: { type: 'base64', media_type: 'image/png', data: 'AQID' },
    });
  });

  test('offers the tools, including the one that reads large outputs', async () => {
    const { tools } = (await governAnthropic(payTool().tools)).run({ sessionId });
    expect(tools.map(({ name }) => name)).toEqual(['pay', 'add', 'read_artifact']);
    expect(tools.every(({ input_schema: schema }) => schema.type === 'object')).toBe(true);
  });

  test('refuses a call without an id, with a message', async () => {
    const run = (await governAnthropic(payTool().tools)).run({ sessionId });
    await expect(run.answer([use('', 'add', {})])).rejects.toMatchObject({ code: 'call.malformed' });
  });
});

describe('@quittance/openai', () => {
  const call = (id: string, name: string, args: string) => ({
    type: 'function_call',
    call_id: id,
    name,
    arguments: args,
  });
  const toolCall = (id: string, name: string, args: string) => ({
    id,
    type: 'function',
    function: { name, arguments: args },
  });
  const start = async () => {
    const { run, tools } = payTool();
    const governed = await governOpenAi(
      { ...tools, note: ({ input }: { input: string }) => input.length },
      held,
    );
    return { run, governed, loop: governed.run({ sessionId }) };
  };

  test('answers calls of a response, of a completion, and of tools that take free text', async () => {
    const { loop } = await start();
    const output = [
      { type: 'reasoning', summary: [] },
      call('r1', 'add', '{"a":1,"b":2}'),
      { type: 'custom_tool_call', call_id: 'r2', name: 'note', input: 'four' },
      { type: 'web_search_call', id: 'w1' },
    ];
    expect(await loop.answerResponse({ output, status: 'completed' })).toEqual([
      { type: 'function_call_output', call_id: 'r1', output: [{ type: 'input_text', text: '3' }] },
      { type: 'custom_tool_call_output', call_id: 'r2', output: [{ type: 'input_text', text: '4' }] },
    ]);
    const message = { role: 'assistant', tool_calls: [toolCall('k1', 'add', '{"a":1,"b":2}')] };
    const answer = { role: 'tool', tool_call_id: 'k1', content: [{ type: 'text', text: '3' }] };
    const choice = { message, finish_reason: 'tool_calls' };
    for (const said of [{ choices: [choice] }, choice, message])
      expect(await loop.answerCompletion(said)).toEqual([answer]);
    expect(await loop.answerCompletion({ choices: [] })).toEqual([]);
  });

  test('denies arguments that are not a JSON object, and accepts missing ones as empty', async () => {
    const { loop, governed } = await start();
    const results = await loop.answerResponse([
      call('r1', 'add', '{"a":1'),
      call('r2', 'add', '[1]'),
      call('r3', 'add', ''),
    ]);
    const texts = results.map(({ output: [part] }) => (part?.type === 'input_text' ? part.text : ''));
    expect(texts.slice(0, 2).every((text) => text.includes('argument_validation_failed'))).toBe(true);
    const [made] = await governed.runtime.calls.list({ sessionId, callId: 'r3' });
    expect(made?.requestedInput).toEqual({});
  });

  test("does not make a call that the model's limit cut off", async () => {
    const { loop, governed } = await start();
    await loop.answerResponse({ output: [call('r1', 'add', '{"a":1,"b":2}')], status: 'incomplete' });
    const message = { tool_calls: [toolCall('k1', 'add', '{"a":1,"b":2}')] };
    const [answer] = await loop.answerCompletion({ choices: [{ message, finish_reason: 'length' }] });
    expect(answer?.content[0]?.text).toContain('cut off');
    expect(await governed.runtime.calls.list({ sessionId })).toEqual([]);
  });

  test('returns nothing to send while approvals are pending', async () => {
    const { loop, run } = await start();
    expect(await loop.answerResponseOrPending([call('r1', 'pay', '{"cents":5}')])).toMatchObject({
      results: [],
      pending: [{ callId: 'r1' }],
    });
    const message = { tool_calls: [toolCall('k1', 'pay', '{"cents":5}')] };
    expect(await loop.answerCompletionOrPending(message)).toMatchObject({ pending: [{ callId: 'k1' }] });
    expect(run).not.toHaveBeenCalled();
  });

  test.each(['__proto__', 'constructor'])('handles a call for %s', async (name) => {
    const { loop } = await start();
    const [result] = await loop.answerResponse([call('r1', name, '{"__proto__":{"x":1}}')]);
    expect(JSON.stringify(result)).toContain('No tool named');
  });
});

describe('a provider that reuses call ids', () => {
  const blocks = (cents = 5) => [{ type: 'tool_use', id: 'x', name: 'pay', input: { cents } }];
  const free = { overrides: { pay: { mode: 'external' } } } as const;

  test('a provider that reuses call ids without the conversation: a message with another id is new, and a copy from storage is a repeat', async () => {
    const { run, tools } = payTool();
    const governed = await governAnthropic(tools, free);
    const loop = governed.run({ sessionId });
    const message = (id: string) => ({ id, content: blocks(), stop_reason: 'tool_use' });
    for (const id of ['msg_1', 'msg_1', 'msg_2', 'msg_2', 'msg_1']) await loop.answer(message(id));
    await loop.answer(structuredClone(blocks())); // the copy of the last message, stored without its id
    expect(run).toHaveBeenCalledTimes(2);
  });

  test('a provider that reuses call ids without ids of messages: a copy is a repeat, and other arguments are another call', async () => {
    const { run, tools } = payTool();
    const governed = await governAnthropic(tools, free);
    const loop = governed.run({ sessionId });
    for (const cents of [5, 5, 6, 5, 6]) await loop.answer(blocks(cents));
    expect(run.mock.calls.map(([args]) => args)).toEqual([{ cents: 5 }, { cents: 6 }]);
  });

  const completion = (id: string | undefined, cents: number) => {
    const say = { name: 'pay', arguments: JSON.stringify({ cents }) };
    const message = { role: 'assistant', tool_calls: [{ id: 'x', type: 'function', function: say }] };
    return id === undefined ? message : { id, choices: [{ message, finish_reason: 'tool_calls' }] };
  };
  const response = (id: string | undefined, item: string | undefined, cents: number) => {
    const call = { type: 'function_call', call_id: 'x', name: 'pay', arguments: JSON.stringify({ cents }) };
    const output = [{ ...(item !== undefined && { id: item }), ...call }];
    return id === undefined ? output : { id, output };
  };

  test.each([
    [
      'completion, its copy and its message',
      [completion('c1', 5), completion('c1', 5), completion(undefined, 5)],
      1,
    ],
    ['message and its completion', [completion(undefined, 5), completion('c1', 5)], 1],
    ['completions with other ids', [completion('c1', 5), completion('c2', 5)], 2],
    ['messages with other calls', [completion(undefined, 5), completion(undefined, 6)], 2],
  ])('a provider that reuses call ids without the conversation, OpenAI: %s', async (_name, said, times) => {
    const { run, tools } = payTool();
    const loop = (await governOpenAi(tools, free)).run({ sessionId });
    for (const each of said) await loop.answerCompletion(each as Parameters<typeof loop.answerCompletion>[0]);
    expect(run).toHaveBeenCalledTimes(times);
  });

  test.each([
    [
      'response, its copy and its items',
      [response('r1', 'i1', 5), response('r1', 'i1', 5), response(undefined, 'i1', 5)],
      1,
    ],
    ['response and its items without ids', [response('r1', 'i1', 5), response(undefined, undefined, 5)], 1],
    ['responses with other ids', [response('r1', undefined, 5), response('r2', undefined, 5)], 2],
    ['items with other ids', [response(undefined, 'i1', 5), response(undefined, 'i2', 5)], 2],
  ])('a provider that reuses call ids without the conversation, OpenAI: %s', async (_name, said, times) => {
    const { run, tools } = payTool();
    const loop = (await governOpenAi(tools, free)).run({ sessionId });
    for (const each of said) await loop.answerResponse(each);
    expect(run).toHaveBeenCalledTimes(times);
  });

  test('a copy of a Gemini response is a repeat, and another response with the same calls is not', async () => {
    const { run, tools } = payTool();
    const governed = await governGenAi(tools, free);
    const loop = governed.run({ sessionId, conversation: [] });
    const said = (responseId: string, cents: number, id?: string) => ({
      responseId,
      candidates: [
        {
          content: {
            role: 'model',
            parts: [{ functionCall: { ...(id && { id }), name: 'pay', args: { cents } } }],
          },
        },
      ],
    });
    for (const each of [
      said('r1', 5),
      said('r1', 5),
      said('r2', 5),
      said('r3', 6, 'x'),
      said('r3', 6, 'x'),
      said('r4', 6, 'x'),
    ])
      await loop.answer(each);
    expect(run).toHaveBeenCalledTimes(4);
  });

  test('a message that awaits approval is the same message until it has its results', async () => {
    const { run, tools } = payTool();
    const governed = await governAnthropic(tools, held);
    const loop = governed.run({ sessionId });
    const pendingIds = [await loop.answerOrPending(blocks()), await loop.answerOrPending(blocks())].map(
      ({ pending }) => pending.map(({ callId }) => callId),
    );
    expect(pendingIds).toEqual([['x'], ['x']]);
    expect(run).not.toHaveBeenCalled();
  });

  test('a provider that reuses call ids with the conversation: the last message alone is recognized after a restart', async () => {
    const { run, tools } = payTool();
    const governed = await governAnthropic(tools, free);
    const messages: object[] = [{ role: 'user', content: 'Go.' }];
    for (let round = 0; round < 3; round++) {
      // Every round in a separate run, as in a service that stores only the messages.
      const content = blocks();
      const results = await governed.run({ sessionId }).answer(content, { conversation: messages });
      messages.push({ role: 'assistant', content });
      await governed.run({ sessionId }).answer(blocks(), { conversation: messages });
      messages.push({ role: 'user', content: results });
    }
    expect(run).toHaveBeenCalledTimes(3);
    expect((await governed.runtime.calls.list({ sessionId })).map(({ callId }) => callId)).toEqual([
      'x',
      'x~2',
      'x~3',
    ]);
  });

  test.each([
    [
      'answerResponse',
      { type: 'function_call', call_id: 'x', name: 'pay', arguments: '{"cents":5}' },
      { type: 'function_call_output', call_id: 'x', output: 'paid' },
    ],
    [
      'answerCompletion',
      {
        role: 'assistant',
        tool_calls: [{ id: 'x', type: 'function', function: { name: 'pay', arguments: '{"cents":5}' } }],
      },
      { role: 'tool', tool_call_id: 'x', content: 'paid' },
    ],
  ] as const)('the same with OpenAI: %s', async (answer, said, result) => {
    const { run, tools } = payTool();
    const governed = await governOpenAi(tools, free);
    const conversation = [{ role: 'user', content: 'Go.' }, said, result];
    const answerNext = async (before: readonly unknown[]) => {
      const loop = governed.run({ sessionId });
      return answer === 'answerResponse'
        ? loop.answerResponse([{ ...said }], { conversation: before })
        : loop.answerCompletion({ ...said } as { tool_calls?: readonly unknown[] }, { conversation: before });
    };
    await answerNext(conversation.slice(0, 1));
    await answerNext(conversation.slice(0, 2));
    await answerNext(conversation);
    await answerNext([...conversation, said]);
    expect(run).toHaveBeenCalledTimes(2);
  });
});
