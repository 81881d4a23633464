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

  test('tells words the shell would look up from words it would not', () => {
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

  test('given as a list is not split, and holds nothing a shell would act on', () => {
    expect(readArgumentList(['ls', 'a b'])).toEqual([
      {
        plain: true,
        words: [
          { text: 'ls', wildcard: false },
          { text: 'a b', wildcard: false },
        ],
      },
      // As a tool would run it that joins the words.
      readCommandLine('ls a b'),
    ]);
    expect(readArgumentList(['ls', '$x'])).toEqual([{ plain: false, chain: undefined }]);
  });
});
