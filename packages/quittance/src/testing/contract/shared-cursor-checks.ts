import assert from 'node:assert/strict';
import type { OpenLedger } from '../../ledger/ledger.ts';
import type { Check } from './check.ts';
import { emitting, moveSampleCursor, name, takeSampleCursor } from './sample-cursor.ts';
import { statusOfOwner, lastPosition, readCursor } from '../../ledger/reads.ts';

/** Checks for two handles on one store. */
export const sharedCursorChecks: readonly Check[] = [
  [
    'a cursor held by one handle is held for the other, which can tell whether the holder lives',
    async ({ ledger, another }) => {
      const other = await another();
      const taken = await takeSampleCursor(ledger, 'first');
      assert.deepEqual(await takeSampleCursor(other, 'second'), taken);
      assert.equal(await statusOfOwner(other, taken.ownerId as string), 'alive');
      await ledger.append(emitting('a', moveSampleCursor(0, 1, 'first')));
      assert.equal((await readCursor(other, name))?.position, 1);
      // The handle that appended waits until its entry can be read, by every handle.
      const last = await lastPosition(ledger);
      assert.equal(await lastPosition(other), last);
      await ledger.close();
      assert.equal(await statusOfOwner(other, taken.ownerId as string), 'gone');
      assert.deepEqual(await takeSampleCursor(other, 'second', 'first'), {
        name,
        position: 1,
        holder: 'second',
        ownerId: other.ownerId,
      });
    },
  ],
  [
    'of several handles that take over from a gone holder at once, one succeeds',
    async ({ ledger, another }) => {
      const handles = [ledger, await another(), await another()];
      await takeSampleCursor(ledger, 'gone');
      const taken = await Promise.all(
        Array.from({ length: 12 }, async (_, n) =>
          takeSampleCursor(handles[n % 3] as OpenLedger, `h${n}`, 'gone'),
        ),
      );
      const holders = new Set(taken.map(({ holder }) => holder));
      assert.equal(holders.size, 1);
      assert.ok(!holders.has('gone'));
    },
  ],
  [
    'of concurrent entries that move a cursor through several handles, one per position is stored',
    async ({ ledger, another }) => {
      const handles = [ledger, await another(), await another()];
      await takeSampleCursor(ledger, 'h');
      for (let from = 0; from < 5; from++) {
        const results = await Promise.all(
          handles.map(async (handle, n) =>
            handle.append(emitting(`e${from}-${n}`, moveSampleCursor(from, from + 1))),
          ),
        );
        assert.equal(results.filter(({ status }) => status === 'appended').length, 1);
      }
      assert.equal((await ledger.readSession('session')).length, 5);
    },
  ],
];
