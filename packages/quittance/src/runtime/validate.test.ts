import { type } from 'arktype';
import type { ToolOutcome } from 'quittance';
import type { RepairRequest } from 'quittance/runtime';
import { defineTool, outcomeToContentParts, outcomeToModelContent } from 'quittance';
import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { deferred, envelope, eventsOf, expectSettledOnce, quiet, setStage } from '../../../../test/stage.ts';
import { digestJson } from '../base/canonical.ts';

const order = z.object({
  id: z.string(),
  count: z.number().default(1),
  tags: z.array(z.string()).optional(),
});

describe('arguments that do not match the schema', () => {
  it('are denied with the path of each problem and a hint, and the body never runs', async () => {
    let runs = 0;
    const { runtime, turn } = setStage({
      tools: [defineTool({ name: 'buy', input: order, run: () => ++runs })],
    });
    const outcome = await turn.call(envelope('c', 'buy', { count: 'many', tags: 'x' }));
    expect(outcome).toMatchObject({ type: 'ToolDenied', reason: 'validation', code: 'tool.invalid_input' });
    expect('details' in outcome && outcome.details).toMatch(/\$\.id.*\$\.count.*\$\.tags/);
    expect(JSON.parse(outcomeToModelContent(outcome))).toMatchObject({
      error: 'argument_validation_failed',
      hint: expect.any(String) as string,
    });
    expect(runs).toBe(0);
    const [record] = await runtime.calls.audit({ sessionId: 's' });
    expect(record).toMatchObject({
      attempt: 0,
      requestedInput: { count: 'many', tags: 'x' },
      effectiveInput: undefined,
      outcome: { kind: 'blocked' },
    });
  });

  it.each([
    ['text that is not JSON', '{"id": '],
    ['empty text', ''],
    ['a JSON array', '["id"]'],
    ['a JSON text', '"id"'],
    ['null', 'null'],
    ['an integer that does not survive', '{"id": "a", "count": 12345678901234567890}'],
  ])('are denied when they are %s, and never become {}', async (_, text) => {
    const seen: unknown[] = [];
    const { runtime, turn } = setStage({
      tools: [defineTool({ name: 'any', run: (args) => void seen.push(args) })],
    });
    expect(await turn.call(envelope('c', 'any', text))).toMatchObject({ reason: 'validation' });
    expect(seen).toEqual([]);
    const [call] = await runtime.calls.list({ sessionId: 's' });
    expect(call?.requestedInput).toBe(text);
  });

  it.each([
    ['undefined', undefined],
    ['null', null],
    ['an array', ['id']],
    ['a number', 5],
    ['a function', () => 1],
    ['a BigInt inside', { id: 10n }],
    ['an integer beyond what a number holds', { id: 'a', count: 2 ** 60 }],
  ])('are denied when code passes %s', async (_, args) => {
    const { turn } = setStage({ tools: [defineTool({ name: 'any', run: () => 1 })] });
    expect(await turn.call({ id: 'c', name: 'any', arguments: args as never })).toMatchObject({
      reason: 'validation',
    });
  });

  it('are reported with a limit: a thousand problems do not make a thousand lines', async () => {
    const { turn } = setStage({
      tools: [defineTool({ name: 'many', input: z.object({ list: z.array(z.number()) }), run: () => 1 })],
    });
    const list = Array.from({ length: 1_000 }, () => ({ no: 'number' }));
    const outcome = await turn.call(envelope('c', 'many', { list }));
    expect(outcomeToModelContent(outcome).length).toBeLessThan(4_000);
    expect('details' in outcome && outcome.details).toMatch(/and 980 more$/);
  });

  it('are denied when the schema itself throws', async () => {
    const { turn } = setStage({
      tools: [
        defineTool({
          name: 'odd',
          input: z.object({}).refine(() => {
            throw new Error('boom');
          }),
          run: () => 1,
        }),
        defineTool({
          name: 'slow',
          input: {
            '~standard': {
              version: 1 as const,
              vendor: 'test',
              validate: () => Promise.reject<{ value: unknown }>(new Error('boom')),
            },
          },
          run: () => 1,
        }),
      ],
    });
    expect(await turn.call(envelope('a', 'odd'))).toMatchObject({ reason: 'validation' });
    expect(await turn.call(envelope('b', 'slow'))).toMatchObject({ reason: 'validation' });
  });
});

describe('arguments that match the schema', () => {
  it('reach the body as the schema returns them, with defaults and transformations', async () => {
    const seen: unknown[] = [];
    const { runtime, turn } = setStage({
      tools: [
        defineTool({
          name: 'buy',
          input: z.object({ id: z.string().transform(Number), count: z.number().default(1) }),
          run: (args) => void seen.push(args),
        }),
        defineTool({
          name: 'ark',
          input: type({ id: 'string.numeric.parse' }),
          run: (args) => void seen.push(args),
        }),
        defineTool({
          name: 'later',
          input: z.object({ id: z.string().refine(() => Promise.resolve(true)) }),
          run: (args) => void seen.push(args),
        }),
      ],
    });
    expect(await turn.call(envelope('a', 'buy', { id: '42' }))).toMatchObject({ wasCoerced: false });
    await turn.call(envelope('b', 'ark', { id: '43' }));
    await turn.call(envelope('c', 'later', { id: '44' }));
    expect(seen).toEqual([{ id: 42, count: 1 }, { id: 43 }, { id: '44' }]);
    const calls = await runtime.calls.list({ sessionId: 's' });
    expect(calls.map(({ requestedInput, wasCoerced }) => [requestedInput, wasCoerced])).toEqual([
      [{ id: '42' }, false],
      [{ id: '43' }, false],
      [{ id: '44' }, false],
    ]);
  });

  it('are copied for every body: changes by one body are invisible to the others', async () => {
    const shared = { list: [1] };
    const seen: unknown[] = [];
    const { turn } = setStage({
      tools: [
        defineTool({
          name: 'push',
          run: ({ list }) => {
            seen.push([...(list as number[])]);
            (list as number[]).push(2);
          },
        }),
      ],
    });
    await turn.callAll(['a', 'b', 'c'].map((id) => ({ id, name: 'push', arguments: shared })));
    expect([seen, shared]).toEqual([[[1], [1], [1]], { list: [1] }]);
  });
});

describe('arguments that can be coerced', () => {
  it('are asked for again if a person might read them in another way', async () => {
    const seen: unknown[] = [];
    const amounts = v.object({
      amount: v.union([v.pipe(v.number(), v.maxValue(5000)), v.array(v.number())]),
      to: v.optional(v.array(v.string())),
    });
    const { turn } = setStage({
      tools: [defineTool({ name: 'pay', input: amounts, run: (args) => void seen.push(args) })],
    });
    const denied = { reason: 'validation', code: 'tool.invalid_input' };
    expect(await turn.call(envelope('large', 'pay', { amount: 9000 }))).toMatchObject(denied);
    for (const to of ['none', 'N/A', '-', 'ann and bob', 'ann | bob'])
      expect(await turn.call(envelope(to, 'pay', { amount: 1, to }))).toMatchObject({
        ...denied,
        details: expect.stringContaining('send a JSON array') as string,
      });
    expect(seen).toEqual([]);
    expect(await turn.call(envelope('one', 'pay', { amount: '1', to: 'ann' }))).toMatchObject({
      wasCoerced: true,
    });
    expect(seen).toEqual([{ amount: 1, to: ['ann'] }]);
  });

  it('are stored as requested and as used, and the model sees the changes', async () => {
    const seen: unknown[] = [];
    const { runtime, turn } = setStage({
      tools: [
        defineTool({
          name: 'buy',
          input: z.object({ count: z.number(), tags: z.array(z.string()), when: z.string().optional() }),
          run: (args) => void seen.push(args),
        }),
      ],
    });
    const outcome = await turn.call(envelope('c', 'buy', { count: '3', tags: '["a","b"]', when: null }));
    expect(seen).toEqual([{ count: 3, tags: ['a', 'b'] }]);
    expect(outcome).toMatchObject({ type: 'ToolExecutionResult', wasCoerced: true });
    const parts = outcomeToContentParts(outcome).map((part) => 'text' in part && part.text);
    expect(parts).toEqual(['null', expect.stringMatching(/\$\.count .*\$\.tags .*\$\.when /)]);
    const [call] = await runtime.calls.list({ sessionId: 's' });
    expect(call).toMatchObject({
      requestedInput: { count: '3', tags: '["a","b"]', when: null },
      effectiveInput: { count: 3, tags: ['a', 'b'] },
      wasCoerced: true,
    });
    expect(call?.inputDigest).not.toBe(call?.requestDigest);
    const [decided] = await eventsOf(runtime, 'tool.decided');
    expect(decided?.changes.map(({ path }) => path)).toEqual(['$.count', '$.tags', '$.when']);
    const [record] = await runtime.calls.audit({ sessionId: 's' });
    expect(record).toMatchObject({ effectiveInput: { count: 3 }, requestedInput: { count: '3' } });
  });

  it('count as the same input as arguments that matched: guards compare the effective input', async () => {
    const { turn } = setStage({
      tools: [
        defineTool({
          name: 'set_it',
          idempotent: true,
          input: z.object({ n: z.number() }),
          run: () => 'set',
        }),
      ],
    });
    await turn.call(envelope('a', 'set_it', { n: 5 }));
    expect(await turn.call(envelope('b', 'set_it', { n: '5' }))).toMatchObject({ code: 'call.duplicate' });
  });

  it('are recalled by the requested arguments, not by the coerced ones', async () => {
    const { turn } = setStage({
      tools: [defineTool({ name: 'buy', input: z.object({ n: z.number() }), run: ({ n }) => n })],
    });
    const first = await turn.call(envelope('c', 'buy', { n: '5' }));
    expect(await turn.call(envelope('c', 'buy', { n: '5' }))).toEqual(first);
    expect(await turn.call(envelope('c', 'buy', { n: 5 }))).toMatchObject({ reason: 'conflict' });
  });
});

describe('the repair of arguments', () => {
  const repairable = (repair: (request: RepairRequest) => unknown, attempts?: number) =>
    setStage({
      tools: [
        defineTool({
          name: 'buy',
          input: z.object({ id: z.string().startsWith('o_') }),
          run: ({ id }) => id,
        }),
        defineTool({
          name: 'sell',
          input: z.object({ id: z.string().startsWith('o_') }),
          run: ({ id }) => id,
        }),
      ],
      repair: (attempts === undefined ? repair : { repair, attempts }) as never,
    });

  it('gets the problems and the schema, and its result is checked, used and reported', async () => {
    const requests: RepairRequest[] = [];
    const { runtime, turn } = repairable((request) => {
      requests.push(request);
      return { id: `o_${(request.arguments as { id: string }).id}` };
    });
    const outcome = await turn.call(envelope('c', 'buy', { id: '7' }));
    expect(outcome).toMatchObject({
      output: 'o_7',
      wasCoerced: true,
      modelNote: expect.stringContaining('repair') as string,
    });
    expect(requests).toMatchObject([
      { callId: 'c', toolName: 'buy', arguments: { id: '7' }, attempt: 1, schema: { type: 'object' } },
    ]);
    expect(requests[0]?.issues.map(({ path }) => path)).toEqual([['id']]);
    const [call] = await runtime.calls.list({ sessionId: 's' });
    expect(call).toMatchObject({ requestedInput: { id: '7' }, effectiveInput: { id: 'o_7' } });
  });

  it('is limited to two tries per tool and path for the whole turn, across call ids', async () => {
    const attempts: number[] = [];
    const { runtime, turn } = repairable(({ attempt }) => {
      attempts.push(attempt);
      return { id: 'still wrong' };
    });
    for (let n = 0; n < 10; n++)
      expect(await turn.call(envelope(`c${n}`, 'buy', { id: `${n}` }))).toMatchObject({
        reason: 'validation',
      });
    expect(attempts).toEqual([1, 2]);
    await turn.call(envelope('other tool', 'sell', { id: 'x' }));
    expect(attempts).toEqual([1, 2, 1, 2]);
    await runtime.turn({ sessionId: 's' }).call(envelope('other turn', 'buy', { id: 'x' }));
    expect(attempts).toEqual([1, 2, 1, 2, 1, 2]);
    await expectSettledOnce(runtime);
  });

  it('records every try and its result', async () => {
    const answers = [{ id: 'wrong', password: 'correct horse battery' }, { id: 'o_1' }];
    const { runtime, turn } = repairable(({ attempt }) => answers[attempt - 1]);
    expect(await turn.call(envelope('c', 'buy', { id: '7' }))).toMatchObject({ output: 'o_1' });
    const logOf = async (callId: string) =>
      (await eventsOf(runtime, 'tool.responded')).find((event) => event.callId === callId)?.log ?? [];
    expect(await logOf('c')).toMatchObject([
      {
        message: 'Repair, try 1: it gave arguments.',
        fields: { issues: expect.stringContaining('$.id') as string, arguments: { id: 'wrong' } },
      },
      { message: 'Repair, try 1: the arguments still do not fit.', fields: { accepted: false } },
      { message: 'Repair, try 2: it gave arguments.', fields: { arguments: { id: 'o_1' } } },
      { message: 'Repair, try 2: the arguments fit.', fields: { accepted: true } },
    ]);
    expect(JSON.stringify(await runtime.events.list({ sessionId: 's' }))).not.toContain('correct horse');
    const failing = repairable(() => {
      throw new Error('no model at hand');
    });
    await failing.turn.call(envelope('c', 'buy', { id: '7' }));
    const [responded] = await eventsOf(failing.runtime, 'tool.responded');
    expect(responded?.log).toMatchObject([{ message: 'Repair, try 1: it threw: no model at hand.' }]);
  });

  it('can be given more tries, or none', async () => {
    for (const allowed of [0, 1, 5]) {
      let tries = 0;
      const { turn } = repairable(() => {
        tries++;
        return { id: 'wrong' };
      }, allowed);
      for (let n = 0; n < 10; n++) await turn.call(envelope(`c${n}`, 'buy', { id: `${n}` }));
      expect(tries).toBe(allowed);
    }
  });

  it('also repairs text that is not JSON', async () => {
    const { turn } = repairable(({ arguments: text }) => ({ id: `o_${(text as string).length}` }));
    expect(await turn.call(envelope('c', 'buy', '{"id": '))).toMatchObject({ output: 'o_7' });
  });

  it.each<[string, () => unknown]>([
    ['throws', () => Promise.reject(new Error('no'))],
    ['gives nothing', () => undefined],
    ['gives text', () => '{"id":"o_1"}'],
    ['gives an array', () => [{ id: 'o_1' }]],
    ['gives a BigInt', () => ({ id: 10n })],
  ])('leaves the denial unchanged when it %s', async (_, repair) => {
    const { turn } = repairable(repair);
    expect(await turn.call(envelope('c', 'buy', { id: '7' }))).toMatchObject({ reason: 'validation' });
  });

  it('must return an object even if the tool accepts anything', async () => {
    for (const given of ['text', ['list'], 7]) {
      const { turn } = setStage({
        tools: [defineTool({ name: 'any', run: (args) => args })],
        repair: (() => given) as never,
      });
      expect(await turn.call(envelope('c', 'any', '{'))).toMatchObject({ reason: 'validation' });
    }
  });

  it('cannot delay the call for ever', async () => {
    const never = deferred<ToolOutcome>();
    const { clock, runtime } = repairable(() => never.promise);
    const asked = runtime.turn({ sessionId: 's', timeoutMs: 20 }).call(envelope('c', 'buy', { id: '7' }));
    await quiet();
    clock.advance(20);
    expect(await asked).toMatchObject({ type: 'ToolDenied', reason: 'deadline' });
  });
});

it('a validator that changes its argument changes neither the recorded request nor the caller’s object', async () => {
  const ran: unknown[] = [];
  const shown: unknown[] = [];
  const input = {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value: unknown) => {
        const given = value as { n: number };
        // Like sloppy-mode code: a frozen property stays unchanged, without an error.
        Reflect.set(given, 'n', given.n + 1);
        return { value: given };
      },
    },
  } as const;
  const { runtime, turn } = setStage({
    tools: [defineTool({ name: 'delete_it', input, run: (args) => ran.push(args) })],
    onConfirm: ({ arguments: given, inputDigest }) => {
      shown.push({ given, inputDigest });
      return { decision: 'approve', by: 'ada' };
    },
  });
  const args = { n: 1 };
  await turn.call(envelope('c', 'delete_it', args));
  expect(args).toEqual({ n: 1 });
  expect((await eventsOf(runtime, 'tool.requested'))[0]?.requestedInput).toEqual({ n: 1 });
  // After the approval the schema checks the accepted input again and returns the same value.
  expect(ran).toEqual([{ n: 2 }]);
  // [bound-approval] The person approved what ran, by its digest.
  expect(shown).toEqual([{ given: { n: 2 }, inputDigest: digestJson({ n: 2 }) }]);
});

describe('argument text with a syntax slip', () => {
  it.each([
    ['a code fence', '```json\n{"id":"a"}\n```'],
    ['a last comma', '{"id":"a",}'],
    ['a byte order mark', '\uFEFF{"id":"a"}'],
  ])('is repaired if it has only one reading: %s', async (_, text) => {
    const { runtime, turn } = setStage({
      tools: [defineTool({ name: 'buy', input: order, run: (args) => args })],
    });
    expect(await turn.call(envelope('c', 'buy', text))).toMatchObject({
      output: { id: 'a', count: 1 },
      wasCoerced: true,
      modelNote: expect.stringContaining('$ (argument_text)') as string,
    });
    const [call] = await runtime.calls.list({ sessionId: 's' });
    expect(call).toMatchObject({ requestedInput: text, effectiveInput: { id: 'a', count: 1 } });
  });

  it.each([
    ['a duplicate key', '{"id":"a","id":"b"}', /"id" appears twice/],
    [
      'a nested duplicate key, with an escape',
      '{"x":[{"id":1,"\\u0069d":2}],"id":"a"}',
      /"id" appears twice/,
    ],
    ['two blocks', '```\n{"id":"a"}\n```\n```\n{"id":"b"}\n```', /not a JSON object/],
    ['a comma too many', '{"id":"a",,}', /not a JSON object/],
    ['single quotes', "{'id':'a'}", /not a JSON object/],
  ])('is denied for %s', async (_, text, problem) => {
    const { turn } = setStage({ tools: [defineTool({ name: 'buy', input: order, run: (args) => args })] });
    expect(await turn.call(envelope('c', 'buy', text))).toMatchObject({
      reason: 'validation',
      details: expect.stringMatching(problem) as string,
    });
  });

  it('a text that may be a list is denied with an example', async () => {
    const { turn } = setStage({ tools: [defineTool({ name: 'buy', input: order, run: (args) => args })] });
    expect(await turn.call(envelope('c', 'buy', { id: 'a', tags: 'red, blue' }))).toMatchObject({
      reason: 'validation',
      details: expect.stringContaining('such as ["first", "second"]') as string,
    });
    expect(await turn.call(envelope('d', 'buy', { id: 'a', tags: "['red', 'blue',]" }))).toMatchObject({
      output: { tags: ['red', 'blue'] },
    });
  });
});

it.each([
  ['of the tool', false, undefined],
  ['of the runtime', undefined, false],
])('coerce: false %s leaves arguments as they came', async (_, ofTool, ofRuntime) => {
  const { turn } = setStage({
    ...(ofRuntime !== undefined && { coerce: ofRuntime }),
    tools: [defineTool({ name: 'buy', input: order, coerce: ofTool, run: (args) => args })],
  });
  expect(await turn.call(envelope('c', 'buy', { id: 'a', count: '2' }))).toMatchObject({
    reason: 'validation',
  });
  expect(await turn.call(envelope('d', 'buy', '{"id":"a",}'))).toMatchObject({ reason: 'validation' });
  expect(await turn.call(envelope('e', 'buy', { id: 'a', count: 2 }))).toMatchObject({
    output: { count: 2 },
  });
});
