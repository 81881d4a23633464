/** Budget counters and unresolved effects. */
import assert from 'node:assert/strict';
import { readEntry } from '../../ledger/formats/v1/read-entry.ts';
import { SampleCall } from '../sample-call.ts';
import type { Check } from './check.ts';
import { readCounters, findUnsettledEffects, findCalls } from '../../ledger/reads.ts';

const inputDigest = `sha256:${'0'.repeat(64)}`;

export const counterChecks: readonly Check[] = [
  [
    'a resetting settlement sets the used amount and leaves the reserved one',
    async ({ ledger }) => {
      const reserve = [{ counter: 'n', amount: 2, limit: 9 }];
      const used = { counter: 'n', reserved: 0, used: 3 };
      await ledger.append(new SampleCall('a').begin({ reserve, settle: [used] }));
      await ledger.append(new SampleCall('b').begin({ settle: [used, { ...used, used: 1, reset: true }] }));
      assert.deepEqual(await readCounters(ledger, ['n']), [{ used: 1, reserved: 2 }]);
      const entries = await ledger.readEntries({ limit: 10 });
      assert.deepEqual(readEntry(entries.at(-1) as (typeof entries)[number]).totals, [
        { counter: 'n', used: 1, reserved: 2 },
      ]);
    },
  ],
  [
    'an entry that reserves or settles records the resulting counter values',
    async ({ ledger }) => {
      const call = new SampleCall('c');
      const count = { counter: 'n', amount: 2, limit: 9 };
      await ledger.append(new SampleCall('other').begin({ reserve: [count] }));
      await ledger.append(call.begin({ reserve: [count, { ...count, counter: 'm' }] }));
      await ledger.append(call.end('result', { settle: [{ counter: 'n', reserved: 2, used: 1 }] }));
      const entries = await ledger.readEntries({ limit: 10 });
      assert.deepEqual(
        entries.map((entry) => readEntry(entry).totals),
        [
          [{ counter: 'n', used: 0, reserved: 2 }],
          [
            { counter: 'n', used: 0, reserved: 4 },
            { counter: 'm', used: 0, reserved: 2 },
          ],
          [{ counter: 'n', used: 1, reserved: 2 }],
        ],
      );
    },
  ],
  [
    'an unresolved effect is found by session, tool and input, oldest first',
    async ({ ledger }) => {
      const ends = ['timeout', 'failure', 'result'] as const;
      for (const end of ends) {
        const call = new SampleCall(end);
        await ledger.append(call.begin());
        assert.deepEqual(await findUnsettledEffects(ledger, 'session', 'send_mail', 'sha256:other'), []);
        await ledger.append(call.end(end));
      }
      assert.deepEqual(await findUnsettledEffects(ledger, 'session', 'send_mail', inputDigest), [
        'timeout',
        'failure',
      ]);
      assert.deepEqual(await findUnsettledEffects(ledger, 'other', 'send_mail', inputDigest), []);
      assert.deepEqual(await findUnsettledEffects(ledger, 'session', 'other', inputDigest), []);
    },
  ],
  [
    'a resolution clears the doubt, unless it says that the effect happened',
    async ({ ledger }) => {
      for (const resolution of ['safe_to_retry', 'failed', 'succeeded'] as const) {
        const call = new SampleCall(resolution);
        await ledger.append(call.begin());
        await ledger.append(call.end('timeout'));
        assert.equal((await findCalls(ledger, { unresolved: true })).rows[0]?.callId, resolution);
        assert.equal(
          (await findUnsettledEffects(ledger, 'session', 'send_mail', inputDigest)).includes(resolution),
          true,
        );
        assert.deepEqual(await ledger.append(call.resolve(resolution)), {
          status: 'appended',
          version: 3,
        });
        assert.deepEqual((await findCalls(ledger, { unresolved: true })).rows, []);
      }
      assert.deepEqual(await findUnsettledEffects(ledger, 'session', 'send_mail', inputDigest), [
        'succeeded',
      ]);
    },
  ],
];
