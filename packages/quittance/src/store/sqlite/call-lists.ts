/**
 * Writes what lists, search and decisions read: the rows of calls, their questions, words and counts.
 *
 * 1. A row is written in the transaction of the entry that it shows.
 * 2. An open call is remembered, because almost every call has a second entry soon. All of them are forgotten when another
 *    process writes.
 * 3. The search index has settled calls. Open calls are few, and a search looks at each: the index need not change twice.
 * 4. Counts change once per transaction, however many entries it has: see `flush`.
 */
import type { Database, SqlValue } from './database.ts';
import { isRefusedValue, toSqlText } from './database.ts';
import type { ReadEntry } from '../../ledger/formats/v1/read-entry.ts';
import { QuittanceError } from '../../base/error.ts';
import type { SessionTally, TallyChange } from '../../ledger/call-tally.ts';
import { countCall, hourMs, latencyBinSql, newSessionTally, TallyChanges } from '../../ledger/call-tally.ts';
import type { ListedCall } from '../../ledger/listed-call.ts';
import { countEntry, listEntry, toIndexWords } from '../../ledger/listed-call.ts';
import type { EntryTable } from './entry-table.ts';
import type { ConfirmationSummary } from '../../ledger/call-query.ts';
import type { Session } from './sessions.ts';
import type { SearchTerm } from '../../ledger/call-search.ts';

/**
 * The search index: an FTS5 table without content, one row per call, under the position of its
 * request. Only words are stored, not their places. Filters have marks among the words: see `toFilterMarks`.
 *
 * FTS5 gathers all calls with a beginning of a word before it gives the newest one. So each word is stored with the number
 * of a part before it, and a search goes from the newest part to the oldest.
 */

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

/** Pages that one merge writes before other work gets a turn. */
const pagesPerMerge = 400;

export class WordTable {
  readonly #sql: Database;

  constructor(sql: Database) {
    this.#sql = sql;
  }

  /** The words of a call that has none yet. */
  add(position: number, text: string): void {
    this.#sql.run('INSERT INTO words (rowid, text) VALUES (?, ?)', position, text);
  }

  put(position: number, text: string): void {
    this.#sql.run('INSERT OR REPLACE INTO words (rowid, text) VALUES (?, ?)', position, text);
  }

  /** Before the calls of the session are dropped. */
  dropSession(session: number): void {
    this.#sql.run('DELETE FROM words WHERE rowid IN (SELECT position FROM calls WHERE session = ?)', session);
  }

  /**
   * Removes a part of the words of dropped rows from the file. Returns true while there is more to remove. The first
   * step begins a merge of everything.
   */
  compactSome(isFirst: boolean): boolean {
    const changes = this.#sql.value<number>('SELECT total_changes()');
    const before = changes.get() ?? 0;
    this.#sql.run(
      `INSERT INTO words (words, rank) VALUES ('merge', ?)`,
      isFirst ? -pagesPerMerge : pagesPerMerge,
    );
    return (changes.get() ?? 0) - before >= 2;
  }
}

/** The text of a call: its words, each after its part. */
export function toText(position: number, words: Iterable<string>): string {
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

/** A call as far as it was appended. */
type Followed = {
  /** Of its first entry, and of its row. */
  readonly position: number;
  listed: ListedCall | undefined;
  chars: number;
};

/** Open calls that are remembered, and the length of their entries. The oldest are forgotten first. */
const mostFollowed = 8_192;
const mostChars = 33_554_432;

export class CallLists {
  readonly #sql: Database;
  readonly #entries: EntryTable;
  readonly #writeWaiting: () => void;
  readonly #words: WordTable;
  readonly #followed = new Map<string, Followed>();
  #chars = 0;
  readonly #sessions = new Map<number, SessionTally>();
  readonly #tallies = new TallyChanges();

  /** `writeWaiting`: writes entries of this transaction that are not in the table yet. */
  constructor(sql: Database, entries: EntryTable, writeWaiting: () => void = () => undefined) {
    this.#sql = sql;
    this.#entries = entries;
    this.#writeWaiting = writeWaiting;
    this.#words = new WordTable(sql);
  }

  /** The transaction was rolled back. */
  forget(): void {
    this.forgetCalls();
    this.#sessions.clear();
    this.#tallies.take();
  }

  /**
   * Lists an entry that is appended at a position. Call before it is inserted. Throws `ledger.damaged` if an earlier entry
   * of the call cannot be read.
   */
  note(head: Session, position: number, entry: ReadEntry, chars: number): void {
    const tally = this.#tallyOf(head);
    const { callId } = entry;
    if (callId === undefined) {
      countEntry(tally, entry, none);
      return;
    }
    const key = keyOf(head, callId);
    const call =
      entry.expectedVersion === 0 ? newCall(position) : (this.#take(key) ?? this.#read(head, callId));
    const before = call.listed;
    call.chars += chars;
    call.listed = list(head, callId, [entry], before);
    countEntry(tally, entry, { before, after: call.listed });
    this.#put(call, head, before);
    if (call.listed?.summary.status !== 'settled') this.#follow(key, call);
  }

  /** A call as its entries say. */
  read(head: Session, callId: string): ListedCall | undefined {
    return this.#read(head, callId).listed;
  }

  /** Lists a call anew after its bodies were erased. `before`: as it is listed. */
  relist(head: Session, callId: string, before: ListedCall | undefined): void {
    const call = this.#read(head, callId);
    const tally = this.#tallyOf(head);
    if (before !== undefined) countCall(tally, before.summary, -1);
    this.#sql.run(dropCall, call.position);
    if (call.listed !== undefined) countCall(tally, call.listed.summary);
    this.#put(call, head, before);
  }

  /**
   * Writes the rows of a call, whether or not it has some, without counting it. Returns all of its entries.
   * `confirmations`: takes the ids of its questions, as stored.
   */
  rewrite(head: Session, callId: string, confirmations: Set<string>): readonly ReadEntry[] {
    const { position, entries, listed } = this.#read(head, callId);
    if (listed !== undefined) {
      this.#sql.run(dropCall, position);
      this.#putRow(position, head, listed);
      const words = toWordText(position, listed);
      if (words !== undefined) this.#words.put(position, words);
      for (const asked of listed.confirmations) {
        this.#sql.run(putConfirmation, ...toConfirmationRow(position, head.session, asked));
        confirmations.add(toSqlText(asked.confirmationId));
      }
    }
    return entries;
  }

  /** Removes the rows of a session. Its words leave the file when their index is merged. */
  dropSession(session: number): void {
    this.flush();
    this.#sql.run(toTallySql('session = ?', '-'), session);
    this.#words.dropSession(session);
    for (const table of ['calls', 'confirmations', 'session_counts'])
      this.#sql.run(`DELETE FROM ${table} WHERE session = ?`, session);
    this.forgetCalls();
  }

  /** Writes the counts. Call before the commit, and before anything reads them in the transaction. */
  flush(): void {
    for (const [session, tally] of this.#sessions)
      this.#sql.run(putSessionSql, ...toSessionRow(session, tally));
    this.#sessions.clear();
    for (const tally of this.#tallies.take()) this.#sql.run(putTallySql, ...toTallyRow(tally));
  }

  #tallyOf({ session, sessionId }: Session): SessionTally {
    let tally = this.#sessions.get(session);
    if (tally === undefined) {
      tally = newSessionTally(sessionId);
      this.#sessions.set(session, tally);
    }
    return tally;
  }

  /** Another process has written: the remembered calls may have changed. */
  forgetCalls(): void {
    this.#followed.clear();
    this.#chars = 0;
  }

  #take(key: string): Followed | undefined {
    const call = this.#followed.get(key);
    if (call === undefined) return undefined;
    this.#followed.delete(key);
    this.#chars -= call.chars;
    return call;
  }

  #follow(key: string, call: Followed): void {
    this.#followed.set(key, call);
    this.#chars += call.chars;
    for (const oldest of this.#followed.keys()) {
      if (this.#followed.size <= mostFollowed && this.#chars <= mostChars) return;
      this.#take(oldest);
    }
  }

  /** A call as it is in the ledger. */
  #read(head: Session, callId: string): Followed & { readonly entries: readonly ReadEntry[] } {
    this.#writeWaiting();
    const rows = this.#entries.ofCall(head, callId);
    const entries = rows.map(({ entry }) => entry);
    const position = rows[0]?.row.position ?? 0;
    const listed = list(head, callId, entries);
    const chars = rows.reduce((sum, { row }) => sum + row.text.length + (row.bodies?.length ?? 0), 0);
    return { position, entries, listed, chars };
  }

  #put({ position, listed }: Followed, head: Session, before: ListedCall | undefined): void {
    this.#tallies.add(before?.summary, listed?.summary);
    if (listed === undefined) return;
    this.#putRow(position, head, listed);
    const words = toWordText(position, listed);
    const known = before && toWordText(position, before);
    if (words !== known) {
      if (known === undefined) this.#words.add(position, words ?? '');
      else this.#words.put(position, words ?? '');
    }
    for (const [index, asked] of listed.confirmations.entries())
      if (asked.status !== before?.confirmations[index]?.status)
        this.#sql.run(putConfirmation, ...toConfirmationRow(position, head.session, asked));
  }

  #putRow(position: number, head: Session, listed: ListedCall): void {
    try {
      this.#sql.run(putCallSql, ...toCallRow(position, head.session, listed));
    } catch (error) {
      throw isRefusedValue(error) ? unlistedError(head.sessionId, listed.summary.callId) : error;
    }
  }
}

const dropCall = 'DELETE FROM calls WHERE position = ?';
const putConfirmation = 'INSERT OR REPLACE INTO confirmations VALUES (?, ?, ?, ?, ?, ?, ?, ?)';

const none = { before: undefined, after: undefined } as const;

const keyOf = ({ session }: Session, callId: string): string => `${session}/${callId}`;

const newCall = (position: number): Followed => ({ position, listed: undefined, chars: 0 });

/**
 * Lists a call from its entries, or from those after `before`. Throws `ledger.damaged` if one lacks values: none that was
 * written by this program does.
 */
export function list(
  { sessionId }: Session,
  callId: string,
  entries: readonly ReadEntry[],
  before?: ListedCall,
): ListedCall | undefined {
  try {
    let listed = before;
    for (const entry of entries) listed = listEntry(listed, entry);
    return listed;
  } catch (error) {
    throw error instanceof TypeError ? unlistedError(sessionId, callId) : error;
  }
}

/** Its text in the search index; undefined if it has none. */
export const toWordText = (position: number, listed: ListedCall): string | undefined =>
  listed.summary.status === 'settled' ? toText(position, toIndexWords(listed)) : undefined;

const unlistedError = (sessionId: string, callId: string): QuittanceError =>
  new QuittanceError(
    'ledger.damaged',
    `The entries of call ${JSON.stringify(callId)} in session ${JSON.stringify(sessionId)} lack values that every ` +
      'call has: another program changed them. Run `quittance verify` to see where.',
    { sessionId, callId },
  );

// The rows that lists read.

export const callColumns = [
  'position',
  'session',
  'call_id',
  'turn_id',
  'tool_name',
  'mode',
  'mode_origin',
  'requested_at',
  'user_id',
  'status',
  'outcome',
  'reason',
  'code',
  'message',
  'input_digest',
  'attempts',
  'unresolved',
  'settled_at',
  'elapsed_ms',
  'cost_micros',
  'rule_id',
  'owner_id',
  'args',
] as const;

export const confirmationColumns = [
  'confirmation_id',
  'position',
  'session',
  'call_id',
  'tool_name',
  'status',
  'asked_at',
  'expires_at',
] as const;

export const sessionColumns = [
  'session',
  'calls',
  'open_calls',
  'failures',
  'denials',
  'unresolved',
  'first_at',
  'last_at',
] as const;

export const tallyColumns = [
  'hour',
  'tool_name',
  'bin',
  'code',
  'outcome',
  'mode',
  'status',
  'calls',
  'unresolved',
  'cost_micros',
] as const;
/** The columns before the counts. */
export const tallyKeys: number = tallyColumns.indexOf('calls');

/** The columns before the status are set once, by the request. */
const putCallSql = `INSERT INTO calls (${callColumns.join(', ')}) VALUES (${callColumns.map(() => '?').join(', ')})
  ON CONFLICT (position) DO UPDATE SET ${callColumns
    .slice(callColumns.indexOf('status'))
    .map((name) => `${name} = excluded.${name}`)
    .join(', ')}`;

export const putSessionSql = `INSERT INTO session_counts VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (session) DO UPDATE SET
  calls = calls + excluded.calls, open_calls = open_calls + excluded.open_calls,
  failures = failures + excluded.failures, denials = denials + excluded.denials,
  unresolved = unresolved + excluded.unresolved,
  first_at = min(first_at, excluded.first_at), last_at = max(last_at, excluded.last_at)`;

const addTally = `ON CONFLICT (hour, tool_name, bin, code, outcome, mode, status) DO UPDATE SET calls = calls + excluded.calls,
    unresolved = unresolved + excluded.unresolved, cost_micros = cost_micros + excluded.cost_micros`;
const putTallySql = `INSERT INTO tallies VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ${addTally}`;

/** Adds listed calls to the tallies. `sign`: takes them out. */
export const toTallySql = (where: string, sign: '' | '-'): string =>
  `INSERT INTO tallies SELECT CAST(requested_at / ${hourMs} AS INTEGER), tool_name, ${binSql}, coalesce(code, ''),
     coalesce(outcome, ''), mode, status, ${sign}count(*), ${sign}sum(unresolved), ${sign}sum(cost_micros)
   FROM calls WHERE ${where} GROUP BY 1, 2, 3, 4, 5, 6, 7 ${addTally}`;

/** The bin of the duration of a call. */
export const binSql: string = latencyBinSql('elapsed_ms', 'attempts');

const orNull = (text: string | undefined): string | null => (text === undefined ? null : toSqlText(text));

/** In the order of `callColumns`. */
export const toCallRow = (
  position: number,
  session: number,
  { summary: call, ownerId }: ListedCall,
): SqlValue[] => [
  position,
  session,
  toSqlText(call.callId),
  toSqlText(call.turnId),
  toSqlText(call.toolName),
  call.mode,
  call.modeOrigin,
  call.requestedAt,
  orNull(call.userId),
  call.status,
  call.outcome ?? null,
  call.reason ?? null,
  orNull(call.code),
  call.message?.toWellFormed() ?? null,
  orNull(call.inputDigest),
  call.attempts,
  call.unresolved ? 1 : 0,
  call.settledAt ?? null,
  call.elapsedMs ?? null,
  call.costMicros,
  orNull(call.ruleId),
  ownerId,
  call.args === undefined ? null : JSON.stringify(call.args).toWellFormed(),
];

export const toConfirmationRow = (
  position: number,
  session: number,
  asked: ConfirmationSummary,
): SqlValue[] => [
  toSqlText(asked.confirmationId),
  position,
  session,
  toSqlText(asked.callId),
  toSqlText(asked.toolName),
  asked.status,
  asked.askedAt,
  asked.expiresAt ?? null,
];

export const toSessionRow = (session: number, tally: SessionTally): SqlValue[] => [
  session,
  tally.calls,
  tally.openCalls,
  tally.failures,
  tally.denials,
  tally.unresolved,
  tally.firstAt,
  tally.lastAt,
];

export const toTallyRow = (tally: TallyChange): SqlValue[] => [
  tally.hour,
  toSqlText(tally.toolName),
  tally.bin,
  tally.code === '' ? '' : toSqlText(tally.code),
  tally.outcome,
  tally.mode,
  tally.status,
  tally.calls,
  tally.unresolved,
  tally.costMicros,
];
