import { expect, test } from 'vitest';
import { appendPage, mergePages } from '../../packages/console/src/api/merge-pages.ts';

const page = (rows: string, next?: string) => ({ rows: rows.split(''), next });
const same = (row: string): string => row;

test('a first page that is read again puts new rows on top and keeps the later ones', () => {
  expect(mergePages(page('dcba', 'x'), page('fed', 'y'), same)).toEqual(page('fedcba', 'x'));
});

test('rows that are missing from the first page are removed', () => {
  expect(mergePages(page('edcba', 'x'), page('eca', 'y'), same)).toEqual(page('eca', 'x'));
  expect(mergePages(page('cba', 'x'), page('c'), same)).toEqual(page('c'));
  expect(mergePages(page('cba', 'x'), page(''), same)).toEqual(page(''));
});

test('a first page that does not reach the earlier rows replaces them, so that no row is missing', () => {
  expect(mergePages(page('cba', 'x'), page('zyx', 'w'), same)).toEqual(page('zyx', 'w'));
});

test('a further page is appended, and a row in both is shown once', () => {
  expect(appendPage(page('dcb', 'x'), page('ba', 'z'), same)).toEqual(page('dcba', 'z'));
});

test('calls too large to send are those of the current first page, and of the pages after it', () => {
  const large = (callId: string) => [{ sessionId: 's', callId, bytes: 5_000_000 }];
  const first = { rows: ['c', 'b'], next: 'x', large: large('one') };
  const both = appendPage(first, { rows: ['a'], next: undefined, large: large('two') }, same);
  expect(both).toMatchObject({ large: large('one'), largeAfter: large('two') });
  const again = mergePages(both, { rows: ['c', 'b'], next: 'x' }, same);
  expect(again).toEqual({ rows: ['c', 'b', 'a'], next: undefined, largeAfter: large('two') });
});

test('a first page of a search that stopped early leaves older rows where they are', () => {
  const early = { ...page('f', 'y'), searchedTo: 5 };
  expect(mergePages(page('dcba'), early, same)).toEqual(page('fdcba'));
  expect(mergePages({ ...page('', 'x'), searchedTo: 3 }, early, same)).toMatchObject({
    next: 'x',
    searchedTo: 3,
  });
  // The end of the search is known again with the last page.
  expect(appendPage(early, page('a'), same)).toEqual(page('fa'));
});
