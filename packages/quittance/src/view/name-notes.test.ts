import { expect, test } from 'vitest';
import { noteNames } from './name-notes.ts';
import { jsonLines, nameNotes } from './json-lines.ts';

test.each([
  [
    ['amount', 'аmount'],
    ['The name "amount" looks like "\\u0430mount".', 'The name "\\u0430mount" looks like "amount".'],
  ],
  [['total', 'tota1', 'totaI'], ['The name "total" looks like "tota1", "totaI".']],
  [['o', '0', 'ο'], ['The name "o" looks like "0", "\\u03bf".']],
  [['modern', 'modem'], ['The name "modern" looks like "modem".']],
  [['to', 'ｔｏ'], ['The name "to" looks like']],
  [['to', 'To'], ['The name "to" looks like "To".']],
  [['to', 't\u200bo'], ['The name "to" looks like "t\\u200bo".']],
  [['caf\u00e9', 'cafe\u0301'], ['The name']],
])('%j are noted', (names, expected) => {
  const found = noteNames(names);
  const notes = names.map((name) => found.get(name));
  expect(notes).not.toContain(undefined);
  for (const [index, each] of expected.entries()) expect(notes[index]).toContain(each);
});

test('ordinary names get no warning, in any script', () => {
  const names = [
    'amount',
    'amounts',
    'a1',
    'a2',
    'b_1',
    'сумма',
    'получатель',
    '金額',
    'שם',
    'line1',
    'line2',
    'id',
    'uid',
  ];
  expect([...noteNames(names)]).toEqual([]);
});

test('a name that mixes scripts gets a warning even without siblings, at any depth', () => {
  const value = { list: [{ pаypal: 1 }], fine: true };
  expect(nameNotes(value)).toEqual([
    'The name "p\\u0430ypal" contains characters that are invisible or look like other characters.',
  ]);
  expect(jsonLines(value).filter(({ note }) => note !== undefined)).toHaveLength(1);
});
