/** Erasing bodies and removing sessions while the chains still verify. */
import assert from 'node:assert/strict';
import type { OpenLedger } from '../../ledger/ledger.ts';
import { readEntry } from '../../ledger/formats/v1/read-entry.ts';
import { ledgerSessionId } from '../../ledger/ledger.ts';
import { SampleCall } from '../sample-call.ts';
import type { Check } from './check.ts';
import { assertChained } from './entry-checks.ts';
import {
  findSessions,
  findCalls,
  readSealed,
  readWholeArtifact,
  readHeads,
  readClaim,
  findUnsettledEffects,
  readCounters,
} from '../../ledger/reads.ts';

const by = 'ada';
const reason = 'asked to';

/** Everything a reader can get, as one text. */
async function everything(ledger: OpenLedger): Promise<string> {
  const sessions = (await findSessions(ledger, {})).rows;
  return JSON.stringify([
    await ledger.readEntries({ limit: 1_000 }),
    await findCalls(ledger, {}),
    sessions,
    await Promise.all(sessions.map(async ({ sessionId }) => ledger.readSession(sessionId))),
  ]);
}

export const retentionChecks: readonly Check[] = [
  [
    'erased bodies are absent from every read, and the chain still verifies',
    async ({ ledger }) => {
      const [call, other] = [new SampleCall('c'), new SampleCall('o')];
      const [begin, end] = [call.begin({ sealed: 'sealed' }), call.end('failure')];
      for (const entry of [begin, other.begin(), end, other.end('failure')]) await ledger.append(entry);
      const artifact = {
        sessionId: 'session',
        artifactId: 'a',
        callId: 'c',
        mimeType: 'text/plain',
        content: 'x',
      };
      await ledger.putArtifact(artifact);
      await ledger.putArtifact({ ...artifact, artifactId: 'b', callId: 'o' });
      await findCalls(ledger, {});
      const entryIds = [begin.entryId, end.entryId];
      assert.equal(await ledger.erase({ sessionId: 'session', entryIds, by, reason }), 2);
      const left = await everything(ledger);
      assert.equal(left.includes('person about c'), false);
      assert.equal(left.includes('person about o'), true);
      const entries = await ledger.readEntries({ limit: 10 });
      assertChained(entries);
      assert.deepEqual(
        entries.map(({ bodies, salt }) => [bodies === undefined, salt === undefined]),
        [begin, other, end, other, 'tombstone']
          .map((entry) => [begin, end].includes(entry as never))
          .map((gone) => [gone, gone]),
      );
      const tombstone = readEntry(entries[4] as (typeof entries)[0]).events[0];
      assert.equal(tombstone?.type, 'body.erased');
      assert.deepEqual((tombstone as { entryIds?: unknown }).entryIds, entryIds);
      assert.equal(await readSealed(ledger, 'session', 'c'), undefined);
      assert.equal(await readWholeArtifact(ledger, 'session', 'a'), undefined);
      assert.equal((await readWholeArtifact(ledger, 'session', 'b'))?.content, 'x');
      const rows = (await findCalls(ledger, { outcome: 'ToolFailure' })).rows;
      assert.deepEqual(
        rows.map(({ callId, message }) => [callId, message]),
        [
          ['o', 'The line was cut.'],
          ['c', '[ERASED]'],
        ],
      );
      await ledger.rebuild();
      assert.equal(await everything(ledger), left);
      assert.equal(await ledger.erase({ sessionId: 'session', entryIds, by, reason }), 0);
    },
  ],
  [
    'a whole session is erased at once, and stays a session',
    async ({ ledger }) => {
      for (const id of ['a', 'b']) await ledger.append(new SampleCall(id).whole());
      await ledger.append(new SampleCall('a', { sessionId: 'other' }).whole());
      assert.equal(await ledger.erase({ sessionId: 'session', by, reason }), 2);
      assert.equal(await ledger.erase({ sessionId: 'nowhere', by, reason }), 0);
      await ledger.append(new SampleCall('c').whole());
      assertChained(await ledger.readEntries({ limit: 10 }));
      const text = await everything(ledger);
      assert.equal(text.split('person about ').length > 1, true);
      assert.equal(JSON.stringify(await ledger.readCall('session', 'a')).includes('person about'), false);
      assert.equal(JSON.stringify(await ledger.readCall('other', 'a')).includes('person about'), true);
      assert.equal((await ledger.readCall('session', 'a'))?.version, 1);
    },
  ],
  [
    'an erasure or removal needs the name of a person',
    async ({ ledger }) => {
      await ledger.append(new SampleCall('c').whole());
      const before = await everything(ledger);
      // Plain JavaScript can pass anything.
      for (const wrong of [{ by: ' ' }, { by: 5 }, { reason: null }, { sessionId: 5 }] as object[]) {
        const asked = { sessionId: 'session', by, reason, ...wrong };
        await assert.rejects(async () => ledger.erase(asked), { code: 'config.invalid' });
        await assert.rejects(async () => ledger.dropSession(asked), { code: 'config.invalid' });
      }
      assert.equal(await everything(ledger), before);
    },
  ],
  [
    'no part of an open call is erased or removed',
    async ({ ledger }) => {
      const call = new SampleCall('c');
      await ledger.append(call.begin());
      await ledger.append(new SampleCall('d').whole());
      const before = await everything(ledger);
      await assert.rejects(async () => ledger.erase({ sessionId: 'session', by, reason }), {
        code: 'ledger.in_use',
      });
      await assert.rejects(async () => ledger.dropSession({ sessionId: 'session', by, reason }), {
        code: 'ledger.in_use',
      });
      assert.equal(await everything(ledger), before);
      await ledger.append(call.end());
      assert.equal(await ledger.dropSession({ sessionId: 'session', by, reason }), true);
    },
  ],
  [
    "a removed session leaves only a line in the ledger's own chain",
    async ({ ledger }) => {
      const claim = { key: 'key', inputDigest: 'd' };
      const counters = [
        'session/"gone"/tool_calls',
        'turn/["gone","t"]/tool_calls',
        'named/"all"/tool_calls',
        'session/"gone2"/n',
      ];
      const reserve = counters.map((counter) => ({ counter, amount: 1, limit: 9 }));
      const call = new SampleCall('c', { sessionId: 'gone' });
      await ledger.append(call.begin({ claim, reserve, sealed: 'sealed' }));
      await ledger.append(call.end('timeout'));
      const artifact = { artifactId: 'a', callId: 'c', mimeType: 'text/plain', content: 'x' };
      for (const sessionId of ['gone', 'stays']) await ledger.putArtifact({ ...artifact, sessionId });
      await ledger.append(new SampleCall('c', { sessionId: 'stays' }).whole());
      const head = (await readHeads(ledger)).find(({ sessionId }) => sessionId === 'gone');
      await findCalls(ledger, {});

      assert.equal(await ledger.dropSession({ sessionId: 'nowhere', by, reason }), false);
      assert.equal(await ledger.dropSession({ sessionId: ledgerSessionId, by, reason }), false);
      const other = { sessionId: 'gone', by, reason, lastHash: '0'.repeat(64) };
      assert.equal(await ledger.dropSession(other), false);
      assert.equal((await ledger.readSession('gone')).length > 0, true);
      const asked = { ...other, lastHash: head?.hash ?? '' };
      assert.equal(await ledger.dropSession(asked), true);

      assert.equal(await ledger.readCall('gone', 'c'), undefined);
      assert.deepEqual(await ledger.readSession('gone'), []);
      assert.equal(await readClaim(ledger, 'key'), undefined);
      assert.equal(await readSealed(ledger, 'gone', 'c'), undefined);
      assert.equal(await readWholeArtifact(ledger, 'gone', 'a'), undefined);
      assert.equal((await readWholeArtifact(ledger, 'stays', 'a'))?.content, 'x');
      assert.deepEqual(
        await findUnsettledEffects(ledger, 'gone', 'send_mail', `sha256:${'0'.repeat(64)}`),
        [],
      );
      assert.deepEqual(
        (await readCounters(ledger, counters)).map(({ reserved }) => reserved),
        [0, 0, 1, 1],
      );
      assert.deepEqual(
        (await findCalls(ledger, {})).rows.map(({ sessionId }) => sessionId),
        ['stays'],
      );
      assert.equal((await findSessions(ledger, { text: 'gone' })).rows.length, 0);
      const listed = (await findSessions(ledger, {})).rows.map(({ sessionId }) => sessionId);
      assert.deepEqual(listed, ['stays'], "the ledger's own session is not a session of an agent");
      assert.equal((await findSessions(ledger, { sessionId: ledgerSessionId })).rows.length, 1);
      const entries = await ledger.readEntries({ limit: 10 });
      assertChained(entries);
      const [event] = await ledger.readSession(ledgerSessionId);
      assert.equal(event?.type, 'session.dropped');
      const { droppedSessionId, sequence, hash } = event as unknown as Record<string, unknown>;
      assert.deepEqual({ sessionId: droppedSessionId, sequence, hash }, head);

      const again = new SampleCall('c', { sessionId: 'gone' });
      assert.deepEqual(await ledger.append(again.whole()), { status: 'appended', version: 1 });
      const [first] = await ledger.readEntries({ sessionId: 'gone', limit: 1 });
      assert.equal(first?.sequence, 1);
      assert.ok((first?.position ?? 0) > (entries.at(-1)?.position ?? 0), 'positions are never reused');
      assert.equal((await findCalls(ledger, { sessionId: 'gone' })).rows.length, 1);
      const before = await everything(ledger);
      await ledger.rebuild();
      assert.equal(await everything(ledger), before);
    },
  ],
];
