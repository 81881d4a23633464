import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compileGlob } from './glob.ts';

test.each([
  ['Bash', 'Bash', true],
  ['Bash', 'bash', false],
  ['Bash', 'Bash\0evil', false],
  ['mcp_*', 'mcp_../../etc/passwd', true],
  ['mcp_*', 'mcp_', true],
  ['mcp_*', 'xmcp_a', false],
  ['*', '', true],
  ['*', 'a\nb\0', true],
  ['?', 'ab', false],
  ['?', 'a', true],
  ['*_read', 'a_read_read', true],
  ['a*b*c', 'aXbYbZc', true],
  ['a*b*c', 'aXbYbZ', false],
  ['[ab]x', 'bx', true],
  ['[!ab]x', 'bx', false],
  ['[a-c]x', 'bx', true],
  ['[]]x', ']x', true],
  ['[a', '[a', true],
  ['[z-a]', 'b', false],
  ['a.b', 'axb', false],
  ['**', 'anything', true],
  ['__proto__', '__proto__', true],
])('%s about %j: %s', (pattern, name, expected) => {
  expect(compileGlob(pattern).matches(name)).toBe(expected);
});

test('a pattern without wildcards matches one name', () => {
  expect(compileGlob('Bash').exact).toBe('Bash');
  expect(compileGlob('Ba?h').exact).toBeUndefined();
});

test('stars match like an equivalent regular expression', () => {
  const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '*', '?') });
  const name = fc.string({ unit: fc.constantFrom('a', 'b', '\n') });
  fc.assert(
    fc.property(pattern, name, (glob, text) => {
      const meaning = new RegExp(`^${glob.replaceAll('*', '.*').replaceAll('?', '.')}$`, 's');
      expect(compileGlob(glob).matches(text)).toBe(meaning.test(text));
    }),
  );
});

test('no pattern and no name make it throw', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (pattern, name) => {
      expect(typeof compileGlob(pattern).matches(name)).toBe('boolean');
    }),
  );
});

test('a long name is matched against many stars quickly', () => {
  expect(compileGlob('a*'.repeat(20).concat('b')).matches('a'.repeat(20_000))).toBe(false);
});
