import type { ToolOutcome, ToolResult } from 'quittance';
import type { ConfirmationAnswer } from 'quittance/runtime';
import { defineTool, isToolError, ToolDecision, toolResult } from 'quittance';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  auditKinds,
  deferred,
  envelope,
  eventsOf,
  expectSettledOnce,
  quiet,
  setStage,
} from '../../../../test/stage.ts';

const codeOf = (outcome: ToolOutcome): string => ('code' in outcome ? outcome.code : 'ok');

describe('a result that ends the turn', () => {
  const finishing = (result: ToolResult | (() => unknown)) =>
    setStage({
      tools: [
        defineTool({
          name: 'finish',
          run: () => (typeof result === 'function' ? result() : toolResult(result)),
        }),
        defineTool({ name: 'other', run: () => 'ran' }),
      ],
    });

  it.each<[ToolResult, boolean]>([
    [{ success: true, terminal: true }, true],
    [{ success: true, terminal: true, needsFollowup: true }, true],
    [{ success: false }, true],
    [{ success: false, needsFollowup: false }, true],
    [{ success: false, terminal: true }, true],
    [{ success: false, needsFollowup: true }, false],
    [{ success: true }, false],
    [{ success: true, terminal: false }, false],
    [{ success: true, needsFollowup: true }, false],
  ])('%j ends it: %s', async (result, ends) => {
    const { runtime, turn } = finishing(result);
    const outcome = await turn.call(envelope('a', 'finish'));
    expect('toolResult' in outcome && outcome.toolResult).toEqual(result);
    expect(codeOf(await turn.call(envelope('b', 'other')))).toBe(ends ? 'turn.ended' : 'ok');
    await quiet();
    expect((await eventsOf(runtime, 'turn.ended')).map(({ why }) => why)).toEqual(
      ends ? ['terminal_result'] : [],
    );
    await expectSettledOnce(runtime);
  });

  it.each<[string, () => unknown]>([
    ['looks like one', () => ({ success: true, terminal: true })],
    [
      'was one before JSON',
      () => JSON.parse(JSON.stringify(toolResult({ success: true, terminal: true }))) as unknown,
    ],
    ['was spread from one', () => ({ ...toolResult({ success: true, terminal: true }) })],
    ['is only reported as failed', () => ({ success: false, error: 'x' })],
  ])('counts only if the tool made it: not when it %s', async (_, give) => {
    const { turn } = finishing(give);
    await turn.call(envelope('a', 'finish'));
    expect(codeOf(await turn.call(envelope('b', 'other')))).toBe('ok');
  });

  it('stores the tool’s result byte for byte, unknown fields included', async () => {
    const result = { success: true, terminal: true, zeta: { b: 1, a: [null] }, message: 'bye' };
    const { runtime, turn } = finishing(result);
    await turn.call(envelope('a', 'finish'));
    const [record] = await runtime.calls.audit({ sessionId: 's' });
    expect(JSON.stringify(record?.outcome)).toBe(JSON.stringify({ kind: 'completed', result }));
  });

  it('ends the turn even when it is too long to show', async () => {
    const { turn } = setStage({
      inlineLimit: 100,
      tools: [
        defineTool({
          name: 'finish',
          run: () => toolResult({ success: true, terminal: true, message: 'x'.repeat(500) }),
        }),
      ],
    });
    const outcome = await turn.call(envelope('a', 'finish'));
    expect(outcome).toMatchObject({
      type: 'ToolArtifactReference',
      toolResult: { success: true, terminal: true },
    });
    expect(codeOf(await turn.call(envelope('b', 'finish')))).toBe('turn.ended');
  });

  it('lets running siblings settle, denies the rest and withdraws what is held', async () => {
    const bodies = { finish: deferred(), slow: deferred<string>() };
    const hook = deferred();
    const answer = deferred<ConfirmationAnswer>();
    const { runtime, turn } = setStage({
      tools: [
        defineTool({
          name: 'finish',
          run: () => bodies.finish.promise.then(() => toolResult({ success: true, terminal: true })),
        }),
        defineTool({ name: 'slow', run: () => bodies.slow.promise }),
        defineTool({ name: 'judged', run: () => 'ran' }),
        defineTool({ name: 'delete_it', run: () => 'gone' }),
      ],
      onPreToolUse: async ({ toolName }) => {
        if (toolName === 'judged') await hook.promise;
        return ToolDecision.allow;
      },
      onConfirm: () => answer.promise,
    });
    const asked = ['slow', 'judged', 'delete_it', 'finish'].map((name) => turn.call(envelope(name, name)));
    await quiet();
    bodies.finish.resolve();
    await asked[3];
    hook.resolve();
    bodies.slow.resolve('settled');
    const outcomes = await Promise.all(asked);
    expect(outcomes).toMatchObject([
      { output: 'settled' },
      { reason: 'ended' },
      { reason: 'ended', details: expect.stringContaining('final result') as string },
      { type: 'ToolExecutionResult' },
    ]);
    answer.resolve({ decision: 'approve', by: 'ada' });
    await quiet();
    expect(await auditKinds(runtime, 'delete_it')).toEqual(['requires_confirmation', 'invalidated']);
    await expectSettledOnce(runtime);
  });

  it('ends a batch: calls that have not started are denied', async () => {
    const { runtime, turn } = finishing({ success: true, terminal: true });
    const outcomes = await turn.callAll(
      ['other', 'finish', 'other', 'other'].map((name, n) => envelope(`c${n}`, name, { n })),
    );
    expect(outcomes.map((outcome) => codeOf(outcome as ToolOutcome))).toEqual([
      'ok',
      'ok',
      'turn.ended',
      'turn.ended',
    ]);
    await expectSettledOnce(runtime);
  });

  it('ends only its own turn', async () => {
    const { runtime, turn } = finishing({ success: true, terminal: true });
    const child = turn.child();
    await turn.call(envelope('a', 'finish'));
    expect(codeOf(await runtime.turn({ sessionId: 's' }).call(envelope('b', 'other')))).toBe('ok');
    expect(codeOf(await child.call(envelope('c', 'other', { child: true })))).toBe('ok');
  });

  it('is never added by the runtime: a derived result lets the model continue, unless nothing is left to do', async () => {
    const { runtime, turn } = setStage({
      tools: [
        defineTool({ name: 'get_it', run: ({ give }) => give }),
        defineTool({ name: 'delete_it', run: () => 1 }),
      ],
      budgets: [{ scope: 'session', toolCalls: 2 }],
    });
    await turn.call(envelope('fine', 'get_it', { give: { a: 1 } }));
    await turn.call(envelope('failed', 'get_it', { give: { error: 'x' } }));
    await turn.call(envelope('unknown', 'nope'));
    await turn.call(envelope('denied', 'delete_it'));
    await turn.call(envelope('spent', 'get_it', { give: 2 }));
    const results = Object.fromEntries(
      (await runtime.calls.audit({ sessionId: 's' })).map(({ callId, outcome }) => [
        callId,
        'result' in outcome && outcome.result,
      ]),
    );
    expect(results).toMatchObject({
      fine: { success: true, needsFollowup: true, data: { a: 1 } },
      failed: { success: false, needsFollowup: true },
      unknown: { success: false, needsFollowup: true },
    });
    expect(codeOf(await turn.call(envelope('still open', 'nope')))).toBe('tool.unknown');
  });
});

describe('tools as functions', () => {
  const tools = [
    defineTool({
      name: 'add',
      input: z.object({ a: z.number(), b: z.number() }),
      run: ({ a, b }) => ({ sum: a + b }),
    }),
    defineTool({ name: 'big', run: () => ({ list: Array.from({ length: 100 }, (_, n) => n) }) }),
    defineTool({ name: 'fail', run: () => ({ error: 'no' }) }),
    defineTool({ name: 'delete_it', run: () => 1 }),
  ] as const;

  it('return the output, which the caller may change', async () => {
    const { runtime, turn } = setStage({ tools });
    const output = await turn.run.add({ a: 1, b: 2 });
    expect(output).toEqual({ sum: 3 });
    output.sum = 4;
    const [call] = await runtime.calls.list({ sessionId: 's' });
    expect(call?.settled?.outcome).toMatchObject({ output: { sum: 3 } });
  });

  it('return the whole of a large output', async () => {
    const { turn } = setStage({ tools, inlineLimit: 50 });
    expect(await turn.run.big({})).toEqual({ list: Array.from({ length: 100 }, (_, n) => n) });
  });

  it('throw a ToolError for every outcome other than success', async () => {
    const { turn } = setStage({ tools, onConfirm: () => ({ decision: 'deny', by: 'ada' }) });
    for (const [asked, reason] of [
      [turn.run.fail({}), 'tool.reported_error'],
      [turn.run.delete_it({}), 'confirmation.rejected'],
      [turn.run.add({ a: 'x' } as never), 'tool.invalid_input'],
    ] as const) {
      const thrown: unknown = await asked.catch((error: unknown) => error);
      expect(isToolError(thrown) && thrown.reason).toBe(reason);
    }
  });

  it('make calls like any other, with an id of the caller’s choice', async () => {
    const { runtime, turn } = setStage({ tools });
    await turn.run.add({ a: 1, b: 2 }, { callId: 'mine', attrs: { why: 'test' } });
    await turn.run.add({ a: 1, b: 2 }, { callId: 'mine' });
    await turn.run.add({ a: 1, b: 2 });
    const calls = await runtime.calls.list({ sessionId: 's' });
    expect(
      calls.map(({ callId, attrs, recalls }) => [
        callId.startsWith('call_') ? 'made' : callId,
        attrs,
        recalls,
      ]),
    ).toEqual([
      ['mine', { why: 'test' }, 1],
      ['made', undefined, 0],
    ]);
  });
});

describe('tools for any agent loop', () => {
  it('have a name, a description, a JSON Schema and a function that returns content for the model', async () => {
    const { turn } = setStage({
      tools: [
        defineTool({
          name: 'add',
          description: 'Adds.',
          input: z.object({ a: z.number() }),
          run: ({ a }) => a + 1,
        }),
        defineTool({ name: 'bare', run: () => 'x' }),
      ],
    });
    const tools = turn.tools();
    expect(tools.map(({ name, description }) => [name, description])).toEqual([
      ['add', 'Adds.'],
      ['bare', ''],
      ['read_artifact', expect.any(String)],
    ]);
    const [add] = tools;
    expect(add?.schema).toMatchObject({ type: 'object', properties: { a: { type: 'number' } } });
    expect(await add?.execute({ a: 1 })).toBe('2');
    expect(await add?.execute('{"a": 2}')).toBe('3');
    expect(JSON.parse((await add?.execute({ a: 'x' })) ?? '')).toMatchObject({
      error: 'argument_validation_failed',
    });
    expect(await add?.execute({ a: 5 }, { callId: 'c' })).toBe('6');
    expect(await add?.execute({ a: 5 }, { callId: 'c' })).toBe('6');
  });
});

describe('a turn that works for another session', () => {
  it('records the relation when it opens; a child turn does so by itself', async () => {
    const { runtime, turn } = setStage({ tools: [defineTool({ name: 'other', run: () => 'ran' })] });
    const turns = {
      told: runtime.turn({ sessionId: 'told', parentSessionId: 'boss' }),
      child: turn.child({ sessionId: 'child' }),
      both: turn.child({ sessionId: 'both', parentSessionId: 'boss' }),
      none: runtime.turn({ sessionId: 'none' }),
    };
    const parents: Record<string, string | undefined> = {};
    for (const [sessionId, each] of Object.entries(turns)) {
      await each.call(envelope('c', 'other'));
      const [opened] = await eventsOf(runtime, 'turn.opened', sessionId);
      parents[sessionId] = opened?.parentSessionId;
    }
    expect(parents).toEqual({ told: 'boss', child: 's', both: 'boss', none: undefined });
    for (const parentSessionId of ['', '\ud800', 7 as never])
      expect(() => runtime.turn({ sessionId: 'x', parentSessionId })).toThrow(/parentSessionId/);
  });
});

describe('a child turn', () => {
  const stage = () =>
    setStage({
      tools: [defineTool({ name: 'delete_it', run: () => 1 }), defineTool({ name: 'get_it', run: () => 1 })],
    });

  it('withdraws its questions and takes no more calls when its parent ends with `withdraw`', async () => {
    const { runtime, turn } = stage();
    const child = turn.child({ sessionId: 'child' });
    const grandchild = child.child({ sessionId: 'grandchild' });
    const held = [child, grandchild].map((each, index) => each.call(envelope(`h${index}`, 'delete_it')));
    for (let round = 0; round < 5; round++) await quiet();
    await turn.end({ withdraw: true });
    for (const outcome of await Promise.all(held))
      expect(outcome).toMatchObject({ type: 'ToolDenied', reason: 'ended', code: 'turn.ended' });
    expect((await runtime.confirmations.list({ status: 'pending' })).rows).toEqual([]);
    for (const each of [child, grandchild, turn.child(), child.child()])
      expect(await each.call(envelope(`later ${each.turnId}`, 'get_it'))).toMatchObject({ reason: 'ended' });
    for (const sessionId of ['child', 'grandchild'])
      expect(await eventsOf(runtime, 'turn.ended', sessionId)).toHaveLength(1);
  });

  it('withdraws its questions when its parent ends twice, and leaves the parent open when it ends itself', async () => {
    const { runtime, turn } = stage();
    const child = turn.child({ sessionId: 'child' });
    const held = child.call(envelope('h', 'delete_it'));
    for (let round = 0; round < 5; round++) await quiet();
    await child.end();
    expect(await turn.call(envelope('a', 'get_it'))).toMatchObject({ type: 'ToolExecutionResult' });
    await turn.end();
    expect((await runtime.confirmations.list({ status: 'pending' })).rows).toHaveLength(1);
    await turn.end({ withdraw: true });
    expect(await held).toMatchObject({ reason: 'ended' });
  });
});
