import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { PassingMap } from './passing-map.ts';

test('is a map', () => {
  const map = new PassingMap<string, { readonly n: number }>();
  map.set('a', { n: 1 });
  map.set('b', { n: 2 });
  map.set('a', { n: 3 });
  expect([map.size, map.get('a'), map.has('b'), map.has('c')]).toEqual([2, { n: 3 }, true, false]);
  expect([...map.values()]).toEqual([{ n: 3 }, { n: 2 }]);
  expect([map.delete('a'), map.delete('a'), map.get('a'), map.size]).toEqual([true, false, undefined, 1]);
  map.set('a', { n: 4 });
  expect([...map.values()]).toEqual([{ n: 2 }, { n: 4 }]);
});

test('lets the young generation give up values that have gone', () => {
  setFlagsFromString('--expose-gc');
  // The function is only in contexts that were created after the flag was set.
  const collect = runInNewContext('gc') as (options: { readonly type: 'major' | 'minor' }) => void;
  const bytes = 1_024;
  const map = new PassingMap<number, ArrayBuffer>();
  collect({ type: 'major' });
  const before = process.memoryUsage().arrayBuffers;
  for (let next = 0; next < 8_192; next++) {
    map.set(next, new ArrayBuffer(bytes));
    map.delete(next - 64);
    if (next % 128 === 0) collect({ type: 'minor' });
  }
  collect({ type: 'minor' });
  // A `Map` keeps all 8,192.
  expect((process.memoryUsage().arrayBuffers - before) / bytes).toBeLessThan(1_024);
});
