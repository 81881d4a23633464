import type { AnyTool, Runtime, ToolOutcome } from 'quittance';
import { createRuntime, defineTool, ToolError } from 'quittance';
import { createMemoryLedger } from 'quittance/ledger';
import type { Cassette, ManualClock } from 'quittance/testing';
import {
  createManualClock,
  readCassette,
  recordCassette,
  recordedTools,
  writeCassette,
} from 'quittance/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { deferred, envelope, eventsOf, expectSettledOnce, quiet } from '../stage.ts';

/** The world: every access of a tool to it is counted. */
function makeWorld(): { touched: string[]; tools: readonly AnyTool[] } {
  const touched: string[] = [];
  const touch =
    <Result>(what: string, result: (args: unknown) => Result) =>
    (args: unknown): Result => {
      touched.push(what);
      return result(args);
    };
  const tools = [
    defineTool({
      name: 'pay',
      mode: 'external',
      run: touch('pay', (args) => ({ paid: args })),
      reconcile: touch('reconcile', () => ({ status: 'succeeded' as const, output: 1 })),
      successCheck: touch('check', () => true),
      preview: touch('preview', (args) => ({ kind: 'text' as const, text: JSON.stringify(args) })),
      cancel: touch('cancel', () => undefined),
      undo: touch('undo', () => ({ back: true })),
    }),
    defineTool({
      name: 'fail',
      mode: 'external',
      run: touch('fail', () => {
        throw new ToolError('tool.network_error', 'no line', { extras: { host: 'h' } });
      }),
    }),
    defineTool({ name: 'look', mode: 'read', run: touch('look', (args) => ({ saw: args })) }),
  ];
  return { touched, tools };
}

type Step = { readonly tool: 'pay' | 'fail' | 'look'; readonly args: { readonly n: number } };

async function drive(runtime: Runtime, steps: readonly Step[]): Promise<readonly ToolOutcome[]> {
  const outcomes: ToolOutcome[] = [];
  for (const [index, { tool, args }] of steps.entries())
    outcomes.push(await runtime.turn({ sessionId: 's' }).call(envelope(`c${index}`, tool, args)));
  return outcomes;
}

const circumstances = { onConfirm: () => ({ decision: 'approve', by: 'ada' }) as const };

async function record(
  steps: readonly Step[],
): Promise<{ cassette: Cassette; outcomes: readonly ToolOutcome[] }> {
  const clock = createManualClock();
  const { tools } = makeWorld();
  const ledger = createMemoryLedger({ clock });
  const outcomes = await drive(createRuntime({ ...circumstances, tools, ledger, clock }), steps);
  const cassette = await recordCassette(ledger, { sessionId: 's' }, { tools });
  return { cassette: readCassette(writeCassette(cassette)), outcomes };
}

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    tool: fc.constantFrom('pay', 'fail', 'look'),
    args: fc.record({ n: fc.integer({ min: 0, max: 3 }) }),
  }),
  { minLength: 1, maxLength: 8 },
);

describe('[replay-is-sealed] a replay never touches the world; failures replay as failures; a miss is `tool.fixture_missing`', () => {
  it('[replay-is-sealed] for any calls on any record, no body, check or reconcile of the host runs', async () => {
    await fc.assert(
      fc.asyncProperty(
        steps,
        steps,
        fc.constantFrom('strict' as const, 'loose' as const),
        async (recordedSteps, playedSteps, mode) => {
          const { cassette } = await record(recordedSteps);
          const { touched, tools } = makeWorld();
          const recorded = recordedTools(cassette, tools, { mode });
          const runtime = createRuntime({
            ...circumstances,
            tools: recorded.tools,
            clock: createManualClock(),
          });
          const outcomes = await drive(runtime, playedSteps);
          expect(touched).toEqual([]);
          const { missed, played } = recorded.report();
          const codes = outcomes.flatMap((outcome) => ('code' in outcome ? [outcome.code] : []));
          const strange = codes.filter(
            (code) => code !== 'tool.network_error' && code !== 'tool.fixture_missing',
          );
          expect(strange).toEqual([]);
          expect(missed.length + played).toBe(playedSteps.length);
          await expectSettledOnce(runtime);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('[replay-is-sealed] the same calls give the same outcomes, failures as failures', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (asked) => {
        const { cassette, outcomes } = await record(asked);
        const { touched, tools } = makeWorld();
        const recorded = recordedTools(cassette, tools, { mode: 'strict' });
        const runtime = createRuntime({
          ...circumstances,
          tools: recorded.tools,
          clock: createManualClock(),
        });
        expect(await drive(runtime, asked)).toEqual(outcomes);
        expect(touched).toEqual([]);
        recorded.assertConsumed();
      }),
      { numRuns: 40 },
    );
  });

  it('[replay-is-sealed] an undo is played as well, and never run', async () => {
    const undone = async (runtime: Runtime): Promise<ToolOutcome> => {
      await drive(runtime, [{ tool: 'pay', args: { n: 1 } }]);
      return runtime.calls.undo({ sessionId: 's', callId: 'c0' }, { by: 'ada' });
    };
    const world = makeWorld();
    const ledger = createMemoryLedger();
    const outcome = await undone(createRuntime({ ...circumstances, tools: world.tools, ledger }));
    expect(world.touched).toContain('undo');
    const { touched, tools } = makeWorld();
    const recorded = recordedTools(await recordCassette(ledger, { sessionId: 's' }), tools);
    const played = await undone(createRuntime({ ...circumstances, tools: recorded.tools }));
    expect(played).toMatchObject({ type: 'ToolExecutionResult', output: { back: true } });
    expect(outcome).toMatchObject({ type: 'ToolExecutionResult', output: { back: true } });
    expect(touched).toEqual([]);
    recorded.assertConsumed();
  });

  it('[replay-is-sealed] the tool of an unresolved call is not asked about it', async () => {
    const touched: string[] = [];
    const tools = [
      defineTool({
        name: 'pay',
        mode: 'external',
        timeoutMs: 100,
        run: () => deferred().promise,
        reconcile: () => {
          touched.push('reconcile');
          return { status: 'succeeded' as const, output: 1 };
        },
      }),
    ];
    const time = async (runtime: Runtime, clock: ManualClock): Promise<ToolOutcome> => {
      const asked = runtime.turn({ sessionId: 's' }).call(envelope('c', 'pay'));
      await quiet();
      clock.advance(100);
      return asked;
    };
    const clock = createManualClock();
    const ledger = createMemoryLedger({ clock });
    const live = createRuntime({ tools, ledger, clock });
    expect((await time(live, clock)).type).toBe('ToolTimeout');
    const cassette = await recordCassette(ledger, { sessionId: 's' }, { tools });

    const later = createManualClock();
    const recorded = recordedTools(cassette, tools, { clock: later });
    const replay = createRuntime({ tools: recorded.tools, clock: later });
    expect((await time(replay, later)).type).toBe('ToolTimeout');
    const ask = (runtime: Runtime): Promise<unknown> =>
      runtime.calls.reconcile({ sessionId: 's', callId: 'c' }, { ask: 'tool', by: 'ada' });
    await expect(ask(replay)).rejects.toThrow(/reconcile/);
    expect(touched).toEqual([]);
    await ask(live);
    expect(touched).toEqual(['reconcile']);
  });

  it('[replay-is-sealed] a miss names the nearest call and the difference, and leaves no unknown effect', async () => {
    const { cassette } = await record([
      { tool: 'pay', args: { n: 1 } },
      { tool: 'look', args: { n: 2 } },
    ]);
    const { touched, tools } = makeWorld();
    const recorded = recordedTools(cassette, tools);
    const runtime = createRuntime({ ...circumstances, tools: recorded.tools });
    const [outcome] = await drive(runtime, [{ tool: 'pay', args: { n: 3 } }]);
    expect(outcome).toMatchObject({
      type: 'ToolFailure',
      code: 'tool.fixture_missing',
      retryable: false,
      error:
        'The cassette has no call of "pay" with these arguments. The nearest, call "c0", differs at $.n: recorded 1, got 3.',
      payloadExtras: {
        why: 'arguments',
        nearest: { call_id: 'c0', input: { n: 1 }, difference: [{ path: '$.n', recorded: 1, now: 3 }] },
      },
    });
    // Nothing ran, so an identical call needs no approval.
    expect(outcome).not.toHaveProperty('modelNote');
    expect(await eventsOf(runtime, 'tool.responded')).toMatchObject([{ unsettledEffect: false }]);
    expect(touched).toEqual([]);
    expect(() => recorded.assertConsumed()).toThrow(
      /2 calls of the cassette were not made:[^]*pay \{"n":1\}/,
    );
  });
});
