import { createManualClock } from 'quittance/testing';
import { expect, it } from 'vitest';
import { eventually } from '../../../../test/eventually.ts';
import { quiet } from '../../../../test/stage.ts';
import { createRecoveryWidth } from './recover.ts';

/** Lets a number of calls enter, and counts those that get in. */
function crowd(width: ReturnType<typeof createRecoveryWidth>, calls: number): { letIn: number } {
  const state = { letIn: 0 };
  const enter = async (): Promise<void> => {
    await width.enter();
    state.letIn++;
  };
  for (let call = 0; call < calls; call++) void enter();
  return state;
}

it('starts with few calls, and admits more while turns are short, although none of them ends', async () => {
  const width = createRecoveryWidth(createManualClock());
  const state = crowd(width, 1_000);
  await Promise.resolve();
  expect(state.letIn).toBe(32);
  await eventually(() => expect(state.letIn).toBe(256));
  await quiet();
  expect(state.letIn).toBe(256);
});

it('admits fewer calls while turns are long, but at least one', async () => {
  const clock = createManualClock();
  const width = createRecoveryWidth(clock);
  const state = crowd(width, 1_000);
  for (let turn = 0; turn < 20; turn++) {
    clock.advance(50);
    await quiet();
  }
  // The first ones are still working.
  expect(state.letIn).toBe(32);
  for (let ended = 0; ended < 100; ended++) {
    width.leave();
    clock.advance(50);
    await quiet();
  }
  expect(state.letIn).toBe(100 + 16);
});
