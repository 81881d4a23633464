import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, describe, expect, test } from 'vitest';
import { eventually } from '../../../test/eventually.ts';
import type { MadeEntry, Story } from '../../../test/make-ledger.ts';
import { makeEntries, stories } from '../../../test/make-ledger.ts';
import { LockWait } from './backoff.ts';
import { openSqliteLedger } from './open-sqlite-ledger.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-tables-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Every row of every read table, in the order of its key. */
function readTables(path: string): Record<string, unknown[]> {
  const database = new Database(`${path}.read`, { readonly: true });
  const tables = {
    calls: 'position',
    audit: 'position, record_id',
    sessions: 'session',
    progress: 'position',
  };
  const rows = Object.entries(tables).map(([table, key]) => [
    table,
    database.prepare(`SELECT * FROM ${table} ORDER BY ${key}`).all(),
  ]);
  database.close();
  return Object.fromEntries(rows) as Record<string, unknown[]>;
}

const plans = Array.from({ length: 4 }, (_, round) =>
  (Object.keys(stories) as Story[]).map((story) => ({
    session: `s${round % 3}`,
    call: `${story}-${round}`,
    story,
  })),
).flat();
const entries = makeEntries(plans);

describe('the read tables', () => {
  test('are identical however they were filled: at once, entry by entry, by two processes, by a thread, or anew', async () => {
    const [atOnce, oneByOne, byTwo, byThread] = ['at-once', 'one-by-one', 'by-two', 'by-thread'].map((name) =>
      join(folder, `${name}.db`),
    ) as [string, string, string, string];
    const first = await openSqliteLedger(atOnce);
    for (const entry of entries) expect((await first.journal.append(entry)).status).toBe('appended');
    await first.queries.findCalls({});

    const second = await openSqliteLedger(oneByOne);
    for (const entry of entries) {
      await second.journal.append(entry);
      await second.queries.findCalls({ limit: 1 });
    }

    const pair = [await openSqliteLedger(byTwo), await openSqliteLedger(byTwo)] as const;
    for (const [index, entry] of entries.entries()) {
      await pair[0].journal.append(entry);
      if (index % 3 === 0) await Promise.all(pair.map(async (ledger) => ledger.queries.findOpenCalls()));
    }
    await Promise.all(pair.map(async (ledger) => ledger.queries.findCalls({})));

    const threaded = await openSqliteLedger(byThread, {}, { threadLag: 3 });
    for (const [index, entry] of entries.entries()) {
      await threaded.journal.append(entry);
      if (index % 40 === 0) await threaded.queries.findSessions({});
    }
    await threaded.queries.findCalls({});

    // Owners and hashes differ between ledgers; everything else must be the same.
    const comparable = (path: string): unknown =>
      JSON.parse(
        JSON.stringify(readTables(path), (key, value: unknown) =>
          ['owner_id', 'hash', 'ledger_id'].includes(key) ? undefined : value,
        ),
      );
    const expected = comparable(atOnce);
    expect(comparable(oneByOne)).toEqual(expected);
    expect(comparable(byTwo)).toEqual(expected);
    expect(comparable(byThread)).toEqual(expected);

    const before = readTables(atOnce);
    expect(before['calls']).toHaveLength(plans.length);
    expect(before['audit']?.length).toBeGreaterThan(plans.length / 2);
    await first.integrity.rebuild();
    expect(readTables(atOnce)).toEqual(before);
    for (const ledger of [first, second, ...pair, threaded]) await ledger.close();
  });

  test('count many calls of one step as they count calls one by one', async () => {
    const names = Object.keys(stories) as Story[];
    const many = makeEntries(
      Array.from({ length: 600 }, (_, index) => ({
        session: `s${index % 5}`,
        call: `call-${index}`,
        story: names[index % names.length] as Story,
      })),
    );
    // Counts that came to nothing depend on the order of the steps.
    const readTallies = (path: string): unknown[] => {
      const database = new Database(`${path}.read`, { readonly: true });
      const rows = database
        .prepare(
          'SELECT * FROM tallies WHERE calls <> 0 ORDER BY hour, tool_name, bin, code, outcome, mode, status',
        )
        .all();
      const triggers = database.prepare(
        `SELECT name FROM sqlite_schema WHERE type = 'trigger' ORDER BY name`,
      );
      expect(triggers.pluck().all()).toEqual(['tally_delete', 'tally_update']);
      database.close();
      return rows;
    };
    const [inBulk, inPieces] = ['in-bulk.db', 'in-pieces.db'].map((name) => join(folder, name)) as [
      string,
      string,
    ];
    const first = await openSqliteLedger(inBulk, { synchronous: 'normal' });
    await Promise.all(many.map((entry) => first.journal.append(entry)));
    await first.queries.findCalls({});
    const second = await openSqliteLedger(inPieces, { synchronous: 'normal' });
    for (let from = 0; from < many.length; from += 150) {
      await Promise.all(many.slice(from, from + 150).map((entry) => second.journal.append(entry)));
      await second.queries.findCalls({});
    }
    expect(readTallies(inBulk)).toEqual(readTallies(inPieces));
    for (const ledger of [first, second]) await ledger.close();
  });

  test('are also filled in idle time, without a query', async () => {
    const path = join(folder, 'quiet.db');
    const ledger = await openSqliteLedger(path);
    for (const entry of entries.slice(0, 20)) await ledger.journal.append(entry);
    let filled = 0;
    for (let tries = 0; filled === 0 && tries < 3_000; tries++) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      try {
        filled = readTables(path)['calls']?.length ?? 0;
      } catch {
        filled = 0; // not created yet
      }
    }
    expect(filled).toBeGreaterThan(0);
    await ledger.close();
  });

  test('contain a record of every kind that occurs in the stories, except those that equal the row of a call', async () => {
    const path = join(folder, 'kinds.db');
    const ledger = await openSqliteLedger(path);
    for (const entry of entries) await ledger.journal.append(entry);
    await ledger.queries.findCalls({});
    const kinds = new Set((readTables(path)['audit'] as { kind: string }[]).map(({ kind }) => kind));
    expect([...kinds].sort()).toEqual([
      'blocked',
      'cached',
      'invalidated',
      'persistence_failed',
      'requires_confirmation',
    ]);
    await ledger.close();
  });
});

test('a later page of open calls does not wait for entries appended since the first one', async () => {
  const path = join(folder, 'pages.db');
  const ledger = await openSqliteLedger(path);
  const open = (call: string): Parameters<typeof ledger.journal.append>[0][] =>
    makeEntries([{ session: call, call, story: 'open' }]);
  for (const entry of [...open('a'), ...open('b')]) await ledger.journal.append(entry);
  const [first] = await ledger.queries.findOpenCalls({ limit: 1 });
  for (const entry of open('c')) await ledger.journal.append(entry);
  // Nothing can fill the tables now, so a query for the newest entry would wait.
  const other = new Database(`${path}.read`, { timeout: 5_000 });
  other.exec('BEGIN IMMEDIATE');
  const second = await ledger.queries.findOpenCalls({ limit: 1, after: first?.cursor ?? '' });
  const third = await ledger.queries.findOpenCalls({ limit: 1, after: second[0]?.cursor ?? '' });
  other.exec('ROLLBACK');
  other.close();
  expect([first, ...second].map((call) => call?.callId)).toEqual(['a', 'b']);
  // It may be there already: the tables are also filled in idle time.
  expect(third.map(({ callId }) => callId).filter((callId) => callId !== 'c')).toEqual([]);
  expect((await ledger.queries.findOpenCalls()).map(({ callId }) => callId)).toEqual(['a', 'b', 'c']);
  await expect(ledger.queries.findOpenCalls({ after: 'x.y.z.' })).rejects.toThrow(
    /A cursor must be the "next"/,
  );
  await expect(ledger.queries.findOpenCalls({ after: '1.1' })).rejects.toThrow(/A cursor must be the "next"/);
  await ledger.close();
});

describe.each([
  ['the query', 10_000],
  ['the thread', 0],
])('while another process has locked the read tables and is stopped, and %s waits for it', (_, threadLag) => {
  test('a query ends with an error, calls are stored, and the next query works once the lock is free', async () => {
    const path = join(folder, `stopped-${threadLag}.db`);
    const ledger = await openSqliteLedger(path, {}, { threadLag, tablePatienceMs: 100 });
    const [first, second] = ['a', 'b'].map((call) => makeEntries([{ session: call, call, story: 'open' }]));
    for (const entry of first ?? []) await ledger.journal.append(entry);
    // The thread of this ledger takes the lock too, and a busy machine may stop it for longer than the patience.
    await eventually(async () => expect(await ledger.queries.findOpenCalls()).toHaveLength(1));
    const stopped = new Database(`${path}.read`, { timeout: 5_000 });
    stopped.exec('BEGIN IMMEDIATE');
    for (const entry of second ?? [])
      expect(await ledger.journal.append(entry)).toMatchObject({ status: 'appended' });
    await expect(ledger.queries.findOpenCalls()).rejects.toMatchObject({
      code: 'ledger.unavailable',
      message: expect.stringContaining('it is probably stopped or paused') as string,
    });
    stopped.exec('ROLLBACK');
    stopped.close();
    await eventually(async () =>
      expect((await ledger.queries.findOpenCalls()).map(({ callId }) => callId)).toEqual(['a', 'b']),
    );
    await ledger.close();
  });
});

test('a query waits for as long as others make progress', async () => {
  const wait = new LockWait(20);
  const beganMs = performance.now();
  for (let progress = 0; performance.now() - beganMs < 60; progress++)
    expect(await wait.again(progress)).toBe(true);
  while (await wait.again(-1));
  expect(performance.now() - beganMs).toBeGreaterThan(80);
});

test('an open call of a ledger that was restored to another state is read again, not continued', async () => {
  const path = join(folder, 'restored.db');
  const [begin, end] = makeEntries([{ session: 's', call: 'c', story: 'write' }]) as [MadeEntry, MadeEntry];
  const ledger = await openSqliteLedger(path);
  await ledger.journal.append(begin);
  // Its handle now remembers the open call as its first entry described it.
  await ledger.queries.findCalls({});

  const database = new Database(path);
  database.exec(
    `UPDATE entries SET text = replace(text, '"input_digest":"sha256:', '"input_digest":"sha256:0'), hash = 'another'`,
  );
  database.close();
  const another = await openSqliteLedger(path);
  await another.queries.findCalls({});
  await another.journal.append(end);
  await another.close();

  await ledger.queries.findCalls({});
  expect(readTables(path)['calls']).toMatchObject([
    { status: 'settled', input_digest: expect.stringMatching(/^sha256:0/) as string },
  ]);
  await ledger.close();
});
