/** The lists on PostgreSQL say of every call what its events say, however its entries came into the read tables. */
import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { CallEvent, QuittanceEvent } from '../../src/call/event.ts';
import { foldCall } from '../../src/call/evolve.ts';
import type { CallQuery, CallSummary } from '../../src/ledger/call-query.ts';
import type { Entry } from '../../src/ledger/journal.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { newSessionTally, countCall, countEvent } from '../../src/ledger/session-tally.ts';
import { toCallSummary } from '../../src/ledger/summarize-call.ts';
import { openLedger } from '../../src/store/open-ledger.ts';
import { fillerName } from '../../src/store/postgres/filler.ts';
import { openPostgresLedger } from '../../src/store/postgres/open-postgres-ledger.ts';
import type { PgValue } from '../../src/store/postgres/pg-driver.ts';
import type { PgQuery } from '../../src/store/postgres/pg-pool.ts';
import { PgPool } from '../../src/store/postgres/pg-pool.ts';
import { projectStep } from '../../src/store/postgres/projection.ts';
import { readSettings } from '../../src/store/postgres/settings.ts';
import { rowsPerPart } from '../../src/store/postgres/word-functions.ts';
import { SampleCall } from '../../src/testing/sample-call.ts';
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

let url = '';
beforeAll(async () => {
  ({ url } = await sharePostgres());
});
const opened: Ledger[] = [];
afterAll(async () => {
  for (const ledger of opened) await ledger.close();
});

const newName = (): string => `tables_${randomBytes(6).toString('hex')}`;

async function open(name: string = newName()): Promise<Ledger> {
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

async function expectSame(ledger: Ledger, entries: readonly Entry[]): Promise<void> {
  const expected = expectedCalls(entries);
  const { rows } = await ledger.queries.findCalls({ limit: 500 });
  expect(rows.toSorted(byId)).toMatchObject(expected.toSorted(byId));
  const sessions = await ledger.queries.findSessions({ limit: 500 });
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

test('if all entries are read in one step', async () => {
  const ledger = await open();
  const entries = makeEntries(plan);
  for (const entry of entries) await ledger.journal.append(entry);
  await expectSame(ledger, entries);
});

test('if the tables are filled after every entry', async () => {
  const ledger = await open();
  const entries = makeEntries(plan);
  for (const [index, entry] of entries.entries()) {
    await ledger.journal.append(entry);
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
    for (const each of [ledger, plain]) await each.journal.append(entry);
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
    await ledger.queries.findCalls({ limit: 1 });
    await admin.query(`UPDATE ${schema}.read_parts SET written = ${rowsPerPart}`);
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

  await ledger.retention.erase({ sessionId: 'session-1', by: 'Ada', reason: 'asked to' });
  expect(await idsOf(ledger, { text: 'kyoto ', sessionId: 'session-1' })).toEqual([]);
  await ledger.integrity.rebuild();
  for (const query of [{ text: 'call' }, { text: 'kyoto', since: 500, until: 2_003, sessionId: 'session-0' }])
    expect(await idsOf(ledger, query)).toEqual(await idsOf(plain, query));
});

/** Of all pages. */
async function idsOf({ queries }: Ledger, query: CallQuery): Promise<readonly string[]> {
  const ids: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await queries.findCalls({ ...query, cursor });
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

test('a long backlog is filled by a thread with a connection of its own, which ends with the ledger', async () => {
  const name = newName();
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  // Tells these connections from those of other tests.
  await admin.query(`CREATE ROLE ${name} SUPERUSER LOGIN PASSWORD 'pw'`);
  const ofThread = async (): Promise<readonly number[]> => {
    const { rows } = await admin.query<{ pid: number }>(
      'SELECT pid FROM pg_stat_activity WHERE usename = $1 AND application_name = $2',
      [name, fillerName],
    );
    return rows.map(({ pid }) => pid);
  };
  const asRole = new URL(url);
  asRole.username = name;
  asRole.password = 'pw';
  const ledger = await openPostgresLedger(asRole.href, {
    schema: name,
    sealKey: Buffer.alloc(32, 1),
    spillFolder: join(tmpdir(), name),
  });
  const countCalls = async (): Promise<number> => {
    const [tally] = await ledger.queries.tallyCalls({ by: [] });
    return tally?.calls ?? 0;
  };
  try {
    const append = async (from: number, until: number): Promise<void> => {
      const calls = Array.from({ length: until - from }, (_, n) => from + n);
      const entries = makeEntries(
        calls.map((call) => ({ session: `session-${call % 50}`, call: `call-${call}`, story: 'read' })),
      );
      await Promise.all(entries.map(async (entry) => ledger.journal.append(entry)));
    };
    await append(0, 100);
    expect([await countCalls(), await ofThread()]).toEqual([100, []]);

    // Nothing is filled before there is much to fill. Not by a row lock: the feeds of other tests would wait for its end.
    await admin.query(`BEGIN; LOCK TABLE ${name}.read_progress IN EXCLUSIVE MODE`);
    await append(100, 13_000);
    await admin.query('COMMIT');
    expect(await countCalls()).toBe(13_000);
    const [pid] = await ofThread();
    expect(pid).toBeDefined();

    await admin.query('SELECT pg_terminate_backend($1)', [pid]);
    await append(13_000, 13_010);
    expect(await countCalls()).toBe(13_010);
  } finally {
    await ledger.close();
  }
  await expect.poll(ofThread).toEqual([]);
  await admin.query(`REASSIGN OWNED BY ${name} TO CURRENT_USER; DROP ROLE ${name}`);
  await admin.end();
});

/** Takes a step. `meanwhile` runs when it has read its entries and not written anything. */
async function stepWith(schema: string, meanwhile: () => Promise<void>): Promise<void> {
  class PausedPool extends PgPool {
    override transaction<Result>(work: (query: PgQuery) => Promise<Result>): Promise<Result> {
      return super.transaction((query) =>
        work(async <Row>(text: string, values?: readonly PgValue[]) => {
          const rows = await query<Row>(text, values);
          if (text.includes('ORDER BY e.position LIMIT')) await meanwhile();
          return rows;
        }),
      );
    }
  }
  const pool = new PausedPool(readSettings(url, { schema }));
  try {
    expect(await projectStep(pool)).toBe(false);
  } finally {
    await pool.close();
  }
}

test('the feed of entries does not wait for a step that has read its entries and not written anything', async () => {
  const schema = newName();
  const ledger = await open(schema);
  await ledger.journal.append(new SampleCall('first').begin());
  let seen = 0;
  await stepWith(schema, async () => {
    await ledger.journal.append(new SampleCall('second').begin());
    seen = (await ledger.entries.read({ limit: 10 })).length;
  });
  expect(seen).toBe(2);
  expect((await ledger.queries.findCalls({})).rows).toHaveLength(2);
});

test('a step waits for the one that another process is taking, so that calls are counted once', async () => {
  const schema = newName();
  const ledger = await open(schema);
  await ledger.journal.append(new SampleCall('first').begin());
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  let isOver = false;
  let second: Promise<void> | undefined;
  await stepWith(schema, async () => {
    second = stepWith(schema, () => Promise.resolve()).finally(() => {
      isOver = true;
    });
    const isWaiting = async (): Promise<boolean> => {
      const { rowCount } = await admin.query(
        'SELECT 1 FROM pg_locks WHERE NOT granted AND relation = $1::regclass',
        [`${schema}.read_progress`],
      );
      return rowCount === 1;
    };
    await expect.poll(async () => isOver || (await isWaiting())).toBe(true);
    expect(isOver).toBe(false);
  });
  await second;
  await admin.end();
  const [tally] = await ledger.queries.tallyCalls({ by: [] });
  expect(tally?.calls).toBe(1);
});
