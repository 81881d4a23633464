import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findNesting, findJsonSyntaxError } from './json.ts';

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

const pieces = '{ } [ ] : , " \\ "a" 1 - 0 .5 e E+1 true null \\u00e9 \u0001'
  .split(' ')
  .concat(' ', '\n', '\t');

/** Texts that are JSON, nearly JSON, and made of its pieces. */
const nearJson = fc.oneof(
  fc.json({ maxDepth: 4 }),
  fc
    .tuple(fc.json({ maxDepth: 4 }), fc.nat(), fc.string({ maxLength: 2 }), fc.nat(2))
    .map(([text, at, put, cut]) => {
      const place = at % (text.length + 1);
      return text.slice(0, place) + put + text.slice(place + cut);
    }),
  fc.array(fc.constantFrom(...pieces)).map((parts) => parts.join('')),
);

describe('the search for a syntax error', () => {
  test('finds one exactly in texts that JSON.parse rejects', () => {
    fc.assert(
      fc.property(nearJson, (text) => {
        expect(findJsonSyntaxError(text).startsWith('not JSON at position ')).toBe(!isJson(text));
      }),
      { numRuns: 5_000 },
    );
  });

  test('points at the first character that is not allowed', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 3 }), fc.string({ maxLength: 5 }), (text, more) => {
        // A letter that cannot continue any JSON text, after a complete one.
        expect(findJsonSyntaxError(`${text} x${more}`)).toContain(`not JSON at position ${text.length + 1} `);
      }),
    );
  });

  test('shows at most one character of the text', () => {
    fc.assert(
      fc.property(nearJson, (text) => {
        const found = /found (.*)$/s.exec(findJsonSyntaxError(text))?.[1] ?? '';
        expect(found).toMatch(/^(?:|".*"|U\+[0-9A-F]{4,6}|the end of the text)$/su);
        expect(found.startsWith('"') ? found.length : 3).toBe(3);
      }),
    );
  });

  test('takes time proportional to the text', () => {
    expect(findJsonSyntaxError('['.repeat(300_000))).toContain('position 300000 ');
    expect(findJsonSyntaxError(`"${'\\'.repeat(1_000_001)}`)).toContain('not JSON at position ');
    expect(findJsonSyntaxError(`"${'x'.repeat(5_000_000)}`)).toContain('position 5000001 ');
    expect(findJsonSyntaxError(`${'1'.repeat(1_000_000)}x`)).toContain('position 1000000 ');
  });
});

describe('the search for deep nesting', () => {
  test('counts brackets outside strings', () => {
    expect(findNesting('[[[]]]', 2)).toBe(2);
    expect(findNesting('[[],[],[]]', 2)).toBeUndefined();
    expect(findNesting('["[[[[","\\"[[[[",[]]', 2)).toBeUndefined();
    expect(findNesting('{"a":{"b":{"c":1}}}', 2)).toBe(10);
  });

  test('finds nothing in a text too short to be that deep', () => {
    expect(findNesting('[[[', 2)).toBeUndefined();
  });
});
