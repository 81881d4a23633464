import type { ToolOutcome, Turn } from 'quittance';
import { defineTool, ToolDecision, ToolError } from 'quittance';
import { describe, expect, it } from 'vitest';
import { deferred, envelope, expectSettledOnce, quiet, setStage } from '../../../../test/stage.ts';

const codeOf = (outcome: ToolOutcome): string => ('code' in outcome ? outcome.code : 'ok');

/** Makes calls one after the other and returns how each ended. */
async function codes(turn: Pick<Turn, 'call'>, ...calls: readonly [string, object?][]): Promise<string[]> {
  const found: string[] = [];
  for (const [index, [name, args]] of calls.entries())
    found.push(codeOf(await turn.call(envelope(`${name}${index}-${Math.random()}`, name, { ...args }))));
  return found;
}

describe('the duplicate guard', () => {
  const tools = [
    defineTool({ name: 'set_flag', idempotent: true, run: () => 'set' }),
    defineTool({
      name: 'set_row',
      idempotent: true,
      resourceKeys: ({ row }) => [`row:${row as number}`],
      run: () => 1,
    }),
    defineTool({
      name: 'get_row',
      idempotent: true,
      resourceKeys: ({ row }) => [`row:${row as number}`],
      run: () => 1,
    }),
    defineTool({
      name: 'put_row',
      resourceKeys: ({ row }) => [`row:${row as number}`],
      loopLimit: 99,
      run: () => 1,
    }),
    defineTool({ name: 'get_all', idempotent: true, run: () => 1 }),
    defineTool({ name: 'poll', mode: 'read', run: () => 'waiting' }),
    defineTool({ name: 'touch', loopLimit: 99, run: () => 1 }),
    defineTool({
      name: 'set_broken',
      idempotent: true,
      run: () => Promise.reject(new ToolError('tool.network_error', 'x')),
    }),
  ];

  it('denies the second of two identical calls of an idempotent tool, and names the first', async () => {
    const { runtime, turn } = setStage({ tools });
    await turn.call(envelope('a', 'set_flag', { on: true, n: 1 }));
    expect(await turn.call(envelope('b', 'set_flag', { n: 1, on: true }))).toMatchObject({
      type: 'ToolDenied',
      reason: 'duplicate',
      code: 'call.duplicate',
      details: expect.stringContaining('Call a ') as string,
    });
    await expectSettledOnce(runtime);
  });

  it('passes other arguments, other turns, and reads that are not declared idempotent', async () => {
    const { runtime, turn } = setStage({ tools });
    expect(await codes(turn, ['set_flag', { n: 1 }], ['set_flag', { n: 2 }])).toEqual(['ok', 'ok']);
    expect(await codes(runtime.turn({ sessionId: 's' }), ['set_flag', { n: 1 }])).toEqual(['ok']);
    expect(await codes(turn, ['poll'], ['poll'], ['poll'], ['poll'])).toEqual(['ok', 'ok', 'ok', 'ok']);
  });

  it('passes a repeat after a write of another turn of the session, or after a person has undone a write', async () => {
    let rows = 0;
    const { runtime, turn } = setStage({
      tools: [
        ...tools,
        defineTool({
          name: 'add_row',
          mode: 'safe_write',
          idempotent: true,
          undo: () => --rows,
          run: () => ++rows,
        }),
        defineTool({ name: 'count_rows', mode: 'read', idempotent: true, run: () => rows }),
      ],
    });
    await turn.call(envelope('add', 'add_row'));
    expect(await codes(turn, ['count_rows'], ['count_rows'])).toEqual(['ok', 'call.duplicate']);
    await runtime.calls.undo({ sessionId: 's', callId: 'add' }, { by: 'ada' });
    expect(await turn.call(envelope('after undo', 'count_rows'))).toMatchObject({ output: 0 });
    expect(await turn.call(envelope('add again', 'add_row'))).toMatchObject({ output: 1 });
    expect(await turn.call(envelope('after repeat', 'count_rows'))).toMatchObject({ output: 1 });
    expect(await codes(turn, ['count_rows'], ['get_row', { row: 1 }])).toEqual(['call.duplicate', 'ok']);
    await runtime.turn({ sessionId: 's' }).call(envelope('other row', 'put_row', { row: 2 }));
    expect(await codes(turn, ['get_row', { row: 1 }], ['count_rows'])).toEqual(['call.duplicate', 'ok']);
    await runtime.turn({ sessionId: 's' }).call(envelope('same row', 'put_row', { row: 1 }));
    expect(await codes(turn, ['get_row', { row: 1 }])).toEqual(['ok']);
    await runtime.turn({ sessionId: 'another' }).call(envelope('same row', 'put_row', { row: 1 }));
    expect(await codes(turn, ['get_row', { row: 1 }])).toEqual(['call.duplicate']);
  });

  it('passes a call if the earlier identical call did not succeed', async () => {
    const { turn } = setStage({ tools });
    expect(await codes(turn, ['set_broken'], ['set_broken'])).toEqual([
      'tool.network_error',
      'tool.network_error',
    ]);
  });

  it('passes a repeat after a write that may have changed its result', async () => {
    const { turn } = setStage({ tools });
    expect(
      await codes(
        turn,
        ['get_row', { row: 1 }],
        ['get_row', { row: 1 }],
        ['put_row', { row: 2 }],
        ['get_row', { row: 1 }],
      ),
    ).toEqual(['ok', 'call.duplicate', 'ok', 'call.duplicate']);
    expect(
      await codes(turn, ['put_row', { row: 1 }], ['get_row', { row: 1 }], ['get_row', { row: 1 }]),
    ).toEqual(['ok', 'ok', 'call.duplicate']);
  });

  it('assumes that a write without resource keys changes everything, and a read without them depends on everything', async () => {
    const { turn } = setStage({ tools });
    expect(await codes(turn, ['get_row', { row: 1 }], ['touch'], ['get_row', { row: 1 }])).toEqual([
      'ok',
      'ok',
      'ok',
    ]);
    expect(await codes(turn, ['get_all'], ['put_row', { row: 9 }], ['get_all'])).toEqual(['ok', 'ok', 'ok']);
    expect(await codes(turn, ['get_all'])).toEqual(['call.duplicate']);
  });

  it('passes a repeat if a write was still running when the first call succeeded', async () => {
    const body = deferred();
    const { turn } = setStage({ tools: [...tools, defineTool({ name: 'write', run: () => body.promise })] });
    const writing = turn.call(envelope('w', 'write'));
    await quiet();
    expect(await codes(turn, ['get_all'], ['get_all'])).toEqual(['ok', 'call.duplicate']);
    body.resolve();
    await writing;
    expect(await codes(turn, ['get_all'])).toEqual(['ok']);
  });

  it('ignores its own write, and reads', async () => {
    const { turn } = setStage({ tools });
    expect(await codes(turn, ['set_row', { row: 1 }], ['poll'], ['set_row', { row: 1 }])).toEqual([
      'ok',
      'ok',
      'call.duplicate',
    ]);
  });

  it('compares the effective arguments, hidden or not', async () => {
    const { turn } = setStage({ tools });
    expect(
      await codes(
        turn,
        ['set_flag', { token: 'aaaa-1' }],
        ['set_flag', { token: 'aaaa-1' }],
        ['set_flag', { token: 'bbbb-2' }],
      ),
    ).toEqual(['ok', 'call.duplicate', 'ok']);
  });
});

describe('the loop guard', () => {
  const looping = (traits: { mode?: 'read'; loopLimit?: number } = {}) => {
    let runs = 0;
    const stage = setStage({
      tools: [
        defineTool({ name: 'go', rerun: 'allow', ...traits, run: ({ give }) => (runs++, give ?? 'same') }),
        defineTool({ name: 'count', rerun: 'allow', ...traits, run: () => ++runs }),
        defineTool({ name: 'other', run: () => 1 }),
        defineTool({
          name: 'big',
          rerun: 'allow',
          inlineLimit: 10,
          ...traits,
          run: () => (runs++, 'x'.repeat(100)),
        }),
        defineTool({
          name: 'hang',
          rerun: 'allow',
          timeoutMs: 10,
          ...traits,
          run: () => (runs++, new Promise(() => undefined)),
        }),
        defineTool({
          name: 'fail',
          rerun: 'allow',
          ...traits,
          run: () => (runs++, Promise.reject(new Error('x'))),
        }),
      ],
    });
    return { ...stage, runs: () => runs };
  };
  const repeat = (count: number, name: string, args: object = {}): [string, object][] =>
    Array.from({ length: count }, () => [name, args]);

  it('denies the fourth identical call with the same outcome', async () => {
    const { runtime, turn } = looping();
    expect(await codes(turn, ...repeat(4, 'go'))).toEqual(['ok', 'ok', 'ok', 'call.loop']);
    const last = (await runtime.calls.list({ sessionId: 's' })).at(-1);
    expect(last?.settled?.outcome).toMatchObject({ type: 'ToolDenied', reason: 'duplicate' });
    await expectSettledOnce(runtime);
  });

  it('keeps denying: 220 identical calls run three times', async () => {
    const { turn, runs } = looping();
    const found = await codes(turn, ...repeat(220, 'go'));
    expect(runs()).toBe(3);
    expect(found.slice(3).every((code) => code === 'call.loop')).toBe(true);
  });

  it('allows twenty identical reads', async () => {
    const { turn, runs } = looping({ mode: 'read' });
    await codes(turn, ...repeat(30, 'go'));
    expect(runs()).toBe(20);
  });

  it('can be set per tool', async () => {
    for (const loopLimit of [1, 5]) {
      const { turn, runs } = looping({ loopLimit });
      await codes(turn, ...repeat(12, 'go'));
      expect(runs()).toBe(loopLimit);
    }
  });

  it('starts over after other arguments, another tool or another outcome', async () => {
    const { turn, runs } = looping();
    await codes(
      turn,
      ...repeat(3, 'go'),
      ['other'],
      ...repeat(3, 'go'),
      ['go', { give: 2 }],
      ...repeat(3, 'go'),
    );
    expect(runs()).toBe(10);
    await codes(turn, ...repeat(9, 'count'));
    expect(runs()).toBe(19);
  });

  it('counts within one turn', async () => {
    const { runtime, runs } = looping();
    for (let n = 0; n < 4; n++) await codes(runtime.turn({ sessionId: 's' }), ...repeat(2, 'go'));
    expect(runs()).toBe(8);
  });

  it('recognizes equal long outputs, failures and timeouts', async () => {
    const { clock, turn, runs } = looping();
    await codes(turn, ...repeat(5, 'big'));
    expect(runs()).toBe(3);
    await codes(turn, ...repeat(5, 'fail'));
    expect(runs()).toBe(6);
    for (let n = 0; n < 5; n++) {
      const asked = turn.call(envelope(`hang${n}`, 'hang'));
      await quiet();
      clock.advance(10 + n);
      await asked;
    }
    expect(runs()).toBe(9);
  });

  const around = (count: number, ...round: [string, object?][]): [string, object?][] =>
    Array.from({ length: count }, () => round).flat();

  it('denies the fourth round of the same two calls with the same outcomes, and keeps denying it', async () => {
    const { runtime, turn, runs } = looping();
    const found = await codes(turn, ...around(3, ['go'], ['fail']), ['go'], ['go']);
    expect(found.slice(-2)).toEqual(['call.loop', 'call.loop']);
    expect(runs()).toBe(6);
    expect((await runtime.calls.list({ sessionId: 's' })).at(-1)?.settled?.outcome).toMatchObject({
      details: expect.stringContaining('The same 2 calls (go, fail) were made 3 times in a row') as string,
    });
  });

  it('finds rounds of up to eight calls, whatever came before', async () => {
    const eight = Array.from({ length: 8 }, (_, n): [string, object] => ['go', { give: n }]);
    const { turn, runs } = looping();
    const found = await codes(turn, ['other'], ['go', { give: 9 }], ...around(3, ...eight), [
      'go',
      { give: 0 },
    ]);
    expect(found.at(-1)).toBe('call.loop');
    expect(runs()).toBe(25);
  });

  it('passes rounds that end differently, and rounds within the limit of the read in them', async () => {
    const { turn } = looping();
    expect(await codes(turn, ...around(9, ['go'], ['count']))).not.toContain('call.loop');
    const wait = defineTool({ name: 'wait', rerun: 'allow', run: () => 'waited' });
    const look = defineTool({ name: 'look', mode: 'read', run: () => 'not yet' });
    const polling = setStage({ tools: [wait, look] });
    const found = await codes(polling.turn, ...around(22, ['wait'], ['look']));
    expect(found.indexOf('call.loop')).toBe(40);
  });

  it('catches a model that keeps repeating a call that policy denies', async () => {
    const { turn } = setStage({
      tools: [defineTool({ name: 'go', run: () => 1 })],
      onPreToolUse: () => ToolDecision.block('never'),
    });
    expect(await codes(turn, ...repeat(5, 'go'))).toEqual([
      'policy.hook',
      'policy.hook',
      'policy.hook',
      'call.loop',
      'call.loop',
    ]);
  });
});
