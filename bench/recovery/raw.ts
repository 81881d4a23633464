/** Measures the raw limit of a recovery: see `raw-limit.ts`. */
import Database from 'better-sqlite3';
import type { RawLimit } from './raw-limit.ts';

const [path = '', before = '0', after = '0'] = process.argv.slice(2);
/** As many entries share a commit as calls that may run only once start together. */
const perCommit = 64;

type Row = { readonly text: string; readonly bodies: string | null; readonly salt: string | null };

const ledger = new Database(path, { readonly: true });
const some = ledger.prepare<[number, number], Row>(
  'SELECT text, bodies, salt FROM entries WHERE position > ? AND position <= ? ORDER BY position',
);
const target = new Database(`${path}.raw`);
target.pragma('journal_mode = WAL');
target.pragma('synchronous = FULL');
target.exec('CREATE TABLE entries (position INTEGER PRIMARY KEY, text TEXT, bodies TEXT, salt TEXT)');
const insert = target.prepare('INSERT INTO entries (text, bodies, salt) VALUES (?, ?, ?)');
const commit = target.transaction((rows: readonly Row[]) => {
  for (const { text, bodies, salt } of rows) insert.run(text, bodies, salt);
});

const between = (from: number, to: number, take: (rows: readonly Row[]) => void): number => {
  let seconds = 0;
  for (let at = from; at < to; at += perCommit) {
    const rows = some.all(at, Math.min(to, at + perCommit));
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
