import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isQuittanceError } from './error.ts';
import type { JsonValue } from './json.ts';
import { formatPath } from './json.ts';
import { maskPath, parseRedactionPath } from './redaction-path.ts';

function mask(value: JsonValue, path: string): { value: JsonValue; hidden: string[] } {
  const hidden: string[] = [];
  return { value: maskPath(value, parseRedactionPath(path), '#', hidden), hidden };
}

describe('a declared path', () => {
  const user = { name: 'a', mails: [{ to: 1 }, { to: 2 }], '0': 'zero', 'x y': { z: 3 } };

  test.each<[string, JsonValue, string[]]>([
    ['name', { ...user, name: '#' }, ['$.name']],
    ['$.name', { ...user, name: '#' }, ['$.name']],
    ['mails[].to', { ...user, mails: [{ to: '#' }, { to: '#' }] }, ['$.mails[0].to', '$.mails[1].to']],
    ['mails.*.to', { ...user, mails: [{ to: '#' }, { to: '#' }] }, ['$.mails[0].to', '$.mails[1].to']],
    ['mails[*].to', { ...user, mails: [{ to: '#' }, { to: '#' }] }, ['$.mails[0].to', '$.mails[1].to']],
    ['mails.1.to', { ...user, mails: [{ to: 1 }, { to: '#' }] }, ['$.mails[1].to']],
    ['mails[1].to', { ...user, mails: [{ to: 1 }, { to: '#' }] }, ['$.mails[1].to']],
    ['mails[1]', { ...user, mails: [{ to: 1 }, '#'] }, ['$.mails[1]']],
    ['mails', { ...user, mails: '#' }, ['$.mails']],
    ['0', { ...user, '0': '#' }, ['$["0"]']],
    ['x y.z', { ...user, 'x y': { z: '#' } }, ['$["x y"].z']],
    ['["x y"].z', { ...user, 'x y': { z: '#' } }, ['$["x y"].z']],
    ['$["x y"]["z"]', { ...user, 'x y': { z: '#' } }, ['$["x y"].z']],
    ['$', '#', ['$']],
    ['*', { name: '#', mails: '#', '0': '#', 'x y': '#' }, ['$["0"]', '$.name', '$.mails', '$["x y"]']],
  ])('%s leads to the named value', (path, expected, hidden) => {
    expect(mask(user, path)).toEqual({ value: expected, hidden });
  });

  test.each([
    'nobody',
    'name.first',
    'mails.2',
    'mails.length',
    'mails[].from',
    'name[]',
    'x[]',
    'constructor',
    '__proto__',
    'toString.name',
  ])('%s leads nowhere: the value itself is returned', (path) => {
    const { value, hidden } = mask(user, path);
    expect(value).toBe(user);
    expect(hidden).toEqual([]);
  });

  test('does not modify the value, and shares unchanged parts', () => {
    const before = JSON.stringify(user);
    const { value } = mask(user, 'name');
    expect(JSON.stringify(user)).toBe(before);
    expect((value as typeof user).mails).toBe(user.mails);
  });

  test('may lead to __proto__ as a key, and touches no prototype', () => {
    const hostile = JSON.parse('{"__proto__":{"a":1},"b":2}') as JsonValue;
    const { value, hidden } = mask(hostile, '__proto__.a');
    expect(JSON.stringify(value)).toBe('{"__proto__":{"a":"#"},"b":2}');
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(hidden).toEqual(['$.__proto__.a']);
  });

  test('hides any type, once', () => {
    for (const secret of [null, 0, false, '', [], {}, [1, { b: 2 }]]) {
      const { value } = mask({ a: secret }, 'a');
      expect(value).toEqual({ a: '#' });
      expect(mask(value, 'a')).toEqual({ value: { a: '#' }, hidden: [] });
    }
  });

  test('may be written as paths are shown', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.string({ unit: 'binary', maxLength: 4 }), fc.nat(5)), {
          minLength: 1,
          maxLength: 5,
        }),
        (steps) => {
          const value = steps.reduceRight<JsonValue>(
            (inner, step) =>
              typeof step === 'number'
                ? Array.from({ length: step + 1 }, () => inner)
                : Object.fromEntries([[step, inner]]),
            'secret',
          );
          expect(mask(value, formatPath(steps)).hidden).toEqual([formatPath(steps)]);
        },
      ),
    );
  });

  test.each([
    '',
    '.',
    'a.',
    '.a',
    'a..b',
    'a[',
    'a]',
    'a[x]',
    'a[-1]',
    'a[0]b',
    '$a',
    'a["x]',
    '["\\x"]',
    'a.[0]',
  ])('%j is rejected', (path) => {
    let thrown: unknown;
    try {
      parseRedactionPath(path);
    } catch (error) {
      thrown = error;
    }
    expect(isQuittanceError(thrown, 'config.invalid')).toBe(true);
    expect(String(thrown)).toContain(JSON.stringify(path));
  });
});
