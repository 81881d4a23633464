import { expect, onTestFinished, test, vi } from 'vitest';
import { FairQueue } from './fair-queue.ts';
import { HttpRefusal } from './problem.ts';

const limits = { running: 1, waiting: 10, waitingPerCaller: 3, restAfterMs: 10_000, restTimes: 1 };

/** Work that ends when the test releases it, and notes when it started. */
function gate(): {
  readonly work: (name: string) => () => Promise<void>;
  readonly began: string[];
  readonly next: () => Promise<void>;
} {
  const began: string[] = [];
  const ends: (() => void)[] = [];
  return {
    began,
    work: (name) => () => {
      began.push(name);
      return new Promise((resolve) => ends.push(resolve));
    },
    next: async () => {
      await new Promise(setImmediate);
      ends.shift()?.();
      await new Promise(setImmediate);
    },
  };
}

test('a caller with many requests delays another by one piece of work', async () => {
  const queue = new FairQueue('work', limits);
  const { work, began, next } = gate();
  const all = [1, 2, 3, 4].map((n) => queue.run('hostile', undefined, work(`hostile ${n}`)));
  all.push(queue.run('honest', undefined, work('honest')));
  for (let n = 0; n < 5; n++) await next();
  await Promise.all(all);
  expect(began).toEqual(['hostile 1', 'honest', 'hostile 2', 'hostile 3', 'hostile 4']);
});

test('a caller whose queue is full is refused with 429 and a retry time; others are not', async () => {
  const queue = new FairQueue('stats', limits);
  const { work, next } = gate();
  const all = [1, 2, 3, 4].map(() => queue.run('hostile', undefined, work('')));
  const refused = await queue.run('hostile', undefined, work('')).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(HttpRefusal);
  expect(refused).toMatchObject({ code: 'http.too_many_requests', headers: { 'retry-after': '1' } });
  expect(String(refused)).toMatch(/need stats wait in line, and 3 of yours wait already/);
  all.push(queue.run('honest', undefined, work('')));
  for (let n = 0; n < 5; n++) await next();
  await Promise.all(all);
});

test('all queues together are limited too', async () => {
  const queue = new FairQueue('work', { ...limits, waiting: 2 });
  const { work, next } = gate();
  const all = ['a', 'b', 'c'].map((caller) => queue.run(caller, undefined, work(caller)));
  await expect(queue.run('d', undefined, work('d'))).rejects.toMatchObject({
    code: 'http.too_many_requests',
  });
  for (let n = 0; n < 3; n++) await next();
  await Promise.all(all);
});

test('work whose caller disconnects before its turn is dropped, and its slot is free', async () => {
  const queue = new FairQueue('work', limits);
  const { work, began, next } = gate();
  const first = queue.run('a', undefined, work('first'));
  const gone = new AbortController();
  const second = queue.run('a', gone.signal, work('second'));
  gone.abort();
  await expect(second).rejects.toMatchObject({ code: 'http.timeout' });
  expect(queue.waiting).toBe(0);
  await next();
  await first;
  expect(began).toEqual(['first']);
});

test('work that fails frees its slot', async () => {
  const queue = new FairQueue('work', limits);
  await expect(queue.run('a', undefined, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await queue.run('a', undefined, () => Promise.resolve(1))).toBe(1);
});

test('after long work a caller rests while another continues', async () => {
  const queue = new FairQueue('work', { ...limits, restAfterMs: 0, restTimes: 1 });
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const { work, began, next } = gate();
  const all = [1, 2].map((n) => queue.run('hostile', undefined, work(`hostile ${n}`)));
  await new Promise(setImmediate); // the first one has begun
  vi.advanceTimersByTime(20);
  await next();
  // The caller's queue rests now. Another caller that comes later goes first.
  all.push(queue.run('honest', undefined, work('honest')));
  await next();
  vi.advanceTimersByTime(19);
  await next();
  expect(began).toEqual(['hostile 1', 'honest']);
  vi.advanceTimersByTime(1);
  await next();
  await Promise.all(all);
  expect(began).toEqual(['hostile 1', 'honest', 'hostile 2']);
});
