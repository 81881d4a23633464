import { describe, expect, test } from 'vitest';
import { cpuMsPerRun } from '../../../../test/cpu-time.ts';
import { programWords, readCommandText, readSimpleCommand, toCommandText } from './command-text.ts';

const read = (text: string): readonly (readonly string[])[] =>
  readCommandText(text).commands.map(({ words }) => words.map((word) => word.text));
const filesOf = (text: string): readonly string[] =>
  readCommandText(text).commands.flatMap(({ files }) =>
    files.map(({ word, written }) => `${written ? 'writes' : 'reads'} ${word.text}`),
  );

describe('a readable command line', () => {
  const lines: readonly [line: string, ...commands: (readonly string[])[]][] = [
    ['ls', ['ls']],
    ['  ls\t-la  ', ['ls', '-la']],
    ["git commit -m 'fix it'", ['git', 'commit', '-m', 'fix it']],
    ['g"it" st\'at\'us""', ['git', 'status']],
    [String.raw`echo 'a\' b`, ['echo', 'a\\', 'b']],
    [`echo '' "" a`, ['echo', '', '', 'a']],
    [`echo 'a"b' "c'd"`, ['echo', 'a"b', "c'd"]],
    ['echo "a\\"b\\\\c\\$d\\`e" "\\a" \'\\a\'', ['echo', 'a"b\\c$d`e', '\\a', '\\a']],
    [`grep "a$" 'a$b' '*' "[x]" '~' "{a,b}"`, ['grep', 'a$', 'a$b', '*', '[x]', '~', '{a,b}']],
    [
      'echo a#b a=b a~ x+=y HEAD^ a%20b a,b:c @d +e --f=g',
      ['echo', 'a#b', 'a=b', 'a~', 'x+=y', 'HEAD^', 'a%20b', 'a,b:c', '@d', '+e', '--f=g'],
    ],
    [`echo a! "b!" "c! d" '!e'`, ['echo', 'a!', 'b!', 'c! d', '!e']],
    ['cat müller.txt 日本 "😀"', ['cat', 'müller.txt', '日本', '😀']],
    ['ls|wc -l', ['ls'], ['wc', '-l']],
    ['cd a&&ls && cat b | sort', ['cd', 'a'], ['ls'], ['cat', 'b'], ['sort']],
    ['CI=1 npm test', ['CI=1', 'npm', 'test']],
  ];

  test.each(lines)('%j has exactly these words', (line, ...commands) => {
    expect(read(line)).toEqual(commands);
    expect(readCommandText(line).readable).toBe(true);
    for (const { words } of readCommandText(line).commands)
      expect(words.filter(({ expands }) => expands)).toEqual([]);
  });

  const redirections: readonly [line: string, words: readonly string[], ...files: string[]][] = [
    ['ls > a', ['ls'], 'writes a'],
    ['ls>a', ['ls'], 'writes a'],
    ['ls -l >>"a b" x', ['ls', '-l', 'x'], 'writes a b'],
    ['cat < a', ['cat'], 'reads a'],
    ['make 2>err 1>out', ['make'], 'writes err', 'writes out'],
    ['make 2>&1', ['make']],
    ['make >&2 x', ['make', 'x']],
    ['make >all 2>&1', ['make'], 'writes all'],
    // A digit is a stream only directly before the operator, alone and without quotes.
    ['echo 2 >a', ['echo', '2'], 'writes a'],
    ["echo '2'>a", ['echo', '2'], 'writes a'],
    ['echo a2>b', ['echo', 'a2'], 'writes b'],
  ];

  test.each(redirections)('%j redirects to these files', (line, words, ...files) => {
    expect(readCommandText(line).readable).toBe(true);
    expect(read(line)).toEqual([words]);
    expect(filesOf(line)).toEqual(files);
  });
});

describe('an unreadable command line', () => {
  const groups: Readonly<Record<string, readonly string[]>> = {
    'nothing to run': [
      '',
      '  ',
      "''",
      "'' a",
      '> a',
      '> a ls',
      '2>a',
      '2>a ls',
      '| ls',
      'ls |',
      'ls && ',
      'ls | | cat',
    ],
    'variables and substitutions': [
      'ls $a',
      'ls "$a"',
      'ls a$',
      'ls ${a}',
      'ls $(a)',
      'ls `a`',
      'ls "`a`"',
      "ls $'a'",
      'ls $"a"',
      'ls $((1))',
    ],
    'patterns and braces': [
      'ls *',
      'ls a?',
      'ls [a]',
      'ls [[.s.]]',
      '[ -f a ]',
      'ls a]',
      'ls {a,b}',
      'ls }',
      'ls @(a)',
      'ls !(a)',
    ],
    'home directories': ['ls ~', 'ls ~/a', 'ls ~a', 'ls a=~', 'ls --a=~/b', 'ls a:~', 'CI=~ ls', "ls ''~/a"],
    'programs by `=`': ['ls =cat', '=ls', 'ls ""=cat'],
    'earlier commands': ['ls !a', 'ls !!', 'ls "!a"', 'ls a!b', '^a^b'],
    'an option instead of a program': ['-x', '+x ls', "'-c' ls", 'ls | -x'],
    comments: ['ls # a', '#ls', 'ls |#a', 'ls >#a'],
    'backslashes outside of quotes': ['ls \\a', '\\ls', 'ls a\\ b', 'ls \\\n-l', 'ls \\'],
    'open quotes': ["ls 'a", 'ls "a', 'ls "a\\"', "ls 'a'b'"],
    'other operators': [
      'ls; rm a',
      'ls & rm a',
      'ls || rm a',
      'ls |& rm a',
      'ls &&& rm a',
      'ls &',
      '(ls)',
      '{ ls; }',
      'ls()',
      'ls;',
    ],
    'other redirections': [
      'ls >| a',
      'ls <> a',
      'ls &> a',
      'ls >& a',
      'ls >&12',
      'ls >&-',
      'ls 2>&1a',
      'ls 12>a',
      "ls ''2>a",
      'ls << a',
      'ls <<< a',
      'ls <(a)',
      'ls > >(a)',
      'ls {a}>b',
      "ls >''",
      'ls >',
      'ls > | cat',
      'ls > >a',
      'ls >! a',
    ],
    'files that are connections': [
      'cat </dev/tcp/example.com/80',
      'ls > "/dev/udp/example.com/53"',
      "ls >/dev/'tcp'/a/1",
    ],
    'words of the grammar': [
      'if ls',
      'time ls',
      '! ls',
      'ls | while a',
      'function a',
      'coproc ls',
      'for a',
      'repeat 3 ls',
    ],
    'line ends and control characters': [
      'ls\n',
      'ls\nrm a',
      'ls\r',
      "ls 'a\nb'",
      'ls a\x07',
      "ls '\x1b[1m'",
      'ls \x7f',
      'ls \x85',
      'ls\u2028a',
      "ls 'a\0b'",
    ],
    'blanks that shells do not split at': [
      'ls\u00a0a',
      'ls \u3000',
      'ls a\u200bb',
      'ls \ufeffa',
      'ls 2>&1\u00a0a',
    ],
    'half characters': ["ls '\ud800'", 'ls "\udc00"', 'ls \ud800'],
    'symbols outside of quotes': ['ls €', 'ls 😀'],
  };

  for (const [name, lines] of Object.entries(groups))
    test.each(lines)(`has ${name}: %j`, (line) => {
      expect(readCommandText(line).readable).toBe(false);
    });

  test('is longer, or has more commands or longer words, than people write by hand', () => {
    const isReadable = (line: string): boolean => readCommandText(line).readable;
    expect(isReadable(`ls ${'a '.repeat(9_000)}`)).toBe(true);
    expect(isReadable(`ls ${'a '.repeat(11_000)}`)).toBe(false);
    expect(isReadable(`ls ${' '.repeat(40_000)}`)).toBe(false);
    expect(isReadable(`ls${'|ls'.repeat(49)}`)).toBe(true);
    expect(isReadable(`ls${'|ls'.repeat(50)}`)).toBe(false);
    for (const quote of ['', "'", '"']) {
      expect(isReadable(`ls ${quote}${'a'.repeat(16_384)}${quote}`)).toBe(true);
      expect(isReadable(`ls ${quote}${'a'.repeat(16_385)}${quote}`)).toBe(false);
    }
  });

  test('still has its words, and marks those that a shell may replace', () => {
    const marked = (line: string): readonly (readonly string[])[] =>
      readCommandText(line).commands.map(({ words }) =>
        words.map(({ text, expands }) => (expands ? `${text} expands` : text)),
      );
    expect(marked('rm -rf $a "b $c" d*; cat \\~/e')).toEqual([
      ['rm', '-rf', '$a expands', 'b $c expands', 'd* expands'],
      ['cat', '~/e'],
    ]);
    expect(marked('(ls a) || echo `cat b` &> c')).toEqual([['ls', 'a'], ['echo'], ['cat', 'b'], []]);
    expect(filesOf('(ls a) || echo `cat b` &> c')).toEqual(['writes c']);
    expect(marked('ls a\\\nb\ncat c')).toEqual([
      ['ls', 'ab'],
      ['cat', 'c'],
    ]);
    expect(marked("echo it's late")).toEqual([['echo', "it's", 'late']]);
  });

  test('has an apostrophe as a letter in prose, unless the line has its other half', () => {
    const words = (text: string): readonly string[] =>
      readSimpleCommand(text, 0, { prose: true }).command.words.map(({ text: each }) => each);
    expect(words("it's\nbob's")).toEqual(["it's"]);
    expect(words("say 'a b' now")).toEqual(['say', 'a b', 'now']);
  });
});

test('each character of a word has its place in the source', () => {
  const source = `cat  a'b c'"d\\"e"f >"g h" \\i`;
  const { commands } = readCommandText(source);
  const words = commands.flatMap((command) => [...command.words, ...command.files.map(({ word }) => word)]);
  expect(words.map(({ text }) => text)).toEqual(['cat', 'ab cd"ef', 'i', 'g h']);
  for (const { text, placeOf } of words)
    expect(
      text
        .split('')
        .map((_unit, index) => source.charAt(placeOf(index)))
        .join(''),
    ).toBe(text);
});

test('words of a list are readable unless one has a control character or the program is missing', () => {
  const isReadable = (...words: string[]): boolean => toCommandText(words).readable;
  expect(isReadable('ls', '$a', '*', '', "'")).toBe(true);
  expect([isReadable(), isReadable(''), isReadable('ls', 'a\nb'), isReadable('ls', '\ud800')]).toEqual([
    false,
    false,
    false,
    false,
  ]);
});

test('the program follows harmless variables', () => {
  const programOf = (line: string): readonly string[] | undefined => {
    const [command] = readCommandText(line).commands;
    return command && programWords(command);
  };
  expect(programOf('CI=1 NODE_ENV=test npm test')).toEqual(['npm', 'test']);
  expect(programOf('ls CI=1')).toEqual(['ls', 'CI=1']);
  for (const line of ['PATH=. ls', 'CI=1', "CI='1' ls", "'CI'=1 ls", 'CI+=1 ls', 'CI=/a ls', '1=2 ls', 'a=b'])
    expect([line, programOf(line)]).toEqual([line, undefined]);
});

test.each([
  ['words', 'a '],
  ['one word', 'a'],
  ['quotes', `'a'"b"`],
  ['open quotes', `"\\`],
  ['open quotes in prose', `'a `],
  ['expansions', '$a*'],
  ['operators', '|&;'],
  ['redirections', '2>'],
  ['redirections without a file', '><'],
  ['foreign letters', 'é'],
])('reading long %s takes time in proportion to their length', (_name, part) => {
  const times = [20_000, 160_000].map((length) => {
    const text = `ls ${part.repeat(length / part.length)}`;
    return cpuMsPerRun(() => {
      readCommandText(text);
      for (let at = 0; at < text.length;)
        at = Math.max(at + 1, readSimpleCommand(text, at, { prose: true }).end);
    });
  });
  // Eight times as long. Quadratic work would take 64 times as long.
  expect((times[1] ?? 0) / (times[0] ?? 1)).toBeLessThan(32);
});
