/** Entries that the ledger could not store. */
import assert from 'node:assert/strict';
import { SampleCall } from '../sample-call.ts';
import type { Check } from './check.ts';

export const spillChecks: readonly Check[] = [
  [
    'a spilled entry reads back until it is dropped, or the spill is refused at once',
    async ({ ledger }) => {
      const call = new SampleCall('c');
      const entries = [
        call.begin(),
        call.end('result', { settle: [{ counter: 'n', reserved: 1, used: 1 }] }),
      ];
      const canSpill = (await ledger.spill.canWrite()) === true;
      for (const entry of entries) assert.equal(await ledger.spill.write(entry), canSpill);
      const { ownerId } = ledger;
      assert.deepEqual(await ledger.spill.read(), canSpill ? [{ ownerId, entries }] : []);
      if (canSpill) assert.equal(await ledger.spill.drop(ownerId, entries[0]?.entryId), false);
      assert.equal((await ledger.spill.read())[0]?.entries.length ?? 0, canSpill ? 2 : 0);
      assert.equal(await ledger.spill.drop(ownerId, entries[1]?.entryId), true);
      assert.deepEqual(await ledger.spill.read(), []);
      assert.equal(await ledger.spill.write(entries[0] as (typeof entries)[0]), canSpill);
    },
  ],
];
