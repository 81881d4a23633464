/** Effects in doubt, artifacts, names, owners, the clock. */
import assert from 'node:assert/strict';
import { readEntry } from '../../ledger/formats/v1/read-entry.ts';
import { SampleCall } from '../sample-call.ts';
import type { Check } from './check.ts';

const inputDigest = `sha256:${'0'.repeat(64)}`;

/** Names that a store might take for something else. */
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

export const keepingChecks: readonly Check[] = [
  [
    'what is kept beside the entries is listed, and no longer once it is given up',
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
        for await (const row of ledger.readBeside()) rows.push(JSON.stringify(row));
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
  [
    'a settlement that resets sets what is used, whatever it was, and leaves what is reserved',
    async ({ ledger }) => {
      const reserve = [{ counter: 'n', amount: 2, limit: 9 }];
      const used = { counter: 'n', reserved: 0, used: 3 };
      await ledger.append(new SampleCall('a').begin({ reserve, settle: [used] }));
      await ledger.append(new SampleCall('b').begin({ settle: [used, { ...used, used: 1, reset: true }] }));
      assert.deepEqual(await ledger.readCounters(['n']), [{ used: 1, reserved: 2 }]);
      const entries = await ledger.readEntries({ limit: 10 });
      assert.deepEqual(readEntry(entries.at(-1) as (typeof entries)[number]).totals, [
        { counter: 'n', used: 1, reserved: 2 },
      ]);
    },
  ],
  [
    'an entry that reserves or settles states what its counters have come to',
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
    'an effect in doubt is found by session, tool and input, oldest first',
    async ({ ledger }) => {
      const ends = ['timeout', 'failure', 'result'] as const;
      for (const end of ends) {
        const call = new SampleCall(end);
        await ledger.append(call.begin());
        assert.deepEqual(await ledger.findUnsettledEffects('session', 'send_mail', 'sha256:other'), []);
        await ledger.append(call.end(end));
      }
      assert.deepEqual(await ledger.findUnsettledEffects('session', 'send_mail', inputDigest), [
        'timeout',
        'failure',
      ]);
      assert.deepEqual(await ledger.findUnsettledEffects('other', 'send_mail', inputDigest), []);
      assert.deepEqual(await ledger.findUnsettledEffects('session', 'other', inputDigest), []);
    },
  ],
  [
    'a resolution clears the doubt, but not one that says it did happen',
    async ({ ledger }) => {
      for (const resolution of ['safe_to_retry', 'failed', 'succeeded'] as const) {
        const call = new SampleCall(resolution);
        await ledger.append(call.begin());
        await ledger.append(call.end('timeout'));
        assert.equal((await ledger.queryCalls({ unresolved: true })).rows[0]?.callId, resolution);
        assert.equal(
          (await ledger.findUnsettledEffects('session', 'send_mail', inputDigest)).includes(resolution),
          true,
        );
        assert.deepEqual(await ledger.append(call.resolve(resolution)), { status: 'appended', version: 3 });
        assert.deepEqual((await ledger.queryCalls({ unresolved: true })).rows, []);
      }
      assert.deepEqual(await ledger.findUnsettledEffects('session', 'send_mail', inputDigest), ['succeeded']);
    },
  ],
  [
    'an artifact is read back as it was put, by its session only',
    async ({ ledger }) => {
      const put = (sessionId: string, artifactId: string, content: string | Uint8Array) =>
        ledger.putArtifact({ sessionId, artifactId, callId: 'c', mimeType: 'text/plain', content });
      await put('one', 'a', 'text with 漢字 and \ud800 alone');
      await put('two', 'a', 'another text');
      await put('one', 'b', Uint8Array.of(0, 255, 1));
      await put('two', 'same', 'another text');
      await put('one', 'empty', '');
      assert.deepEqual((await ledger.readArtifact('one', 'a'))?.content, 'text with 漢字 and \ud800 alone');
      assert.deepEqual((await ledger.readArtifact('two', 'a'))?.content, 'another text');
      assert.deepEqual((await ledger.readArtifact('two', 'same'))?.mimeType, 'text/plain');
      const bytes = (await ledger.readArtifact('one', 'b'))?.content as Uint8Array;
      assert.deepEqual(Uint8Array.from(bytes), Uint8Array.of(0, 255, 1));
      assert.equal((await ledger.readArtifact('one', 'empty'))?.content, '');
      assert.equal(await ledger.readArtifact('two', 'b'), undefined);
      assert.equal(await ledger.readArtifact('three', 'a'), undefined);
      await put('one', 'a', 'put again');
      assert.equal((await ledger.readArtifact('one', 'a'))?.content, 'put again');
    },
  ],
  [
    'a large artifact and a large entry come back whole',
    async ({ ledger }) => {
      const content = 'abc漢'.repeat(500_000);
      await ledger.putArtifact({
        sessionId: 's',
        artifactId: 'a',
        callId: 'c',
        mimeType: 'text/plain',
        content,
      });
      assert.equal((await ledger.readArtifact('s', 'a'))?.content, content);
      const call = new SampleCall('c', { toolName: 'x'.repeat(2_000_000) });
      const entry = call.begin();
      await ledger.append(entry);
      assert.deepEqual((await ledger.readCall('session', 'c'))?.events, entry.events);
    },
  ],
  [
    'any text may be the name of a session, a call, a tool, a claim, a counter or an artifact',
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
        assert.deepEqual(await ledger.readClaim(name), { sessionId: name, callId: name, inputDigest: name });
        assert.deepEqual(await ledger.readCounters([name]), [{ used: 0, reserved: 1 }]);
        assert.equal(await ledger.readSealed(name, name), name);
        assert.deepEqual(await ledger.findUnsettledEffects(name, name, name), [name]);
        const { artifactId, mimeType, content } = (await ledger.readArtifact(name, name)) ?? {};
        assert.deepEqual([artifactId, mimeType, content], [name, name, name]);
        const [row] = (await ledger.queryCalls({ sessionId: name, toolName: name })).rows;
        assert.deepEqual([row?.sessionId, row?.callId, row?.toolName], [name, name, name]);
        assert.deepEqual((await ledger.readEntries({ sessionId: name, limit: 9 })).length, 2);
      }
      assert.equal((await ledger.readHeads()).length, oddNames.length);
      assert.equal(await ledger.readArtifact('session', '../../etc/passwd'), undefined);
      assert.equal(await ledger.ownerStatus('../../etc/passwd'), 'gone');
    },
  ],
  [
    'an owner lives as long as its handle, and one that nobody has heard of does not',
    async ({ ledger }) => {
      assert.equal(await ledger.ownerStatus(ledger.ownerId), 'alive');
      for (const ownerId of ['', 'own_000000000000000000000000', ...oddNames])
        assert.equal(await ledger.ownerStatus(ownerId), 'gone');
    },
  ],
  [
    'the time is that of the clock it was opened with',
    async ({ ledger, clock }) => {
      assert.equal(ledger.now(), clock.now());
      clock.advance(86_400_000);
      assert.equal(ledger.now(), clock.now());
      assert.equal(ledger.sealKey.length, 32);
      await ledger.append(new SampleCall('c').begin());
    },
  ],
  [
    'what is spilled is read back until it is dropped, or is refused at once',
    async ({ ledger }) => {
      const call = new SampleCall('c');
      const entries = [
        call.begin(),
        call.end('result', { settle: [{ counter: 'n', reserved: 1, used: 1 }] }),
      ];
      const canSpill = (await ledger.canSpill()) === true;
      for (const entry of entries) assert.equal(await ledger.spill(entry), canSpill);
      const { ownerId } = ledger;
      assert.deepEqual(await ledger.readSpills(), canSpill ? [{ ownerId, entries }] : []);
      if (canSpill) assert.equal(await ledger.dropSpill(ownerId, entries[0]?.entryId), false);
      assert.equal((await ledger.readSpills())[0]?.entries.length ?? 0, canSpill ? 2 : 0);
      assert.equal(await ledger.dropSpill(ownerId, entries[1]?.entryId), true);
      assert.deepEqual(await ledger.readSpills(), []);
      assert.equal(await ledger.spill(entries[0] as (typeof entries)[0]), canSpill);
    },
  ],
];
