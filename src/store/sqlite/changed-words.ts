/** Compares the words of two search indexes, call by call. Only sums of hashes are kept: an index can be large. */
import { hash } from 'node:crypto';
import type { Database, SqlValue } from './database.ts';
import { prepareRow } from './database.ts';

type Instance = { readonly term: string; readonly doc: number };
type Row = Readonly<Record<string, SqlValue>>;

/** Rows of the calls, or only their positions, whose words differ. */
export function* findChangedWords(kept: Database, fresh: Database): Generator<Row, void, undefined> {
  const sums = new Map<number, number>();
  for (const [tables, sign] of [
    [fresh, 1],
    [kept, -1],
  ] as const) {
    listPlaces(tables);
    let [last, value] = ['', 0];
    for (const { term, doc } of prepareRow<Instance>(
      tables,
      'SELECT term, doc FROM temp.word_places',
    ).iterate()) {
      if (term !== last) [last, value] = [term, valueOf(term)];
      sums.set(doc, ((sums.get(doc) ?? 0) + sign * value) % modulus);
    }
  }
  const callAt = prepareRow<Row>(fresh, 'SELECT * FROM calls WHERE position = ?');
  for (const [position, sum] of sums) if (sum !== 0) yield callAt.get(position) ?? { position };
}

/** A list of the index in the temporary schema: nothing is written to the file. It ends with the connection. */
function listPlaces(tables: Database): void {
  tables.pragma('query_only = OFF');
  tables.exec(`CREATE VIRTUAL TABLE temp.word_places USING fts5vocab(main, 'words', 'instance')`);
  tables.pragma('query_only = ON');
}

/** Sums stay exact: twice this is a safe integer. */
const modulus = 2 ** 52;

const valueOf = (term: string): number => Number.parseInt(hash('sha256', term, 'hex').slice(0, 13), 16);
