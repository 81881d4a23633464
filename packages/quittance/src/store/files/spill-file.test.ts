import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Entry } from '../../ledger/journal.ts';
import { SampleCall } from '../../testing/sample-call.ts';
import { SpillFile } from './spill-file.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'quittance-spill-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const owner = (digit: number): string => `own_${String(digit).repeat(24)}`;
const salt = (): string => 'abcdefghijklmnopqrstuvwx';
const open = (ownerId: string, ledgerId = 'ledger'): SpillFile =>
  new SpillFile({ folder, ownerId, ledgerId }, 65_536, salt);

/**
 * An entry with everything that is ever spilled. Guards belong to intents, and cursors to events that can be emitted
 * again.
 */
const whole = (callId: string): Required<Omit<Entry, 'guards' | 'cursor'>> => ({
  ...new SampleCall(callId).begin(),
  callId,
  claim: { key: 'k', inputDigest: 'd', supersedes: { sessionId: 's', callId: 'before' } },
  releaseClaim: 'r',
  reserve: [{ counter: 'n', amount: 1, limit: 2 }],
  settle: [{ counter: 'n', reserved: 1, used: 1 }],
  sealed: 'v1.sealed',
  dropSealed: true,
  moves: [{ subject: 'workflow/w', expectedVersion: 3 }],
  depth: 2,
});

test('a spilled entry is read back completely, by its owner and by a process that finds the owner gone', () => {
  const entries = [whole('a'), new SampleCall('b').begin()];
  const spill = open(owner(1));
  for (const entry of entries) expect(spill.add(entry)).toBe(true);
  const expected = [{ ownerId: owner(1), entries: entries.map((entry) => ({ ...entry })) }];
  expect(spill.read(() => false)).toEqual(expected);
  const other = open(owner(2));
  expect(other.read(() => true)).toEqual(expected);
  expect(other.read(() => false)).toEqual([]);
});

test('entries that are added, dropped or changed after a read are found by the next one', () => {
  const spill = open(owner(1));
  const found = (): readonly (string | undefined)[] =>
    spill.read(() => false).flatMap(({ entries }) => entries.map(({ callId }) => callId));
  const add = (callId: string): boolean => spill.add(new SampleCall(callId).begin());
  add('a');
  expect(found()).toEqual(['a']);
  for (const callId of ['b', 'c']) add(callId);
  expect([found(), found()]).toEqual([
    ['a', 'b', 'c'],
    ['a', 'b', 'c'],
  ]);
  const path = join(folder, owner(1));
  const bytes = readFileSync(path);
  bytes[bytes.indexOf(String.raw`"b\"`) + 1] = 'x'.charCodeAt(0);
  writeFileSync(path, bytes);
  expect(found()).toEqual(['a', 'c']);
  expect(spill.drop(owner(1))).toBe(true);
  expect(found()).toEqual([]);
  add('d');
  expect(found()).toEqual(['d']);
});

test('an entry that moves a cursor is not spilled: the next reader emits it again', () => {
  const spill = open(owner(1));
  const cursor = { name: 'audit', holder: 'h', from: 0, to: 1 };
  expect(spill.add({ ...new SampleCall('a').begin(), cursor })).toBe(false);
  expect(spill.read(() => false)).toEqual([]);
});

test('an owner is not forgotten while one of its spilled entries is still to be appended', () => {
  const spill = open(owner(1));
  spill.add(whole('a'));
  spill.close();
  const other = open(owner(2));
  other.forget(owner(1));
  expect(other.read(() => true)).toHaveLength(1);
  expect(other.drop(owner(1))).toBe(true);
  expect(existsSync(join(folder, owner(1)))).toBe(false);
});

test('entries spilled after the named one are not dropped with it', () => {
  const spill = open(owner(1));
  const [first, second] = [whole('a'), whole('b')];
  spill.add(first);
  spill.add(second);
  expect(spill.drop(owner(1), first.entryId)).toBe(false);
  expect(spill.read(() => false)).toHaveLength(1);
  expect(spill.drop(owner(1), second.entryId)).toBe(true);
  expect(spill.read(() => false)).toEqual([]);
});

test('a file that is no longer needed is removed, a needed one stays', () => {
  open(owner(1)).close();
  expect(existsSync(join(folder, owner(1)))).toBe(false);
  const spill = open(owner(2));
  spill.add(whole('a'));
  spill.close();
  expect(existsSync(join(folder, owner(2)))).toBe(true);
});

test('[nothing-lost] a spill whose file was removed or replaced is written again before anything relies on it', async () => {
  const path = join(folder, owner(1));
  const spill = open(owner(1));
  // The file is looked at once per turn of the event loop, and with every write.
  const nextTurn = (): Promise<void> => new Promise(setImmediate);
  expect(spill.isReady).toBe(true);
  expect(spill.add(whole('a'))).toBe(true);
  rmSync(path);
  await nextTurn();
  expect(spill.isReady).toBe(true);
  expect(open(owner(2)).read(() => true)).toMatchObject([{ entries: [{ callId: 'a' }] }]);
  expect(spill.add(whole('b'))).toBe(true);
  rmSync(path);
  writeFileSync(path, 'of another program');
  expect([spill.add(whole('c')), spill.isReady]).toEqual([false, false]);
  await nextTurn();
  expect([spill.isReady, spill.add(whole('c'))]).toEqual([false, false]);
  rmSync(path);
  expect([spill.isReady, spill.add(whole('c'))]).toEqual([true, true]);
  expect(open(owner(3)).read(() => true)).toMatchObject([
    { entries: [{ callId: 'a' }, { callId: 'b' }, { callId: 'c' }] },
  ]);
});

test('[nothing-lost] a spill enters only the ledger it was written for', () => {
  open(owner(1), 'one').add(whole('a'));
  const other = open(owner(2), 'another');
  expect(other.read(() => true)).toEqual([]);
  other.forget(owner(1));
  other.drop(owner(1));
  expect(open(owner(3), 'one').read(() => true)).toMatchObject([{ entries: [{ callId: 'a' }] }]);
});

test('[nothing-lost] a damaged line hides no later line, and the file is kept for a person to inspect', () => {
  const path = join(folder, owner(1));
  const spill = open(owner(1));
  for (const callId of ['a', 'b', 'c']) spill.add(whole(callId));
  const lines = readFileSync(path, 'latin1').split('\n');
  writeFileSync(path, [lines[0], lines[1]?.replace('k', 'j'), ...lines.slice(2)].join('\n'), 'latin1');
  const other = open(owner(2));
  expect(other.read(() => true)).toMatchObject([{ entries: [{ callId: 'a' }, { callId: 'c' }] }]);
  other.drop(owner(1));
  expect([existsSync(path), existsSync(`${path}.damaged`)]).toEqual([false, true]);
});

test('[nothing-lost] a spill that cannot be read is an error, not an empty spill', () => {
  symlinkSync(owner(1), join(folder, owner(1)));
  expect(() => open(owner(2)).read(() => true)).toThrow('ELOOP');
});

test('a spill that another process imports at the same moment reads as empty', () => {
  const spill = open(owner(2));
  open(owner(1)).add(whole('a'));
  expect(
    spill.read((ownerId) => {
      rmSync(join(folder, ownerId));
      return true;
    }),
  ).toEqual([]);
});

test('an owner forgets neither its own spill nor a file that is not a spill', () => {
  const spill = open(owner(1));
  const outside = join(folder, '..', `outside-${process.pid}`);
  writeFileSync(outside, '');
  writeFileSync(join(folder, 'notes.txt'), '');
  try {
    for (const name of [owner(1), 'notes.txt', `../outside-${process.pid}`]) {
      spill.forget(name);
      spill.drop(name);
    }
    expect(existsSync(join(folder, owner(1)))).toBe(true);
    expect(existsSync(join(folder, 'notes.txt'))).toBe(true);
    expect(existsSync(outside)).toBe(true);
  } finally {
    rmSync(outside);
  }
});

test('the empty spill of a gone owner is removed with it', () => {
  open(owner(1));
  open(owner(2)).forget(owner(1));
  expect(existsSync(join(folder, owner(1)))).toBe(false);
});

test('a spill is ready while a quarter of its space is free, and accepts entries up to its last byte', () => {
  const entry = whole('a');
  const probe = open(owner(1));
  probe.add(entry);
  const line = readFileSync(join(folder, owner(1)), 'latin1').indexOf('\n') + 1;
  const sized = (bytes: number, ownerId: string): SpillFile =>
    new SpillFile({ folder, ownerId, ledgerId: 'ledger' }, bytes, salt);
  // The name of the owner is part of a line, and all names have the same length.
  const exact = sized(line * 2, owner(2));
  expect([exact.add(entry), exact.isReady]).toEqual([true, true]);
  expect([exact.add(entry), exact.isReady]).toEqual([true, false]);
  expect(exact.add(entry)).toBe(false);
  expect(exact.read(() => false)[0]?.entries).toHaveLength(2);
  const short = sized(line * 2 - 1, owner(3));
  expect([short.add(entry), short.add(entry)]).toEqual([true, false]);
  const quarter = sized(line * 4, owner(4));
  for (let count = 0; count < 3; count++) quarter.add(entry);
  expect(quarter.isReady).toBe(true);
  quarter.drop(owner(4));
  expect([quarter.isReady, quarter.read(() => false)]).toEqual([true, []]);
});
