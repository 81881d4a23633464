/** Measures the raw limit of a recovery: see `raw-limit.ts`. */
import { DatabaseSync } from 'node:sqlite';
import type { RawLimit } from './raw-limit.ts';

const [path = '', before = '0', after = '0'] = process.argv.slice(2);
/** As many entries share a commit as calls that may run only once start together. */
const perCommit = 64;

type Row = { readonly text: string; readonly bodies: string | null; readonly salt: string | null };

const ledger = new DatabaseSync(path, { readOnly: true });
const some = ledger.prepare(
  'SELECT text, bodies, salt FROM entries WHERE position > ? AND position <= ? ORDER BY position',
);
const target = new DatabaseSync(`${path}.raw`);
target.exec(`
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  CREATE TABLE entries (position INTEGER PRIMARY KEY, text TEXT, bodies TEXT, salt TEXT);
`);
const insert = target.prepare('INSERT INTO entries (text, bodies, salt) VALUES (?, ?, ?)');
const commit = (rows: readonly Row[]): void => {
  target.exec('BEGIN');
  for (const { text, bodies, salt } of rows) insert.run(text, bodies, salt);
  target.exec('COMMIT');
};

const between = (from: number, to: number, take: (rows: readonly Row[]) => void): number => {
  let seconds = 0;
  for (let at = from; at < to; at += perCommit) {
    const rows = some.all(at, Math.min(to, at + perCommit)) as Row[]; // the columns of the statement
    const startedMs = performance.now();
    take(rows);
    seconds += (performance.now() - startedMs) / 1_000;
  }
  return seconds;
};

const startedMs = performance.now();
between(0, Number(before), (rows) => {
  for (const { text, bodies } of rows) {
    JSON.parse(text);
    if (bodies !== null) JSON.parse(bodies);
  }
});
const readSeconds = (performance.now() - startedMs) / 1_000;
const raw: RawLimit = { readSeconds, writeSeconds: between(Number(before), Number(after), commit) };
process.send?.(raw);
ledger.close();
target.close();
process.disconnect();
