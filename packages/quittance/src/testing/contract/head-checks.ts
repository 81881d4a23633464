/** The heads of the chains, page by page. */
import assert from 'node:assert/strict';
import type { Head, HeadQuery } from '../../ledger/chain.ts';
import type { OpenLedger } from '../../ledger/ledger.ts';
import { ledgerSessionId } from '../../ledger/ledger.ts';
import { SampleCall } from '../sample-call.ts';
import type { Check } from './check.ts';
import { findHeads, countSessions, lastPosition, readHeads } from '../../ledger/reads.ts';

async function walk(ledger: OpenLedger, query: HeadQuery): Promise<Head[]> {
  const heads: Head[] = [];
  for (;;) {
    const page = await findHeads(ledger, { ...query, after: heads.at(-1)?.sessionId });
    heads.push(...page);
    assert.ok(page.length <= query.limit);
    if (page.length < query.limit) return heads;
  }
}

const byId = (heads: readonly Head[]): Map<string, Head> =>
  new Map(heads.map((head) => [head.sessionId, head]));
const idsOf = (heads: readonly Head[]): string[] => heads.map(({ sessionId }) => sessionId);
const oddIds = ['b', 'a', 'é', '𐐷', '\uffee', '', '\ud800', '__proto__', 'a ', '\u0001x', 'c'];

async function appendTo(ledger: OpenLedger, sessionId: string, callId: string): Promise<void> {
  await ledger.append(new SampleCall(callId, { sessionId }).whole());
}

/** Appends in turn, then asks every handle for the heads after each append. */
async function lookBack(handles: readonly OpenLedger[]): Promise<void> {
  const [ledger] = handles as readonly [OpenLedger];
  const then: (readonly Head[])[] = [];
  for (let n = 0; n < 40; n++) {
    await appendTo(handles[n % handles.length] as OpenLedger, `s${(n * 7) % 11}`, `c${n}`);
    then.push(await walk(ledger, { limit: 4 }));
    for (const handle of handles) assert.equal(await countSessions(handle), Math.min(n + 1, 11));
  }
  const entries = await ledger.readEntries({ limit: 100 });
  for (const handle of handles) {
    assert.deepEqual(await walk(handle, { limit: 4, at: 0 }), []);
    for (const [index, { position }] of entries.entries())
      assert.deepEqual(await walk(handle, { limit: 4, at: position }), then[index]);
  }
  await appendTo(ledger, 'gone', 'x');
  const at = await lastPosition(ledger);
  await ledger.dropSession({ sessionId: 'gone', by: 'ada', reason: 'asked to' });
  await appendTo(ledger, 'gone', 'x');
  for (const handle of handles)
    assert.deepEqual(
      await walk(handle, { limit: 4, at }),
      then.at(-1),
      'a removed session is absent, and one that returns under its name is newer',
    );
}

export const headChecks: readonly Check[] = [
  [
    'heads are read page by page, once each, for any page size',
    async ({ ledger }) => {
      assert.deepEqual(await findHeads(ledger, { limit: 5 }), []);
      assert.equal(await countSessions(ledger), 0);
      for (const sessionId of oddIds) await appendTo(ledger, sessionId, 'c');
      await appendTo(ledger, 'a', 'd');
      const artifact = { artifactId: 'a', callId: 'c', mimeType: 'text/plain', content: 'x' };
      await ledger.putArtifact({ ...artifact, sessionId: 'without a chain' });
      const all = await walk(ledger, { limit: 100 });
      assert.equal(all.length, oddIds.length);
      assert.deepEqual(byId(all), byId(await readHeads(ledger)));
      assert.equal(await countSessions(ledger), oddIds.length);
      for (const limit of [1, 3, oddIds.length, oddIds.length + 1])
        assert.deepEqual(await walk(ledger, { limit }), all);
    },
  ],
  [
    'a reader of heads continues at its place, also after a session that was removed meanwhile',
    async ({ ledger }) => {
      for (const sessionId of oddIds) await appendTo(ledger, sessionId, 'c');
      const ids = idsOf(await walk(ledger, { limit: 100 }));
      const after = ids[4] as string;
      await ledger.dropSession({ sessionId: after, by: 'ada', reason: 'asked to' });
      const left = idsOf(await findHeads(ledger, { after, limit: 100 }));
      assert.deepEqual(
        left.filter((sessionId) => sessionId !== ledgerSessionId),
        ids.slice(5),
      );
      assert.equal(await countSessions(ledger), oddIds.length); // one is removed, and the ledger records that in its own session
    },
  ],
  [
    'heads can be read as of a position, however much was appended since',
    async ({ ledger }) => lookBack([ledger]),
  ],
];

export const sharedHeadChecks: readonly Check[] = [
  [
    'past heads are the same through every handle',
    async ({ ledger, another }) => lookBack([ledger, await another(), await another()]),
  ],
];
