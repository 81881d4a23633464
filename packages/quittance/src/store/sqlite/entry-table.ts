/** Reads entries back for the checks of an append. What other readers need is in `sql/entries.ts`. */
import { lastInputDigest } from '../../ledger/prepare-entry.ts';
import type { StoredCall } from '../../ledger/journal.ts';
import type { CallEntryRow, DecodedRow } from '../sql/entries.ts';
import { bytesOf, decodeCall, refuseDisorder, toStoredCall } from '../sql/entries.ts';
import type { Database } from './database.ts';
import { toSqlText } from './database.ts';
import type { Session } from './sessions.ts';

/** An entry as stored in its table. */
export type EntryRow = CallEntryRow & {
  readonly position: number;
  readonly session: number;
  readonly call: string | null;
};

/** What a call requested: the tool, and the digest of the input that the gates accepted. */
export type AskedFor = { readonly toolName: string; readonly inputDigest: string };

const columns = 'SELECT position, session, sequence, call, version, text, bodies, salt, hash FROM entries';

/** The plus keeps SQLite from reading the whole session, which the other index has in the order of positions. */
export const entriesOfCall: string = `${columns} WHERE session = ? AND call = ? ORDER BY +position`;

export class EntryTable {
  readonly #sql: Database;

  constructor(sql: Database) {
    this.#sql = sql;
  }

  /** The version of a call; 0 for a call that does not exist. */
  versionOf({ session }: Session, callId: string): number {
    const version = this.#sql.value<number | null>(
      'SELECT max(version) FROM entries WHERE session = ? AND call = ?',
    );
    return version.get(session, toSqlText(callId)) ?? 0;
  }

  /** The position of the last entry; 0 if there is none. Positions are never used again. */
  lastPosition(): number {
    return this.#sql.value<number>('SELECT coalesce(max(position), 0) FROM entries').get() ?? 0;
  }

  hashAt(position: number): string | undefined {
    return this.#sql.value<string>('SELECT hash FROM entries WHERE position = ?').get(position);
  }

  readCall(session: Session, callId: string): StoredCall | undefined {
    const before = this.#sql.row<{ readonly hash: string; readonly sequence: number }>(
      'SELECT hash, sequence FROM entries WHERE session = ? AND position < ? ORDER BY position DESC LIMIT 1',
    );
    return toStoredCall(session.sessionId, callId, this.ofCall(session, callId), async (rows) => {
      const found = rows.flatMap((row) => before.get(row.session, row.position) ?? []);
      return new Map(found.map(({ sequence, hash }) => [sequence, hash]));
    });
  }

  sizeOf({ session }: Session, callId: string): number {
    const bytes = this.#sql.value<number>(
      `SELECT coalesce(sum(${bytesOf}), 0) FROM entries WHERE session = ? AND call = ?`,
    );
    return bytes.get(session, toSqlText(callId)) ?? 0;
  }

  /** What a call requested, according to its entries. */
  askedFor(session: Session, callId: string): AskedFor | undefined {
    const events = this.readCall(session, callId)?.events ?? [];
    const toolName = events.find((event) => event.type === 'tool.requested')?.toolName;
    const inputDigest = lastInputDigest(events, callId);
    return toolName === undefined || inputDigest === undefined ? undefined : { toolName, inputDigest };
  }

  /** Throws if an entry of the call is missing, or not its own. */
  ofCall({ session, sessionId }: Session, callId: string): readonly DecodedRow<EntryRow>[] {
    return decodeCall(
      sessionId,
      callId,
      this.#sql.row<EntryRow>(entriesOfCall).all(session, toSqlText(callId)),
    );
  }

  ofSession({ session }: Session, after = 0, limit = -1): EntryRow[] {
    return this.#sql
      .row<EntryRow>(`${columns} WHERE session = ? AND position > ? ORDER BY position LIMIT ?`)
      .all(session, after, limit);
  }

  at(position: number): EntryRow | undefined {
    return this.#sql.row<EntryRow>(`${columns} WHERE position = ?`).get(position);
  }

  after(position: number, limit: number): EntryRow[] {
    const rows = this.#sql
      .row<EntryRow>(`${columns} WHERE position > ? ORDER BY position LIMIT ?`)
      .all(position, limit);
    refuseDisorder(rows, position);
    return rows;
  }
}
