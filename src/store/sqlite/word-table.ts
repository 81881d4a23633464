/**
 * The search index of the read tables: an FTS5 table without content, one row per call, under the position of its
 * request. Only words are stored, not their places. Filters have marks among the words: see `toFilterMarks`.
 *
 * FTS5 gathers all calls with a beginning of a word before it gives the newest one. So each word is stored with the number
 * of a part before it, and a search goes from the newest part to the oldest.
 */
import type { SearchTerm } from '../../ledger/call-search.ts';
import type { Database, Statement } from './database.ts';
import { prepareRow, prepareValue } from './database.ts';

/** Words are separated by spaces only: marks consist of other characters too. */
const separators = '!#$%&()*+,-./:;<=>?@[]^_`{|}~';

/** Segments of the index that SQLite merges at a time. With its default, 4, filling took a tenth longer. */
const segmentsPerMerge = 8;

export const wordTable: string = `
  CREATE VIRTUAL TABLE words USING fts5(text, content='', contentless_delete=1, detail=none,
    tokenize="ascii tokenchars '${separators}'");
  INSERT INTO words (words, rank) VALUES ('automerge', ${segmentsPerMerge});
`;

/** Positions per part. */
const partSize = 65_536;

export const partOf = (position: number): number => Math.floor(position / partSize);

/** The part of a position, in SQL. */
export const partSql: string = `(position / ${partSize})`;

/** The first position of a part. */
export const partStart = (part: number): number => part * partSize;

/** SQLite creates and drops these tables together with the index. */
export const isPartOfWords = (table: string): boolean => table.startsWith('words_');

/** Pages that one merge writes before other work gets a turn. */
const pagesPerMerge = 400;

export class WordTable {
  readonly #tables: Database;
  readonly #add: Statement<never>;
  readonly #put: Statement<never>;
  readonly #dropSession: Statement<never>;
  readonly #merge: Statement<never>;
  readonly #changes: Statement<number>;

  constructor(tables: Database) {
    this.#tables = tables;
    this.#add = prepareRow(tables, 'INSERT INTO words (rowid, text) VALUES (?, ?)');
    this.#put = prepareRow(tables, 'INSERT OR REPLACE INTO words (rowid, text) VALUES (?, ?)');
    this.#dropSession = prepareRow(
      tables,
      'DELETE FROM words WHERE rowid IN (SELECT position FROM calls WHERE session = ?)',
    );
    this.#merge = prepareRow(tables, `INSERT INTO words (words, rank) VALUES ('merge', ?)`);
    this.#changes = prepareValue(tables, 'SELECT total_changes()');
  }

  /** The words of a call that has none yet. */
  add(position: number, words: Iterable<string>): void {
    this.#add.run(position, toText(position, words));
  }

  put(position: number, words: Iterable<string>): void {
    this.#put.run(position, toText(position, words));
  }

  /** Before the calls of the session are dropped. */
  dropSession(session: number): void {
    this.#dropSession.run(session);
  }

  clear(): void {
    this.#tables.exec(`INSERT INTO words (words) VALUES ('delete-all')`);
  }

  /** Removes the words of dropped rows from the file, if it has `secure_delete`. False if it ended early. */
  async compact(isOver: () => boolean): Promise<boolean> {
    // A negative number begins a merge of everything; the next ones continue it until nothing changes.
    for (let pages = -pagesPerMerge; ; pages = pagesPerMerge) {
      const before = this.#changes.get() as number;
      this.#merge.run(pages);
      if ((this.#changes.get() as number) - before < 2) return true;
      await new Promise(setImmediate);
      if (isOver()) return false;
    }
  }
}

function toText(position: number, words: Iterable<string>): string {
  const start = `${partOf(position)}|`;
  let text = '';
  for (const word of words) text += `${start}${word} `;
  return text;
}

/** The expression for `MATCH` that finds the calls of a part. */
export const toMatch = (terms: readonly SearchTerm[], part: number): string =>
  terms
    .map(
      ({ anyOf, as }) =>
        `(${anyOf.map((word) => `"${part}|${word}"${as === 'whole' ? '' : '*'}`).join(' OR ')})`,
    )
    .join(' AND ');
