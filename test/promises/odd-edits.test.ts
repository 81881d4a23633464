/** Odd edits of a ledger file: `verify` and `rebuild` answer in words, never with an internal error. */
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fillForTampering } from '../../bench/tamper/fill.ts';
import { confirming, runProgramHere } from '../run-program.ts';
import { openBare } from '../bare-database.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-odd-'));
const sound = join(folder, 'sound');
beforeAll(() => fillForTampering(join(sound, 'ledger.db')), 60_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The schema as it is, but without constraints, so that any value can be stored. */
const loosely = `PRAGMA writable_schema = ON;
  UPDATE sqlite_schema SET sql = replace(sql, ' NOT NULL', '') WHERE type = 'table' AND name IN ('ledger', 'entries', 'sessions');
  PRAGMA writable_schema = RESET;`;

test.each<[name: string, sql: string]>([
  ['the id of the ledger is NULL', `${loosely} UPDATE ledger SET ledger_id = NULL`],
  ['the id of the ledger is a blob', `UPDATE ledger SET ledger_id = x'00ff'`],
  ['the ledger has no row', 'DELETE FROM ledger'],
  ['the end of a chain is a text', `UPDATE sessions SET sequence = 'x'`],
  ['the end of a chain is negative', 'UPDATE sessions SET sequence = -5'],
  ['the number of removals is huge', 'UPDATE ledger SET removals = 9223372036854775807'],
  [
    'two entries have swapped bodies',
    `UPDATE entries SET bodies = CASE position WHEN (SELECT min(position) FROM entries WHERE bodies IS NOT NULL)
       THEN (SELECT bodies FROM entries WHERE bodies IS NOT NULL ORDER BY position DESC LIMIT 1)
       ELSE (SELECT bodies FROM entries WHERE bodies IS NOT NULL ORDER BY position LIMIT 1) END
     WHERE position IN ((SELECT min(position) FROM entries WHERE bodies IS NOT NULL), (SELECT max(position) FROM entries WHERE bodies IS NOT NULL))`,
  ],
  [
    'bodies are JSON of another kind',
    `UPDATE entries SET bodies = '[1, null, "x", {}, [], 7]' WHERE bodies IS NOT NULL`,
  ],
  ['bodies are numbers', 'UPDATE entries SET bodies = 7 WHERE bodies IS NOT NULL'],
  ['the text of an entry is a blob', `UPDATE entries SET text = x'7b7d' WHERE position = 2`],
  ['the text of an entry is NULL', `${loosely} UPDATE entries SET text = NULL WHERE position = 2`],
  ['a hash is NULL', `${loosely} UPDATE entries SET hash = NULL WHERE position = 2`],
  ['a hash is a number', 'UPDATE entries SET hash = 5 WHERE position = 2'],
  ['a position is negative', 'UPDATE entries SET position = -3 WHERE position = 2'],
  ['a position is huge', 'UPDATE entries SET position = 9223372036854775807 WHERE position = 2'],
  ['a sequence is a text', `UPDATE entries SET sequence = 'x' WHERE position = 2`],
  ['a sequence is huge', 'UPDATE entries SET sequence = 9223372036854775807 WHERE position = 2'],
  ['the name of a session is a blob', `UPDATE sessions SET name = x'00' WHERE session = 1`],
  ['the name of a session is NULL', `${loosely} UPDATE sessions SET name = NULL WHERE session = 1`],
  ['an entry belongs to no session', 'UPDATE entries SET session = 99 WHERE position = 2'],
  ['the table of claims is missing', 'DROP TABLE claims'],
  ['the table of entries is missing', 'DROP TABLE entries'],
  ['a column is missing', 'ALTER TABLE entries DROP COLUMN salt'],
  ['a counter is a text', `UPDATE counters SET used = 'x'`],
  ['a call is a blob', `UPDATE entries SET call = x'01' WHERE position = 2`],
  ['a state is a blob', `UPDATE states SET text = x'01'`],
])('verify and rebuild say in words that %s', async (name, sql) => {
  const copy = join(folder, name.replaceAll(' ', '-'));
  cpSync(sound, copy, { recursive: true });
  const path = join(copy, 'ledger.db');
  const database = openBare(path, { defensive: false });
  database.exec(sql);
  database.close();
  for (const [nth, command] of ['verify', 'rebuild', 'verify'].entries()) {
    const { code, out, err } = await runProgramHere([command, '--ledger', path], {
      cwd: copy,
      readTyped: confirming,
    });
    expect
      .soft(`${out}\n${err}`, `${command}: ${name}`)
      .not.toMatch(
        /TypeError|RangeError|SyntaxError|ERR_SQLITE|Internal error|bug|Cannot read|is not a function|is not iterable|undefined|datatype mismatch|\bat .*\.ts:/,
      );
    expect.soft(nth === 0 ? [1] : [0, 1], `${command}: ${name}\n${out}\n${err}`).toContain(code);
  }
  rmSync(copy, { recursive: true, force: true });
});
