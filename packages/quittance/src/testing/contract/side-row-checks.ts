/** State kept outside entries. */
import assert from 'node:assert/strict';
import { SampleCall } from '../sample-call.ts';
import type { Check } from './check.ts';
import { readSideRows } from '../../ledger/reads.ts';

export const sideRowChecks: readonly Check[] = [
  [
    'state outside the entries is listed until it is released',
    async ({ ledger }) => {
      const call = new SampleCall('c');
      const reserve = [{ counter: 'n', amount: 1, limit: 2 }];
      const claim = { key: 'k', inputDigest: 'd' };
      await ledger.append(call.begin({ claim, reserve, sealed: 'v1.x' }));
      await ledger.putArtifact({
        sessionId: 'session',
        artifactId: 'a',
        callId: 'c',
        mimeType: 'text/plain',
        content: 'hello',
      });
      const listed = async (): Promise<string[]> => {
        const rows: string[] = [];
        for await (const row of readSideRows(ledger)) rows.push(JSON.stringify(row));
        return rows.sort();
      };
      const artifact = JSON.stringify({
        kind: 'artifact',
        sessionId: 'session',
        callId: 'c',
        artifactId: 'a',
        sizeBytes: 5,
        digest: 'sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824',
      });
      const counter = '{"kind":"counter","name":"n","used":0,"reserved":1}';
      const held = '{"kind":"claim","key":"k","sessionId":"session","callId":"c","inputDigest":"d"}';
      const sealed = '{"kind":"sealed","sessionId":"session","callId":"c"}';
      assert.deepEqual(await listed(), [artifact, held, counter, sealed]);
      await ledger.append({ ...call.end(), releaseClaim: 'k', dropSealed: true });
      assert.deepEqual(await listed(), [artifact, counter]);
    },
  ],
];
