import { describe, expect, test } from 'vitest';
import { createOutputKeeper, findEngine, measureProcesses } from './run-sandboxed.ts';

test('a system other than Linux is refused with the remedy', () => {
  expect(() => findEngine('darwin')).toThrow(/needs Linux.*container or a virtual machine/);
});

test('processes of the host are never counted: a sandbox that is being made still shows them', () => {
  expect(measureProcesses(process.pid)).toBeUndefined();
});

describe('the kept output', () => {
  const keep = (most: number, chunks: readonly (string | Buffer)[]) => {
    const keeper = createOutputKeeper(most);
    for (const chunk of chunks) keeper.add(Buffer.from(chunk));
    return keeper;
  };

  test('is everything that fits, whatever the pieces', () => {
    expect(keep(10, ['abc', '', 'defg', 'hij']).text()).toBe('abcdefghij');
    expect(keep(10, ['abc']).omittedBytes()).toBe(0);
  });

  test('is the beginning and the end of a longer one, with the number of bytes between', () => {
    const keeper = keep(6, ['abc', 'dddddddddd', 'x', 'yz']);
    expect(keeper.text()).toBe('abc\n[10 bytes omitted here]\nxyz');
    expect(keeper.omittedBytes()).toBe(10);
  });

  test('cuts no letter in half', () => {
    const text = keep(7, ['aäö', 'üüüü', 'öä']).text();
    expect(text).toMatch(/^aä\n\[\d+ bytes omitted here\]\nä$/);
  });

  test('the kept output of 50 MB holds no more than the limit', () => {
    const keeper = createOutputKeeper(1_000);
    const chunk = Buffer.alloc(65_536, 'x');
    for (let round = 0; round < 800; round++) keeper.add(chunk);
    expect([keeper.omittedBytes(), keeper.text().length]).toEqual([800 * 65_536 - 1_000, 1_031]);
  });
});
