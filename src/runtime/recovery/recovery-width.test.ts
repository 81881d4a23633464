import { createManualClock } from 'quittance/testing';
import { expect, it } from 'vitest';
import { eventually } from '../../../test/eventually.ts';
import { quiet } from '../../../test/stage.ts';
import { createRecoveryWidth } from './recovery-width.ts';

/** Has so many calls enter, and counts those that are let in. */
function crowd(width: ReturnType<typeof createRecoveryWidth>, calls: number): { letIn: number } {
  const state = { letIn: 0 };
  const enter = async (): Promise<void> => {
    await width.enter();
    state.letIn++;
  };
  for (let call = 0; call < calls; call++) void enter();
  return state;
}

it('begins with few calls, and takes more while turns are short, although none of them ends', async () => {
  const width = createRecoveryWidth(createManualClock());
  const state = crowd(width, 1_000);
  await Promise.resolve();
  expect(state.letIn).toBe(32);
  await eventually(() => expect(state.letIn).toBe(256));
  await quiet();
  expect(state.letIn).toBe(256);
});

it('takes fewer calls while turns are long, and never none', async () => {
  const clock = createManualClock();
  const width = createRecoveryWidth(clock);
  const state = crowd(width, 1_000);
  for (let turn = 0; turn < 20; turn++) {
    clock.advance(50);
    await quiet();
  }
  // The first ones are still at work.
  expect(state.letIn).toBe(32);
  for (let ended = 0; ended < 100; ended++) {
    width.leave();
    clock.advance(50);
    await quiet();
  }
  expect(state.letIn).toBe(100 + 16);
});
