import { describe, expect, test } from 'vitest';
import { readArgumentList, readCommandLine } from './command-line.ts';

const wordsOf = (text: string): readonly string[] | undefined => {
  const line = readCommandLine(text);
  return line.plain ? line.words.map((word) => word.text) : undefined;
};

describe('a command line', () => {
  test.each([
    ['ls -la', ['ls', '-la']],
    ['  ls\t-la  ', ['ls', '-la']],
    [`'a b'"c d"e\\ f`, ['a bc de f']],
    [`"a\\"b\\$c\\\\d\\e"`, ['a"b$c\\d\\e']],
    [`'' ""`, ['', '']],
    ['a#b', ['a#b']],
    ['a$ $', ['a$', '$']],
    ['find . -exec x {} \\;', ['find', '.', '-exec', 'x', '{}', ';']],
    ['', []],
  ])('%j is plain, with the words %j', (text, words) => {
    expect(wordsOf(text)).toEqual(words);
  });

  test.each([
    'a;b',
    'a&b',
    'a|b',
    'a>b',
    'a<b',
    'a(b',
    'a)b',
    'a`b',
    'a\nb',
    'a$b',
    'a${b}',
    'a$(b)',
    '"$b"',
    "$'a'",
  ])('%j is not plain', (text) => {
    expect(wordsOf(text)).toBeUndefined();
  });

  test('distinguishes words that the shell would expand from words that it would not', () => {
    const line = readCommandLine(`ls *.py '*.py' \\* "?" a[b]`);
    expect(line.plain && line.words.map(({ wildcard }) => wildcard)).toEqual([
      false,
      true,
      false,
      false,
      false,
      true,
    ]);
  });

  test('given as a list is not split, and contains nothing that a shell would act on', () => {
    expect(readArgumentList(['ls', 'a b'])).toEqual([
      {
        plain: true,
        words: [
          { text: 'ls', wildcard: false },
          { text: 'a b', wildcard: false },
        ],
      },
      // As run by a tool that joins the words.
      readCommandLine('ls a b'),
    ]);
    expect(readArgumentList(['ls', '$x'])).toEqual([{ plain: false, chain: undefined }]);
  });
});
