import { expect, test } from 'vitest';
import { scopeMark } from './call-words.ts';

test('a mark has lower case letters, and no character that a store could misread', () => {
  const ascii = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code));
  for (const char of [...ascii, '\u0085', '\u00a0', '\ud800', '\ufffd', 'É', '東']) {
    const isPlain = /[!#-&(-[\]-~é東]/i.test(char);
    expect(scopeMark('t', `A${char}b`)).toBe(`t:a${isPlain ? char.toLowerCase() : '_'}b`);
  }
});

test('a mark of a long name is cut', () => {
  expect(scopeMark('s', 'x'.repeat(300))).toBe(`s:${'x'.repeat(100)}`);
});
