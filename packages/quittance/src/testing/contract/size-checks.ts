/** Sizes of calls and entries. */
import assert from 'node:assert/strict';
import { SampleCall } from '../sample-call.ts';
import type { Check } from './check.ts';
import { measureStoredCall, measureEntries } from '../../ledger/reads.ts';

export const sizeChecks: readonly Check[] = [
  [
    'a ledger reports the sizes of calls and entries',
    async ({ ledger }) => {
      const call = new SampleCall('c1', { sessionId: 's1' });
      await ledger.append(call.whole());
      const bytes = await measureStoredCall(ledger, 's1', 'c1');
      assert.ok(bytes > 100, 'a call has bytes');
      assert.equal(await measureStoredCall(ledger, 's1', 'other'), 0);
      assert.equal(await measureStoredCall(ledger, 'other', 'c1'), 0);
      await ledger.append(new SampleCall('c2', { sessionId: 's2' }).whole());
      const entries = await ledger.readEntries({ limit: 10 });
      const sizes = await measureEntries(ledger, { limit: 10 });
      assert.deepEqual(
        sizes.map(({ position, sessionId }) => ({ position, sessionId })),
        entries.map(({ position, sessionId }) => ({ position, sessionId })),
      );
      assert.ok(sizes.every((size) => size.bytes > 100));
      const after = entries[0]?.position ?? 0;
      assert.equal((await measureEntries(ledger, { after, limit: 10 })).length, entries.length - 1);
      assert.equal((await measureEntries(ledger, { sessionId: 's2', limit: 10 })).length, 1);
      assert.equal((await measureEntries(ledger, { sessionId: 'other', limit: 10 })).length, 0);
    },
  ],
];
