import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { NoticePace } from './gateway.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('passes the first notice of a kind at once, and those of the next second as one', () => {
  const told: string[] = [];
  const pace = new NoticePace();
  for (let round = 0; round < 1_000; round++) pace.pass('tools', () => told.push(`tools ${round}`));
  pace.pass('prompts', () => told.push('prompts'));
  expect(told).toEqual(['tools 0', 'prompts']);
  vi.advanceTimersByTime(1_000);
  expect(told).toEqual(['tools 0', 'prompts', 'tools 999']);
  vi.advanceTimersByTime(5_000);
  expect(told).toHaveLength(3);
  pace.close();
});

it('drops notices of more than a thousand kinds within a second', () => {
  let told = 0;
  const pace = new NoticePace();
  const count = (): void => void (told += 1);
  for (let kind = 0; kind < 5_000; kind++) pace.pass(`resource ${kind}`, count);
  expect(told).toBe(1_000);
  vi.advanceTimersByTime(1_000);
  pace.pass('resource 4999', count);
  expect(told).toBe(1_001);
  pace.close();
});
