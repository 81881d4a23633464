import { expect, test } from 'vitest';
import { makeEntries, stories, storeEntries } from '../../../../test/make-ledger.ts';
import { SampleCall } from '../testing/sample-call.ts';
import { foldCall } from '../call/evolve.ts';
import { newSessionTally, TallyChanges, tallyCalls } from './call-tally.ts';
import { isCallEvent } from './fold-stored.ts';
import { readEntry } from './formats/v1/read-entry.ts';
import { writeEntry } from './formats/v1/write-entry.ts';
import type { Entry } from './journal.ts';
import type { ListedCall, ListedEntry } from './listed-call.ts';
import { countEntry, listCall, toIndexWords, toCallSummary } from './listed-call.ts';

const writtenBy = (ownerId: string, entry: Entry): ListedEntry =>
  readEntry(writeEntry(entry, ownerId, () => 'A'.repeat(24)));
const written = (entries: readonly Entry[]): readonly ListedEntry[] =>
  entries.map((entry) => writtenBy('owner', entry));

test.each(Object.keys(stories) as (keyof typeof stories)[])(
  'lists a call with the story "%s" as its events fold, after each of its entries',
  (story) => {
    const entries = storeEntries(makeEntries([{ session: 's', call: 'c', story }])).map(readEntry);
    const ofCall = entries.filter(({ callId }) => callId === 'c');
    expect(ofCall.length).toBeGreaterThan(0);
    for (let count = 1; count <= ofCall.length; count++) {
      const some = ofCall.slice(0, count);
      const folded = foldCall(some.flatMap(({ events }) => events as Entry['events']).filter(isCallEvent));
      expect(listCall(some)?.summary).toEqual(folded && toCallSummary(folded));
    }
  },
);

test('lists no call whose first event is not a request', () => {
  const call = new SampleCall('c');
  call.begin();
  expect(listCall([])).toBeUndefined();
  expect(listCall(written([call.end()]))).toBeUndefined();
});

test('names the owner of the last entry that took the call on', () => {
  const entries = makeEntries([{ session: 's', call: 'c', story: 'approved' }]).filter(
    (entry) => entry.callId === 'c',
  );
  const remark = { ...new SampleCall('c').entry([]), callId: 'c', expectedVersion: 'any' } as const;
  const listed = [...entries, remark].map((entry, index) =>
    writtenBy(['holder', 'decider', 'runner', 'runner', 'reader'][index] ?? '', entry),
  );
  const owners = listed.map((_, index) => listCall(listed.slice(0, index + 1))?.ownerId);
  expect(owners).toEqual(['holder', 'holder', 'runner', 'runner', 'runner']);
});

test('lists each question of a call with its state', () => {
  const call = new SampleCall('c', { toolName: 'pay' });
  expect(listCall(written([call.hold()]))?.confirmations).toMatchObject([
    { confirmationId: 'conf-c', toolName: 'pay', status: 'pending' },
  ]);
  expect(listCall(written([new SampleCall('d').whole()]))?.confirmations).toEqual([]);
});

test('finds a call by the words of its output, and by its status, once it has them', () => {
  const call = new SampleCall('c', { output: { note: 'hjqwrtzlmnpv' } });
  const begun = written([call.begin()]);
  const ended = [...begun, ...written([call.end()])];
  const wordsOf = (entries: readonly ListedEntry[]) => toIndexWords(listCall(entries) as ListedCall);
  expect(wordsOf(begun)).toContain('q:running');
  expect(wordsOf(begun)).not.toContain('hjqwrtzlmnpv');
  expect(wordsOf(ended)).toContain('hjqwrtzlmnpv');
  expect(wordsOf(ended)).not.toContain('q:running');
});

test('shows nothing of erased bodies', () => {
  const call = new SampleCall('c', { input: { to: 'xkvwqzjrtplm' }, output: 'hjqwrtzlmnpv' });
  const { text } = writeEntry(call.whole(), 'owner', () => 'A'.repeat(24));
  const listed = listCall([readEntry({ text, bodies: undefined })]);
  expect(listed?.summary.status).toBe('settled');
  expect(JSON.stringify([listed, toIndexWords(listed as ListedCall)])).not.toMatch(
    /xkvwqzjrtplm|hjqwrtzlmnpv/,
  );
});

test('counts every call once in its session and by its properties, however many entries it has', () => {
  const ends = ['result', 'failure', 'timeout'] as const;
  const tally = newSessionTally('session');
  const changes = new TallyChanges();
  const listed: ListedCall[] = [];
  for (const [index, end] of ends.entries()) {
    const call = new SampleCall(`c${index}`, { at: 1_000 * (index + 1) });
    const entries = written([call.begin(), call.end(end), call.recall()]);
    let before: ListedCall | undefined;
    for (let count = 1; count <= entries.length; count++) {
      const after = listCall(entries.slice(0, count));
      countEntry(tally, entries[count - 1] as ListedEntry, { before, after });
      changes.add(before?.summary, after?.summary);
      before = after;
    }
    listed.push(before as ListedCall);
  }
  expect(tally).toEqual({
    sessionId: 'session',
    calls: 3,
    openCalls: 0,
    failures: 2,
    denials: 0,
    unresolved: 2,
    firstAt: 1_000,
    lastAt: 3_000,
  });
  const by = ['hour', 'toolName', 'bin', 'code', 'outcome', 'mode', 'status'] as const;
  const expected = tallyCalls(
    listed.map(({ summary }) => summary),
    { by },
  );
  expect(changes.take()).toEqual(expected);
  expect(changes.take()).toEqual([]);
});
