/** Claims, counters and sealed inputs: they can refuse an append, and a refused append stores nothing. */
import assert from 'node:assert/strict';
import type { Entry } from '../../ledger/journal.ts';
import type { OpenLedger } from '../../ledger/ledger.ts';
import { SampleCall } from '../sample-call.ts';
import type { Check } from './check.ts';
import { readSealed, readClaim, readCounters } from '../../ledger/reads.ts';

const claim = { key: 'tool/key', inputDigest: 'sha256:1' };

/** Asserts that the entry left nothing behind. */
async function assertNothingOf(ledger: OpenLedger, entry: Entry): Promise<void> {
  const { sessionId, callId = '' } = entry;
  assert.equal(await ledger.readCall(sessionId, callId), undefined);
  assert.deepEqual(await ledger.readSession(sessionId), []);
  assert.equal(await readSealed(ledger, sessionId, callId), undefined);
  const names = [...(entry.reserve ?? []), ...(entry.settle ?? [])].map(({ counter }) => counter);
  if (entry.claim !== undefined) assert.notEqual((await readClaim(ledger, entry.claim.key))?.callId, callId);
  for (const { used, reserved } of await readCounters(ledger, names))
    assert.deepEqual([used, reserved], [0, 0]);
}

export const claimChecks: readonly Check[] = [
  [
    'the first claim on a key holds until it is released',
    async ({ ledger }) => {
      const [first, second] = [new SampleCall('first'), new SampleCall('second', { sessionId: 'other' })];
      await ledger.append(first.begin({ claim }));
      const holder = { sessionId: 'session', callId: 'first', inputDigest: 'sha256:1' };
      assert.deepEqual(await readClaim(ledger, 'tool/key'), holder);
      assert.equal((await ledger.readCall('session', 'first'))?.claimKey, 'tool/key');
      assert.deepEqual(await ledger.append(second.begin({ claim: { ...claim, inputDigest: 'sha256:2' } })), {
        status: 'claimed',
        holder,
      });
      await ledger.append(first.end('failure', { releaseClaim: 'tool/key' }));
      assert.equal(await readClaim(ledger, 'tool/key'), undefined);
      const third = new SampleCall('third');
      assert.equal((await ledger.append(third.begin({ claim }))).status, 'appended');
    },
  ],
  [
    'a claim moves only from the named call',
    async ({ ledger }) => {
      await ledger.append(new SampleCall('first').begin({ claim }));
      const from = (sessionId: string, callId: string) => ({ ...claim, supersedes: { sessionId, callId } });
      for (const supersedes of [from('session', 'nobody'), from('elsewhere', 'first')]) {
        const call = new SampleCall('second');
        assert.equal((await ledger.append(call.begin({ claim: supersedes }))).status, 'claimed');
      }
      const call = new SampleCall('second');
      assert.equal((await ledger.append(call.begin({ claim: from('session', 'first') }))).status, 'appended');
      assert.equal((await readClaim(ledger, 'tool/key'))?.callId, 'second');
    },
  ],
  [
    'of many concurrent claims on one key, one wins',
    async ({ ledger }) => {
      const calls = Array.from({ length: 40 }, (_, n) => new SampleCall(`c${n}`));
      const results = await Promise.all(calls.map(async (call) => ledger.append(call.begin({ claim }))));
      assert.equal(results.filter(({ status }) => status === 'appended').length, 1);
      assert.equal(results.filter(({ status }) => status === 'claimed').length, 39);
    },
  ],
  [
    'a reservation takes at most the remaining amount; a limit of N allows exactly N',
    async ({ ledger }) => {
      const reserve = [{ counter: 'n', amount: 3, limit: 7 }];
      const calls = Array.from({ length: 3 }, (_, n) => new SampleCall(`c${n}`));
      const results = [];
      for (const call of calls) results.push(await ledger.append(call.begin({ reserve })));
      assert.deepEqual(results[2], { status: 'exhausted', counter: 'n', used: 6 });
      assert.deepEqual(await readCounters(ledger, ['n', 'other']), [
        { used: 0, reserved: 6 },
        { used: 0, reserved: 0 },
      ]);
      const last = new SampleCall('last');
      assert.equal(
        (await ledger.append(last.begin({ reserve: [{ counter: 'n', amount: 1, limit: 7 }] }))).status,
        'appended',
      );
      const settle = [{ counter: 'n', reserved: 3, used: 1 }];
      await ledger.append((calls[0] as SampleCall).end('result', { settle }));
      assert.deepEqual(await readCounters(ledger, ['n']), [{ used: 1, reserved: 4 }]);
    },
  ],
  [
    'an entry that reserves twice under one name takes both amounts or none',
    async ({ ledger }) => {
      const twice = (limit: number) => [
        { counter: 'n', amount: 2, limit: 10 },
        { counter: 'n', amount: 2, limit },
      ];
      const refused = await ledger.append(new SampleCall('a').begin({ reserve: twice(3) }));
      assert.deepEqual(refused, { status: 'exhausted', counter: 'n', used: 2 });
      assert.equal(
        (await ledger.append(new SampleCall('b').begin({ reserve: twice(4) }))).status,
        'appended',
      );
      assert.deepEqual(await readCounters(ledger, ['n']), [{ used: 0, reserved: 4 }]);
    },
  ],
  [
    'of 100 concurrent reservations under a limit of 10, ten succeed',
    async ({ ledger }) => {
      const reserve = [{ counter: 'n', amount: 1, limit: 10 }];
      const calls = Array.from(
        { length: 100 },
        (_, n) => new SampleCall(`c${n}`, { sessionId: `s${n % 7}` }),
      );
      const results = await Promise.all(calls.map(async (call) => ledger.append(call.begin({ reserve }))));
      assert.equal(results.filter(({ status }) => status === 'appended').length, 10);
      assert.deepEqual(await readCounters(ledger, ['n']), [{ used: 0, reserved: 10 }]);
    },
  ],
  [
    'an append is atomic: a refused one stores nothing, whatever the reason',
    async ({ ledger }) => {
      await ledger.append(new SampleCall('holder', { sessionId: 'else' }).begin({ claim }));
      const everything = {
        reserve: [{ counter: 'fresh', amount: 1, limit: 5 }],
        settle: [{ counter: 'fresh2', used: 1, reserved: 0 }],
        sealed: 'sealed',
      };
      const free = { key: 'free', inputDigest: 'sha256:1' };
      const spent = [...everything.reserve, { counter: 'none', amount: 1, limit: 0 }];
      const refused: readonly [Entry, string][] = [
        [{ ...new SampleCall('a').begin({ ...everything, claim: free }), expectedVersion: 1 }, 'conflict'],
        [
          { ...new SampleCall('a').begin({ ...everything, claim: free }), expectedVersion: 'any' },
          'conflict',
        ],
        [new SampleCall('a').begin({ ...everything, claim }), 'claimed'],
        [new SampleCall('a').begin({ ...everything, claim: free, reserve: spent }), 'exhausted'],
      ];
      for (const [entry, status] of refused) {
        assert.equal((await ledger.append(entry)).status, status);
        await assertNothingOf(ledger, entry);
      }
      assert.equal((await ledger.readEntries({ limit: 10 })).length, 1);
    },
  ],
  [
    'a sealed input is stored until it is dropped',
    async ({ ledger }) => {
      const call = new SampleCall('c');
      await ledger.append(call.begin({ sealed: 'v1.abc' }));
      assert.equal(await readSealed(ledger, 'session', 'c'), 'v1.abc');
      assert.equal(await readSealed(ledger, 'other', 'c'), undefined);
      await ledger.append(call.end('result', { dropSealed: true }));
      assert.equal(await readSealed(ledger, 'session', 'c'), undefined);
    },
  ],
];
