import { describe, expect, it } from 'vitest';
import { firstOrLater } from './first-or-later.ts';

const never = new Promise<never>(() => undefined);

describe('waiting for the first of several promises', () => {
  it.each<[what: string, wait: () => Promise<unknown>, mostMs: number]>([
    ['one of them comes', () => Promise.resolve(), 60_000],
    ['the time is up', () => never, 1],
    ['one of them fails', () => Promise.reject(new Error('closed')), 60_000],
  ])('ends the other waits when %s', async (_, wait, mostMs) => {
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

  it('ends all waits when the client disconnects', async () => {
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
