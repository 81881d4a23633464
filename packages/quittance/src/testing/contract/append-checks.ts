import assert from 'node:assert/strict';
import type { Entry } from '../../ledger/journal.ts';
import { SampleCall } from '../sample-call.ts';
import type { Check } from './check.ts';
import {
  readClaim,
  readSealed,
  readWholeArtifact,
  readCounters,
  findUnsettledEffects,
  findOpenCalls,
  readHeads,
} from '../../ledger/reads.ts';

export const appendChecks: readonly Check[] = [
  [
    'an append gives the call its next version, and the call reads back as it was written',
    async ({ ledger }) => {
      const call = new SampleCall('c');
      const [begin, end] = [call.begin(), call.end()];
      assert.deepEqual(await ledger.append(begin), { status: 'appended', version: 1 });
      assert.deepEqual(await ledger.append(end), { status: 'appended', version: 2 });
      assert.deepEqual(await ledger.readCall('session', 'c'), {
        version: 2,
        events: [...begin.events, ...end.events],
        ownerId: ledger.ownerId,
      });
      assert.deepEqual(await ledger.readSession('session'), [...begin.events, ...end.events]);
    },
  ],
  [
    'a call keeps the behavior depth of its request, whatever follows',
    async ({ ledger }) => {
      const call = new SampleCall('c');
      await ledger.append({ ...call.begin(), depth: 3 });
      await ledger.append(call.end());
      assert.equal((await ledger.readCall('session', 'c'))?.depth, 3);
    },
  ],
  [
    'a missing call, session, claim or sealed input is undefined or empty',
    async ({ ledger }) => {
      assert.equal(await ledger.readCall('session', 'c'), undefined);
      assert.deepEqual(await ledger.readSession('session'), []);
      assert.equal(await readClaim(ledger, 'key'), undefined);
      assert.equal(await readSealed(ledger, 'session', 'c'), undefined);
      assert.equal(await readWholeArtifact(ledger, 'session', 'a'), undefined);
      assert.deepEqual(await readCounters(ledger, ['n']), [{ used: 0, reserved: 0 }]);
      assert.deepEqual(await findUnsettledEffects(ledger, 'session', 't', 'd'), []);
      assert.deepEqual(await findOpenCalls(ledger), []);
      assert.deepEqual(await ledger.readEntries({ limit: 10 }), []);
      assert.deepEqual(await readHeads(ledger), []);
    },
  ],
  [
    'an append with an old or future version gets the current version, and nothing is stored',
    async ({ ledger }) => {
      const call = new SampleCall('c');
      await ledger.append(call.begin());
      for (const expectedVersion of [0, 2, 7]) {
        const refused = { ...new SampleCall('c').begin(), entryId: `x${expectedVersion}`, expectedVersion };
        assert.deepEqual(await ledger.append(refused), { status: 'conflict', version: 1 });
      }
      const missing = { ...new SampleCall('other').begin(), expectedVersion: 1 };
      assert.deepEqual(await ledger.append(missing), { status: 'conflict', version: 0 });
      assert.equal((await ledger.readCall('session', 'c'))?.events.length, 3);
      assert.equal(await ledger.readCall('session', 'other'), undefined);
      assert.equal((await ledger.readEntries({ limit: 10 })).length, 1);
    },
  ],
  [
    'a remark keeps the version of its call, and requires an existing call',
    async ({ ledger }) => {
      const call = new SampleCall('c');
      await ledger.append(call.begin());
      await ledger.append(call.end());
      const remark = call.recall();
      assert.deepEqual(await ledger.append(remark), { status: 'appended', version: 2 });
      assert.deepEqual(await ledger.append({ ...call.recall(), entryId: 'again' }), {
        status: 'appended',
        version: 2,
      });
      const stored = await ledger.readCall('session', 'c');
      assert.equal(stored?.version, 2);
      assert.deepEqual(stored.events[4], remark.events[0]);
      const lost: Entry = { ...remark, sessionId: 'elsewhere' };
      assert.deepEqual(await ledger.append(lost), { status: 'conflict', version: 0 });
      assert.deepEqual(await ledger.readSession('elsewhere'), []);
    },
  ],
  [
    'an entry without a call has version 0 and is read with its session only',
    async ({ ledger }) => {
      const ended: Entry = {
        entryId: 'e',
        sessionId: 'session',
        callId: undefined,
        expectedVersion: 0,
        events: [
          {
            id: 'x',
            type: 'turn.ended',
            sessionId: 'session',
            turnId: 't',
            at: 5,
            cause: undefined,
            why: 'asked',
          },
        ],
      };
      assert.deepEqual(await ledger.append(ended), { status: 'appended', version: 0 });
      assert.deepEqual(await ledger.append({ ...ended, entryId: 'f' }), {
        status: 'appended',
        version: 0,
      });
      assert.equal((await ledger.readSession('session')).length, 2);
    },
  ],
  [
    'of many concurrent appends to one call, one wins and the others learn that',
    async ({ ledger }) => {
      const results = await Promise.all(
        Array.from({ length: 50 }, async () => ledger.append(new SampleCall('c').begin())),
      );
      assert.equal(results.filter(({ status }) => status === 'appended').length, 1);
      for (const result of results.filter(({ status }) => status !== 'appended'))
        assert.deepEqual(result, { status: 'conflict', version: 1 });
      assert.equal((await ledger.readSession('session')).length, 3);
    },
  ],
  [
    'entries are stored in the order they were passed, also without awaiting each',
    async ({ ledger }) => {
      const call = new SampleCall('c');
      const entries = [call.begin(), call.end(), call.recall(), call.recall()];
      await Promise.all(entries.map(async (entry) => ledger.append(entry)));
      assert.deepEqual(
        await ledger.readSession('session'),
        entries.flatMap(({ events }) => events),
      );
    },
  ],
  [
    '5,000 concurrent appends are all stored, once each, in chains without a gap',
    async ({ ledger }) => {
      const calls = Array.from(
        { length: 2_500 },
        (_, n) => new SampleCall(`c${n}`, { sessionId: `s${n % 50}` }),
      );
      const answers = await Promise.all(
        calls.flatMap((call) => [call.begin(), call.end()]).map(async (entry) => ledger.append(entry)),
      );
      assert.ok(answers.every(({ status }) => status === 'appended'));
      const heads = await readHeads(ledger);
      assert.equal(heads.length, 50);
      assert.ok(heads.every(({ sequence }) => sequence === 100));
      assert.equal((await ledger.readCall('s7', 'c1207'))?.version, 2);
      const sessions = new Map<string, number>();
      for (const { sessionId, sequence } of await ledger.readEntries({ limit: 10_000 })) {
        assert.equal(sequence, (sessions.get(sessionId) ?? 0) + 1);
        sessions.set(sessionId, sequence);
      }
    },
  ],
  [
    'changing a value that was read does not change the stored one',
    async ({ ledger }) => {
      await ledger.append(new SampleCall('c').begin());
      const before = structuredClone(await ledger.readCall('session', 'c'));
      const events = (await ledger.readCall('session', 'c'))?.events as unknown as {
        toolName: string;
      }[];
      try {
        (events[0] as { toolName: string }).toolName = 'other';
        events.length = 0;
      } catch {
        // Refusing the change is equally good.
      }
      assert.deepEqual(await ledger.readCall('session', 'c'), before);
    },
  ],
  [
    'only the ledger appends to its own session',
    async ({ ledger }) => {
      const entry = new SampleCall('c', { sessionId: 'quittance.ledger' }).begin();
      await assert.rejects(async () => ledger.append(entry), { code: 'config.invalid' });
    },
  ],
  [
    'a closed ledger refuses every operation',
    async ({ ledger }) => {
      await ledger.close();
      await assert.rejects(async () => ledger.append(new SampleCall('c').begin()), {
        code: 'ledger.closed',
      });
    },
  ],
];
