/** Names of any text. */
import assert from 'node:assert/strict';
import { SampleCall } from '../sample-call.ts';
import type { Check } from './check.ts';

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
        assert.deepEqual(await ledger.journal.append(begin), { status: 'appended', version: 1 });
        await ledger.artifacts.put({
          sessionId: name,
          artifactId: name,
          callId: name,
          mimeType: name,
          content: name,
        });
        await ledger.journal.append(call.end('timeout'));
      }
      for (const name of oddNames) {
        assert.equal((await ledger.journal.readCall(name, name))?.version, 2);
        assert.equal((await ledger.journal.readSession(name)).length, 4);
        assert.deepEqual(await ledger.claims.readClaim(name), {
          sessionId: name,
          callId: name,
          inputDigest: name,
        });
        assert.deepEqual(await ledger.claims.readCounters([name]), [{ used: 0, reserved: 1 }]);
        assert.equal(await ledger.journal.readSealed(name, name), name);
        assert.deepEqual(await ledger.claims.findUnsettledEffects(name, name, name), [name]);
        const { artifactId, mimeType, content } = (await ledger.artifacts.read(name, name)) ?? {};
        assert.deepEqual([artifactId, mimeType, content], [name, name, name]);
        const [row] = (await ledger.queries.findCalls({ sessionId: name, toolName: name })).rows;
        assert.deepEqual([row?.sessionId, row?.callId, row?.toolName], [name, name, name]);
        assert.deepEqual((await ledger.entries.read({ sessionId: name, limit: 9 })).length, 2);
      }
      assert.equal((await ledger.integrity.readHeads()).length, oddNames.length);
      assert.equal(await ledger.artifacts.read('session', '../../etc/passwd'), undefined);
      assert.equal(await ledger.owners.statusOf('../../etc/passwd'), 'gone');
    },
  ],
];
