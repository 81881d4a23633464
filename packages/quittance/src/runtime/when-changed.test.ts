import type { Call } from 'quittance/events';
import type { ManualClock } from 'quittance/testing';
import { createManualClock } from 'quittance/testing';
import { describe, expect, it } from 'vitest';
import { quiet } from '../../../../test/stage.ts';
import { untilWoken } from '../ledger/until-woken.ts';
import type { Waiter } from '../ledger/until-woken.ts';
import { createDeadlines } from '../base/deadlines.ts';
import type { Engine } from './engine.ts';
import { whenChanged } from './runtime-state.ts';
import { alterLedger } from '../../../../test/alter-ledger.ts';
import { createMemoryLedger } from 'quittance/ledger';

const hourMs = 3_600_000;

/** The parts of a runtime that wait for a call, and the waiters that its ledger knows. */
function setUp(): {
  readonly clock: ManualClock;
  readonly waiters: ReadonlySet<Waiter>;
  readonly engine: Engine;
  readonly call: Call;
} {
  const clock = createManualClock();
  const waiters = new Set<Waiter>();
  const ledger = alterLedger(createMemoryLedger({ clock }), {
    whenChanged: (_awaited, signal) => untilWoken(waiters, undefined, signal),
  });
  const engine = { ledger, deadlines: createDeadlines(clock) } as Engine; // no other part is used
  const failedNow = { status: 'running', failed: { at: clock.now() } };
  return { clock, waiters, engine, call: failedNow as unknown as Call }; // only these fields are read
}

describe('waiting for a call between two attempts', () => {
  it('ends when no process is expected to continue it, and leaves nothing behind', async () => {
    const { clock, waiters, engine, call } = setUp();
    const waiting = whenChanged(engine, call, 1);
    await quiet();
    expect(waiters.size).toBe(1);
    clock.advance(hourMs);
    await waiting;
    expect(waiters.size).toBe(0);
  });

  it('waiting for a call between two attempts that is overdue polls, and never registers twice', async () => {
    const { clock, waiters, engine, call } = setUp();
    clock.advance(2 * hourMs);
    for (let looks = 0; looks < 5; looks++) {
      let isOver = false;
      const waiting = whenChanged(engine, call, 1).then(() => (isOver = true));
      await quiet();
      expect([isOver, waiters.size]).toEqual([false, 1]);
      clock.advance(5_000);
      await waiting;
    }
    expect(waiters.size).toBe(0);
  });

  it('ends when its signal is aborted', async () => {
    const { waiters, engine, call } = setUp();
    const stop = new AbortController();
    const waiting = whenChanged(engine, call, 1, stop.signal);
    await quiet();
    stop.abort();
    await waiting;
    expect(waiters.size).toBe(0);
  });
});
