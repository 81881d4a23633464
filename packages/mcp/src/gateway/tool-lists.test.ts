import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { ToolLists } from './tool-lists.ts';
import type { Upstream } from './upstream.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('lists the tools of a server that announces changes again and again ever more seldom', async () => {
  let listings = 0;
  const lists = new ToolLists({
    catalog: () => {
      throw new Error('No list is read here.');
    },
    reviews: undefined,
    now: () => Date.now(),
    onListed: () => void (listings += 1),
    log: () => undefined,
  });
  // Without a connection every listing fails, and counts.
  const upstream = { name: 'shop', losses: 0 } as Upstream;
  const announceFor = async (ms: number): Promise<number> => {
    const before = listings;
    for (let passed = 0; passed < ms; passed += 100) {
      lists.announced(upstream);
      await vi.advanceTimersByTimeAsync(100);
    }
    return listings - before;
  };
  // At once, five times after a second, then after 2, 4, 8, 16, 32 and 60 seconds.
  expect(await announceFor(5_500)).toBe(6);
  expect(await announceFor(2_500)).toBe(1);
  expect(await announceFor(592_000)).toBeLessThan(15);
  await vi.advanceTimersByTimeAsync(120_000);
  expect(await announceFor(100)).toBe(1);
  lists.close();
});
