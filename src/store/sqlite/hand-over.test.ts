import { describe, expect, test } from 'vitest';
import { HandOver } from './hand-over.ts';

/** Notes a number of equal batches. */
function note(handOver: HandOver, batches: number, jobs: number, tookMs: number): void {
  for (let batch = 0; batch < batches; batch++) handOver.note(jobs, tookMs);
}

describe('the writer thread', () => {
  test('is not wanted for single appends on a quick disk', () => {
    const handOver = new HandOver();
    note(handOver, 1_000, 1, 0.3);
    expect(handOver.isWanted(1)).toBe(false);
  });

  test('is wanted at once for many appends', () => {
    expect(new HandOver().isWanted(64)).toBe(true);
  });

  test('is wanted for single appends on a slow disk', () => {
    const handOver = new HandOver();
    note(handOver, 3, 1, 5);
    expect(handOver.isWanted(1)).toBe(true);
  });

  test('is not wanted because of one slow commit', () => {
    const handOver = new HandOver();
    note(handOver, 100, 1, 0.3);
    handOver.note(1, 8);
    expect(handOver.isWanted(1)).toBe(false);
  });

  test('is not wanted for 32 calls in flight, whose batches write the index now and then', () => {
    const handOver = new HandOver();
    for (let round = 0; round < 20; round++) {
      note(handOver, 127, 32, 0.6);
      handOver.note(32, 40);
      expect(handOver.isWanted(32)).toBe(false);
    }
  });

  test('gives back to the main thread at 32 calls in flight', () => {
    const handOver = new HandOver();
    expect(handOver.isWanted(200)).toBe(true);
    note(handOver, 50, 64, 1.2);
    handOver.note(32, 40);
    note(handOver, 80, 32, 0.6);
    expect(handOver.isWanted(32)).toBe(false);
  });

  test('gives back only after many small and quick batches in a row', () => {
    const handOver = new HandOver();
    note(handOver, 100, 60, 0.8);
    note(handOver, 60, 16, 0.3);
    expect(handOver.isWanted(16)).toBe(true);
    // A burst in between begins the count again.
    expect(handOver.isWanted(70)).toBe(true);
    note(handOver, 60, 16, 0.3);
    expect(handOver.isWanted(16)).toBe(true);
    note(handOver, 20, 16, 0.3);
    expect(handOver.isWanted(16)).toBe(false);
  });

  test('gives back soon when single calls follow a burst', () => {
    const handOver = new HandOver();
    note(handOver, 100, 60, 0.8);
    note(handOver, 4, 1, 0.3);
    expect(handOver.isWanted(1)).toBe(true);
    note(handOver, 12, 1, 0.3);
    expect(handOver.isWanted(1)).toBe(false);
  });

  test('keeps a load between the limits, whichever thread has it', () => {
    const busy = new HandOver();
    busy.isWanted(64);
    const calm = new HandOver();
    for (const handOver of [busy, calm]) note(handOver, 1_000, 40, 0.8);
    expect([busy.isWanted(40), calm.isWanted(40)]).toEqual([true, false]);
  });
});
