/** Lists of calls and sessions, and open calls. */
import assert from 'node:assert/strict';
import type { CallQuery } from '../../ledger/call-query.ts';
import type { OpenLedger } from '../../ledger/ledger.ts';
import { SampleCall } from '../sample-call.ts';
import type { Check } from './check.ts';
import { findCalls, findOpenCalls, findSessions, readHeads } from '../../ledger/reads.ts';

const start = 1_700_000_000_000;

async function idsOf(ledger: OpenLedger, query: CallQuery): Promise<string[]> {
  return (await findCalls(ledger, query)).rows.map(({ callId }) => callId);
}

/** Five calls of different kinds, a second apart. */
async function appendMix(ledger: OpenLedger): Promise<void> {
  const read = new SampleCall('read', {
    sessionId: 'one',
    toolName: 'look',
    mode: 'read',
    at: start,
    userId: 'ada',
  });
  const failed = new SampleCall('failed', { sessionId: 'one', at: start + 1_000 });
  const denied = new SampleCall('Denied', { sessionId: 'two', at: start + 2_000 });
  const open = new SampleCall('open', { sessionId: 'two', at: start + 3_000 });
  const held = new SampleCall('held', { sessionId: 'two', mode: 'local', at: start + 4_000 });
  for (const entry of [
    read.whole(),
    failed.begin(),
    failed.end('failure'),
    denied.deny(),
    open.begin(),
    held.hold(),
  ])
    await ledger.append(entry);
}

async function readAll<Row>(
  read: (cursor: string | undefined) => PromiseLike<{ rows: readonly Row[]; next: string | undefined }>,
): Promise<Row[]> {
  const rows: Row[] = [];
  let cursor: string | undefined;
  do {
    const page = await read(cursor);
    rows.push(...page.rows);
    cursor = page.next;
  } while (cursor !== undefined);
  return rows;
}

export const queryChecks: readonly Check[] = [
  [
    'a settled call is in the list of calls when its caller gets the outcome',
    async ({ ledger }) => {
      for (let n = 0; n < 20; n++) {
        const call = new SampleCall(`c${n}`);
        await ledger.append(call.begin());
        assert.equal((await findCalls(ledger, { limit: 1 })).rows[0]?.status, 'running');
        await ledger.append(call.end());
        const [row] = (await findCalls(ledger, { limit: 1 })).rows;
        assert.deepEqual(
          [row?.callId, row?.status, row?.outcome],
          [`c${n}`, 'settled', 'ToolExecutionResult'],
        );
      }
    },
  ],
  [
    'the summary of a call matches its events',
    async ({ ledger }) => {
      await appendMix(ledger);
      const [failed] = (await findCalls(ledger, { code: 'tool.network_error' })).rows;
      assert.deepEqual(failed, {
        sessionId: 'one',
        callId: 'failed',
        turnId: 'turn',
        toolName: 'send_mail',
        mode: 'external',
        modeOrigin: 'declared',
        status: 'settled',
        outcome: 'ToolFailure',
        reason: undefined,
        code: 'tool.network_error',
        message: 'The line was cut.',
        inputDigest: `sha256:${'0'.repeat(64)}`,
        attempts: 1,
        unresolved: true,
        requestedAt: start + 1_000,
        settledAt: start + 1_000,
        elapsedMs: 3,
        costMicros: 7,
        userId: undefined,
        ruleId: undefined,
        args: { to: 'person about failed' },
      });
    },
  ],
  [
    'calls are listed newest first, filtered by every criterion',
    async ({ ledger }) => {
      await appendMix(ledger);
      const answers: readonly [CallQuery, readonly string[]][] = [
        [{}, ['held', 'open', 'Denied', 'failed', 'read']],
        [{ sessionId: 'two' }, ['held', 'open', 'Denied']],
        [{ sessionId: 'nowhere' }, []],
        [{ toolName: 'look' }, ['read']],
        [{ mode: 'local' }, ['held']],
        [{ status: 'settled' }, ['Denied', 'failed', 'read']],
        [{ status: 'held' }, ['held']],
        [{ status: 'running' }, ['open']],
        [{ outcome: 'ToolDenied' }, ['Denied']],
        [{ outcome: ['ToolDenied', 'ToolFailure'] }, ['Denied', 'failed']],
        [{ outcome: ['ToolExecutionResult', 'ToolArtifactReference'] }, ['read']],
        [{ outcome: [] }, []],
        [{ code: 'policy.hook' }, ['Denied']],
        [{ unresolved: true }, ['failed']],
        [{ unresolved: false, status: 'settled' }, ['Denied', 'read']],
        [{ since: start + 2_000, until: start + 4_000 }, ['open', 'Denied']],
        [{ text: 'DENI' }, ['Denied']],
        [{ text: 'line was' }, ['failed']],
        [{ text: 'network_' }, ['failed']],
        [{ text: 'look' }, ['read']],
        [{ text: '%' }, []],
        [{ text: 'e', sessionId: 'one', limit: 1 }, ['failed']],
        [{ sessionId: 'one', outcome: 'ToolDenied' }, []],
      ];
      for (const [query, ids] of answers)
        assert.deepEqual(await idsOf(ledger, query), ids, JSON.stringify(query));
    },
  ],
  [
    'pages have no gaps and no repeats, also for calls with equal times and during appends',
    async ({ ledger }) => {
      const calls = Array.from(
        { length: 57 },
        (_, n) => new SampleCall(`c${n}`, { at: start + Math.floor(n / 20) }),
      );
      for (const call of calls) await ledger.append(call.begin());
      let extra = 0;
      const rows = await readAll(async (cursor) => {
        const later = new SampleCall(`later${extra++}`, { at: start + 1_000 });
        await ledger.append(later.begin());
        await ledger.append((calls[extra] as SampleCall).end());
        return findCalls(ledger, { limit: 10, cursor, until: start + 1_000 });
      });
      assert.deepEqual(
        rows.map(({ callId }) => callId),
        calls.map(({ callId }) => callId).toReversed(),
      );
    },
  ],
  [
    'the last page is marked as the last',
    async ({ ledger }) => {
      for (let n = 0; n < 4; n++) await ledger.append(new SampleCall(`c${n}`).begin());
      assert.equal((await findCalls(ledger, { limit: 4 })).next, undefined);
      assert.notEqual((await findCalls(ledger, { limit: 3 })).next, undefined);
    },
  ],
  [
    'an invalid cursor is refused',
    async ({ ledger }) => {
      for (const cursor of ['', 'x', '1.2.3', "1.2' OR 1", '-'])
        await assert.rejects(async () => findCalls(ledger, { cursor }), { code: 'config.invalid' });
    },
  ],
  [
    'open calls are listed oldest first with their owner, until they have an outcome',
    async ({ ledger }) => {
      await appendMix(ledger);
      const { ownerId } = ledger;
      const found = await findOpenCalls(ledger);
      assert.deepEqual(
        found.map(({ sessionId, callId, ownerId: id }) => ({ sessionId, callId, ownerId: id })),
        [
          { sessionId: 'two', callId: 'open', ownerId },
          { sessionId: 'two', callId: 'held', ownerId },
        ],
      );
      for (const [{ status, mode }, expected] of found.map(
        (open, at) => [open, ['running', 'held'][at]] as const,
      )) {
        // Optional: a store may leave it out if it would have to read the call.
        assert.ok(status === undefined || status === expected, `status is ${status}`);
        assert.equal(status === undefined, mode === undefined);
      }
    },
  ],
  [
    'open calls are read page by page, once each, also while earlier ones end',
    async ({ ledger }) => {
      const calls = Array.from({ length: 7 }, (_, index) => new SampleCall(`c${index}`));
      for (const call of calls) await ledger.append(call.begin());
      const found: string[] = [];
      for (let after: string | undefined; ;) {
        const page = await findOpenCalls(ledger, { limit: 3, ...(after !== undefined && { after }) });
        found.push(...page.map(({ callId }) => callId));
        if (page.length < 3) break;
        after = page.at(-1)?.cursor;
        for (const call of calls)
          if (page.some(({ callId }) => callId === call.callId)) await ledger.append(call.end());
      }
      assert.deepEqual(
        found,
        calls.map(({ callId }) => callId),
      );
    },
  ],
  [
    'sessions are listed newest first with their summary',
    async ({ ledger }) => {
      await appendMix(ledger);
      const two = {
        sessionId: 'two',
        calls: 3,
        openCalls: 2,
        failures: 0,
        denials: 1,
        unresolved: 0,
        firstAt: start + 2_000,
        lastAt: start + 4_000,
      };
      const one = {
        sessionId: 'one',
        calls: 2,
        openCalls: 0,
        failures: 1,
        denials: 0,
        unresolved: 1,
        firstAt: start,
        lastAt: start + 1_000,
      };
      assert.deepEqual((await findSessions(ledger, {})).rows, [two, one]);
      assert.deepEqual((await findSessions(ledger, { since: start + 1_000 })).rows, [two, one]);
      assert.deepEqual((await findSessions(ledger, { since: start + 1_001 })).rows, [two]);
      assert.deepEqual((await findSessions(ledger, { sessionId: one.sessionId })).rows, [one]);
      assert.deepEqual((await findSessions(ledger, { sessionId: 'no filter matches' })).rows, []);
      for (const head of await readHeads(ledger))
        assert.deepEqual(await readHeads(ledger, head.sessionId), [head]);
      assert.deepEqual(await readHeads(ledger, 'no id matches'), []);
      assert.deepEqual((await findSessions(ledger, { until: start + 2_000 })).rows, [one]);
      assert.deepEqual((await findSessions(ledger, { text: 'TW' })).rows, [two]);
      const paged = await readAll(async (cursor) => findSessions(ledger, { limit: 1, cursor }));
      assert.deepEqual(paged, [two, one]);
    },
  ],
  [
    'lists and counts are the same after a rebuild',
    async ({ ledger }) => {
      await appendMix(ledger);
      const read = async (): Promise<unknown> => [
        await findCalls(ledger, {}),
        await findSessions(ledger, {}),
        await findOpenCalls(ledger),
      ];
      const before = await read();
      await ledger.rebuild();
      assert.deepEqual(await read(), before);
    },
  ],
];
