import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import type { MadeEntry, Story } from '../../../../../test/make-ledger.ts';
import { makeEntries, stories } from '../../../../../test/make-ledger.ts';
import {
  findCalls,
  findConfirmations,
  findOpenCalls,
  findSessions,
  readTallies,
} from '../../ledger/reads.ts';
import type { CallQuery } from '../../ledger/call-query.ts';
import { SampleCall } from '../../testing/sample-call.ts';
import { makeOlder } from '../../../../../test/older-file.ts';
import { openSqliteLedger } from './open-sqlite-ledger.ts';
import type { SqliteLedger } from './sqlite-ledger.ts';
import { openBare } from '../../../../../test/bare-database.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-lists-'));
afterAll(() => rmSync(folder, { recursive: true }));
let count = 0;
const newPath = (): string => join(folder, `${count++}.db`);

const keys = {
  calls: 'position',
  confirmations: 'confirmation_id',
  session_counts: 'session',
  tallies: 'hour, tool_name, bin, code, outcome, mode, status',
};

/** Every row of every table of lists, without owners, and without counts that came to nothing. */
function readLists(path: string): Record<string, unknown[]> {
  const database = openBare(path);
  const found = Object.entries(keys).map(([table, key]) => [
    table,
    database.prepare<object>(`SELECT * FROM ${table} ORDER BY ${key}`).all(),
  ]);
  database.exec(`CREATE VIRTUAL TABLE temp.places USING fts5vocab(main, 'words', 'instance')`);
  found.push(['words', database.prepare<object>('SELECT term, doc FROM places ORDER BY doc, term').all()]);
  database.close();
  const text = JSON.stringify(Object.fromEntries(found), (name, value: unknown) =>
    name === 'owner_id' ? undefined : value,
  );
  const rows = JSON.parse(text) as Record<string, { calls?: number }[]>;
  return { ...rows, tallies: (rows['tallies'] ?? []).filter(({ calls }) => calls !== 0) };
}

const plans = Array.from({ length: 4 }, (_, round) =>
  (Object.keys(stories) as Story[]).map((story) => ({
    session: `s${round % 3}`,
    call: `${story}-${round}`,
    story,
  })),
).flat();
const entries = makeEntries(plans);

const fill = async (ledger: SqliteLedger, some: readonly MadeEntry[] = entries): Promise<void> => {
  for (const entry of some) expect((await ledger.append(entry)).status).toBe('appended');
};

describe('the rows of lists', () => {
  test('are the same for every way to append: one handle, several, many calls in one commit, or a thread', async () => {
    const path = newPath();
    const first = await openSqliteLedger(path);
    await fill(first);
    const expected = readLists(path);
    expect(expected['calls']).toHaveLength(plans.length);
    expect(expected['confirmations']?.length).toBeGreaterThan(10);
    expect(expected['words']?.length).toBeGreaterThan(plans.length * 5);

    const shared = newPath();
    const pair = [await openSqliteLedger(shared), await openSqliteLedger(shared)] as const;
    for (const [index, entry] of entries.entries()) await pair[index % 2 === 0 ? 0 : 1].append(entry);
    expect(readLists(shared)).toEqual(expected);

    const together = newPath();
    const grouped = await openSqliteLedger(together);
    await Promise.all(entries.map((entry) => grouped.append(entry)));
    expect(readLists(together)).toEqual(expected);

    for (const ledger of [first, ...pair, grouped]) await ledger.close();
  });

  test('are repaired by a rebuild, while another process appends', async () => {
    const [path, sound] = [newPath(), newPath()];
    const half = Math.floor(entries.length / 2);
    const ledger = await openSqliteLedger(path);
    await fill(ledger, entries.slice(0, half));
    const database = openBare(path);
    database.exec(`
      UPDATE calls SET tool_name = 'eve', requested_at = 1 WHERE position % 3 = 0;
      DELETE FROM calls WHERE position % 5 = 0;
      INSERT INTO calls SELECT position + 100000, session, call_id, turn_id, tool_name, mode, mode_origin, requested_at,
        status, outcome, reason, code, message, input_digest, attempts, unresolved, settled_at, elapsed_ms, cost_micros,
        user_id, rule_id, owner_id, args FROM calls LIMIT 3;
      UPDATE confirmations SET confirmation_id = 'x' || confirmation_id, status = 'approved';
      UPDATE session_counts SET calls = calls + 7, first_at = 1;
      DELETE FROM session_counts WHERE session = 2;
      UPDATE tallies SET calls = calls * 2;
      DELETE FROM words WHERE rowid % 4 = 0;
      INSERT OR REPLACE INTO words (rowid, text) VALUES (200000, '0|made 0|up');
    `);
    database.close();
    const other = await openSqliteLedger(path);
    const [problems] = await Promise.all([ledger.rebuild(), fill(other, entries.slice(half))]);
    expect(problems).toEqual([]);
    const expected = await openSqliteLedger(sound);
    await fill(expected);
    expect(readLists(path)).toEqual(readLists(sound));
    for (const each of [ledger, other, expected]) await each.close();
  });

  test('of an older ledger are made before it is used, in steps that another process can go on with', async () => {
    const path = newPath();
    const ledger = await openSqliteLedger(path);
    const many = Array.from({ length: 1_100 }, (_, index) =>
      makeEntries([{ session: `s${index}`, call: 'c', story: index % 9 === 0 ? 'approved' : 'write' }]),
    ).flat();
    await Promise.all(many.map((entry) => ledger.append(entry)));
    await ledger.close();
    const expected = readLists(path);
    const empty = (): void => {
      const database = openBare(path);
      for (const table of Object.keys(keys)) database.exec(`DELETE FROM ${table}`);
      database.exec(`INSERT INTO words (words) VALUES ('delete-all'); INSERT INTO relisting VALUES (0)`);
      database.close();
    };
    empty();
    const steps: number[] = [];
    const stop = new Error('This process ends here.');
    const ended = openSqliteLedger(path, {
      onUpgrade: ({ position, end }) => {
        steps.push(position);
        expect(end).toBeGreaterThanOrEqual(position);
        throw stop;
      },
    });
    await expect(ended).rejects.toThrow(stop.message);
    expect(readLists(path)['calls']?.length).toBeLessThan(1_100);
    const both = await Promise.all(
      [1, 2].map(() => openSqliteLedger(path, { onUpgrade: ({ position }) => steps.push(position) })),
    );
    expect(steps.slice(1).every((position) => position > (steps[0] ?? 0))).toBe(true);
    expect(readLists(path)).toEqual(expected);
    for (const each of both) await each.close();
  });

  test('of an older ledger are made by a reader for itself alone', async () => {
    const path = newPath();
    const ledger = await openSqliteLedger(path);
    await fill(ledger);
    const ask = async (asked: SqliteLedger) => [
      await findCalls(asked, { limit: 100 }),
      await findCalls(asked, { text: 'send_mail ' }),
      await findSessions(asked, {}),
      await findConfirmations(asked, {}),
      (await findOpenCalls(asked)).map(({ callId }) => callId),
      (await readTallies(asked, { by: ['toolName', 'outcome'] })).toSorted((a, b) =>
        a.outcome.localeCompare(b.outcome),
      ),
    ];
    const expected = await ask(ledger);
    await ledger.close();
    makeOlder(path, 5);
    const before = readFileSync(path);
    const reader = await openSqliteLedger(path, { readOnly: true });
    expect(await ask(reader)).toEqual(expected);
    await reader.close();
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  test('are found by words page by page, open calls among settled ones, and by an outcome once there is one', async () => {
    const ledger = await openSqliteLedger(newPath(), { synchronous: 'normal' });
    const calls = Array.from(
      { length: 60 },
      (_, n) => new SampleCall(`c${n}`, { input: { note: n % 2 === 0 ? 'vbnmqwrtzplk' : 'hjqwrtzlmnpv' } }),
    );
    for (const [n, call] of calls.entries()) {
      await ledger.append(call.begin());
      if (n % 3 === 0) await ledger.append(call.end(n % 6 === 0 ? 'result' : 'failure'));
    }
    const pages = async (query: CallQuery): Promise<string[]> => {
      const found: string[] = [];
      for (let cursor: string | undefined; ;) {
        const { rows, next } = await findCalls(ledger, { ...query, limit: 7, scan: 50, cursor });
        found.push(...rows.map(({ callId }) => callId));
        if (next === undefined) return found;
        cursor = next;
      }
    };
    const ids = (isWanted: (n: number) => boolean): string[] =>
      calls.flatMap(({ callId }, n) => (isWanted(n) ? [callId] : [])).toReversed();
    const text = 'vbnmqwrtzplk';
    expect(await pages({ text })).toEqual(ids((n) => n % 2 === 0));
    expect(await pages({ text: 'args.note=hjqwrtzlmnpv' })).toEqual(ids((n) => n % 2 === 1));
    expect(await pages({ text, status: 'running' })).toEqual(ids((n) => n % 2 === 0 && n % 3 !== 0));
    expect(await pages({ text: 'hjqwrt', outcome: 'ToolFailure' })).toEqual(ids((n) => n % 6 === 3));
    await ledger.close();
  });

  test('leave the file with erased bodies and dropped sessions, words included', async () => {
    const path = newPath();
    const ledger = await openSqliteLedger(path, { synchronous: 'normal' });
    const add = (sessionId: string, count: number, note: string): Promise<unknown> =>
      Promise.all(
        Array.from({ length: count }, (_, n) =>
          ledger.append(
            new SampleCall(`${sessionId}-${n}`, { sessionId, input: { note }, output: `${note}out` }).whole(),
          ),
        ),
      );
    await add('kept', 300, 'vbnmqwrtzplk');
    await add('erased', 3, 'xkvwqzjrtplm');
    await add('kept', 300, 'vbnmqwrtzplk');
    await add('dropped', 3, 'hjqwrtzlmnpv');
    const hidden = ['xkvwqzjrtplm', 'hjqwrtzlmnpv'];
    const found = async (text: string): Promise<number> => (await findCalls(ledger, { text })).rows.length;
    const isInFile = (word: string): boolean =>
      [path, `${path}-wal`].some((file) => readFileSync(file, 'latin1').includes(word));
    for (const word of hidden) expect([await found(word), isInFile(word)]).toEqual([3, true]);
    await ledger.erase({ sessionId: 'erased', by: 'ada', reason: 'asked to' });
    await ledger.dropSession({ sessionId: 'dropped', by: 'ada', reason: 'old' });
    for (const word of hidden) expect([await found(word), isInFile(word)]).toEqual([0, false]);
    expect((await findCalls(ledger, { sessionId: 'erased' })).rows.map(({ args }) => args)).toEqual(
      Array(3).fill(undefined),
    );
    expect(await findSessions(ledger, {})).toMatchObject({
      rows: [
        { sessionId: 'erased', calls: 3 },
        { sessionId: 'kept', calls: 300 },
      ],
    });
    const lists = readLists(path);
    await ledger.rebuild();
    expect(readLists(path)).toEqual(lists);
    await ledger.close();
  });
});
