/**
 * How many calls a recovery works on at a time.
 *
 * Calls that end together share a commit, so many at a time make a recovery fast. They also do their work in the same
 * turn of the event loop, and another call waits for several turns before it starts. So the number follows the length
 * of the turns: it shrinks when they are long and grows when they are short. It starts small, because the first calls
 * run code that is not compiled yet.
 */
import type { Clock } from '../../base/clock.ts';

const start = 32;
const fewest = 16;
const most = 256;
/** A call starts after about four turns, and must start within 100 ms. */
const longTurnMs = 20;
const shortTurnMs = 12;
const growth = 8;
const shrinkage = 0.8;

export interface RecoveryWidth {
  /** Undefined if one more call may be worked on now, else a promise for when it may. */
  enter(): Promise<void> | undefined;
  leave(): void;
}

export function createRecoveryWidth(clock: Clock): RecoveryWidth {
  const waiting: (() => void)[] = [];
  let width = start;
  let working = 0;
  let turnBeganMs: number | undefined;

  const letIn = (): void => {
    while (working < width) {
      const next = waiting.shift();
      if (next === undefined) return;
      working++;
      next();
    }
  };

  /** Measures the current turn once, up to the start of the next one. */
  const measureTurn = (): void => {
    if (turnBeganMs !== undefined) return;
    const beganMs = clock.monotonicMs();
    turnBeganMs = beganMs;
    setImmediate(() => {
      const turnMs = clock.monotonicMs() - beganMs;
      turnBeganMs = undefined;
      if (turnMs > longTurnMs) width = Math.max(fewest, Math.floor(width * shrinkage));
      else if (turnMs < shortTurnMs) width = Math.min(most, width + growth);
      letIn();
      // Bodies may take long: the others need not wait until one of them ends.
      if (waiting.length > 0 && width < most) measureTurn();
    });
  };

  return {
    enter() {
      if (working < width) {
        working++;
        return undefined;
      }
      measureTurn();
      return new Promise((resolve) => waiting.push(resolve));
    },
    leave() {
      working--;
      measureTurn();
      letIn();
    },
  };
}
