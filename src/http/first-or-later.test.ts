import { describe, expect, it } from 'vitest';
import { firstOrLater } from './first-or-later.ts';

const never = new Promise<never>(() => undefined);

describe('waiting for the first of several things', () => {
  it.each<[what: string, wait: () => Promise<unknown>, mostMs: number]>([
    ['one of them comes', () => Promise.resolve(), 60_000],
    ['the time is up', () => never, 1],
    ['one of them fails', () => Promise.reject(new Error('closed')), 60_000],
  ])('lets go of the others when %s', async (_, wait, mostMs) => {
    let given: AbortSignal | undefined;
    const waiting = firstOrLater(
      (signal) => {
        given = signal;
        return [wait(), never];
      },
      mostMs,
      new AbortController().signal,
    );
    await waiting.catch(() => undefined);
    expect(given?.aborted).toBe(true);
  });

  it('lets go of all of them when whoever asked is gone', async () => {
    const asker = new AbortController();
    let given: AbortSignal | undefined;
    const waiting = firstOrLater(
      (signal) => {
        given = signal;
        return [never];
      },
      60_000,
      asker.signal,
    );
    asker.abort();
    await waiting;
    expect(given?.aborted).toBe(true);
  });
});
