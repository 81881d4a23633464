import { createManualClock } from 'quittance/testing';
import { describe, expect, it } from 'vitest';

describe('a manual clock', () => {
  it('stands still until it is moved', () => {
    const clock = createManualClock(1_000);
    expect([clock.now(), clock.monotonicMs(), clock.now()]).toEqual([1_000, 0, 1_000]);
    clock.advance(5);
    expect([clock.now(), clock.monotonicMs()]).toEqual([1_005, 5]);
  });

  it('fires timers on the way, in order, each at its own time', () => {
    const clock = createManualClock(0);
    const fired: [string, number][] = [];
    const start = (name: string, delayMs: number): void => {
      clock.startTimer(() => fired.push([name, clock.now()]), delayMs);
    };
    start('late', 30);
    start('early', 10);
    start('also early', 10);
    start('never', 31);
    clock.advance(30);
    expect(fired).toEqual([
      ['early', 10],
      ['also early', 10],
      ['late', 30],
    ]);
    expect(clock.now()).toBe(30);
  });

  it('also fires timers that a timer starts, when they are due', () => {
    const clock = createManualClock(0);
    const fired: number[] = [];
    const again = (): void => {
      fired.push(clock.now());
      clock.startTimer(again, 10);
    };
    clock.startTimer(again, 10);
    clock.advance(35);
    expect(fired).toEqual([10, 20, 30]);
  });

  it('fires no stopped timer, and none twice', () => {
    const clock = createManualClock();
    let fired = 0;
    const timer = clock.startTimer(() => fired++, 10);
    clock.startTimer(() => fired++, 5);
    timer.stop();
    timer.stop();
    timer.keepAlive(false);
    clock.advance(100);
    clock.advance(100);
    expect(fired).toBe(1);
  });

  it('fires a timer with zero or negative delay at the next move, even of zero', () => {
    const clock = createManualClock();
    let fired = 0;
    clock.startTimer(() => fired++, 0);
    clock.startTimer(() => fired++, -5);
    expect(fired).toBe(0);
    clock.advance(0);
    expect(fired).toBe(2);
  });

  it('jumps the wall clock only: timers and the monotonic clock are unaffected', () => {
    const clock = createManualClock(1_000);
    let fired = 0;
    clock.startTimer(() => fired++, 10);
    clock.jumpTo(5_000_000);
    expect([clock.now(), clock.monotonicMs(), fired]).toEqual([5_000_000, 0, 0]);
    clock.jumpTo(7);
    clock.advance(10);
    expect([clock.now(), clock.monotonicMs(), fired]).toEqual([17, 10, 1]);
  });
});
