import { expect, test } from 'vitest';
import { appendPage, mergePages } from '../../console/src/api/merge-pages.ts';

const page = (rows: string, next?: string) => ({ rows: rows.split(''), next });
const same = (row: string): string => row;

test('a first page read again puts new rows on top and keeps what was read after it', () => {
  expect(mergePages(page('dcba', 'x'), page('fed', 'y'), same)).toEqual(page('fedcba', 'x'));
});

test('rows that are gone from the first page are gone', () => {
  expect(mergePages(page('edcba', 'x'), page('eca', 'y'), same)).toEqual(page('eca', 'x'));
  expect(mergePages(page('cba', 'x'), page('c'), same)).toEqual(page('c'));
  expect(mergePages(page('cba', 'x'), page(''), same)).toEqual(page(''));
});

test('a first page that does not reach what was there before stands alone, so that no row is left out', () => {
  expect(mergePages(page('cba', 'x'), page('zyx', 'w'), same)).toEqual(page('zyx', 'w'));
});

test('a further page follows, and a row that is in both is there once', () => {
  expect(appendPage(page('dcb', 'x'), page('ba', 'z'), same)).toEqual(page('dcba', 'z'));
});

test('calls too large to be sent are those of the first page as it is now, and of the pages after it', () => {
  const large = (callId: string) => [{ sessionId: 's', callId, bytes: 5_000_000 }];
  const first = { rows: ['c', 'b'], next: 'x', large: large('one') };
  const both = appendPage(first, { rows: ['a'], next: undefined, large: large('two') }, same);
  expect(both).toMatchObject({ large: large('one'), largeAfter: large('two') });
  const again = mergePages(both, { rows: ['c', 'b'], next: 'x' }, same);
  expect(again).toEqual({ rows: ['c', 'b', 'a'], next: undefined, largeAfter: large('two') });
});
