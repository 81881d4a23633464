/** Several real processes on one file: shared limits and keys hold for all of them together. */
import type { ToolOutcome } from 'quittance';
import { createRuntime, defineTool } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { envelope, expectSettledOnce } from '../stage.ts';
import type { Actor, CallOrder, Play } from './play.ts';
import { openPlay } from './play.ts';
import { findOpenCalls } from '../../packages/quittance/src/ledger/reads.ts';

let play: Play;
beforeEach(async () => {
  play = await openPlay();
});
afterEach(() => play.end());

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
const startAll = (count: number, budget?: number): Promise<Actor[]> =>
  Promise.all(numbers(count).map(() => play.start(budget === undefined ? {} : { budget })));
const callAll = async (actor: Actor, calls: readonly CallOrder[]): Promise<ToolOutcome[]> =>
  (await actor.tell({ type: 'calls', calls })) as ToolOutcome[];
const succeeded = ({ type }: ToolOutcome): boolean => type === 'ToolExecutionResult';

/** Reads what all of them have written. */
async function expectWhole(sessionIds: readonly string[]): Promise<void> {
  const ledger = await openLedger(play.ledger);
  const runtime = createRuntime({ ledger, tools: [] });
  for (const sessionId of sessionIds) await expectSettledOnce(runtime, sessionId);
  expect(await findOpenCalls(ledger)).toEqual([]);
  await ledger.close();
}

describe.each([2, 4])('%i processes on one ledger', (count) => {
  it('[one-outcome] that make the same calls, with the same keys, have each effect once and get the same outcomes', async () => {
    const actors = await startAll(count);
    const same = numbers(30).map((n): CallOrder => ({
      sessionId: 's',
      callId: `c${n}`,
      tool: 'pay',
      args: { key: `pay ${n}` },
    }));
    const heard = await Promise.all(actors.map((actor) => callAll(actor, same)));
    for (const outcomes of heard) {
      expect(outcomes.every(succeeded)).toBe(true);
      expect(JSON.stringify(outcomes)).toBe(JSON.stringify(heard[0]));
    }
    const keyed = await Promise.all(
      actors.map((actor, index) =>
        callAll(
          actor,
          numbers(30).map((n) => ({
            sessionId: `s${index}`,
            callId: `k${n}`,
            tool: 'order',
            args: { key: `order ${n}` },
          })),
        ),
      ),
    );
    for (const outcomes of keyed) expect(outcomes).toEqual(keyed[0]);
    expect(numbers(30).map((n) => [play.world.count(`pay ${n}`), play.world.count(`order ${n}`)])).toEqual(
      numbers(30).map(() => [1, 1]),
    );
    await expectWhole(['s', ...numbers(count).map((index) => `s${index}`)]);
  });

  it('[limits-hold] that share a limit make exactly as many calls as it allows', async () => {
    const actors = await startAll(count, 25);
    const heard = await Promise.all(
      actors.map((actor, index) =>
        callAll(
          actor,
          numbers(20).map((n) => ({
            sessionId: `s${index}`,
            callId: `c${n}`,
            tool: 'pay',
            args: { key: `${index}/${n}` },
          })),
        ),
      ),
    );
    const outcomes = heard.flat();
    expect(outcomes.filter(succeeded)).toHaveLength(25);
    expect(outcomes.filter((outcome) => 'reason' in outcome && outcome.reason === 'budget')).toHaveLength(
      20 * count - 25,
    );
    const effects = actors.flatMap((_, index) => numbers(20).map((n) => play.world.count(`${index}/${n}`)));
    expect(effects.filter((times) => times === 1)).toHaveLength(25);
    expect(Math.max(...effects)).toBe(1);
    await expectWhole(actors.map((_, index) => `s${index}`));
  });
});

describe('a process killed with many calls in flight', () => {
  it('[one-outcome] leaves none without an outcome, none with two, and no unreported effect', async () => {
    const actor = await play.start();
    const calls = numbers(200).map((n): CallOrder => ({
      sessionId: 's',
      callId: `c${n}`,
      tool: 'pay',
      args: { key: `pay ${n}` },
    }));
    void callAll(actor, calls).catch(() => undefined);
    // In short steps: most of the calls must still be open when the process is killed.
    while (play.world.count('pay 20') === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    await actor.kill();
    const before = calls.map((_, n) => play.world.count(`pay ${n}`));

    const ledger = await openLedger(play.ledger);
    const ran: string[] = [];
    const pay = defineTool({
      name: 'pay',
      mode: 'external',
      loopLimit: 1_000,
      run: (_, { callId }) => ran.push(callId),
    });
    const runtime = createRuntime({ ledger, tools: [pay] });
    const accepted = new Set((await findOpenCalls(ledger)).map(({ callId }) => callId));
    await runtime.recover();
    expect(await findOpenCalls(ledger)).toEqual([]);
    const turn = runtime.turn({ sessionId: 's' });
    for (const [n, { callId, args = {} }] of calls.entries()) {
      const ranBefore = ran.length;
      const outcome = await turn.call(envelope(callId, 'pay', args));
      const effects = (before[n] ?? 0) + (ran.length - ranBefore);
      const code = 'code' in outcome ? outcome.code : outcome.type;
      // One effect, or the effect is unknown. Calls in flight are not run again.
      expect([callId, code === 'tool.indeterminate' ? effects <= 1 : effects === 1]).toEqual([callId, true]);
      expect([callId, accepted.has(callId) && ran.length > ranBefore]).toEqual([callId, false]);
    }
    await expectSettledOnce(runtime);
    await runtime.close();
    await ledger.close();
  });
});
