/** Sizes, told without reading what they are the sizes of, and artifacts in pieces. */
import assert from 'node:assert/strict';
import { SampleCall } from '../sample-call.ts';
import type { Check } from './check.ts';

export const sizeChecks: readonly Check[] = [
  [
    'tells how large calls and entries are',
    async ({ ledger }) => {
      const call = new SampleCall('c1', { sessionId: 's1' });
      await ledger.journal.append(call.whole());
      const bytes = await ledger.journal.measureCall('s1', 'c1');
      assert.ok(bytes > 100, 'a call has bytes');
      assert.equal(await ledger.journal.measureCall('s1', 'other'), 0);
      assert.equal(await ledger.journal.measureCall('other', 'c1'), 0);
      await ledger.journal.append(new SampleCall('c2', { sessionId: 's2' }).whole());
      const entries = await ledger.entries.read({ limit: 10 });
      const sizes = await ledger.entries.measure({ limit: 10 });
      assert.deepEqual(
        sizes.map(({ position, sessionId }) => ({ position, sessionId })),
        entries.map(({ position, sessionId }) => ({ position, sessionId })),
      );
      assert.ok(sizes.every((size) => size.bytes > 100));
      const after = entries[0]?.position ?? 0;
      assert.equal((await ledger.entries.measure({ after, limit: 10 })).length, entries.length - 1);
      assert.equal((await ledger.entries.measure({ sessionId: 's2', limit: 10 })).length, 1);
      assert.equal((await ledger.entries.measure({ sessionId: 'other', limit: 10 })).length, 0);
    },
  ],
  [
    'tells the size of an artifact and reads it in pieces',
    async ({ ledger }) => {
      await ledger.journal.append(new SampleCall('c1', { sessionId: 's1' }).whole());
      const about = { sessionId: 's1', callId: 'c1' };
      const text = 'ä'.repeat(1_000);
      await ledger.artifacts.put({ ...about, artifactId: 'text', mimeType: 'text/plain', content: text });
      const bytes = Uint8Array.from({ length: 300 }, (_, index) => index % 256);
      await ledger.artifacts.put({ ...about, artifactId: 'bytes', mimeType: 'image/png', content: bytes });
      assert.deepEqual(await ledger.artifacts.measure('s1', 'text'), {
        mimeType: 'text/plain',
        encoding: 'utf8',
        bytes: 2_000,
      });
      assert.deepEqual(await ledger.artifacts.measure('s1', 'bytes'), {
        mimeType: 'image/png',
        encoding: 'bytes',
        bytes: 300,
      });
      assert.equal(await ledger.artifacts.measure('s2', 'text'), undefined);
      const piece = await ledger.artifacts.readBytes('s1', 'bytes', 250, 100);
      assert.deepEqual([...(piece ?? [])], [...bytes.subarray(250)]);
      assert.equal((await ledger.artifacts.readBytes('s1', 'text', 0, 10))?.byteLength, 10);
      assert.equal((await ledger.artifacts.readBytes('s1', 'text', 2_000, 10))?.byteLength, 0);
      assert.equal(await ledger.artifacts.readBytes('s2', 'text', 0, 10), undefined);
    },
  ],
];
