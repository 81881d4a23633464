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
    expect(new HandOver().isWanted(16)).toBe(true);
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

  test('gives back only after many small and quick batches in a row', () => {
    const handOver = new HandOver();
    note(handOver, 100, 40, 0.8);
    note(handOver, 60, 1, 0.3);
    expect(handOver.isWanted(1)).toBe(true);
    // A burst in between begins the count again.
    expect(handOver.isWanted(20)).toBe(true);
    note(handOver, 60, 1, 0.3);
    expect(handOver.isWanted(1)).toBe(true);
    note(handOver, 20, 1, 0.3);
    expect(handOver.isWanted(1)).toBe(false);
  });

  test('keeps a load between the limits, whichever thread has it', () => {
    const busy = new HandOver();
    busy.isWanted(16);
    const calm = new HandOver();
    for (const handOver of [busy, calm]) note(handOver, 1_000, 5, 0.5);
    expect([busy.isWanted(5), calm.isWanted(5)]).toEqual([true, false]);
  });
});
