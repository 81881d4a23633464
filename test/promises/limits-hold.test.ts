import type { Runtime, ToolCallInput, ToolOutcome, Turn } from 'quittance';
import { createRuntime, defineTool, ToolDecision, ToolError } from 'quittance';
import { createMemoryLedger } from 'quittance/ledger';
import { createManualClock } from 'quittance/testing';
import { describe, expect, it } from 'vitest';
import { createMortalLedger } from '../mortal-ledger.ts';
import { openQuestions, yes } from '../people/question.ts';
import { deferred, envelope, eventsOf, expectSettledOnce, quiet, setStage } from '../stage.ts';
import { readCounters } from '../../packages/quittance/src/ledger/reads.ts';

/** A tool that counts its runs, in a mode that needs no approval. */
function counting<const Name extends string>(
  name: Name,
  traits: { costMicros?: number | ((args: object) => number) } = {},
) {
  const ran: string[] = [];
  const tool = defineTool({
    name,
    mode: 'external',
    loopLimit: 1_000_000,
    ...traits,
    run: async (args, { callId }) => {
      ran.push(callId);
      await Promise.resolve();
      return args;
    },
  });
  return { tool, ran };
}

const ids = (count: number, from = 'c'): string[] =>
  Array.from({ length: count }, (_, index) => `${from}${index}`);
const reasonOf = (outcome: ToolOutcome): string => ('reason' in outcome ? outcome.reason : outcome.type);
const tally = (outcomes: readonly ToolOutcome[]): Record<string, number> =>
  Object.fromEntries(
    [...new Set(outcomes.map(reasonOf))].map((reason) => [
      reason,
      outcomes.filter((outcome) => reasonOf(outcome) === reason).length,
    ]),
  );

describe('[limits-hold] N parallel calls under a limit of K run at most K times', () => {
  it('[limits-hold] 100 parallel calls under a limit of 7 run 7 bodies, and the others are denied', async () => {
    const { tool, ran } = counting('pay');
    const { runtime, turn } = setStage({ tools: [tool], budgets: [{ scope: 'turn', toolCalls: 7 }] });
    const outcomes = await Promise.all(ids(100).map((id) => turn.call(envelope(id, 'pay', { id }))));
    expect(ran).toHaveLength(7);
    expect(tally(outcomes)).toEqual({ ToolExecutionResult: 7, budget: 93 });
    expect(await eventsOf(runtime, 'runtime.budget_exhausted')).toHaveLength(93);
    expect(await eventsOf(runtime, 'tool.started')).toHaveLength(7);
    await expectSettledOnce(runtime);
  });

  it('[limits-hold] for calls made one by one, in a batch, submitted, or as functions', async () => {
    const { tool, ran } = counting('pay');
    const { turn } = setStage({ tools: [tool], budgets: [{ scope: 'session', toolCalls: 5 }] });
    const batch = turn.callAll(
      ids(10, 'b').map((id) => envelope(id, 'pay', { id })),
      { concurrency: 10 },
    );
    const submitted = ids(10, 's').map((id) => turn.submit(envelope(id, 'pay', { id })).outcome());
    const functions = ids(10, 'f').map((id) => turn.run.pay({ id }).catch((error: unknown) => error));
    await Promise.all([batch, ...submitted, ...functions]);
    expect(ran).toHaveLength(5);
  });

  it('[limits-hold] reads count too', async () => {
    let runs = 0;
    const { turn } = setStage({
      tools: [defineTool({ name: 'get_it', loopLimit: 1_000, run: () => ++runs })],
      budgets: [{ scope: 'turn', toolCalls: 3 }],
    });
    const outcomes = await turn.callAll(ids(9).map((id) => envelope(id, 'get_it')));
    expect([runs, tally(outcomes as ToolOutcome[])]).toEqual([3, { ToolExecutionResult: 3, budget: 6 }]);
  });

  it('[limits-hold] costs are exact to the micro-unit: a limit of N allows exactly N', async () => {
    const { tool, ran } = counting('pay', { costMicros: (args) => (args as { cost: number }).cost });
    const { turn } = setStage({ tools: [tool], budgets: [{ scope: 'turn', costMicros: 1_000_003 }] });
    const ask = (id: string, cost: number): Promise<ToolOutcome> => turn.call(envelope(id, 'pay', { cost }));
    expect(reasonOf(await ask('a', 1_000_000))).toBe('ToolExecutionResult');
    expect(reasonOf(await ask('too much', 4))).toBe('budget');
    expect(reasonOf(await ask('exactly', 3))).toBe('ToolExecutionResult');
    expect(reasonOf(await ask('nothing left', 1))).toBe('budget');
    expect(reasonOf(await ask('free', 0))).toBe('ToolExecutionResult');
    expect(ran).toEqual(['a', 'exactly', 'free']);
  });

  it('[limits-hold] parallel costs are reserved before they are spent', async () => {
    const { tool, ran } = counting('pay', { costMicros: 30 });
    const { turn } = setStage({ tools: [tool], budgets: [{ scope: 'turn', costMicros: 100 }] });
    const outcomes = await Promise.all(ids(50).map((id) => turn.call(envelope(id, 'pay', { id }))));
    expect([ran.length, tally(outcomes)]).toEqual([3, { ToolExecutionResult: 3, budget: 47 }]);
    expect(outcomes.at(-1)).toMatchObject({
      code: 'budget.cost_exhausted',
      details: expect.stringMatching(/100 .*cost.* 90 .*30/) as string,
    });
  });

  it('[limits-hold] a request records the budgets of its turn, and none if only the runtime has some', async () => {
    const { tool } = counting('pay');
    const { runtime, turn } = setStage({ tools: [tool], budgets: [{ scope: 'session', toolCalls: 9 }] });
    await turn.call(envelope('a', 'pay'));
    const limited = runtime.turn({ sessionId: 's', budgets: [{ scope: 'session', toolCalls: 5 }] });
    await limited.call(envelope('b', 'pay', { n: 1 }));
    const [plain, own] = await eventsOf(runtime, 'tool.requested');
    expect(plain).not.toHaveProperty('budgets');
    expect(own).toMatchObject({ budgets: [{ metric: 'tool_calls', limit: 5 }] });
  });

  it('[limits-hold] no person is asked about a call that has no room next to a running one', async () => {
    const { runtime, turn } = setStage({
      tools: [
        defineTool({ name: 'pay', mode: 'external', run: () => new Promise(() => undefined) }),
        defineTool({ name: 'delete_it', run: () => 'gone' }),
      ],
      budgets: [{ scope: 'session', toolCalls: 1 }],
      onConfirm: () => ({ decision: 'deny', by: 'ada' }),
    });
    turn.submit(envelope('a', 'pay'));
    await quiet();
    expect(await turn.call(envelope('b', 'delete_it'))).toMatchObject({
      reason: 'budget',
      details: expect.stringContaining('allows 1 tool calls; 1 are used or reserved') as string,
    });
    expect(await eventsOf(runtime, 'tool.held')).toEqual([]);
  });

  it('[limits-hold] two runtimes on one ledger share a limit, on two ledgers they do not', async () => {
    for (const [shared, runs] of [
      [true, 4],
      [false, 8],
    ] as const) {
      const { tool, ran } = counting('pay');
      const ledger = createMemoryLedger();
      const turns = [ledger, shared ? ledger : createMemoryLedger()].map((each) =>
        createRuntime({ tools: [tool], ledger: each, budgets: [{ scope: 'user:42', toolCalls: 4 }] }).turn({
          sessionId: 's',
        }),
      );
      await Promise.all(
        turns.flatMap((turn, which) =>
          ids(20).map((id) => turn.call(envelope(`${which}${id}`, 'pay', { id }))),
        ),
      );
      expect(ran).toHaveLength(runs);
    }
  });

  it('[limits-hold] a turn limit applies per turn, a session limit per session, a named one globally', async () => {
    const counts: Record<string, number> = {};
    for (const scope of ['turn', 'session', 'team']) {
      const { tool, ran } = counting('pay');
      const { runtime } = setStage({ tools: [tool], budgets: [{ scope, toolCalls: 2 }] });
      const turns = ['s1', 's1', 's2'].map((sessionId) => runtime.turn({ sessionId }));
      await Promise.all(
        turns.flatMap((turn, which) =>
          ids(5).map((id) => turn.call(envelope(`${which}${id}`, 'pay', { id }))),
        ),
      );
      counts[scope] = ran.length;
    }
    expect(counts).toEqual({ turn: 6, session: 4, team: 2 });
  });

  it('[limits-hold] a daily limit resets at midnight UTC, by the clock of the ledger', async () => {
    const { tool, ran } = counting('pay');
    const clock = createManualClock(Date.parse('2026-03-01T23:59:58.000Z'));
    const { runtime, turn } = setStage({
      clock,
      tools: [tool],
      budgets: [{ scope: 'team', per: 'day', toolCalls: 2 }],
    });
    const ask = async (prefix: string): Promise<void> => {
      await Promise.all(ids(4, prefix).map((id) => turn.call(envelope(id, 'pay', { id }))));
    };
    await ask('evening');
    clock.advance(1_999);
    await ask('last millisecond');
    expect(ran).toHaveLength(2);
    expect((await eventsOf(runtime, 'tool.responded')).at(-1)?.outcome).toMatchObject({
      details: expect.stringContaining('per day') as string,
    });
    clock.advance(1);
    await ask('midnight');
    expect(ran).toHaveLength(4);
    clock.jumpTo(Date.parse('2026-03-01T12:00:00.000Z'));
    await ask('set back');
    expect(ran).toHaveLength(4);
  });

  it('[limits-hold] a child turn gets what is left, and its use counts for the parent', async () => {
    const { tool, ran } = counting('pay', { costMicros: 10 });
    const { turn } = setStage({ tools: [tool], budgets: [{ scope: 'turn', toolCalls: 5 }] });
    await turn.call(envelope('own', 'pay', { n: 0 }));
    const child = turn.child({ sessionId: 'other', budgets: [{ scope: 'turn', toolCalls: 3 }] });
    await Promise.all(ids(10).map((id) => child.call(envelope(id, 'pay', { id }))));
    expect(ran).toHaveLength(4);
    const grandchild = child.child();
    await Promise.all(ids(10, 'g').map((id) => grandchild.call(envelope(id, 'pay', { id }))));
    expect(ran).toHaveLength(4);
    await Promise.all(ids(10, 'after').map((id) => turn.call(envelope(id, 'pay', { id }))));
    expect(ran).toHaveLength(5);
  });

  it('[limits-hold] the same limit declared twice counts each call once, and the lower one holds', async () => {
    for (const scope of ['session', 'team']) {
      const { tool, ran } = counting('pay');
      const { runtime } = setStage({ tools: [tool], budgets: [{ scope, toolCalls: 10 }] });
      const turn = runtime.turn({ sessionId: 's', budgets: [{ scope, toolCalls: 4 }] });
      await Promise.all(ids(20).map((id) => turn.call(envelope(id, 'pay', { id }))));
      expect(ran).toHaveLength(4);
      const child = turn.child({ budgets: [{ scope, toolCalls: 6 }] });
      await child.call(envelope('child', 'pay', {}));
      expect(ran).toHaveLength(4);
      const freer = runtime.turn({ sessionId: 's' });
      await Promise.all(ids(20, 'f').map((id) => freer.call(envelope(id, 'pay', { id }))));
      expect(ran).toHaveLength(10);
    }
  });

  it('[limits-hold] every limit must have something left, and none is charged if one has not', async () => {
    const { tool, ran } = counting('pay', { costMicros: 10 });
    const { runtime, ledger } = setStage({
      tools: [tool],
      budgets: [
        { scope: 'team', toolCalls: 100, costMicros: 1_000 },
        { scope: 'session', costMicros: 25 },
      ],
    });
    await Promise.all(ids(9).map((id) => runtime.turn({ sessionId: 's' }).call(envelope(id, 'pay', { id }))));
    expect(ran).toHaveLength(2);
    await Promise.all(ids(9).map((id) => runtime.turn({ sessionId: 't' }).call(envelope(id, 'pay', { id }))));
    expect(ran).toHaveLength(4);
    const counters = await readCounters(ledger, ['named/"team"/tool_calls', 'named/"team"/cost_micros']);
    expect(counters).toEqual([
      { used: 4, reserved: 0 },
      { used: 40, reserved: 0 },
    ]);
  });
});

describe('[limits-hold] what is counted', () => {
  it('[limits-hold] a denied call leaves a record with the limit and its usage', async () => {
    const { tool } = counting('pay');
    const { runtime, turn } = setStage({ tools: [tool], budgets: [{ scope: 'turn', toolCalls: 1 }] });
    await turn.call(envelope('a', 'pay', { n: 1 }));
    const denied = await turn.call(envelope('b', 'pay', { n: 2 }));
    expect(denied).toMatchObject({
      type: 'ToolDenied',
      reason: 'budget',
      code: 'budget.tool_calls_exhausted',
      details: expect.stringMatching(/1 tool call.*1/) as string,
    });
    expect(await eventsOf(runtime, 'runtime.budget_exhausted')).toMatchObject([
      { callId: 'b', scope: 'turn', metric: 'tool_calls', limit: 1, used: 1 },
    ]);
    const [record] = await runtime.calls.audit({ sessionId: 's', callId: 'b' });
    expect(record).toMatchObject({ attempt: 0, outcome: { kind: 'blocked' }, decidedBy: { type: 'gate' } });
  });

  it('[limits-hold] charge() replaces the declared cost, and an unused reservation returns', async () => {
    const { runtime, turn } = setStage({
      tools: [
        defineTool({
          name: 'pay',
          costMicros: 100,
          run: ({ charges }, context) => {
            for (const micros of charges as number[]) context.charge(micros);
            return 'paid';
          },
        }),
      ],
      budgets: [{ scope: 'turn', costMicros: 150 }],
    });
    const ask = async (id: string, ...charges: number[]): Promise<string> =>
      reasonOf(await turn.call(envelope(id, 'pay', { charges })));
    expect(await ask('cheap', 10, 20)).toBe('ToolExecutionResult'); // 30 used
    expect(await ask('free', 0)).toBe('ToolExecutionResult'); // 30 used
    expect(await ask('declared')).toBe('ToolExecutionResult'); // 130 used
    expect(await ask('over')).toBe('budget');
    const responded = await eventsOf(runtime, 'tool.responded');
    expect(responded.map(({ costMicros }) => costMicros)).toEqual([30, 0, 100, 0]);
  });

  it('[limits-hold] while a body runs its reservation is taken, whatever it will charge', async () => {
    const body = deferred();
    const { turn } = setStage({
      tools: [
        defineTool({
          name: 'pay',
          costMicros: 100,
          run: async (_, context) => {
            context.charge(1);
            await body.promise;
          },
        }),
      ],
      budgets: [{ scope: 'turn', costMicros: 199 }],
    });
    const first = turn.call(envelope('a', 'pay', { n: 1 }));
    await quiet();
    expect(reasonOf(await turn.call(envelope('b', 'pay', { n: 2 })))).toBe('budget');
    body.resolve();
    await first;
    expect(reasonOf(await turn.call(envelope('c', 'pay', { n: 3 })))).toBe('ToolExecutionResult');
  });

  it('[limits-hold] a body that failed or timed out counts', async () => {
    const { clock, turn } = setStage({
      tools: [
        defineTool({ name: 'fail', run: () => Promise.reject(new ToolError('tool.reported_error', 'no')) }),
        defineTool({ name: 'hang', timeoutMs: 10, run: () => new Promise(() => undefined) }),
      ],
      budgets: [{ scope: 'turn', toolCalls: 2 }],
    });
    await turn.call(envelope('a', 'fail'));
    const hung = turn.call(envelope('b', 'hang'));
    await quiet();
    clock.advance(10);
    await hung;
    expect(reasonOf(await turn.call(envelope('c', 'fail')))).toBe('budget');
  });

  it('[limits-hold] recalled, joined, copied and denied calls are free', async () => {
    let runs = 0;
    const { turn } = setStage({
      tools: [
        defineTool({ name: 'pay', costMicros: 10, run: async () => ++runs }),
        defineTool({ name: 'keyed', costMicros: 10, idempotencyKey: () => 'k', run: async () => ++runs }),
        defineTool({ name: 'delete_it', costMicros: 10, run: () => ++runs }),
      ],
      budgets: [{ scope: 'turn', toolCalls: 3, costMicros: 30 }],
      onConfirm: () => ({ decision: 'deny', by: 'ada' }),
    });
    await Promise.all([turn.call(envelope('a', 'pay')), turn.call(envelope('a', 'pay'))]);
    await turn.call(envelope('a', 'pay'));
    await turn.call(envelope('a', 'pay', { other: true }));
    await turn.call(envelope('unknown', 'nope'));
    await turn.call(envelope('refused', 'delete_it'));
    await Promise.all([turn.call(envelope('k1', 'keyed')), turn.call(envelope('k2', 'keyed'))]);
    await turn.call(envelope('k3', 'keyed'));
    expect(runs).toBe(2);
    expect(reasonOf(await turn.call(envelope('b', 'pay', { last: true })))).toBe('ToolExecutionResult');
    expect(reasonOf(await turn.call(envelope('c', 'pay', { more: true })))).toBe('budget');
  });

  it('[limits-hold] a free call runs with nothing left', async () => {
    const { turn } = setStage({
      tools: [defineTool({ name: 'keyed', idempotencyKey: () => 'k', run: () => 'once' })],
      budgets: [{ scope: 'turn', toolCalls: 1 }],
    });
    const first = await turn.call(envelope('a', 'keyed'));
    expect(await turn.call(envelope('a', 'keyed'))).toEqual(first);
    expect(await turn.call(envelope('b', 'keyed'))).toEqual({ ...first, callId: 'b' });
  });

  it('[limits-hold] a call approved after midnight counts for the new day', async () => {
    const clock = createManualClock(Date.parse('2026-03-01T23:00:00.000Z'));
    const answers: (() => void)[] = [];
    const { turn } = setStage({
      clock,
      tools: [defineTool({ name: 'delete_it', run: () => 'gone' })],
      budgets: [{ scope: 'team', per: 'day', toolCalls: 1 }],
      onConfirm: () =>
        new Promise((resolve) => answers.push(() => resolve({ decision: 'approve', by: 'ada' }))),
    });
    const asked = ids(3).map((id) => turn.call(envelope(id, 'delete_it', { id })));
    await quiet();
    answers[0]?.();
    await asked[0];
    clock.advance(2 * 3_600_000);
    answers[1]?.();
    answers[2]?.();
    expect((await Promise.all(asked)).map(reasonOf)).toEqual([
      'ToolExecutionResult',
      'ToolExecutionResult',
      'budget',
    ]);
  });

  it('[limits-hold] approvals given together do not exceed the limit', async () => {
    let runs = 0;
    const go = deferred();
    const { turn } = setStage({
      tools: [defineTool({ name: 'delete_it', run: () => ++runs })],
      budgets: [{ scope: 'turn', toolCalls: 2 }],
      onConfirm: async () => {
        await go.promise;
        return { decision: 'approve', by: 'ada' };
      },
    });
    const outcomes = ids(6).map((id) => turn.call(envelope(id, 'delete_it', { id })));
    await quiet();
    go.resolve();
    expect([tally(await Promise.all(outcomes)), runs]).toEqual([{ ToolExecutionResult: 2, budget: 4 }, 2]);
  });

  it('[limits-hold] an invalid cost reserves nothing and runs nothing', async () => {
    let runs = 0;
    for (const cost of [Number.NaN, -1, 1.5, Number.POSITIVE_INFINITY, '10', undefined]) {
      const { turn } = setStage({
        tools: [defineTool({ name: 'pay', costMicros: () => cost as number, run: () => ++runs })],
        budgets: [{ scope: 'turn', costMicros: 100 }],
      });
      expect(await turn.call(envelope('c', 'pay'))).toMatchObject({ type: 'ToolDenied', reason: 'budget' });
    }
    expect(runs).toBe(0);
  });
});

describe('[limits-hold] a call that another process continues', () => {
  const never = (): Promise<never> => new Promise(() => undefined);
  const pay = (ran: string[]) =>
    defineTool({
      name: 'pay',
      mode: 'destructive',
      costMicros: 40,
      run: (_args, { callId }) => ran.push(callId),
    });
  const setScene = () => {
    const clock = createManualClock();
    const file = createMortalLedger(clock);
    const start = (ran: string[], options: object = {}) => {
      const { ledger, kill } = file.open();
      return { runtime: createRuntime({ clock, ledger, tools: [pay(ran)], ...options }), kill };
    };
    return { clock, start };
  };
  const hold = async (turn: Pick<Turn, 'call'>, callIds: readonly string[]): Promise<void> => {
    for (const id of callIds) void turn.call(envelope(id, 'pay', { id })).catch(() => undefined);
    for (let round = 0; round < 10; round++) await quiet();
  };
  const approveAll = async (runtime: Runtime): Promise<void> => {
    await runtime.recover();
    for (const open of await openQuestions(runtime))
      await runtime.confirmations.decide(open.confirmationId, yes(open));
    for (let round = 0; round < 30; round++) await quiet();
  };

  it.each([
    ['calls of the turn', { scope: 'turn', toolCalls: 2 }, 2],
    ['cost of the turn', { scope: 'turn', costMicros: 100 }, 2],
    ['calls of the session', { scope: 'session', toolCalls: 1 }, 1],
    ['calls of a user per day', { scope: 'user:42', per: 'day', toolCalls: 2 }, 2],
  ] as const)('[limits-hold] keeps the limit on the %s', async (_name, budget, runs) => {
    const { start } = setScene();
    const first = start([]);
    await hold(first.runtime.turn({ sessionId: 's', budgets: [budget] }), ids(5));
    first.kill();
    const ran: string[] = [];
    const second = start(ran);
    await approveAll(second.runtime);
    expect(ran).toHaveLength(runs);
    const ends = await second.runtime.calls.list({ sessionId: 's' });
    expect(tally(ends.flatMap(({ settled }) => settled?.outcome ?? []))).toEqual({
      ToolExecutionResult: runs,
      budget: 5 - runs,
    });
  });

  it('[limits-hold] keeps the limits of the parent of a child turn', async () => {
    const { start } = setScene();
    const first = start([], { budgets: [{ scope: 'session', toolCalls: 3 }] });
    const parent = first.runtime.turn({ sessionId: 's', budgets: [{ scope: 'turn', toolCalls: 2 }] });
    await hold(parent.child({ sessionId: 'child' }), ids(5));
    first.kill();
    const ran: string[] = [];
    await approveAll(start(ran).runtime);
    expect(ran).toHaveLength(2);
  });

  const submit = async (runtime: Runtime, options: object, more: readonly ToolCallInput[] = []) => {
    const turn = runtime.turn({ sessionId: 's', turnId: 't', ...options });
    for (const call of more) await turn.call(call);
    await turn.submit(envelope('later', 'note', {})).accepted;
    return turn;
  };
  const note = (run: () => unknown) => defineTool({ name: 'note', mode: 'external', run });

  it('[limits-hold] denies a submitted call after the deadline of its turn', async () => {
    const { clock, start } = setScene();
    const first = start([], { tools: [note(never)], onPreToolUse: [never] });
    await submit(first.runtime, { timeoutMs: 60_000 });
    first.kill();
    clock.advance(61_000);
    const runs: string[] = [];
    const second = start([], { tools: [note(() => runs.push('ran'))] });
    await second.runtime.recover();
    expect(runs).toEqual([]);
    const [call] = await second.runtime.calls.list({ sessionId: 's', callId: 'later' });
    expect(call?.settled?.outcome).toMatchObject({ type: 'ToolDenied', reason: 'deadline' });
  });

  it('[limits-hold] denies a submitted call whose turn had ended', async () => {
    const { start } = setScene();
    const first = start([], { tools: [note(never)], onPreToolUse: [never] });
    const turn = await submit(first.runtime, {});
    await turn.end();
    first.kill();
    const runs: string[] = [];
    const second = start([], { tools: [note(() => runs.push('ran'))] });
    await second.runtime.recover();
    expect(runs).toEqual([]);
    const [call] = await second.runtime.calls.list({ sessionId: 's', callId: 'later' });
    expect(call?.settled?.outcome).toMatchObject({ type: 'ToolDenied', reason: 'ended' });
  });

  it('[limits-hold] denies a submitted call of a tool that had failed for good in its turn', async () => {
    const { start } = setScene();
    let asked = 0;
    const first = start([], {
      tools: [
        note(() => {
          throw new ToolError('tool.execution_error', 'The address does not exist.', { retryable: false });
        }),
      ],
      onPreToolUse: [() => (asked++ === 0 ? ToolDecision.allow : never())],
    });
    await submit(first.runtime, {}, [envelope('first', 'note', { n: 1 })]);
    first.kill();
    const runs: string[] = [];
    const second = start([], { tools: [note(() => runs.push('ran'))] });
    await second.runtime.recover();
    expect(runs).toEqual([]);
    const [call] = await second.runtime.calls.list({ sessionId: 's', callId: 'later' });
    expect(call?.settled?.outcome).toMatchObject({ type: 'ToolDenied', reason: 'blocked' });
  });
});
