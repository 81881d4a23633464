/** Entries as they are read back. */
import type { QuittanceEvent } from '../../call/event.ts';
import type { Head } from '../../ledger/chain.ts';
import type { ReadEntry } from '../../ledger/formats/v1/read-entry.ts';
import { readEntry } from '../../ledger/formats/v1/read-entry.ts';
import type { StoredCall } from '../../ledger/ledger.ts';
import type { EntryQuery, StoredEntry } from '../../ledger/stored-entry.ts';
import type { Database, Statement } from './database.ts';
import { prepareRow } from './database.ts';
import type { SessionHead } from './heads.ts';
import { fromSqlText, toSqlText } from './sql-text.ts';

type WrittenRow = { readonly text: string; readonly bodies: string | null };
type EntryRow = WrittenRow & {
  readonly position: number;
  readonly name: string;
  readonly sequence: number;
  readonly salt: string | null;
  readonly hash: string;
};

const columns =
  'SELECT position, name, sequence, text, bodies, salt, hash FROM entries JOIN sessions USING (session)';

export class EntryTable {
  readonly #ofCall: Statement<WrittenRow & { readonly version: number | null }>;
  readonly #ofSession: Statement<WrittenRow>;
  readonly #after: Statement<EntryRow>;
  readonly #heads: Statement<{ name: string; sequence: number; hash: string }>;
  readonly #afterInSession: Statement<EntryRow>;

  constructor(database: Database) {
    this.#ofCall = prepareRow(
      database,
      'SELECT version, text, bodies FROM entries WHERE session = ? AND call = ? ORDER BY position',
    );
    this.#ofSession = prepareRow(
      database,
      'SELECT text, bodies FROM entries WHERE session = ? ORDER BY sequence',
    );
    this.#after = prepareRow(database, `${columns} WHERE position > ? ORDER BY position LIMIT ?`);
    this.#heads = prepareRow(
      database,
      `SELECT name, sequence, hash FROM sessions JOIN entries USING (session)
       WHERE sequence = (SELECT max(sequence) FROM entries AS other WHERE other.session = sessions.session)`,
    );
    // Within a session, sequences stand in the order of positions.
    this.#afterInSession = prepareRow(
      database,
      `${columns} WHERE session = ? AND sequence > coalesce(
         (SELECT max(sequence) FROM entries WHERE session = ? AND position <= ?), 0)
       ORDER BY sequence LIMIT ?`,
    );
  }

  readCall(head: SessionHead, callId: string): StoredCall | undefined {
    const rows = this.#ofCall.all(head.session, toSqlText(callId));
    if (rows.length === 0) return undefined;
    let version = 0;
    let ownerId = '';
    const events: QuittanceEvent[] = [];
    for (const row of rows) {
      const entry = decode(row);
      // Remarks move nothing: whoever makes one is not at the call.
      if (row.version !== null) {
        version = row.version;
        ownerId = entry.ownerId;
      }
      for (const event of entry.events as readonly QuittanceEvent[])
        if ('callId' in event && event.callId === callId) events.push(event);
    }
    return { version, events, ownerId };
  }

  readSession(head: SessionHead): QuittanceEvent[] {
    const events: QuittanceEvent[] = [];
    for (const row of this.#ofSession.iterate(head.session))
      for (const event of eventsOf(row)) events.push(event);
    return events;
  }

  readHeads(): Head[] {
    return this.#heads.all().map(({ name, ...head }) => ({ ...head, sessionId: fromSqlText(name) }));
  }

  read({ after = 0, limit }: EntryQuery, head: SessionHead | undefined): StoredEntry[] {
    const rows =
      head === undefined
        ? this.#after.all(after, limit)
        : this.#afterInSession.all(head.session, head.session, after, limit);
    return rows.map(({ name, bodies, salt, ...row }) => ({
      ...row,
      sessionId: fromSqlText(name),
      bodies: bodies ?? undefined,
      salt: salt ?? undefined,
    }));
  }
}

export const decode = ({ text, bodies }: WrittenRow): ReadEntry =>
  readEntry({ text, bodies: bodies ?? undefined });

/** Events of types this version does not know come as they are: whoever folds them passes them over. */
export const eventsOf = (row: WrittenRow): readonly QuittanceEvent[] =>
  decode(row).events as readonly QuittanceEvent[];
