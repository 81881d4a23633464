import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Alignable } from './diff-sessions.ts';
import { alignCalls } from './diff-sessions.ts';

/** `a1` is a call of tool `a` with input 1. Ids are unique per side unless given. */
const calls = (side: string, text: string): Alignable[] =>
  text
    .split(' ')
    .filter(Boolean)
    .map((word, index) => {
      const [name = '', id = `${side}${index}`] = word.split('#');
      return { toolName: name[0] ?? '', key: name.slice(1), callId: id };
    });

const show = (a: string, b: string): string =>
  alignCalls(calls('a', a), calls('b', b))
    .map((pair) => `${pair.a ?? '-'}=${pair.b ?? '-'}`)
    .join(' ');

describe('calls are aligned', () => {
  test.each([
    ['a1 b1 c1', 'a1 b1 c1', '0=0 1=1 2=2'],
    ['a1 b1 c1', 'a1 c1', '0=0 1=- 2=1'],
    ['a1 c1', 'a1 b1 c1', '0=0 -=1 1=2'],
    ['a1 b1 c1', 'a1 b2 c1', '0=0 1=1 2=2'],
    ['a1 b1 c1', 'a1 d1 c1', '0=0 1=- -=1 2=2'],
    ['', 'a1', '-=0'],
    ['', '', ''],
    ['a1 a2 a3', 'a3 a1 a2', '0=1 1=2 2=0'],
    ['a1#x a2#y', 'a5#y a6#x', '0=1 1=0'],
    ['a1#x b1 a2#y', 'a7#x b1 a8#y', '0=0 1=1 2=2'],
  ])('%j with %j: %s', (a, b, expected) => {
    expect(show(a, b)).toBe(expected);
  });

  test('once each and in order if they match, as many as possible', () => {
    const side = fc.array(fc.constantFrom('a1', 'a2', 'b1', 'b2', 'c1'), { maxLength: 14 });
    fc.assert(
      fc.property(side, side, (one, other) => {
        const [a, b] = [calls('a', one.join(' ')), calls('b', other.join(' '))];
        const aligned = alignCalls(a, b);
        const seen = (list: readonly (number | undefined)[]): (number | undefined)[] =>
          list.filter((index) => index !== undefined).toSorted((x, y) => x - y);
        expect(seen(aligned.map((pair) => pair.a))).toEqual([...a.keys()]);
        expect(seen(aligned.map((pair) => pair.b))).toEqual([...b.keys()]);
        const same = aligned.filter(
          ({ a: x, b: y }) => x !== undefined && y !== undefined && one[x] === other[y],
        );
        expect(same.length).toBeGreaterThanOrEqual(longestCommon(one, other));
      }),
    );
  });

  test('even in long sessions without common calls', () => {
    const long = (side: string): Alignable[] =>
      Array.from({ length: 5_000 }, (_, index) => ({
        toolName: index % 2 === 0 ? 'a' : side,
        key: `${side}${index}`,
        callId: `${side}${index}`,
      }));
    const aligned = alignCalls(long('x'), long('y'));
    expect(aligned.filter(({ a, b }) => a !== undefined && b !== undefined)).toHaveLength(2_500);
    expect(aligned).toHaveLength(7_500);
  });
});

function longestCommon(a: readonly string[], b: readonly string[]): number {
  let before: number[] = Array.from({ length: b.length + 1 }, () => 0);
  for (const one of a) {
    const row = [0];
    for (const [index, other] of b.entries())
      row.push(one === other ? (before[index] ?? 0) + 1 : Math.max(before[index + 1] ?? 0, row[index] ?? 0));
    before = row;
  }
  return before.at(-1) ?? 0;
}
