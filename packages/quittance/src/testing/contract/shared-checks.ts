/** Two handles on one store, as two processes have. */
import assert from 'node:assert/strict';
import type { StoredEntry } from '../../ledger/stored-entry.ts';
import type { OpenLedger } from '../../ledger/ledger.ts';
import { SampleCall } from '../sample-call.ts';
import type { Check } from './check.ts';
import { assertChained } from './entry-checks.ts';
import {
  findCalls,
  findOpenCalls,
  findUnsettledEffects,
  readSealed,
  readWholeArtifact,
  findSessions,
  whenCallChanged,
  whenAppended,
  statusOfOwner,
  lastPosition,
} from '../../ledger/reads.ts';
import type { Ledger } from '../../ledger/ledger.ts';

export const sharedChecks: readonly Check[] = [
  [
    'a write acknowledged by one handle is visible to the other',
    async ({ ledger, another }) => {
      const other = await another();
      const call = new SampleCall('c');
      // A process reads the key before it seals anything.
      const key = Buffer.from(ledger.sealKey);
      await ledger.append(call.begin({ sealed: 'sealed', claim: { key: 'k', inputDigest: 'd' } }));
      assert.equal((await other.readCall('session', 'c'))?.version, 1);
      assert.equal((await findCalls(other, {})).rows[0]?.status, 'running');
      await other.append(call.conflict());
      const open = await findOpenCalls(other);
      assert.deepEqual(
        open.map(({ sessionId, callId, ownerId }) => [sessionId, callId, ownerId]),
        [['session', 'c', ledger.ownerId]],
      );
      assert.deepEqual(await other.append(call.end('timeout')), { status: 'appended', version: 2 });
      const { version, ownerId } = (await ledger.readCall('session', 'c')) ?? {};
      assert.deepEqual([version, ownerId], [2, other.ownerId], 'the last writer owns the call');
      await ledger.append(call.recall());
      assert.equal(
        (await ledger.readCall('session', 'c'))?.ownerId,
        other.ownerId,
        'a remark does not change the owner',
      );
      assert.equal((await findCalls(ledger, {})).rows[0]?.status, 'settled');
      assert.deepEqual(await findUnsettledEffects(ledger, 'session', 'send_mail', call.inputDigest), ['c']);
      assert.equal(await readSealed(other, 'session', 'c'), 'sealed');
      assert.deepEqual(Buffer.from(other.sealKey), key);
      await other.putArtifact({
        sessionId: 's',
        artifactId: 'a',
        callId: 'c',
        mimeType: 'm',
        content: 'x',
      });
      assert.equal((await readWholeArtifact(ledger, 's', 'a'))?.content, 'x');
    },
  ],
  [
    'versions, claims and limits hold across handles that append at once',
    async ({ ledger, another }) => {
      const handles = [ledger, await another(), await another()];
      const claim = { key: 'k', inputDigest: 'd' };
      const reserve = [{ counter: 'n', amount: 1, limit: 20 }];
      const all = async <Result>(count: number, one: (n: number) => PromiseLike<Result>): Promise<Result[]> =>
        Promise.all(Array.from({ length: count }, async (_, n) => one(n)));
      const handle = (n: number) => handles[n % 3] as typeof ledger;
      const same = await all(30, async (n) => handle(n).append(new SampleCall('same').begin()));
      const claims = await all(30, async (n) => handle(n).append(new SampleCall(`k${n}`).begin({ claim })));
      const limited = await all(60, async (n) =>
        handle(n).append(new SampleCall(`n${n}`).begin({ reserve })),
      );
      for (const [results, kept] of [
        [same, 1],
        [claims, 1],
        [limited, 20],
      ] as const)
        assert.equal(results.filter(({ status }) => status === 'appended').length, kept);
      const entries = await readEntriesOf(handles, 1_000);
      assert.equal(entries.length, 22);
      assertChained(entries);
    },
  ],
  [
    'many appends through several handles are all stored, in chains without a gap',
    async ({ ledger, another }) => {
      const handles = [ledger, await another(), await another()];
      const calls = Array.from(
        { length: 600 },
        (_, n) => new SampleCall(`c${n}`, { sessionId: `s${n % 5}` }),
      );
      await Promise.all(
        calls.map(async (call, n) => {
          const handle = handles[n % 3] as typeof ledger;
          await handle.append(call.begin());
          await (handles[(n + 1) % 3] as typeof ledger).append(call.end());
        }),
      );
      const entries = await readEntriesOf(handles, 10_000);
      assert.equal(entries.length, 1_200);
      assertChained(entries);
      for (const handle of handles) {
        assert.deepEqual(await findOpenCalls(handle), []);
        assert.equal((await findSessions(handle, {})).rows.length, 5);
      }
    },
  ],
  [
    'a waiter for a call or for entries also wakes for another handle',
    async ({ ledger, another }) => {
      const other = await another();
      const call = new SampleCall('c');
      await ledger.append(call.begin());
      const [entry] = await ledger.readEntries({ limit: 1 });
      const waiting = Promise.all([
        whenCallChanged(ledger, 'session', 'c', 1),
        whenAppended(ledger, entry?.position as number),
      ]);
      const alive = setInterval(() => undefined, 1_000); // a waiter does not keep the process alive
      await other.append(call.end());
      await waiting;
      clearInterval(alive);
    },
  ],
  [
    'each handle knows whether the owner of another lives',
    async ({ ledger, another }) => {
      const other = await another();
      assert.notEqual(other.ownerId, ledger.ownerId);
      for (const handle of [ledger, other])
        for (const { ownerId } of [ledger, other]) {
          assert.equal(await statusOfOwner(handle, ownerId), 'alive');
          assert.equal(await statusOfOwner(handle, ownerId), 'alive');
        }
      const { ownerId } = other;
      await other.close();
      assert.equal(await statusOfOwner(ledger, ownerId), 'gone');
      assert.equal(await statusOfOwner(ledger, ledger.ownerId), 'alive');
    },
  ],
  [
    'the spill of an owner is left alone while it lives and read when it is gone',
    async ({ ledger, another }) => {
      const other = await another();
      if (!(await other.spill.canWrite())) return;
      const entry = new SampleCall('c').begin();
      assert.equal(await other.spill.write(entry), true);
      assert.deepEqual(await ledger.spill.read(), []);
      const { ownerId } = other;
      await other.close();
      assert.deepEqual(await ledger.spill.read(), [{ ownerId, entries: [entry] }]);
      await ledger.spill.drop(ownerId);
      assert.deepEqual(await ledger.spill.read(), []);
    },
  ],
  [
    'a session that one handle removes and another recreates is new for both',
    async ({ ledger, another }) => {
      const other = await another();
      await ledger.append(new SampleCall('c').whole());
      assert.equal((await other.readCall('session', 'c'))?.version, 1);
      await ledger.dropSession({ sessionId: 'session', by: 'ada', reason: 'asked to' });
      assert.equal(await other.readCall('session', 'c'), undefined);
      assert.deepEqual(await other.append(new SampleCall('c').whole()), {
        status: 'appended',
        version: 1,
      });
      assert.equal((await ledger.readCall('session', 'c'))?.version, 1);
      assertChained(await readEntriesOf([other, ledger], 10));
    },
  ],
];

/**
 * The entries of all handles. A store may show an entry to others a moment later, and each handle waits only for its
 * own.
 */
async function readEntriesOf(handles: readonly Ledger[], limit: number): Promise<readonly StoredEntry[]> {
  for (const handle of handles) await lastPosition(handle);
  return (handles[0] as OpenLedger).readEntries({ limit });
}
