/**
 * Marks: for each claim, counter, state, unresolved effect and session, the position of the last entry about it.
 * Anyone who can write the file can change a row of `claims` or `counters`, but the entry is part of a hash chain. So
 * the mark finds the entry without a scan, and the entry decides.
 *
 * 1. A mark changes in the commit of the entry that it points to, and is removed with its session.
 * 2. The first mark has an empty key. Every file with marks has it: if it is missing, the table was emptied.
 */
import { QuittanceError } from '../../base/error.ts';
import type { ReadEntry } from '../../ledger/formats/v1/read-entry.ts';
import type { ClaimHolder, Counter } from '../../ledger/claims.ts';
import type { Entry } from '../../ledger/journal.ts';
import { sessionCounterPrefixes } from '../../ledger/claims.ts';
import type { Database } from './database.ts';
import type { EntryTable } from './entry-table.ts';
import { decode } from '../sql/entries.ts';

/** JSON, because SQLite stores UTF-8, in which all lone surrogates become one character. */
export const markOf = {
  first: '',
  claim: (key: string): string => `claim ${JSON.stringify(key)}`,
  counter: (name: string): string => `counter ${JSON.stringify(name)}`,
  session: (sessionId: string): string => `session ${JSON.stringify(sessionId)}`,
  state: (session: number, subject: string): string => `state ${JSON.stringify([session, subject])}`,
  effect: (session: number, toolName: string, inputDigest: string, callId: string): string =>
    `${effectPrefix(session, toolName, inputDigest)}${JSON.stringify(callId)}]`,
} as const;

const effects = 'effect ';
const effectPrefix = (session: number, toolName: string, inputDigest: string): string =>
  `${effects}${JSON.stringify([session, toolName, inputDigest]).slice(0, -1)},`;

/**
 * Number of marks that an entry sets according to its text. Stored with the entry, so that `verify` can compare it.
 */
export const countMarks = ({
  claim,
  reserve,
  settle,
  moves,
  totals,
}: Pick<Entry, 'claim' | 'reserve' | 'settle' | 'moves'> & Partial<Pick<ReadEntry, 'totals'>>): number =>
  (claim === undefined ? 0 : 1) +
  (moves?.length ?? 0) +
  (reserve === undefined && settle === undefined && totals === undefined
    ? 0
    : new Set([...(reserve ?? []), ...(settle ?? []), ...(totals ?? [])].map(({ counter }) => counter)).size);

const rangeSql = 'SELECT position FROM marks WHERE key >= ? AND key < ? ORDER BY position';

export class Marks {
  /** False for a file of an older version that is only read: it has no marks, and its rows decide. */
  readonly areSet: boolean;
  readonly #sql: Database;
  readonly #entries: EntryTable;
  #isWhole = false;

  constructor(sql: Database, entries: EntryTable) {
    this.#sql = sql;
    this.#entries = entries;
    const isTemporary = `SELECT EXISTS (SELECT 1 FROM temp.sqlite_schema WHERE name = 'marks')`;
    this.areSet = sql.value<number>(isTemporary).get() === 0;
  }

  put(key: string, position: number): void {
    this.#sql.run('INSERT OR REPLACE INTO marks VALUES (?, ?)', key, position);
  }

  drop(key: string): void {
    this.#sql.run('DELETE FROM marks WHERE key = ?', key);
  }

  find(key: string): number | undefined {
    const mark = this.#sql.value<number>('SELECT position FROM marks WHERE key = ?');
    if (!this.#isWhole && this.areSet) {
      if (mark.get(markOf.first) === undefined) throw emptiedError();
      this.#isWhole = true;
    }
    return mark.get(key);
  }

  /** Another process wrote: the table may have been emptied since. */
  forget(): void {
    this.#isWhole = false;
  }

  /** The holder of the key, according to the marked entry. */
  claimOf(key: string): ClaimHolder | undefined {
    const entry = this.#entryOf(markOf.claim(key));
    if (entry === undefined) return undefined;
    const { sessionId, callId, claim } = entry;
    if (callId === undefined || claim?.key !== key) throw strayError('claim');
    return { sessionId, callId, inputDigest: claim.inputDigest };
  }

  /** The counter's total, according to the marked entry. */
  counterOf(name: string): Counter | undefined {
    const entry = this.#entryOf(markOf.counter(name));
    if (entry === undefined) return undefined;
    const total = entry.totals?.find(({ counter }) => counter === name);
    if (total === undefined) throw strayError('counter');
    return { used: total.used, reserved: total.reserved };
  }

  /** The entry that last moved a subject of a session. */
  moveOf(session: number, subject: string): ReadEntry | undefined {
    return this.#entryOf(markOf.state(session, subject));
  }

  /** Marks of unresolved calls with this tool and input, oldest first. */
  effectsOf(session: number, toolName: string, inputDigest: string): readonly number[] {
    const prefix = effectPrefix(session, toolName, inputDigest);
    return this.#sql.value<number>(rangeSql).all(prefix, after(prefix));
  }

  get hasEffects(): boolean {
    return this.#sql.value<number>(rangeSql).get(effects, after(effects)) !== undefined;
  }

  entryAt(position: number): ReadEntry {
    const row = this.#entries.at(position);
    if (row === undefined) throw strayError('entry');
    return decode(row);
  }

  /** Drops all marks that belong to one session. */
  dropSession(session: number, sessionId: string): void {
    this.drop(markOf.session(sessionId));
    const prefixes = sessionCounterPrefixes(sessionId).map((prefix) => markOf.counter(prefix).slice(0, -1));
    for (const prefix of [`state [${session},`, `${effects}[${session},`, ...prefixes])
      this.#sql.run('DELETE FROM marks WHERE key >= ? AND key < ?', prefix, after(prefix));
  }

  #entryOf(key: string): ReadEntry | undefined {
    const position = this.find(key);
    return position === undefined ? undefined : this.entryAt(position);
  }
}

const after = (prefix: string): string => `${prefix}\u{10FFFF}`;

const advice =
  'Another program changed the file. Run `quittance verify` to see what else was changed, and ' +
  '`quittance rebuild` to rebuild the tables from the entries.';

const emptiedError = (): QuittanceError =>
  new QuittanceError(
    'ledger.damaged',
    `The table "marks" of the ledger was emptied, so no claim and no budget can be checked. ${advice}`,
  );

const strayError = (what: string): QuittanceError =>
  new QuittanceError(
    'ledger.damaged',
    `A row of the table "marks" points to an entry that is missing or not about this ${what}. ${advice}`,
  );

/** A row outside entries claims more than the entries do. */
export const unfoundedError = (what: string): QuittanceError =>
  new QuittanceError('ledger.damaged', `The row of ${what} does not agree with the entries. ${advice}`);
