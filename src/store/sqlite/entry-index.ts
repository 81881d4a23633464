/**
 * The index of entries by session and call. It covers the entries up to `end`. Later entries are in the tails of their
 * heads, and every answer here includes the tail.
 */
import { QuittanceError } from '../../base/error.ts';
import { prepareRow, prepareValue, type Database, type Statement } from './database.ts';
import { RowInserts } from './row-inserts.ts';
import type { SessionHead } from './session-head.ts';
import { toSqlText } from './sql-text.ts';

/** Ordered positions cached for all sessions together. */
const mostOrdered = 524_288;
/** Sessions remembered as complete. */
const mostComplete = 65_536;
/** In sessions with more index rows, the rows are counted; in others, each is also compared with its entry. */
const mostCompared = 1_024;

/** A row of `entry_index`, in the order of its columns. */
type IndexRow = readonly [
  session: number,
  call: string,
  first: number,
  last: number,
  positions: string,
  version: number | null,
];

export class EntryIndex {
  readonly #entryAt: Statement<{ session: number; call: string | null }>;
  readonly #isEntryAfter: Statement<number>;
  readonly #countRows: Statement<{ rows: number; entries: number | null; bad: number | null }>;
  readonly #findStray: Statement<number>;
  readonly #positionsAround: Statement<string>;
  readonly #versionOf: Statement<number | null>;
  readonly #rowsOf: Statement<{ readonly positions: string; readonly version: number | null }>;
  readonly #positionsIn: Statement<string>;
  readonly #inserts: RowInserts<IndexRow>;
  readonly #setEnd: Statement<never>;

  /** Entries up to this position are in the index. */
  end = -1;
  /** Number of ordered positions cached. */
  #ordered = 0;
  /** Numbers of the sessions whose index was found complete, or was written here. Heads may be forgotten before. */
  readonly #complete = new Set<number>();

  constructor(database: Database) {
    this.#entryAt = prepareRow(database, 'SELECT session, call FROM entries WHERE position = ?');
    this.#isEntryAfter = prepareValue(database, 'SELECT EXISTS (SELECT 1 FROM entries WHERE position > ?)');
    this.#countRows = prepareRow(
      database,
      `SELECT count(*) AS rows, sum(length(positions) - length(replace(positions, ',', '')) + 1) AS entries,
         sum(call <> '' AND coalesce(version, 0) < 1) AS bad
       FROM entry_index WHERE session = ?`,
    );
    this.#findStray = prepareValue(
      database,
      `SELECT EXISTS (SELECT 1 FROM entry_index AS i LEFT JOIN entries AS e ON e.position = i.first
         WHERE i.session = ? AND (e.session IS NOT i.session OR coalesce(e.call, '') <> i.call))`,
    );
    this.#positionsAround = prepareValue(
      database,
      'SELECT positions FROM entry_index WHERE session = ? AND call = ? AND first <= ? AND last >= ?',
    );
    const ofCall = 'FROM entry_index WHERE session = ? AND call = ?';
    this.#versionOf = prepareValue(database, `SELECT max(version) ${ofCall}`);
    this.#rowsOf = prepareRow(database, `SELECT positions, version ${ofCall} AND first <= ? ORDER BY first`);
    this.#positionsIn = prepareValue(
      database,
      'SELECT positions FROM entry_index WHERE session = ? AND last > ? AND first <= ?',
    );
    this.#inserts = new RowInserts(database, 'entry_index', 6);
    this.#setEnd = prepareRow(database, 'UPDATE ledger SET indexed = ?');
  }

  /**
   * Is the entry at which the index ends in it? If the end was moved, some entries would be in neither the index nor
   * the tail. If that entry is gone, it was dropped with its session, and the next entry says so.
   */
  hasItsEnd(removals: number): boolean {
    const { end } = this;
    if (end <= 0) return end === 0;
    const entry = this.#entryAt.get(end);
    if (entry === undefined) return removals > 0 && this.#isEntryAfter.get(end) === 1;
    return this.#positionsAround
      .all(entry.session, entry.call ?? '', end, end)
      .some((positions) => positions.split(',').includes(String(end)));
  }

  /**
   * Throws unless the index has every entry of the session. A call whose index row is missing would look new and run
   * again. Checked once, before the index of a session is used.
   */
  requireComplete(head: SessionHead): void {
    if (this.#complete.has(head.session)) return;
    const { rows, entries, bad } = this.#countRows.get(head.session) ?? { rows: 0, entries: 0, bad: 0 };
    const isComplete =
      (entries ?? 0) === head.indexedEntries &&
      (bad ?? 0) === 0 &&
      (rows > mostCompared || this.#findStray.get(head.session) === 0);
    if (!isComplete) throw damagedIndexError(`session ${JSON.stringify(head.sessionId)}`);
    this.trust([head.session]);
  }

  /** Numbers of the sessions whose index need not be checked. */
  get complete(): Iterable<number> {
    return this.#complete;
  }

  /** Only this process has written the index of these sessions, or the index was checked. */
  trust(sessions: Iterable<number>): void {
    for (const session of sessions) {
      if (this.#complete.size >= mostComplete) this.#complete.clear();
      this.#complete.add(session);
    }
  }

  /** The transaction was rolled back. */
  forget(): void {
    this.#inserts.forget();
    this.trustNone();
  }

  /** Another process may have changed the index of any session. */
  trustNone(): void {
    this.#complete.clear();
  }

  /** Version of a call after its indexed entries; 0 for a call without any. */
  versionOf(head: SessionHead, callId: string): number {
    return this.#versionOf.get(head.session, toSqlText(callId)) ?? 0;
  }

  /** Positions of a call's entries, in order, and its version after the indexed ones. */
  findCall(head: SessionHead, callId: string): { readonly positions: number[]; readonly version: number } {
    const rows = this.#rowsOf.all(head.session, toSqlText(callId), this.end);
    const positions = toPositions(rows.map((row) => row.positions));
    for (const position of head.tail.positionsOf(callId)) positions.push(position);
    return { positions, version: Math.max(0, ...rows.map(({ version }) => version ?? 0)) };
  }

  /** Positions of a session's entries after a position, in order, up to a limit. */
  positionsIn(head: SessionHead, after: number, limit: number): number[] {
    const positions = toPositions(this.#positionsIn.all(head.session, after, this.end));
    for (const position of head.tail.positions) positions.push(position);
    return positions
      .filter((position) => position > after)
      .sort((left, right) => left - right)
      .slice(0, limit);
  }

  /** Positions of a session's entries without a call, in order. */
  positionsWithoutCall(head: SessionHead): number[] {
    const rows = this.#rowsOf.all(head.session, '', this.end);
    return [...toPositions(rows.map((row) => row.positions)), ...head.tail.positionsOf(null)];
  }

  /** Position of the session's last entry before a position, if there is one. */
  positionBefore(head: SessionHead, position: number): number | undefined {
    let before = lastBelow(this.#orderOf(head), position) ?? 0;
    if (position > this.end) before = lastBelow(head.tail.positions, position) ?? before;
    return before === 0 ? undefined : before;
  }

  /**
   * Positions of a session's indexed entries, in order. Cached, because several calls of a session are often read.
   */
  #orderOf(head: SessionHead): readonly number[] {
    if (head.order !== undefined) return head.order;
    const order = toPositions(this.#positionsIn.all(head.session, 0, this.end)).sort(
      (left, right) => left - right,
    );
    if (this.#ordered + order.length <= mostOrdered) {
      head.order = order;
      this.#ordered += order.length;
    }
    return order;
  }

  /** Call when all heads are forgotten, and their cached positions with them. */
  forgetOrder(): void {
    this.#ordered = 0;
  }

  /** Writes the tail of a session to the index, inside a transaction. Complete after `moveEnd`. */
  addTail(head: SessionHead, versionOf: (callId: string) => number): void {
    // In index order, so that each index page is touched once.
    const tail = [...head.tail.byCall()].sort(byCall);
    // All versions first: one that must be read makes `requireComplete` count the index, without these rows.
    const versions = tail.map(([callId]) => (callId === null ? null : versionOf(callId)));
    for (const [index, [callId, positions]] of tail.entries())
      this.#inserts.add([
        head.session,
        callId === null ? '' : toSqlText(callId), // stored call names are never empty
        positions[0] as number,
        positions.at(-1) as number,
        positions.join(),
        versions[index] ?? null,
      ]);
    if (head.indexedEntries === 0) this.trust([head.session]);
    const { order } = head;
    this.#ordered -= order?.length ?? 0;
    head.indexedEntries += head.tail.length;
    for (const position of head.tail.positions) order?.push(position);
    order?.sort((left, right) => left - right);
    this.#ordered += order?.length ?? 0;
    head.tail.clear();
  }

  /**
   * Another connection has written the tail of a session to the index, up to a position. Returns how many entries
   * that were. What another process wrote is checked before it is used: see `requireComplete`. `isOurs`: the other
   * thread of this process wrote it, which is checked no more than what this one writes.
   */
  followTail(head: SessionHead, until: number, isOurs: boolean): number {
    const indexed = head.tail.dropUntil(until);
    if (indexed === 0) return 0;
    if (!isOurs) this.#complete.delete(head.session);
    else if (head.indexedEntries === 0) this.trust([head.session]);
    head.indexedEntries += indexed;
    this.#ordered -= head.order?.length ?? 0;
    head.order = undefined;
    return indexed;
  }

  /** Moves the end of the index, once the tails of all sessions up to this position are in it. */
  moveEnd(position: number): void {
    this.#inserts.flush();
    this.#setEnd.run(position);
    this.end = position;
  }
}

export const damagedIndexError = (where: string): QuittanceError =>
  new QuittanceError(
    'ledger.damaged',
    `The index of the ledger does not agree with its entries (${where}): an earlier call could look ` +
      'new and run again. Nothing is run. Another program changed the file; run `quittance verify` to ' +
      'see where.',
  );

const byCall = ([left]: [string | null, unknown], [right]: [string | null, unknown]): number =>
  (left ?? '') < (right ?? '') ? -1 : 1;

/** The last of ascending numbers below the limit. */
function lastBelow(ascending: readonly number[], limit: number): number | undefined {
  let low = 0;
  let high = ascending.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ascending[middle] ?? limit) < limit) low = middle + 1;
    else high = middle;
  }
  return ascending[low - 1];
}

const toPositions = (lists: readonly string[]): number[] =>
  lists.flatMap((list) => list.split(',').map(Number));
