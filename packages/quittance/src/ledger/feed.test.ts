import { expect, test } from 'vitest';
import { makeEntries, storeEntries } from '../../../../test/make-ledger.ts';
import { createMemoryLedger } from '../store/memory/memory-ledger.ts';
import { SampleCall } from '../testing/sample-call.ts';
import { createFeed } from './feed.ts';
import type { EntryQuery, StoredEntry } from './stored-entry.ts';

const plans = Array.from({ length: 40 }, (_, n) => ({
  session: `s${n % 3}`,
  call: `c${n}`,
  story: 'write' as const,
}));
const stored = storeEntries(makeEntries(plans));

/** A list of entries that remembers the requests. */
function listOf(entries: readonly StoredEntry[]) {
  const asked: number[] = [];
  return {
    asked,
    readEntries: async ({ after = 0, limit }: EntryQuery) => {
      asked.push(after);
      await Promise.resolve();
      return entries.filter(({ position }) => position > after).slice(0, limit);
    },
  };
}

const readAll = async (feed: ReturnType<typeof createFeed>, limit: number, after = 0): Promise<number[]> => {
  const seen: number[] = [];
  for (let from = after; ; from = seen.at(-1) ?? from) {
    const entries = await feed.read(from, limit);
    if (entries.length === 0) return seen;
    seen.push(...entries.map(({ position }) => position));
  }
};

test('a reader gets every entry once, in commit order, for any page size', async () => {
  const feed = createFeed(listOf(stored));
  const expected = stored.map(({ position }) => position);
  const limits = [1, 7, 64, 1_000];
  const all = await Promise.all(limits.map(async (limit) => readAll(feed, limit)));
  for (const seen of all) expect(seen).toEqual(expected);
  expect(await readAll(feed, 5, 33)).toEqual(expected.slice(33));
});

test('a hundred readers at one position cause one read and one decoding', async () => {
  const list = listOf(stored);
  const feed = createFeed(list);
  const all = await Promise.all(Array.from({ length: 100 }, async () => feed.read(10, 20)));
  expect(list.asked).toEqual([10]);
  for (const entries of all) expect(entries[0]).toBe(all[0]?.[0]);
  const later = await feed.read(15, 20);
  expect(later.map(({ position }) => position)).toEqual(Array.from({ length: 15 }, (_, n) => 16 + n));
  expect(list.asked).toEqual([10]);
});

test('a hundred readers that start at different positions soon read together', async () => {
  const list = listOf(stored);
  const feed = createFeed(list);
  for (let after = 0; after < 40; after++) await readAll(feed, 20, after);
  expect(list.asked.filter((after) => after < 80).length).toBe(4);
});

test('the end of the ledger is read again each time', async () => {
  const ledger = createMemoryLedger();
  const feed = createFeed(ledger);
  expect(await feed.read(0, 10)).toEqual([]);
  const call = new SampleCall('c');
  await ledger.append(call.begin());
  const [entry] = await feed.read(0, 10);
  expect(entry).toMatchObject({ position: 1, sessionId: 'session', depth: 0 });
  await ledger.append({ ...call.end(), depth: 2 });
  expect((await feed.read(0, 10)).length).toBe(1);
  expect(await feed.read(1, 10)).toMatchObject([{ position: 2, depth: 2 }]);
});

test('no reader can change what others read', async () => {
  const feed = createFeed(listOf(stored));
  const [{ events }] = (await feed.read(0, 1)) as unknown as [{ events: { type: string }[] }];
  expect(() => Object.assign(events[1] as object, { type: 'x' })).toThrow(TypeError);
  expect(() => events.pop()).toThrow(TypeError);
  const mine = (await feed.read(0, 5)) as unknown as unknown[];
  mine.length = 0;
  expect((await feed.read(0, 5)).length).toBeGreaterThan(0);
});

test('an erased body is not returned once the erasure was read', async () => {
  const ledger = createMemoryLedger();
  const feed = createFeed(ledger);
  await ledger.append(new SampleCall('c').whole());
  expect(JSON.stringify(await feed.read(0, 10))).toContain('person about c');
  await ledger.erase({ sessionId: 'session', by: 'Ada', reason: 'asked' });
  await feed.read(1, 10);
  expect(JSON.stringify(await feed.read(0, 10))).not.toContain('person about c');
});

test.each([
  ['damaged', 'ledger.damaged', (text: string) => text.slice(1)],
  ['of a newer format', 'ledger.newer', (text: string) => text.replace('"v":1', '"v":9')],
])(
  'an entry that is %s is reported to the reader that reaches it, and not before',
  async (_, code, spoil) => {
    const spoilt = stored.map((entry) =>
      entry.position === 5 ? { ...entry, text: spoil(entry.text) } : entry,
    );
    const feed = createFeed(listOf(spoilt));
    expect((await feed.read(0, 10)).map(({ position }) => position)).toEqual([1, 2, 3, 4]);
    for (let time = 0; time < 2; time++) await expect(feed.read(4, 10)).rejects.toMatchObject({ code });
    expect((await feed.read(5, 10)).length).toBe(10);
  },
);

test('a failed read is retried, and all readers that shared it get the error', async () => {
  let isBroken = true;
  const list = listOf(stored);
  const feed = createFeed({
    readEntries: async (query) => {
      await Promise.resolve();
      if (isBroken) throw new Error('no disk');
      return list.readEntries(query);
    },
  });
  const both = await Promise.allSettled([feed.read(0, 5), feed.read(0, 5)]);
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  isBroken = false;
  expect((await feed.read(0, 5)).length).toBe(5);
});

test('on demand, damage inside events stops only the readers that ask for them', async () => {
  const spoilt = stored.map((entry) => (entry.position === 2 ? { ...entry, bodies: 'no JSON' } : entry));
  const feed = createFeed(listOf(spoilt), 'on_demand');
  const entries = await feed.read(0, 3);
  expect(entries.map(({ types }) => types)).toEqual(
    (await createFeed(listOf(stored)).read(0, 3)).map(({ events }) => events.map(({ type }) => type)),
  );
  expect(entries[0]?.events[0]?.type).toBe(entries[0]?.types[0]);
  for (let time = 0; time < 2; time++)
    expect(() => entries[1]?.events).toThrow(expect.objectContaining({ code: 'ledger.damaged' }));
  // At once, the reader that reaches it gets the error.
  expect(await createFeed(listOf(spoilt)).read(0, 3)).toHaveLength(1);
});
