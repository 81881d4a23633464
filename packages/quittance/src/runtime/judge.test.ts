import type { SuccessCheck } from 'quittance';
import { defineTool, outcomeToModelContent, ToolDecision } from 'quittance';
import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { deferred, envelope, expectSettledOnce, quiet, setStage } from '../../../../test/stage.ts';

describe('the return value of a body', () => {
  it.each<[string, unknown, RegExp]>([
    ['NaN', Number.NaN, /\$: NaN/],
    ['a BigInt', { deep: [1, 10n] }, /\$\.deep\[1\]: a BigInt/],
    ['a function', { f: () => 1 }, /\$\.f: a function/],
    ['a symbol', Symbol('s'), /a symbol/],
    ['a Map', new Map([[1, 2]]), /a Map has no JSON form\./],
    ['an Error', { e: new Error('x') }, /\$\.e: an Error/],
    ['bytes', new Uint8Array(3), /Uint8Array/],
  ])('is refused as %s, with its path and an alternative', async (_, value, error) => {
    const { runtime, turn } = setStage({ tools: [defineTool({ name: 'get_it', run: () => value })] });
    expect(await turn.call(envelope('c', 'get_it'))).toMatchObject({
      type: 'ToolFailure',
      code: 'tool.invalid_output',
      retryable: false,
      error: expect.stringMatching(error) as string,
    });
    await expectSettledOnce(runtime);
  });

  it('becomes null for the model when it is undefined', async () => {
    const { turn } = setStage({ tools: [defineTool({ name: 'get_it', run: () => undefined })] });
    const outcome = await turn.call(envelope('c', 'get_it'));
    expect([outcome, outcomeToModelContent(outcome)]).toMatchObject([{ output: null }, 'null']);
  });

  it('the return value of a body of 50 MB is stored as an artifact in bounded time', async () => {
    const { turn } = setStage({
      tools: [defineTool({ name: 'get_it', run: () => ({ text: 'lorem ipsum '.repeat(50_000_000 / 12) }) })],
    });
    const outcome = await turn.call(envelope('c', 'get_it'));
    expect(outcome).toMatchObject({
      type: 'ToolArtifactReference',
      sizeBytes: 50_000_000 - (50_000_000 % 12) + 11,
    });
    expect(outcomeToModelContent(outcome).length).toBeLessThan(1_000);
  });
});

describe('an output schema', () => {
  it('refuses a mismatch, stores it for the author, and reports the problem', async () => {
    const { runtime, turn } = setStage({
      tools: [
        defineTool({
          name: 'get_it',
          output: z.object({ n: z.number() }),
          run: () => ({ n: 'one' }) as never,
        }),
        defineTool({ name: 'get_json', output: { type: 'object', required: ['n'] }, run: () => ({ m: 1 }) }),
        defineTool({
          name: 'get_slow',
          output: v.pipeAsync(
            v.object({}),
            v.checkAsync(() => Promise.resolve(false)),
          ),
          run: () => ({}),
        }),
      ],
    });
    const outcomes = await turn.callAll(
      ['get_it', 'get_json', 'get_slow'].map((name) => envelope(name, name)),
    );
    for (const outcome of outcomes)
      expect(outcome).toMatchObject({ code: 'tool.invalid_output', retryable: false });
    expect(outcomes[0]).toMatchObject({
      error: expect.stringContaining('$.n') as string,
      payloadExtras: { output: { n: 'one' } },
    });
    const [record] = await runtime.calls.audit({ sessionId: 's', callId: 'get_it' });
    expect(record?.toolSuccess).toBe(false);
  });

  it('may transform the output, and the caller gets the transformed value', async () => {
    const { turn } = setStage({
      tools: [
        defineTool({
          name: 'get_it',
          output: z.object({ at: z.date().transform((at) => at.getTime()), more: z.string().default('x') }),
          run: () => ({ at: new Date(5) }),
        }),
      ],
    });
    expect(await turn.call(envelope('c', 'get_it'))).toMatchObject({ output: { at: 5, more: 'x' } });
  });

  it('is checked after the success check: a reported error need not match it', async () => {
    const { turn } = setStage({
      tools: [
        defineTool({
          name: 'get_it',
          output: z.object({ n: z.number() }),
          run: () => ({ error: 'no such row' }) as never,
        }),
      ],
    });
    expect(await turn.call(envelope('c', 'get_it'))).toMatchObject({
      code: 'tool.reported_error',
      error: 'no such row',
    });
  });

  it('an output schema that throws makes a wrong output, not a crash', async () => {
    const { turn } = setStage({
      tools: [
        defineTool({
          name: 'get_it',
          output: z.unknown().transform(() => {
            throw new Error('boom');
          }),
          run: () => 1,
        }),
        defineTool({ name: 'get_odd', output: z.unknown().transform(() => 10n), run: () => 1 }),
      ],
    });
    expect(await turn.call(envelope('a', 'get_it'))).toMatchObject({ code: 'tool.invalid_output' });
    expect(await turn.call(envelope('b', 'get_odd'))).toMatchObject({ code: 'tool.invalid_output' });
  });
});

describe('the success check', () => {
  const judged = async (
    value: unknown,
    successCheck?: SuccessCheck,
    hosts?: SuccessCheck,
  ): Promise<string> => {
    const { turn } = setStage({
      tools: [defineTool({ name: 'get_it', ...(successCheck && { successCheck }), run: () => value })],
      ...(hosts && { successCheck: hosts }),
    });
    const outcome = await turn.call(envelope('c', 'get_it'));
    return outcome.type === 'ToolFailure' ? `${outcome.code}: ${outcome.error}` : 'ok';
  };

  it.each<[unknown, string]>([
    [{ success: false, error: 'no' }, 'tool.reported_error: no'],
    [{ success: true, error: 'partly' }, 'ok'],
    [{ is_error: true, message: 'no' }, 'tool.reported_error: no'],
    [{ isError: true, content: [{ type: 'text', text: 'no' }] }, 'tool.reported_error: no'],
    [{ error: null }, 'ok'],
    ['Error: broken', 'tool.reported_error: Error: broken'],
    ['An Error: quoted', 'ok'],
    ['{"error":"no","result":{"id":1}}', 'tool.reported_error: no'],
    ['{"error":"no","rows":[1,', 'tool.reported_error: no'],
    ['{"error":null,"rows":[1,', 'ok'],
    [null, 'ok'],
  ])('reads %j by default as success or failure', async (value, expected) => {
    expect(await judged(value)).toBe(expected);
  });

  it('the success check of the tool overrides the runtime’s, and either replaces the default', async () => {
    const no: SuccessCheck = () => ({ ok: false, reason: 'tool says no' });
    const yes: SuccessCheck = () => true;
    expect(await judged({ error: 'x' }, yes, no)).toBe('ok');
    expect(await judged(1, no, yes)).toBe('tool.reported_error: tool says no. Output: 1');
    expect(await judged({ error: 'x' }, undefined, yes)).toBe('ok');
    expect(await judged(1, undefined, no)).toBe('tool.reported_error: tool says no. Output: 1');
  });

  const unchecked =
    'tool.invalid_output: The tool "get_it" ran, but its result could not be checked. Output: 1';

  it.each<[string, SuccessCheck, string]>([
    ['waits', async () => Promise.resolve({ ok: false, reason: 'later' }), 'tool.reported_error: later'],
    ['waits and agrees', async () => Promise.resolve(true), 'ok'],
    [
      'throws',
      () => {
        throw new Error('boom');
      },
      unchecked,
    ],
    ['rejects', () => Promise.reject(new Error('boom')), unchecked],
    ['answers nonsense', () => 'yes' as never, unchecked],
  ])('the success check that %s is used', async (_, check, expected) => {
    expect(await judged(1, check)).toContain(expected);
  });

  it('gets the name of the tool and its output as JSON', async () => {
    const seen: unknown[] = [];
    await judged({ at: new Date(0), no: undefined }, (name, result) => seen.push([name, result]) > 0);
    expect(seen).toEqual([['get_it', { at: '1970-01-01T00:00:00.000Z' }]]);
  });

  it('is recorded as toolSuccess, which is absent if nothing ran', async () => {
    const { runtime, turn } = setStage({
      tools: [
        defineTool({ name: 'get_it', run: ({ give }) => give }),
        defineTool({ name: 'delete_it', run: () => 1 }),
      ],
      onPreToolUse: ({ toolName }) =>
        toolName === 'delete_it' ? ToolDecision.block('no') : ToolDecision.allow,
    });
    await turn.call(envelope('a', 'get_it', { give: 1 }));
    await turn.call(envelope('b', 'get_it', { give: { error: 'x' } }));
    await turn.call(envelope('c', 'delete_it'));
    const records = await runtime.calls.audit({ sessionId: 's' });
    expect(records.map(({ toolSuccess }) => toolSuccess)).toEqual([true, false, undefined]);
  });
});

it.each([
  ['external', /may have happened; do not repeat it.*"retryable":false/],
  ['read', /^((?!may have happened).)*"retryable":true/],
] as const)('a timeout of a tool of mode %s says whether it may have taken effect', async (mode, said) => {
  const slow = defineTool({ name: 'slow', mode, timeoutMs: 10, run: () => deferred().promise });
  const { turn, clock } = setStage({ tools: [slow] });
  const reply = turn.call(envelope('c', 'slow'));
  await quiet();
  clock.advance(10);
  const outcome = await reply;
  expect(outcome.type).toBe('ToolTimeout');
  expect(outcomeToModelContent(outcome)).toMatch(said);
});
