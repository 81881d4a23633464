/** Owners and the clock. */
import assert from 'node:assert/strict';
import { SampleCall } from '../sample-call.ts';
import type { Check } from './check.ts';
import { oddNames } from './name-checks.ts';
import { statusOfOwner } from '../../ledger/reads.ts';

export const ownerChecks: readonly Check[] = [
  [
    'an owner lives as long as its handle, and an unknown owner does not live',
    async ({ ledger }) => {
      assert.equal(await statusOfOwner(ledger, ledger.ownerId), 'alive');
      for (const ownerId of ['', 'own_000000000000000000000000', ...oddNames])
        assert.equal(await statusOfOwner(ledger, ownerId), 'gone');
    },
  ],
  [
    'the time comes from the clock the ledger was opened with',
    async ({ ledger, clock }) => {
      assert.equal(ledger.now(), clock.now());
      clock.advance(86_400_000);
      assert.equal(ledger.now(), clock.now());
      assert.equal(ledger.sealKey.length, 32);
      await ledger.append(new SampleCall('c').begin());
    },
  ],
];
