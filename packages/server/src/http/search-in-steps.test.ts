import { expect, test } from 'vitest';
import type { Page } from 'quittance/internal/ledger/call-query';
import { toCursor } from 'quittance/internal/ledger/call-query';
import { searchInSteps } from './readings.ts';
import { SearchPace } from './search-pace.ts';

type Query = { readonly limit?: number; readonly cursor?: string | undefined };
type Step = { readonly scan: number; readonly limit: number };

/** A list of which no row is found until `end` rows were examined. Examining one row takes `rowMs`. */
function listOf(end: number, rowMs: number) {
  let nowMs = 1_000;
  let examined = 0;
  const steps: Step[] = [];
  let pauses = 0;
  return {
    steps,
    pauses: () => pauses,
    reads: {
      pause(): Promise<void> {
        pauses++;
        return Promise.resolve();
      },
    },
    pace: new SearchPace(40, () => nowMs),
    find: ({ scan, limit = 0 }: Query & { readonly scan: number }): Page<string> => {
      steps.push({ scan, limit });
      examined += scan;
      nowMs += scan * rowMs;
      return examined < end
        ? { rows: [], next: toCursor([5_000, 1_000_000 - examined]) }
        : { rows: ['found'], next: undefined };
    },
  };
}

test('a search that finds nothing answers in time, with the place from which it continues', async () => {
  const { reads, find, pace, steps, pauses } = listOf(1_000_000, 0.01);
  const page = await searchInSteps<string, Query>(reads, { limit: 50 }, find, pace);
  expect(page).toMatchObject({ rows: [], searchedTo: 5_000 });
  expect(page.next).toBeDefined();
  const rows = steps.reduce((sum, { scan }) => sum + scan, 0);
  // 40 ms, and at most one step of 8 ms more.
  expect(rows * 0.01).toBeLessThanOrEqual(48);
  // Other requests had a turn between any two steps.
  expect(pauses()).toBe(steps.length - 1);
});

test('the slower the rows, the smaller the steps', async () => {
  const largest = async (rowMs: number): Promise<number> => {
    const { reads, find, pace, steps } = listOf(1_000_000, rowMs);
    await searchInSteps<string, Query>(reads, { limit: 50 }, find, pace);
    return Math.max(...steps.slice(1).map(({ scan }) => scan));
  };
  expect([await largest(0.0001), await largest(0.004), await largest(0.03)]).toEqual([4_000, 1_000, 250]);
});

test('a search that comes to its end in time says so', async () => {
  const { reads, find, pace } = listOf(3_000, 0.001);
  expect(await searchInSteps<string, Query>(reads, { limit: 50 }, find, pace)).toEqual({
    rows: ['found'],
    next: undefined,
    searchedTo: undefined,
  });
});

test('a full page ends the search, and its next page begins after its last row', async () => {
  const find = (): Page<number> => ({ rows: [1, 2], next: toCursor([7, 7]) });
  const pace = new SearchPace(40, () => 0);
  const reads = { pause: () => Promise.resolve() };
  expect(await searchInSteps<number, Query>(reads, { limit: 4 }, find, pace)).toEqual({
    rows: [1, 2, 1, 2],
    next: toCursor([7, 7]),
    searchedTo: undefined,
  });
});
