/** Names of any text. */
import assert from 'node:assert/strict';
import { SampleCall } from '../sample-call.ts';
import type { Check } from './check.ts';
import {
  readClaim,
  readCounters,
  readSealed,
  findUnsettledEffects,
  readWholeArtifact,
  findCalls,
  readHeads,
  statusOfOwner,
} from '../../ledger/reads.ts';

/** Names that a store might misinterpret. */
export const oddNames: readonly string[] = [
  'nul\u0000in the middle',
  'nul\u0000other',
  'ünïcödé 漢字 🧾',
  `quote ' " ; DROP TABLE entries; --`,
  '__proto__',
  'constructor',
  '../../etc/passwd',
  'x'.repeat(1_000),
  'line\nbreak\r\ttab',
  '\ud800 lone',
  '\udfff lone',
  '\u0001"quoted"',
  ' ',
  '%_*?',
];

export const nameChecks: readonly Check[] = [
  [
    'any text can be the name of a session, a call, a tool, a claim, a counter or an artifact',
    async ({ ledger }) => {
      for (const name of oddNames) {
        const call = new SampleCall(name, { sessionId: name, toolName: name, inputDigest: name });
        const claim = { key: name, inputDigest: name };
        const reserve = [{ counter: name, amount: 1, limit: 1 }];
        const begin = call.begin({ claim, reserve, sealed: name });
        assert.deepEqual(await ledger.append(begin), { status: 'appended', version: 1 });
        await ledger.putArtifact({
          sessionId: name,
          artifactId: name,
          callId: name,
          mimeType: name,
          content: name,
        });
        await ledger.append(call.end('timeout'));
      }
      for (const name of oddNames) {
        assert.equal((await ledger.readCall(name, name))?.version, 2);
        assert.equal((await ledger.readSession(name)).length, 4);
        assert.deepEqual(await readClaim(ledger, name), {
          sessionId: name,
          callId: name,
          inputDigest: name,
        });
        assert.deepEqual(await readCounters(ledger, [name]), [{ used: 0, reserved: 1 }]);
        assert.equal(await readSealed(ledger, name, name), name);
        assert.deepEqual(await findUnsettledEffects(ledger, name, name, name), [name]);
        const { artifactId, mimeType, content } = (await readWholeArtifact(ledger, name, name)) ?? {};
        assert.deepEqual([artifactId, mimeType, content], [name, name, name]);
        const [row] = (await findCalls(ledger, { sessionId: name, toolName: name })).rows;
        assert.deepEqual([row?.sessionId, row?.callId, row?.toolName], [name, name, name]);
        assert.deepEqual((await ledger.readEntries({ sessionId: name, limit: 9 })).length, 2);
      }
      assert.equal((await readHeads(ledger)).length, oddNames.length);
      assert.equal(await readWholeArtifact(ledger, 'session', '../../etc/passwd'), undefined);
      assert.equal(await statusOfOwner(ledger, '../../etc/passwd'), 'gone');
    },
  ],
];
