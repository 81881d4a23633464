/**
 * Findings of `verify` outside the chains: claims and limits folded from the entries, tables, cursors, cut
 * tails.
 */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fillForTampering } from '../../bench/tamper/fill.ts';
import { chainHash } from '../../packages/quittance/src/ledger/chain.ts';
import { openSqliteLedger } from '../../packages/quittance/src/store/sqlite/open-sqlite-ledger.ts';
import { verifyLedger } from '../../packages/quittance/src/replay/verify-ledger.ts';
import type { Database } from '../../packages/quittance/src/store/sqlite/database.ts';
import { openBare } from '../bare-database.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-tables-'));
const sound = join(folder, 'sound');
beforeAll(() => fillForTampering(join(sound, 'ledger.db')), 60_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let copies = 0;

type Databases = { readonly ledger: Database };

/** Verifies a changed copy and returns its findings, as kind and message, and its notes. */
async function look(edit: (databases: Databases) => void, rebuilds = false) {
  const copy = join(folder, `copy-${copies++}`);
  cpSync(sound, copy, { recursive: true });
  const path = join(copy, 'ledger.db');
  const databases = { ledger: openBare(path, { defensive: false }) };
  edit(databases);
  databases.ledger.close();
  // Who recomputes the tables removes the file that remembers the last entry.
  if (rebuilds) rmSync(`${path}.last`, { force: true });
  const before = bytesOf(copy);
  const ledger = await openSqliteLedger(path, { readOnly: !rebuilds, spillBytes: 4_096 });
  if (rebuilds) await ledger.rebuild();
  const found: string[] = [];
  const notes: string[] = [];
  await verifyLedger(
    ledger,
    undefined,
    {
      signal: new AbortController().signal,
      startProgress: () => ({ step: () => undefined, done: () => undefined }),
      note: async (message) => void notes.push(message),
    },
    async ({ kind, message }) => void found.push(`${kind}: ${message}`),
  );
  await ledger.close();
  return { found, notes, wrote: !rebuilds && bytesOf(copy) !== before };
}

const bytesOf = (copy: string): string =>
  JSON.stringify(
    readdirSync(copy, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .sort()
      .map((path) => [path, readFileSync(path).toString('base64')]),
  );

/**
 * Changes the text of the last entry that contains a word, and recomputes the chain of its session from
 * there.
 */
function rewrite(ledger: Database, word: string, change: (text: string) => string): void {
  type Row = { position: number; session: number; sequence: number; text: string; hash: string };
  const [last] = ledger
    .prepare<Row>('SELECT * FROM entries WHERE instr(text, ?) ORDER BY position DESC')
    .all(word);
  if (last === undefined) throw new Error(`no entry has ${word}`);
  const rows = ledger
    .prepare<Row>('SELECT * FROM entries WHERE session = ? ORDER BY sequence')
    .all(last.session);
  let hash = rows.find(({ sequence }) => sequence === last.sequence - 1)?.hash ?? '';
  for (const row of rows.filter(({ sequence }) => sequence >= last.sequence)) {
    const text = row.position === last.position ? change(row.text) : row.text;
    hash = chainHash(hash, row.sequence, text);
    ledger.prepare('UPDATE entries SET text = ?, hash = ? WHERE position = ?').run(text, hash, row.position);
  }
  ledger
    .prepare('UPDATE sessions SET hash = ? WHERE session = ? AND sequence = ?')
    .run(hash, last.session, rows.at(-1)?.sequence ?? 0);
}

describe('[tamper-evident] verify', () => {
  it('[tamper-evident] finds nothing in a sound ledger, and writes nothing', async () => {
    expect(await look(() => undefined)).toEqual({ found: [], notes: [], wrote: false });
  });

  it('[tamper-evident] states how many findings about a table it does not list', async () => {
    const { found } = await look(({ ledger }) => {
      ledger.prepare(`UPDATE calls SET tool_name = tool_name || '!'`).run();
      ledger.exec(`WITH RECURSIVE n(at) AS (SELECT 0 UNION ALL SELECT at + 1 FROM n WHERE at < 52)
        INSERT INTO confirmations SELECT 'made-up-' || at, position, session, call_id, tool_name, status, asked_at, expires_at
        FROM n, (SELECT * FROM confirmations LIMIT 1)`);
    });
    const about = found.filter((message) => message.includes('read table of confirmations'));
    expect(about).toHaveLength(51);
    expect(about.at(-1)).toBe(
      'side_row: And 3 more findings about the read table of confirmations: only the first 50 are listed.',
    );
  });

  it.each([
    ['a number kept as another kind of number', 'UPDATE sqlite_sequence SET seq = seq + 0.0'],
    ['a text kept as bytes', `UPDATE artifacts SET encoding = CAST('utf8' AS BLOB)`],
    ['a name of an encoding that does not exist', `UPDATE artifacts SET encoding = 'utf9'`],
    ['a count kept as bytes', `UPDATE artifacts SET bytes = CAST(bytes AS BLOB)`],
    [
      'marks taken from an entry that has a claim',
      `UPDATE entries SET marks = NULL WHERE position = (SELECT max(position) FROM entries WHERE instr(text, ',"claim":'))`,
    ],
    ['a digest kept as bytes', 'UPDATE claims SET digest = CAST(digest AS BLOB)'],
    ['a table that belongs to another', `UPDATE sqlite_schema SET tbl_name = 'Marks' WHERE name = 'marks'`],
    [
      'a table of SQLite with other columns',
      `UPDATE sqlite_schema SET sql = replace(sql, 'name,seq', 'name, seq') WHERE name = 'sqlite_sequence'`,
    ],
  ])('[tamper-evident] finds %s', async (_, sql) => {
    const { found, wrote } = await look(({ ledger }) => {
      if (sql.includes('sqlite_schema')) ledger.pragma('writable_schema = ON');
      ledger.exec(sql);
    });
    expect(found).not.toEqual([]);
    expect(wrote).toBe(false);
  });

  it.each(['mode', 'attempt', 'at', 'outcome', 'type'])(
    '[tamper-evident] rebuilds a ledger whose entries lack %s, and names the positions',
    async (name) => {
      const { found } = await look(
        ({ ledger }) => ledger.exec(`UPDATE entries SET text = replace(text, '"${name}":', '"${name}x":')`),
        true,
      );
      expect(found).not.toEqual([]);
    },
  );

  it('[tamper-evident] notes an artifact that no outcome names', async () => {
    const { found, notes } = await look(({ ledger }) =>
      ledger.exec(
        `INSERT INTO artifacts SELECT session, 'art_added', call, mime, encoding, bytes, hash FROM artifacts LIMIT 1`,
      ),
    );
    expect(found).toEqual([]);
    expect(notes).toEqual([expect.stringMatching(/^No outcome names the artifact "art_added"/)]);
  });

  it('[tamper-evident] finds a second intent on a key, even if chain and tables were recomputed', async () => {
    const { found } = await look(({ ledger }) => {
      const key = /"claim":\{"key":("(?:[^"\\]|\\.)*")/;
      const first = ledger
        .prepareValue<string>(
          `SELECT text FROM entries WHERE instr(text, '"claim"') ORDER BY position LIMIT 1`,
        )
        .get();
      const [, stolen = ''] = key.exec(first ?? '') ?? [];
      // A later call of another session starts under the key of the first.
      rewrite(ledger, '"claim"', (text) => text.replace(key, `"claim":{"key":${stolen}`));
    }, true);
    expect(found).toEqual([expect.stringMatching(/^claim: Two calls began under one idempotency key/)]);
  });

  it('[limits-hold] finds a reservation past its limit, even if chain and tables were recomputed', async () => {
    const { found } = await look(({ ledger }) => {
      rewrite(ledger, '"reserve"', (text) => text.replace(/"limit":\d+/, '"limit":1'));
    }, true);
    expect(found).toEqual([expect.stringMatching(/^limit: The entry takes 1 of .* whose limit is 1/)]);
  });

  it('[limits-hold] finds a total that does not match the entries', async () => {
    const { found } = await look(({ ledger }) => {
      rewrite(ledger, '"totals"', (text) => text.replace(/"used":(\d+)/, '"used":1$1'));
    });
    expect(found).toContainEqual(expect.stringMatching(/^limit: The entry states a total of .* for/));
  });

  const tables: Readonly<Record<string, readonly [keyof Databases, string, RegExp]>> = {
    'a changed confirmation': [
      'ledger',
      `UPDATE confirmations SET status = 'approved'`,
      /^read_table: .* confirmations /,
    ],
    'a deleted confirmation': [
      'ledger',
      'DELETE FROM confirmations',
      /^read_table: .* confirmations is missing a row/,
    ],
    'a confirmation of another call': [
      'ledger',
      `UPDATE confirmations SET call_id = 'pay'`,
      /confirmations .*call_id/,
    ],
    'a changed tally': ['ledger', 'UPDATE tallies SET calls = calls + 1', /^read_table: .* tallies /],
    'a changed cost': ['ledger', 'UPDATE tallies SET cost_micros = 0', /^read_table: .* tallies /],
    'a changed call': ['ledger', `UPDATE calls SET user_id = 'eve'`, /^read_table: .* calls .*user_id/],
    'a repair that never ended': [
      'ledger',
      'INSERT INTO relisting VALUES (1)',
      /^read_table: .* being rebuilt/,
    ],
    'a changed count of a session': [
      'ledger',
      'UPDATE session_counts SET failures = 0',
      /^read_table: .* sessions /,
    ],
    'a changed word': [
      'ledger',
      `INSERT OR REPLACE INTO words (rowid, text) VALUES (1, '0|made')`,
      /^read_table: The search index has other words/,
    ],
    'another ledger id': [
      'ledger',
      `UPDATE ledger SET ledger_id = '00000000-0000-0000-0000-000000000000'`,
      /another id/,
    ],
    'a cursor past the end': [
      'ledger',
      'UPDATE cursors SET position = 100000',
      /^side_row: The cursor "reader" has read/,
    ],
    'a cursor without a place': [
      'ledger',
      `UPDATE cursors SET position = 'x'`,
      /^side_row: The cursor "reader" has an invalid position/,
    ],
    'an index of entries that is gone': [
      'ledger',
      'DROP INDEX entries_by_call',
      /^file: The index "entries_by_call" is missing/,
    ],
    'another version in the index': [
      'ledger',
      'UPDATE entries SET version = 9 WHERE version = 2',
      /^side_row: The columns of the entry/,
    ],
    'a session that is said to be shorter': [
      'ledger',
      'UPDATE sessions SET sequence = sequence - 1 WHERE session = 1',
      /^side_row: The row of the session says that its chain ends at/,
    ],
    'a mark that was moved': [
      'ledger',
      `UPDATE marks SET position = 1 WHERE key LIKE 'claim%'`,
      /^side_row: The mark of claim/,
    ],
    'a mark that is gone': [
      'ledger',
      `DELETE FROM marks WHERE key LIKE 'counter%'`,
      /^side_row: The mark of counter .* missing/,
    ],
    'a column next to a text': [
      'ledger',
      `UPDATE entries SET call = 'x' WHERE position = 3`,
      /^side_row: The columns of the entry/,
    ],
    'a trigger': [
      'ledger',
      'CREATE TRIGGER t AFTER INSERT ON claims BEGIN DELETE FROM claims; END',
      /^file: The file has the trigger "t"/,
    ],
    'a trigger on a foreign table': [
      'ledger',
      'CREATE TABLE f (a); CREATE TRIGGER t AFTER INSERT ON f BEGIN DELETE FROM claims; END',
      /trigger "t"/,
    ],
    'a view': ['ledger', 'CREATE VIEW v AS SELECT * FROM entries', /^file: The file has the view "v"/],
    'an index': ['ledger', 'CREATE INDEX i ON counters (reserved)', /^file: The file has the index "i"/],
    'an index that is gone': [
      'ledger',
      'DROP INDEX unsettled_by_input',
      /^file: The index "unsettled_by_input" is missing/,
    ],
    'a column': [
      'ledger',
      'ALTER TABLE counters ADD COLUMN x',
      /^file: The table "counters" differs from the original/,
    ],
    'a generated column': [
      'ledger',
      `ALTER TABLE claims ADD COLUMN x AS ('y')`,
      /^file: The table "claims" differs/,
    ],
    'a table that is gone': ['ledger', 'DROP TABLE cursors', /^file: The table "cursors" is missing/],
    'a trigger in the read tables': [
      'ledger',
      'CREATE TRIGGER t AFTER INSERT ON calls BEGIN SELECT 1; END',
      /^file: The file has the trigger/,
    ],
    'an index of the read tables': [
      'ledger',
      'DROP INDEX calls_by_time',
      /^file: The index "calls_by_time" is missing/,
    ],
  };
  it.each(Object.entries(tables))(
    '[tamper-evident] finds %s, and writes nothing',
    async (_, [file, sql, message]) => {
      const { found, wrote } = await look((databases) => databases[file].exec(sql));
      expect(found).toContainEqual(expect.stringMatching(message));
      expect(wrote).toBe(false);
    },
  );

  it('[tamper-evident] notes the tables of a backup tool without a finding', async () => {
    const { found, notes } = await look(({ ledger }) =>
      ledger.exec('CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER)'),
    );
    expect(found).toEqual([]);
    expect(notes).toEqual(['The file has the table "_litestream_seq" that does not belong to the ledger.']);
  });

  it('[tamper-evident] finds a cut tail that was noted, even if everything else was rebuilt', async () => {
    const { found } = await look(({ ledger }) => {
      const last = ledger.prepareValue<number>('SELECT max(position) FROM entries').get() ?? 0;
      ledger.exec(`DELETE FROM entries WHERE position > ${last - 2}`);
    });
    expect(found).toContainEqual(
      expect.stringMatching(/^file: The ledger once ended with entry \d+.* entries were cut off/),
    );
  });

  it('[tamper-evident] finds a session that is missing in the ledger and remembered by the read tables', async () => {
    const { found } = await look(({ ledger }) =>
      ledger.exec(`DELETE FROM entries WHERE session = 1;
        DELETE FROM sessions WHERE session = 1; DELETE FROM unsettled WHERE session = 1;
        DELETE FROM sealed WHERE session = 1; DELETE FROM artifacts WHERE session = 1; DELETE FROM states WHERE session = 1;
        DELETE FROM claims WHERE session = 'one'; DELETE FROM marks WHERE key LIKE '%one%' OR key LIKE '%[1,%'`),
    );
    expect(found).toContainEqual(
      expect.stringMatching(/^read_table: The read table of calls has a row without an entry/),
    );
    expect(found).toContainEqual(expect.stringMatching(/^side_row: .* sessions were created/));
  });
});
