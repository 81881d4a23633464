import { expect, test } from 'vitest';
import { PagedList } from './paged-list.ts';

test('returns what was added, in order, within and across pages', () => {
  const list = new PagedList<number>();
  const all = Array.from({ length: 200 }, (_, index) => index);
  for (const item of all) list.push(item);
  expect(list.length).toBe(200);
  expect(list.slice()).toEqual(all);
  expect([list.get(0), list.get(63), list.get(64), list.get(199)]).toEqual([0, 63, 64, 199]);
  expect(list.slice(60, 70)).toEqual(all.slice(60, 70));
  expect(list.slice(195, 400)).toEqual(all.slice(195));
  expect(list.slice(300)).toEqual([]);
});
