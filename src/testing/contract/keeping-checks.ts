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
      await ledger.journal.append(call.begin({ claim, reserve, sealed: 'v1.x' }));
      await ledger.artifacts.put({
        sessionId: 'session',
        artifactId: 'a',
        callId: 'c',
        mimeType: 'text/plain',
        content: 'hello',
      });
      const listed = async (): Promise<string[]> => {
        const rows: string[] = [];
        for await (const row of ledger.integrity.readSideRows()) rows.push(JSON.stringify(row));
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
      await ledger.journal.append({ ...call.end(), releaseClaim: 'k', dropSealed: true });
      assert.deepEqual(await listed(), [artifact, counter]);
    },
  ],
  [
    'a settlement that resets sets what is used, whatever it was, and leaves what is reserved',
    async ({ ledger }) => {
      const reserve = [{ counter: 'n', amount: 2, limit: 9 }];
      const used = { counter: 'n', reserved: 0, used: 3 };
      await ledger.journal.append(new SampleCall('a').begin({ reserve, settle: [used] }));
      await ledger.journal.append(
        new SampleCall('b').begin({ settle: [used, { ...used, used: 1, reset: true }] }),
      );
      assert.deepEqual(await ledger.claims.readCounters(['n']), [{ used: 1, reserved: 2 }]);
      const entries = await ledger.entries.read({ limit: 10 });
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
      await ledger.journal.append(new SampleCall('other').begin({ reserve: [count] }));
      await ledger.journal.append(call.begin({ reserve: [count, { ...count, counter: 'm' }] }));
      await ledger.journal.append(call.end('result', { settle: [{ counter: 'n', reserved: 2, used: 1 }] }));
      const entries = await ledger.entries.read({ limit: 10 });
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
        await ledger.journal.append(call.begin());
        assert.deepEqual(
          await ledger.claims.findUnsettledEffects('session', 'send_mail', 'sha256:other'),
          [],
        );
        await ledger.journal.append(call.end(end));
      }
      assert.deepEqual(await ledger.claims.findUnsettledEffects('session', 'send_mail', inputDigest), [
        'timeout',
        'failure',
      ]);
      assert.deepEqual(await ledger.claims.findUnsettledEffects('other', 'send_mail', inputDigest), []);
      assert.deepEqual(await ledger.claims.findUnsettledEffects('session', 'other', inputDigest), []);
    },
  ],
  [
    'a resolution clears the doubt, but not one that says it did happen',
    async ({ ledger }) => {
      for (const resolution of ['safe_to_retry', 'failed', 'succeeded'] as const) {
        const call = new SampleCall(resolution);
        await ledger.journal.append(call.begin());
        await ledger.journal.append(call.end('timeout'));
        assert.equal((await ledger.queries.findCalls({ unresolved: true })).rows[0]?.callId, resolution);
        assert.equal(
          (await ledger.claims.findUnsettledEffects('session', 'send_mail', inputDigest)).includes(
            resolution,
          ),
          true,
        );
        assert.deepEqual(await ledger.journal.append(call.resolve(resolution)), {
          status: 'appended',
          version: 3,
        });
        assert.deepEqual((await ledger.queries.findCalls({ unresolved: true })).rows, []);
      }
      assert.deepEqual(await ledger.claims.findUnsettledEffects('session', 'send_mail', inputDigest), [
        'succeeded',
      ]);
    },
  ],
  [
    'an artifact is read back as it was put, by its session only',
    async ({ ledger }) => {
      const put = (sessionId: string, artifactId: string, content: string | Uint8Array) =>
        ledger.artifacts.put({ sessionId, artifactId, callId: 'c', mimeType: 'text/plain', content });
      await put('one', 'a', 'text with 漢字 and \ud800 alone');
      await put('two', 'a', 'another text');
      await put('one', 'b', Uint8Array.of(0, 255, 1));
      await put('two', 'same', 'another text');
      await put('one', 'empty', '');
      assert.deepEqual((await ledger.artifacts.read('one', 'a'))?.content, 'text with 漢字 and \ud800 alone');
      assert.deepEqual((await ledger.artifacts.read('two', 'a'))?.content, 'another text');
      assert.deepEqual((await ledger.artifacts.read('two', 'same'))?.mimeType, 'text/plain');
      const bytes = (await ledger.artifacts.read('one', 'b'))?.content as Uint8Array;
      assert.deepEqual(Uint8Array.from(bytes), Uint8Array.of(0, 255, 1));
      assert.equal((await ledger.artifacts.read('one', 'empty'))?.content, '');
      assert.equal(await ledger.artifacts.read('two', 'b'), undefined);
      assert.equal(await ledger.artifacts.read('three', 'a'), undefined);
      await put('one', 'a', 'put again');
      assert.equal((await ledger.artifacts.read('one', 'a'))?.content, 'put again');
    },
  ],
  [
    'a large artifact and a large entry come back whole',
    async ({ ledger }) => {
      const content = 'abc漢'.repeat(500_000);
      await ledger.artifacts.put({
        sessionId: 's',
        artifactId: 'a',
        callId: 'c',
        mimeType: 'text/plain',
        content,
      });
      assert.equal((await ledger.artifacts.read('s', 'a'))?.content, content);
      const call = new SampleCall('c', { toolName: 'x'.repeat(2_000_000) });
      const entry = call.begin();
      await ledger.journal.append(entry);
      assert.deepEqual((await ledger.journal.readCall('session', 'c'))?.events, entry.events);
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
  [
    'an owner lives as long as its handle, and one that nobody has heard of does not',
    async ({ ledger }) => {
      assert.equal(await ledger.owners.statusOf(ledger.owners.ownerId), 'alive');
      for (const ownerId of ['', 'own_000000000000000000000000', ...oddNames])
        assert.equal(await ledger.owners.statusOf(ownerId), 'gone');
    },
  ],
  [
    'the time is that of the clock it was opened with',
    async ({ ledger, clock }) => {
      assert.equal(ledger.now(), clock.now());
      clock.advance(86_400_000);
      assert.equal(ledger.now(), clock.now());
      assert.equal(ledger.sealKey.length, 32);
      await ledger.journal.append(new SampleCall('c').begin());
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
      const canSpill = (await ledger.spill.canWrite()) === true;
      for (const entry of entries) assert.equal(await ledger.spill.write(entry), canSpill);
      const { ownerId } = ledger.owners;
      assert.deepEqual(await ledger.spill.read(), canSpill ? [{ ownerId, entries }] : []);
      if (canSpill) assert.equal(await ledger.spill.drop(ownerId, entries[0]?.entryId), false);
      assert.equal((await ledger.spill.read())[0]?.entries.length ?? 0, canSpill ? 2 : 0);
      assert.equal(await ledger.spill.drop(ownerId, entries[1]?.entryId), true);
      assert.deepEqual(await ledger.spill.read(), []);
      assert.equal(await ledger.spill.write(entries[0] as (typeof entries)[0]), canSpill);
    },
  ],
];
