/** The lists on PostgreSQL say of every call what its events say, after every commit. */
import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { CallEvent, QuittanceEvent } from '../../packages/quittance/src/call/event.ts';
import { foldCall } from '../../packages/quittance/src/call/evolve.ts';
import type { CallQuery, CallSummary } from '../../packages/quittance/src/ledger/call-query.ts';
import type { Entry } from '../../packages/quittance/src/ledger/journal.ts';
import type { OpenLedger } from '../../packages/quittance/src/ledger/ledger.ts';
import { newSessionTally, countCall, countEvent } from '../../packages/quittance/src/ledger/call-tally.ts';
import { toCallSummary } from '../../packages/quittance/src/ledger/listed-call.ts';
import { openLedger } from '../../packages/quittance/src/store/open-ledger.ts';

import { openPostgresLedger } from '../../packages/postgres/src/open-postgres-ledger.ts';

import { rowsPerPart } from '../../packages/postgres/src/list-functions.ts';
import { SampleCall } from '../../packages/quittance/src/testing/sample-call.ts';
import type { Story } from '../make-ledger.ts';
import { makeEntries, stories } from '../make-ledger.ts';
import {
  appendManyCalls,
  boundedSearches,
  directSearches,
  mostExamined,
  searchAll,
  searchDirectly,
  searchSessions,
  wantedSessions,
} from '../bounded-search.ts';
import { sharePostgres } from './shared-postgres.ts';
import { findProblems } from './verify.ts';
import { findCalls, findSessions, readTallies } from '../../packages/quittance/src/ledger/reads.ts';

let url = '';
beforeAll(async () => {
  ({ url } = await sharePostgres());
});
const opened: OpenLedger[] = [];
afterAll(async () => {
  for (const ledger of opened) await ledger.close();
});

const newName = (): string => `tables_${randomBytes(6).toString('hex')}`;

async function open(name: string = newName()): Promise<OpenLedger> {
  const ledger = await openPostgresLedger(url, {
    schema: name,
    sealKey: Buffer.alloc(32, 1),
    spillFolder: join(tmpdir(), name),
  });
  opened.push(ledger);
  return ledger;
}

const plan = (Object.keys(stories) as Story[]).flatMap((story) =>
  ['one', 'two'].map((call) => ({ session: `session-${story}`, call: `${call}-${story}`, story })),
);

function expectedCalls(entries: readonly Entry[]): readonly CallSummary[] {
  const byCall = new Map<string, CallEvent[]>();
  for (const { events } of entries)
    for (const event of events as readonly QuittanceEvent[])
      if ('callId' in event) {
        const key = JSON.stringify([event.sessionId, event.callId]);
        byCall.set(key, [...(byCall.get(key) ?? []), event as CallEvent]);
      }
  return [...byCall.values()].flatMap((events) => {
    const call = foldCall(events);
    return call === undefined ? [] : [toCallSummary(call)];
  });
}

const byId = (one: CallSummary, other: CallSummary): number => (one.callId < other.callId ? -1 : 1);

async function expectSame(ledger: OpenLedger, entries: readonly Entry[]): Promise<void> {
  const expected = expectedCalls(entries);
  const { rows } = await findCalls(ledger, { limit: 500 });
  expect(rows.toSorted(byId)).toMatchObject(expected.toSorted(byId));
  const sessions = await findSessions(ledger, { limit: 500 });
  const tallies = new Map<string, ReturnType<typeof newSessionTally>>();
  for (const { sessionId, events } of entries) {
    const tally = tallies.get(sessionId) ?? newSessionTally(sessionId);
    tallies.set(sessionId, tally);
    for (const { at } of events) countEvent(tally, at);
  }
  for (const call of expected) countCall(tallies.get(call.sessionId) ?? newSessionTally(''), call);
  expect(Object.fromEntries(sessions.rows.map((row) => [row.sessionId, row]))).toMatchObject(
    Object.fromEntries(tallies),
  );
}

test('if entries are appended one by one', async () => {
  const ledger = await open();
  const entries = makeEntries(plan);
  for (const entry of entries) await ledger.append(entry);
  await expectSame(ledger, entries);
});

test('after every entry', async () => {
  const ledger = await open();
  const entries = makeEntries(plan);
  for (const [index, entry] of entries.entries()) {
    await ledger.append(entry);
    await expectSame(ledger, entries.slice(0, index + 1));
  }
});

/** In each part, the newest calls are looked at one by one: more than one batch of a search. */
const cities = ['Lyon', 'Oslo', 'Kyoto'];
const parts = 5;

test('a search finds the same calls in the same order, however many parts the index has', async () => {
  const schema = newName();
  const ledger = await open(schema);
  const plain = await openLedger('memory:');
  opened.push(plain);
  const append = async (entry: Entry): Promise<void> => {
    for (const each of [ledger, plain]) await each.append(entry);
  };
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  const late = new SampleCall('late', { at: 500, input: { city: 'Kyoto' } });
  await append(late.begin());
  for (let part = 0; part < parts; part++) {
    for (let n = 0; n < 6; n++) {
      const call = new SampleCall(`call_${part}_${n}`, {
        sessionId: `session-${n % 2}`,
        toolName: `tool_${n % 3}`,
        userId: `user${n % 2}`,
        mode: n === 4 ? 'read' : 'external',
        at: 1_000 * part + n,
        input: { city: cities[n % 3] ?? '', cents: 100 * part + n, ...(part === 1 && { note: 'early' }) },
      });
      if (n === 5) await append(call.deny());
      else if (n === 3) for (const entry of [call.begin(), call.end('failure')]) await append(entry);
      else await append(call.whole());
    }
    if (part === 3) await append(late.end());
    // The next row begins a part.
    await admin.query(`ALTER TABLE ${schema}.read_words ALTER COLUMN number RESTART WITH ${rowsPerPart}`);
  }
  const { rows: made } = await admin.query(`SELECT 1 FROM ${schema}.read_parts`);
  await admin.end();
  expect(made).toHaveLength(parts);

  const queries: readonly CallQuery[] = [
    ...['kyoto', 'kyoto ', 'kyo', 'early', 'nowhere', 'kyoto nowhere', 'lyon early ', 'call_1_', 'late'].map(
      (text) => ({ text }),
    ),
    ...['args.cents>250', 'args.cents=304', 'args.city!=Oslo', 'kyoto args.cents<200'].map((text) => ({
      text,
    })),
    { idStart: 'call_2' },
    { text: 'kyoto', outcome: 'ToolDenied' },
    { text: 'kyoto', outcome: ['ToolDenied', 'ToolExecutionResult'] },
    { text: 'kyoto', outcome: [] },
    { text: 'lyon', outcome: 'ToolFailure', toolName: 'tool_0' },
    { text: 'lyon', code: 'policy.hook' },
    { text: 'kyoto', code: 'policy.hook' },
    { text: 'kyoto', mode: 'read' },
    { text: 'oslo', mode: 'read' },
    { text: 'kyoto', status: 'settled', userId: 'user0' },
    { text: 'kyoto', status: 'running' },
    { text: 'lyon', unresolved: true },
    { text: 'lyon', unresolved: false },
    { text: 'kyoto', since: 500, until: 2_003 },
    { text: 'args.city!=Oslo', since: 1_001, until: 3_000 },
    { text: 'kyoto', sessionId: 'session-0', since: 4_000 },
    { text: 'kyoto', until: 0 },
  ];
  for (const query of queries)
    for (const limit of [2, 50])
      expect({ query, ids: await idsOf(ledger, { ...query, limit }) }).toEqual({
        query,
        ids: await idsOf(plain, { ...query, limit }),
      });

  await ledger.erase({ sessionId: 'session-1', by: 'Ada', reason: 'asked to' });
  expect(await idsOf(ledger, { text: 'kyoto ', sessionId: 'session-1' })).toEqual([]);
  await ledger.rebuild();
  for (const query of [{ text: 'call' }, { text: 'kyoto', since: 500, until: 2_003, sessionId: 'session-0' }])
    expect(await idsOf(ledger, query)).toEqual(await idsOf(plain, query));
});

/** Of all pages. */
async function idsOf(ledger: OpenLedger, query: CallQuery): Promise<readonly string[]> {
  const ids: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await findCalls(ledger, { ...query, cursor });
    ids.push(...page.rows.map(({ callId }) => callId));
    cursor = page.next;
  } while (cursor !== undefined);
  return ids;
}

test('a search that no index answers ends after as many rows as it may examine', async () => {
  const ledger = await open();
  await appendManyCalls(ledger);
  for (const search of boundedSearches) {
    const { found, examinedPerPage } = await searchAll(ledger, search);
    const isBounded = examinedPerPage <= mostExamined;
    expect([search.name, found, isBounded]).toEqual([search.name, search.finds, true]);
  }
  for (const search of directSearches)
    expect([search.name, await searchDirectly(ledger, search)]).toEqual([
      search.name,
      { found: search.finds, emptyPages: 0 },
    ]);
  const { found, examinedPerPage } = await searchSessions(ledger, 'needle');
  expect(found).toEqual(wantedSessions);
  expect(examinedPerPage).toBeLessThanOrEqual(mostExamined);
});

/** A second connection of an administrator, for what no ledger does. */
async function administer(work: (admin: pg.Client) => Promise<void>): Promise<void> {
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  try {
    await work(admin);
  } finally {
    await admin.end();
  }
}

test('the row of a call is also made of what other processes said about it meanwhile', async () => {
  const schema = newName();
  const [one, other] = [await open(schema), await open(schema)];
  const call = new SampleCall('c');
  const [begun, ended] = [call.begin(), call.end('timeout')];
  const result = { type: 'returned', output: { sent: true } } as const;
  const late = call.entry([{ type: 'add_late', attempt: 1, elapsedMs: 5, result }], {}, 'any');
  for (const [ledger, entry] of [
    [one, begun],
    [other, late],
    [one, ended],
  ] as const)
    expect(await ledger.append(entry)).toMatchObject({ status: 'appended' });
  expect((await findCalls(one, {})).rows).toMatchObject([{ outcome: 'ToolTimeout', unresolved: false }]);
  expect((await findSessions(one, {})).rows).toMatchObject([{ calls: 1, openCalls: 0, unresolved: 0 }]);
});

test('a late result settles the row of a call that another process ended', async () => {
  const schema = newName();
  const [one, other] = [await open(schema), await open(schema)];
  const call = new SampleCall('c');
  for (const entry of [call.begin(), call.conflict(), call.end('timeout')]) await one.append(entry);
  expect((await findCalls(one, {})).rows).toMatchObject([{ unresolved: true }]);
  const result = { type: 'returned', output: { sent: true } } as const;
  await other.append(call.entry([{ type: 'add_late', attempt: 1, elapsedMs: 5, result }], {}, 'any'));
  expect((await findCalls(one, {})).rows).toMatchObject([{ unresolved: false }]);
  expect(await readTallies(one, { by: ['status'] })).toEqual([
    { status: 'settled', calls: 1, unresolved: 0, costMicros: 7 },
  ]);
  expect(await findProblems(one)).toEqual([]);
});

test('entries that are passed without waiting for each other are listed as if each had waited', async () => {
  const ledger = await open();
  const entries = makeEntries(plan);
  const results = await Promise.all(entries.map(async (entry) => ledger.append(entry)));
  expect(new Set(results.map(({ status }) => status))).toEqual(new Set(['appended']));
  await expectSame(ledger, entries);
});

test('the rows of a commit that is undone are undone with it', async () => {
  const schema = newName();
  const ledger = await open(schema);
  await ledger.append(new SampleCall('first').whole());
  const refused = new SampleCall('second');
  await ledger.append({ ...refused.begin(), reserve: [{ counter: 'usd', amount: 2, limit: 1 }] });
  const { rows } = await findCalls(ledger, {});
  expect(rows.map(({ callId }) => callId)).toEqual(['first']);
  expect((await findSessions(ledger, {})).rows).toMatchObject([{ calls: 1, openCalls: 0 }]);
});

test('calls of many lanes are counted once, in the tallies and next to their sessions', async () => {
  const schema = newName();
  const ledgers = await Promise.all([open(schema), open(schema)]);
  const calls = Array.from(
    { length: 120 },
    (_, n) => new SampleCall(`call-${n}`, { sessionId: `s${n % 7}` }),
  );
  await Promise.all(
    calls.map(async (call, n) => {
      const ledger = ledgers[n % 2] as OpenLedger;
      await ledger.append(call.begin());
      await ledger.append(call.end(n % 4 === 0 ? 'failure' : 'result'));
    }),
  );
  const [ledger] = ledgers;
  const tallies = await readTallies(ledger, { by: ['outcome'] });
  expect(Object.fromEntries(tallies.map((tally) => [tally.outcome, tally.calls]))).toEqual({
    ToolExecutionResult: 90,
    ToolFailure: 30,
  });
  const { rows } = await findSessions(ledger, {});
  expect(rows.reduce((sum, { calls: own }) => sum + own, 0)).toBe(120);
  expect(await findProblems(ledger)).toEqual([]);
});

test('rebuild makes changed rows again while another process appends, and loses none of its calls', async () => {
  const schema = newName();
  const [one, other] = [await open(schema), await open(schema)];
  const before = Array.from({ length: 30 }, (_, n) => new SampleCall(`old-${n}`, { sessionId: `s${n % 5}` }));
  for (const call of before) await one.append(call.whole());
  await administer(async (admin) => {
    await admin.query(
      `SET search_path TO ${schema}; UPDATE read_calls SET tool_name = 'forged', part = 7; DELETE FROM read_words WHERE position % 2 = 0;
       UPDATE sessions SET calls = 99, first_at = 1, last_at = 9e15; UPDATE read_tallies SET calls = 1000; DELETE FROM read_parts`,
    );
  });
  expect(await findProblems(one)).not.toEqual([]);
  let isOver = false;
  const rebuilding = one.rebuild().finally(() => {
    isOver = true;
  });
  const during: SampleCall[] = [];
  for (let n = 0; !isOver || n < 10; n++) {
    const call = new SampleCall(`new-${n}`, { sessionId: `s${n % 6}` });
    during.push(call);
    await other.append(call.begin());
    await other.append(call.end());
  }
  expect(await rebuilding).toEqual([]);
  expect(await findProblems(one)).toEqual([]);
  const [tally] = await readTallies(one, { by: [] });
  expect(tally?.calls).toBe(before.length + during.length);
});
