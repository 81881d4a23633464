/** Odd edits of a ledger in PostgreSQL: `verify` and `rebuild` answer in words, never with an internal error. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fillForTampering } from '../../bench/tamper/fill.ts';
import { copyLedger } from '../../packages/cli/src/ledgers/copy-ledger.ts';
import { confirming, runProgramHere } from '../run-program.ts';
import { sharePostgres } from './shared-postgres.ts';
import type { TestPostgres } from './start-postgres.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-pg-odd-'));
const source = join(folder, 'ledger.db');
let server: TestPostgres;
let client: pg.Client;
let schemas = 0;
beforeAll(async () => {
  server = await sharePostgres();
  client = new pg.Client({ connectionString: server.url });
  await client.connect();
  await fillForTampering(source);
});
afterAll(async () => {
  await client.end();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

const second = `(SELECT position FROM entries ORDER BY position OFFSET 1 LIMIT 1)`;
const most = '9223372036854775807';

test.each<[name: string, sql: string]>([
  ['the ledger has no row', 'DELETE FROM ledger'],
  [
    'the id of the ledger is NULL',
    'ALTER TABLE ledger ALTER ledger_id DROP NOT NULL; UPDATE ledger SET ledger_id = NULL',
  ],
  ['the id of the ledger is empty', `UPDATE ledger SET ledger_id = ''`],
  ['the format is unknown', 'UPDATE ledger SET format = 99'],
  ['the format is negative', 'UPDATE ledger SET format = -1'],
  ['positions start elsewhere', `UPDATE ledger SET position_base = ${most}`],
  [
    'two entries have swapped bodies',
    `WITH ends AS (SELECT min(position) AS a, max(position) AS b FROM entries WHERE bodies IS NOT NULL)
     UPDATE entries e SET bodies = o.bodies FROM entries o, ends
     WHERE (e.position = a AND o.position = b) OR (e.position = b AND o.position = a)`,
  ],
  [
    'bodies are JSON of another kind',
    `UPDATE entries SET bodies = '[1, null, "x", {}, [], 7]' WHERE bodies IS NOT NULL`,
  ],
  ['bodies are no JSON', `UPDATE entries SET bodies = '{' WHERE bodies IS NOT NULL`],
  ['the salt is missing', 'UPDATE entries SET salt = NULL'],
  ['the text of an entry is empty', `UPDATE entries SET text = '' WHERE position = ${second}`],
  ['the text of an entry is another JSON', `UPDATE entries SET text = '[]' WHERE position = ${second}`],
  [
    'the text of an entry is NULL',
    `ALTER TABLE entries ALTER text DROP NOT NULL; UPDATE entries SET text = NULL WHERE position = ${second}`,
  ],
  [
    'a hash is NULL',
    `ALTER TABLE entries ALTER hash DROP NOT NULL; UPDATE entries SET hash = NULL WHERE position = ${second}`,
  ],
  ['a hash is another text', `UPDATE entries SET hash = 'x' WHERE position = ${second}`],
  ['a position is negative', `UPDATE entries SET position = -3 WHERE position = ${second}`],
  ['a position is huge', `UPDATE entries SET position = ${most} WHERE position = ${second}`],
  ['two entries have one position', `UPDATE entries SET position = ${second}`],
  ['a sequence is negative', `UPDATE entries SET sequence = -1 WHERE position = ${second}`],
  ['a sequence is huge', `UPDATE entries SET sequence = ${most} WHERE position = ${second}`],
  ['an entry belongs to no session', `UPDATE entries SET session_id = 'nobody-1' WHERE position = ${second}`],
  ['the call of an entry is missing', `UPDATE entries SET call_id = NULL`],
  ['a version is huge', `UPDATE entries SET version = 2147483647 WHERE position = ${second}`],
  [
    'the end of a session is NULL',
    'ALTER TABLE sessions ALTER hash DROP NOT NULL; UPDATE sessions SET hash = NULL',
  ],
  ['the end of a session is huge', `UPDATE sessions SET sequence = ${most}, position = ${most}`],
  ['sessions are missing', 'DELETE FROM sessions'],
  ['the table of claims is missing', 'DROP TABLE claims'],
  ['the table of entries is missing', 'DROP TABLE entries'],
  ['the table of sessions is missing', 'DROP TABLE sessions'],
  ['the table of marks is missing', 'DROP TABLE marks'],
  ['the table of lanes is missing', 'DROP TABLE lanes'],
  ['hashes are bytes', `ALTER TABLE entries ALTER hash TYPE bytea USING convert_to(hash, 'UTF8')`],
  ['positions are texts', 'ALTER TABLE entries ALTER position TYPE text USING position::text'],
  ['the content of an artifact is changed', `UPDATE artifacts SET content = 'x', bytes = -1`],
  ['a claim names another call', `UPDATE claims SET call_id = 'other-call', session_id = 'other-session'`],
  [
    'the bodies are nested deeply',
    `UPDATE entries SET bodies = repeat('[', 20000) || repeat(']', 20000) WHERE bodies IS NOT NULL`,
  ],
  ['a column is missing', 'ALTER TABLE entries DROP COLUMN salt'],
  ['a column has another type', "ALTER TABLE entries ALTER text TYPE bytea USING convert_to(text, 'UTF8')"],
  ['counters are not numbers', `UPDATE counters SET used = 'NaN', reserved = '-Infinity'`],
  ['a state is no JSON', `UPDATE states SET text = 'x'`],
  ['the times of a session are huge', `UPDATE sessions SET first_at = ${most}, last_at = ${most}`],
  ['a part of the search index is huge', 'UPDATE read_parts SET part = 2147483647'],
  ['the parts of the search index are missing', 'DELETE FROM read_parts'],
  ['a read table is missing', 'DROP TABLE read_calls CASCADE'],
])('verify and rebuild say in words that %s', async (name, sql) => {
  const schema = `odd_${process.pid}_${schemas++}`;
  const url = `${server.url}?schema=${schema}`;
  await copyLedger(source, url, { signal: new AbortController().signal });
  await client.query(`SET search_path TO ${schema}; ${sql}; RESET search_path`);
  for (const [nth, command] of ['verify', 'rebuild'].entries()) {
    const { code, out, err } = await runProgramHere([command, '--ledger', url], {
      cwd: folder,
      readTyped: confirming,
    });
    expect
      .soft(`${out}\n${err}`, `${command}: ${name}`)
      .not.toMatch(
        /TypeError|RangeError|SyntaxError|Internal error|internal error|bug|Cannot read|is not a function|is not iterable|undefined|\bat .*\.ts:/,
      );
    const isSound = nth === 0 ? [0] : [];
    expect.soft(isSound, `${command}: ${name}\n${out}\n${err}`).not.toContain(code);
  }
  await client.query(`DROP SCHEMA ${schema} CASCADE`);
});
