import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readTokens, readJsonText } from './json.ts';

/** Keys that trigger the engine's bug: backslashes, and characters that are escaped with one. */
const key = fc.string({ unit: fc.constantFrom('"', '\\', '\u0000', '\n', 'a', '/', 'é', '\uD800', '_') });
const tree = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.string({ unit: 'binary' }),
    fc.double({ noDefaultInfinity: true, noNaN: true }),
    fc.constantFrom(true, false, null),
    tie('array'),
    tie('object'),
  ),
  array: fc.array(tie('value'), { maxLength: 4 }),
  object: fc.dictionary(fc.oneof(key, fc.constantFrom('__proto__', 'constructor')), tie('value'), {
    maxKeys: 4,
  }),
})).value;

describe('readJsonText', () => {
  it('gives every key its written name, whatever keys were read before', () => {
    fc.assert(
      fc.property(
        fc.array(tree, { minLength: 1, maxLength: 3 }),
        fc.constantFrom(undefined, 1),
        (values, indent) => {
          for (const value of values) {
            const text = JSON.stringify(value, null, indent);
            expect(JSON.stringify(readJsonText(text), null, indent)).toBe(text);
            expect(JSON.stringify(readTokens(text), null, indent)).toBe(text);
          }
        },
      ),
      { numRuns: 3_000 },
    );
  });

  it('is not misled by a key it has seen', () => {
    readJsonText('{"h":[],"\\\\":0}');
    expect(Object.keys(readJsonText('{"h":1,"\\"":2}') as object)).toEqual(['h', '"']);
  });

  it.each([
    '',
    '{',
    '{"a\\n"',
    '{"a\\n":',
    '{"a\\n":1,}',
    '{"a\\n":1}x',
    '{"\\x":1}',
    '{"a\\n":01}',
    '{"a\\n":+1}',
    '{"a\\n" 1}',
    '[1 2]',
    '"\\',
    '{\\n:1}',
    'nul',
    '{"a\\n":tru}',
  ])('rejects %j as the platform does', (text) => {
    expect(() => readTokens(text)).toThrow(SyntaxError);
    expect(() => readJsonText(text)).toThrow(SyntaxError);
  });

  it('accepts and rejects the same texts as the platform', () => {
    const piece = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ':',
      ',',
      '"a"',
      '"\\n"',
      '1',
      '-',
      '.5',
      'e3',
      'true',
      'null',
      ' ',
      '"',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const text = pieces.join('');
        const attempt = (read: (text: string) => unknown): unknown => {
          try {
            return JSON.stringify(read(text));
          } catch {
            return 'refused';
          }
        };
        expect(attempt((given) => readTokens(given))).toBe(attempt((given) => JSON.parse(given) as unknown));
      }),
      { numRuns: 5_000 },
    );
  });
});
