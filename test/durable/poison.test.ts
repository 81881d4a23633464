/** Bodies that end their process, and how recovery handles them. */
import { createRuntime } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../eventually.ts';
import { expectSettledOnce } from '../stage.ts';
import type { Actor, Play } from './play.ts';
import { openPlay } from './play.ts';

let play: Play;
beforeEach(async () => {
  play = await openPlay();
});
afterEach(() => play.end());

const errand = { budget: 1_000, poison: ['poison'] };

/** Starts processes that recover, until one survives. Returns how many died. */
async function recoverUntilAlive(): Promise<{ readonly deaths: number; readonly survivor: Actor }> {
  for (let deaths = 0; deaths < 10; deaths++) {
    const actor = await play.start(errand);
    const survived = await actor.tell({ type: 'recover' }).then(
      () => true,
      () => false,
    );
    if (survived) return { deaths, survivor: actor };
    await actor.ended;
  }
  throw new Error('Recovery ended every process.');
}

async function look<Result>(
  work: (runtime: ReturnType<typeof createRuntime>) => Promise<Result>,
): Promise<Result> {
  const ledger = await openLedger(play.ledger);
  const runtime = createRuntime({ ledger, tools: [] });
  try {
    return await work(runtime);
  } finally {
    await runtime.close();
    await ledger.close();
  }
}

describe('[one-outcome] a body that ends its process', () => {
  it.each([
    ['put', { type: 'ToolFailure', code: 'tool.indeterminate', retryable: false }, 1],
    ['get_it', { type: 'ToolFailure', code: 'tool.execution_error', retryable: false }, 0],
  ])(
    '[one-outcome] runs at most three times, and ends no process after that: %s',
    async (tool, expected, unresolved) => {
      const first = await play.start(errand);
      void first.call('poison', tool).catch(() => undefined);
      await first.ended;
      const { deaths } = await recoverUntilAlive();
      expect(deaths).toBe(2);
      expect(play.world.count('poison')).toBe(3);
      await look(async (runtime) => {
        const [call] = await runtime.calls.list({ sessionId: 's', callId: 'poison' });
        expect(call?.settled?.outcome).toMatchObject(expected);
        expect(call?.attempt).toBe(3);
        expect((await runtime.calls.unresolved()).rows).toHaveLength(unresolved);
        await expectSettledOnce(runtime);
      });
    },
  );

  it('[one-outcome] does not affect the outcomes of calls that were recovered with it', async () => {
    const first = await play.start({ ...errand, poison: [], afterwards: 'hang' });
    const names = ['a', 'b', 'poison', 'c', 'd'];
    for (const callId of names) void first.call(callId, 'put').catch(() => undefined);
    await eventually(() => expect(names.map((name) => play.world.count(name))).toEqual([1, 1, 1, 1, 1]));
    await first.kill();
    await recoverUntilAlive();
    await look(async (runtime) => {
      const ends = (await runtime.calls.list({ sessionId: 's' })).map(({ callId, settled }) => [
        callId,
        settled?.outcome.type,
      ]);
      expect(ends).toEqual(
        names.map((name) => [name, name === 'poison' ? 'ToolFailure' : 'ToolExecutionResult']),
      );
      await expectSettledOnce(runtime);
    });
  });

  it('[one-outcome] is counted although a read needs no intent, once another process continues it', async () => {
    const first = await play.start({ poison: ['poison'] });
    void first.tell({ type: 'submit', sessionId: 's', callId: 'poison', tool: 'get_it' });
    await first.ended;
    const { deaths } = await recoverUntilAlive();
    expect(deaths).toBe(3);
    await look(async (runtime) => {
      expect((await runtime.calls.list({ sessionId: 's' }))[0]?.settled?.outcome).toMatchObject({
        code: 'tool.execution_error',
        retryable: false,
      });
    });
  });
});
