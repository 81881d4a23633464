/** Entries as written, their chain, and waiting for more. */
import assert from 'node:assert/strict';
import { chainHash, genesisHash } from '../../ledger/chain.ts';
import { readEntry } from '../../ledger/formats/v1/read-entry.ts';
import type { Entry } from '../../ledger/journal.ts';
import type { OpenLedger } from '../../ledger/ledger.ts';
import type { StoredEntry } from '../../ledger/stored-entry.ts';
import { SampleCall } from '../sample-call.ts';
import type { Check } from './check.ts';
import { findCalls, readHeads, whenAppended, whenCallChanged, lastPosition } from '../../ledger/reads.ts';

/** Every chain from its start, each entry after its predecessor. */
export function assertChained(entries: readonly StoredEntry[]): void {
  const heads = new Map<string, { sequence: number; hash: string }>();
  let position = 0;
  for (const entry of entries) {
    assert.ok(entry.position > position, 'positions rise');
    position = entry.position;
    const head = heads.get(entry.sessionId) ?? { sequence: 0, hash: genesisHash(entry.sessionId) };
    assert.equal(entry.sequence, head.sequence + 1);
    assert.equal(entry.hash, chainHash(head.hash, entry.sequence, entry.text));
    heads.set(entry.sessionId, entry);
  }
}

async function tail(ledger: OpenLedger, limit: number): Promise<StoredEntry[]> {
  const entries: StoredEntry[] = [];
  for (;;) {
    const more = await ledger.readEntries({ after: entries.at(-1)?.position ?? 0, limit });
    if (more.length === 0) return entries;
    entries.push(...more);
  }
}

const isPending = async (promise: Promise<void>): Promise<boolean> =>
  Promise.race([
    promise.then(() => false),
    new Promise<boolean>((resolve) => {
      setTimeout(resolve, 5, true);
    }),
  ]);

/** A request that was not accepted: an entry of its session without a call. */
const refusalOf = (callId: string, sessionId: string): Entry => ({
  entryId: `entry-${callId}`,
  sessionId,
  callId: undefined,
  expectedVersion: 0,
  events: [
    {
      id: `event-${callId}`,
      type: 'call.not_accepted',
      sessionId,
      turnId: 'turn',
      at: 1,
      cause: undefined,
      refusedCallId: callId,
      toolName: 'tool',
      mode: 'external',
      modeOrigin: 'declared',
      principal: undefined,
      boundary: 'intent',
      error: 'EIO',
      failedAt: 1,
    },
  ],
});

export const entryChecks: readonly Check[] = [
  [
    'the entry of a failed request opens no call, and is found among the entries without a call',
    async ({ ledger }) => {
      const refusal = refusalOf('a', 'session');
      const other = new SampleCall('b');
      for (const entry of [refusal, other.begin(), refusalOf('c', 'elsewhere'), other.end()])
        assert.equal((await ledger.append(entry)).status, 'appended');
      assert.equal(await ledger.readCall('session', 'a'), undefined);
      const found = await ledger.readSession('session', 'without_call');
      assert.deepEqual(
        found.filter(({ type }) => type === 'call.not_accepted'),
        refusal.events,
      );
      assert.deepEqual(
        (await findCalls(ledger, {})).rows.map(({ callId }) => callId),
        ['b'],
      );
      // The id is still free.
      assert.equal((await ledger.append(new SampleCall('a').begin())).status, 'appended');
      assert.deepEqual(await ledger.rebuild(), []);
      assertChained(await ledger.readEntries({ limit: 100 }));
    },
  ],
  [
    'entries read back as written, chained per session',
    async ({ ledger }) => {
      const calls = ['a', 'b', 'c', 'd'].map((id, n) => new SampleCall(id, { sessionId: `s${n % 2}` }));
      const written = [...calls.map((call) => call.begin()), ...calls.map((call) => call.end())];
      for (const entry of written) await ledger.append(entry);
      const entries = await ledger.readEntries({ limit: 100 });
      assertChained(entries);
      assert.deepEqual(
        entries.map((entry) => readEntry(entry).events),
        written.map(({ events }) => events),
      );
      const [first] = entries;
      const read = readEntry(first as StoredEntry);
      assert.deepEqual([read.entryId, read.ownerId, read.callId], [written[0]?.entryId, ledger.ownerId, 'a']);
      assert.equal(read.erased, false);
    },
  ],
  [
    'a query for entries about a subject returns all of them, as written',
    async ({ ledger }) => {
      const calls = ['a', 'b', 'c'].map((id) => new SampleCall(id));
      for (const call of calls) await ledger.append(call.begin());
      for (const call of calls) await ledger.append(call.end());
      const all = await ledger.readEntries({ limit: 100 });
      const texts = ['"call":"b"', '"call":"c"'] as const;
      const until = all.at(-2)?.position ?? 0;
      const found = await ledger.readEntries({ limit: 100, about: { until, texts } });
      const wanted = all.filter(
        ({ position, text }) => position <= until && texts.some((each) => text.includes(each)),
      );
      assert.equal(wanted.length, 3);
      for (const entry of wanted)
        assert.deepEqual(
          found.find(({ position }) => position === entry.position),
          entry,
        );
      const later = await ledger.readEntries({
        after: wanted[0]?.position ?? 0,
        limit: 100,
        about: { until, texts },
      });
      assert.ok(later.every(({ position }) => position > (wanted[0]?.position ?? 0)));
      assert.ok(wanted.slice(1).every((entry) => later.some(({ position }) => position === entry.position)));
    },
  ],
  [
    'the heads are the ends of the chains',
    async ({ ledger }) => {
      for (const [sessionId, id] of [
        ['s', 'a'],
        ['t', 'b'],
        ['s', 'c'],
      ] as const)
        await ledger.append(new SampleCall(id, { sessionId }).begin());
      const entries = await ledger.readEntries({ limit: 100 });
      const last = new Map(
        entries.map(({ sessionId, sequence, hash }) => [sessionId, { sessionId, sequence, hash }]),
      );
      const heads = [...(await readHeads(ledger))].sort((a, b) => (a.sessionId < b.sessionId ? -1 : 1));
      assert.deepEqual(heads, [last.get('s'), last.get('t')]);
    },
  ],
  [
    'reading on from a position returns every entry once, for any page size',
    async ({ ledger }) => {
      for (let n = 0; n < 25; n++)
        await ledger.append(new SampleCall(`c${n}`, { sessionId: `s${n % 3}` }).begin());
      const all = await ledger.readEntries({ limit: 100 });
      assert.equal(all.length, 25);
      for (const limit of [1, 4, 25, 26]) assert.deepEqual(await tail(ledger, limit), all);
      const ofOne = all.filter(({ sessionId }) => sessionId === 's1');
      assert.deepEqual(await ledger.readEntries({ sessionId: 's1', limit: 100 }), ofOne);
      const after = ofOne[2]?.position as number;
      assert.deepEqual(await ledger.readEntries({ sessionId: 's1', after, limit: 3 }), ofOne.slice(3, 6));
      assert.deepEqual(await ledger.readEntries({ sessionId: 's1', after: after + 1, limit: 1 }), [ofOne[3]]);
      assert.deepEqual(await ledger.readEntries({ sessionId: 'nowhere', limit: 3 }), []);
    },
  ],
];

export const waiterChecks: readonly Check[] = [
  [
    'a waiter wakes when there is a new entry, and not before',
    async ({ ledger }) => {
      const first = whenAppended(ledger, 0);
      assert.equal(await isPending(first), true);
      await ledger.append(new SampleCall('a').begin());
      await first;
      await whenAppended(ledger, 0);
      const [entry] = await ledger.readEntries({ limit: 1 });
      const next = whenAppended(ledger, entry?.position as number);
      assert.equal(await isPending(next), true);
      await ledger.append(new SampleCall('b').begin());
      await next;
    },
  ],
  [
    'a waiter for a call wakes at its next version, and at nothing else',
    async ({ ledger }) => {
      const call = new SampleCall('c');
      await ledger.append(call.begin());
      await whenCallChanged(ledger, 'session', 'c', 0);
      await whenCallChanged(ledger, 'session', 'nobody', 0);
      await whenCallChanged(ledger, 'nowhere', 'c', 3);
      const waiting = [
        whenCallChanged(ledger, 'session', 'c', 1),
        whenCallChanged(ledger, 'session', 'c', 1),
      ];
      await ledger.append(new SampleCall('other').begin());
      await ledger.append({ ...new SampleCall('c').begin(), entryId: 'refused' });
      for (const one of waiting) assert.equal(await isPending(one), true);
      await ledger.append(call.end());
      await Promise.all(waiting);
      const settled = whenCallChanged(ledger, 'session', 'c', 2);
      await ledger.append(call.recall());
      assert.equal(await isPending(settled), true);
    },
  ],
  [
    'an aborted waiter ends, and no other does',
    async ({ ledger }) => {
      const call = new SampleCall('d');
      await ledger.append(call.begin());
      const position = await lastPosition(ledger);
      const stop = new AbortController();
      const { signal } = stop;
      const leaving = [
        whenCallChanged(ledger, 'session', 'd', 1, signal),
        whenAppended(ledger, position, signal),
      ];
      const staying = [whenCallChanged(ledger, 'session', 'd', 1), whenAppended(ledger, position)];
      for (const one of leaving) assert.equal(await isPending(one), true);
      stop.abort();
      await Promise.all(leaving);
      await whenCallChanged(ledger, 'session', 'd', 1, signal);
      await whenAppended(ledger, position, signal);
      for (const one of staying) assert.equal(await isPending(one), true);
      await ledger.append(call.end());
      await Promise.all(staying);
    },
  ],
];
