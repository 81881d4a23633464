/** Large outputs and attached files. */
import assert from 'node:assert/strict';
import { SampleCall } from '../sample-call.ts';
import type { Check } from './check.ts';
import { readWholeArtifact, measureArtifact, readArtifactBytes } from '../../ledger/reads.ts';

export const artifactChecks: readonly Check[] = [
  [
    'an artifact reads back as it was stored, by its session only',
    async ({ ledger }) => {
      const put = (sessionId: string, artifactId: string, content: string | Uint8Array) =>
        ledger.putArtifact({ sessionId, artifactId, callId: 'c', mimeType: 'text/plain', content });
      await put('one', 'a', 'text with 漢字 and \ud800 alone');
      await put('two', 'a', 'another text');
      await put('one', 'b', Uint8Array.of(0, 255, 1));
      await put('two', 'same', 'another text');
      await put('one', 'empty', '');
      assert.deepEqual(
        (await readWholeArtifact(ledger, 'one', 'a'))?.content,
        'text with 漢字 and \ud800 alone',
      );
      assert.deepEqual((await readWholeArtifact(ledger, 'two', 'a'))?.content, 'another text');
      assert.deepEqual((await readWholeArtifact(ledger, 'two', 'same'))?.mimeType, 'text/plain');
      const bytes = (await readWholeArtifact(ledger, 'one', 'b'))?.content as Uint8Array;
      assert.deepEqual(Uint8Array.from(bytes), Uint8Array.of(0, 255, 1));
      assert.equal((await readWholeArtifact(ledger, 'one', 'empty'))?.content, '');
      assert.equal(await readWholeArtifact(ledger, 'two', 'b'), undefined);
      assert.equal(await readWholeArtifact(ledger, 'three', 'a'), undefined);
      await put('one', 'a', 'put again');
      assert.equal((await readWholeArtifact(ledger, 'one', 'a'))?.content, 'put again');
    },
  ],
  [
    'a large artifact and a large entry read back completely',
    async ({ ledger }) => {
      const content = 'abc漢'.repeat(500_000);
      await ledger.putArtifact({
        sessionId: 's',
        artifactId: 'a',
        callId: 'c',
        mimeType: 'text/plain',
        content,
      });
      assert.equal((await readWholeArtifact(ledger, 's', 'a'))?.content, content);
      const call = new SampleCall('c', { toolName: 'x'.repeat(2_000_000) });
      const entry = call.begin();
      await ledger.append(entry);
      assert.deepEqual((await ledger.readCall('session', 'c'))?.events, entry.events);
    },
  ],
  [
    'a ledger reports the size of an artifact and reads it in chunks',
    async ({ ledger }) => {
      await ledger.append(new SampleCall('c1', { sessionId: 's1' }).whole());
      const about = { sessionId: 's1', callId: 'c1' };
      const text = 'ä'.repeat(1_000);
      await ledger.putArtifact({ ...about, artifactId: 'text', mimeType: 'text/plain', content: text });
      const bytes = Uint8Array.from({ length: 300 }, (_, index) => index % 256);
      await ledger.putArtifact({ ...about, artifactId: 'bytes', mimeType: 'image/png', content: bytes });
      assert.deepEqual(await measureArtifact(ledger, 's1', 'text'), {
        mimeType: 'text/plain',
        encoding: 'utf8',
        bytes: 2_000,
      });
      assert.deepEqual(await measureArtifact(ledger, 's1', 'bytes'), {
        mimeType: 'image/png',
        encoding: 'bytes',
        bytes: 300,
      });
      assert.equal(await measureArtifact(ledger, 's2', 'text'), undefined);
      const piece = await readArtifactBytes(ledger, 's1', 'bytes', 250, 100);
      assert.deepEqual([...(piece ?? [])], [...bytes.subarray(250)]);
      assert.equal((await readArtifactBytes(ledger, 's1', 'text', 0, 10))?.byteLength, 10);
      assert.equal((await readArtifactBytes(ledger, 's1', 'text', 2_000, 10))?.byteLength, 0);
      assert.equal(await readArtifactBytes(ledger, 's2', 'text', 0, 10), undefined);
    },
  ],
];
