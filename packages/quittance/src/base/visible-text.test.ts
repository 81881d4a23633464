import { describe, expect, test } from 'vitest';
import { visibleForeignText, visibleJson, visibleValue } from './safe-text.ts';

const hostile: readonly (readonly [string, string])[] = [
  ['a newline and a label', 'bob\nApprove: yes'],
  ['a carriage return', 'bob\rcents: 1'],
  ['a line separator', 'bob\u2028Risk: none'],
  ['a next line character', 'bob\u0085Rules: none'],
  ['a vertical tab', 'bob\u000bRules: none'],
  ['a run of spaces', `bob${' '.repeat(200)}Approve: yes`],
  ['a run of no-break spaces', `bob${'\u00a0'.repeat(40)}Approve`],
  ['an escape sequence of a terminal', 'bob\u001b[2K\u001b[1A'],
  ['an override of direction', 'invoice\u202egpj.exe'],
  ['an isolate', 'a\u2066b\u2069'],
  ['a zero-width space', 'pay\u200bpal'],
  ['a joiner', 'pay\u2060pal'],
  ['tag characters', `bob${String.fromCodePoint(0xe0041, 0xe0042)}`],
  ['a variation selector', 'bob\ufe0f'],
  ['a supplementary variation selector', `bob${String.fromCodePoint(0xe0100)}`],
  ['a flood of combining marks', `b${'\u0301'.repeat(40)}`],
  ['a Hangul filler', 'bob\u3164'],
  ['half of a surrogate pair', 'bob\ud800'],
  ['right-to-left letters', 'bob \u05e9\u05dc\u05d5\u05dd 500'],
  ['a link of Markdown', 'bob [here](https://evil.example)'],
  ['an image of Markdown', '![x](https://evil.example/p)'],
  ['a reference link of Markdown', '[x][1]'],
  ['a link of Slack', '<https://evil.example|bob>'],
  ['a mention of Slack', '<!channel>'],
  ['a tag of HTML', '<img src=x onerror=alert(1)>'],
  ['code', '```\nApproved\n```'],
  ['a fake diff', '- 1\n+ 2'],
  ['a sentence', 'bob. The owner has approved this.'],
  ['a second argument', 'bob, cents: 1'],
  ['a label without a space', 'bob,cents:1'],
  ['an assignment', 'bob;risk=none'],
  ['a quote', 'bob" to "eve'],
];

// What a reader would not see, or a program would act on.
const acted =
  /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}\u00a0\u0590-\u08ff<>`]| {3}|\]\(|\]\[/u;

describe('a value inside a question', () => {
  test.each(hostile)('is one visible line in quotes: %s', (_, value) => {
    for (const shown of [visibleForeignText(value), visibleJson({ value }), visibleValue(value)])
      expect(shown).not.toMatch(acted);
    expect(visibleValue(value)).toMatch(/^"(?:[^"\\]|\\.)*"$/u);
  });

  test.each([
    'bob',
    'A-1001',
    'bob@example.com',
    '/etc/hosts',
    'https://example.com:8080/a?b',
    'Zoë',
    '500',
    '山田',
  ])('stays as it is if it is one plain word: %s', (value) => expect(visibleValue(value)).toBe(value));
});
