/**
 * Reads entries back: of a call, of a session, or of all; how large they are; and how the chains end.
 *
 * The columns next to a text are not hashed: before a call goes on, the text itself must say that it belongs there.
 */
import { QuittanceError } from '../../base/error.ts';
import type { QuittanceEvent } from '../../call/event.ts';
import type { Head } from '../../ledger/chain.ts';
import { bodiesDigest, chainHash, genesisHash } from '../../ledger/chain.ts';
import { takesOn } from '../../ledger/fold-stored.ts';
import type { ReadEntry } from '../../ledger/formats/v1/read-entry.ts';
import { readEntry } from '../../ledger/formats/v1/read-entry.ts';
import type { Ledger, RowReaders } from '../../ledger/ledger.ts';
import type { StoredCall } from '../../ledger/journal.ts';
import type { EntryQuery, EntrySize, StoredEntry } from '../../ledger/stored-entry.ts';
import { asText } from '../../ledger/stored-entry.ts';
import type { SqlCondition, SqlDriver, SqlNames } from './driver.ts';
import { readStoredName, toValues, toWhere } from './driver.ts';

/** An entry of a call, next to what a store says about it. */
export type CallEntryRow = {
  readonly sequence: number;
  readonly version: number | null;
  readonly text: string;
  readonly bodies: string | null;
  readonly salt: string | null;
  readonly hash: string;
};

export type DecodedRow<Row> = { readonly row: Row; readonly entry: ReadEntry };

export const decode = ({ text, bodies }: Pick<CallEntryRow, 'text' | 'bodies'>): ReadEntry =>
  readEntry({ text, bodies: bodies ?? undefined });

/** Throws if an entry of the call is missing or not its own: the rest could look as if its body had never begun. */
export function decodeCall<Row extends CallEntryRow>(
  sessionId: string,
  callId: string,
  rows: readonly Row[],
): readonly DecodedRow<Row>[] {
  let version = 0;
  const decoded = rows.map((row) => {
    const entry = decode(row);
    const own = entry.expectedVersion === 'any' ? null : entry.expectedVersion + 1;
    if (entry.sessionId !== sessionId || entry.callId !== callId || row.version !== own)
      throw changedError(sessionId, callId);
    if (row.version !== null && row.version !== ++version) throw changedError(sessionId, callId);
    return { row, entry };
  });
  if (rows.length > 0 && version === 0) throw changedError(sessionId, callId);
  return decoded;
}

export const changedError = (sessionId: string, callId: string): QuittanceError =>
  new QuittanceError(
    'ledger.damaged',
    `Another program moved, changed or removed entries of call ${JSON.stringify(callId)} in session ` +
      `${JSON.stringify(sessionId)}, so the call is not run. Run \`quittance verify\` to see where.`,
    { sessionId, callId },
  );

/** `hashesBefore`: the hashes of the entries of the session before these, by their sequence. */
export function toStoredCall<Row extends CallEntryRow>(
  sessionId: string,
  callId: string,
  decoded: readonly DecodedRow<Row>[],
  hashesBefore: (rows: readonly Row[]) => Promise<ReadonlyMap<number, string>>,
): StoredCall | undefined {
  const [first] = decoded;
  if (first === undefined) return undefined;
  let version = 0;
  let ownerId = '';
  let claimKey: string | undefined;
  const events: QuittanceEvent[] = [];
  for (const { row, entry } of decoded) {
    const own = entry.events as readonly QuittanceEvent[]; // those of unknown types are skipped when they are folded
    claimKey = entry.claim?.key ?? claimKey;
    // Remarks do not change the owner: a process that makes one does not own the call.
    if (row.version !== null) {
      ({ version } = row);
      if (takesOn(own)) ({ ownerId } = entry);
    }
    for (const event of own) if ('callId' in event && event.callId === callId) events.push(event);
  }
  const { depth } = first.entry;
  const stored: StoredCall = {
    version,
    events,
    ownerId,
    ...(depth > 0 && { depth }),
    ...(claimKey !== undefined && { claimKey }),
  };
  // Not enumerable, so that the value can be cloned and compared as plain data.
  return Object.defineProperty(stored, 'findAlteration', {
    value: async () => findAlteration(sessionId, decoded, await hashesBefore(decoded.map(({ row }) => row))),
  });
}

/** Checks that each row is the appended one, by its place in the chain and by the digest of its bodies. */
function findAlteration(
  sessionId: string,
  decoded: readonly DecodedRow<CallEntryRow>[],
  hashesBefore: ReadonlyMap<number, string>,
): string | undefined {
  for (const { row, entry } of decoded) {
    const { sequence, text, bodies, salt, hash } = row;
    const before = sequence === 1 ? genesisHash(sessionId) : hashesBefore.get(sequence - 1);
    if (before === undefined || chainHash(before, sequence, text) !== hash)
      return 'a stored entry of the call was changed';
    const isErased = bodies === null && salt === null;
    if (!isErased && bodiesDigest(salt ?? '', bodies ?? '') !== entry.bodiesDigest)
      return 'data stored outside an entry of the call was changed';
  }
  return undefined;
}

export type EntryDialect = SqlNames & {
  /** The table of entries, and the same with the name of each session as `session_id`: null without a row for it. */
  readonly table: string;
  readonly entries: string;
  /** The column with the call. */
  readonly call: string;
  readonly ofSession: string;
  /** In the order of the entries of a session. */
  readonly inSession: string;
  readonly contains: string;
  /** Entries of all sessions that readers may see. */
  readonly visible: readonly SqlCondition[];
  /** Sessions with `session_id`, and with the end of their chains. */
  readonly sessions: string;
  /** The place of the last entry of a session `s` up to a position. */
  readonly lastOf: string;
};

type EntryReads = Pick<Ledger, 'readSession' | 'readEntries'> &
  Pick<RowReaders, 'heads'> & {
    readonly measure: (query: EntryQuery) => Promise<readonly EntrySize[]>;
    readonly countSessions: () => Promise<number>;
  };

/** The size of an entry. The databases know the length of a text without reading it. */
export const bytesOf = 'octet_length(text) + coalesce(octet_length(bodies), 0)';

export function createEntryReads(driver: SqlDriver, dialect: EntryDialect): EntryReads {
  const { table, entries, sessions, call, ofSession, inSession, toText } = dialect;
  const sessionOf = (row: { readonly position: number; readonly session_id: string | null }, text = '') =>
    readStoredName(dialect, row.session_id) ?? sessionIn(text) ?? `#${row.position}`;
  const where = ({ after = 0, sessionId, about }: Omit<EntryQuery, 'limit'>): readonly SqlCondition[] => [
    ['position > ?', after],
    ...(sessionId === undefined ? dialect.visible : [[ofSession, toText(sessionId)] as const]),
    ...(about === undefined
      ? []
      : [
          ['position <= ?', about.until] as const,
          [`(${dialect.contains} OR ${dialect.contains})`, ...about.texts] as const,
        ]),
  ];
  return {
    async readEntries({ limit, ...query }) {
      type Row = CallEntryRow & { readonly position: number; readonly session_id: string | null };
      const conditions = where(query);
      const rows = await driver.all<Row>(
        `SELECT position, session_id, sequence, text, bodies, salt, hash FROM ${entries}${toWhere(conditions)}
         ORDER BY position LIMIT ?`,
        [...toValues(conditions), limit],
      );
      refuseDisorder(rows, query.after);
      return rows.map((row): StoredEntry => ({
        position: row.position,
        sessionId: sessionOf(row, row.text),
        // Another program may have changed it. A value of the wrong type is useless here, and verification reports it.
        sequence: typeof row.sequence === 'number' ? row.sequence : Number.NaN,
        text: asText(row.text),
        bodies: row.bodies === null ? undefined : asText(row.bodies),
        salt: row.salt === null ? undefined : asText(row.salt),
        hash: asText(row.hash),
      }));
    },
    async readSession(sessionId, scope = 'all') {
      const rows = await driver.all<Pick<CallEntryRow, 'text' | 'bodies'>>(
        `SELECT text, bodies FROM ${entries} WHERE ${ofSession}${scope === 'all' ? '' : ` AND ${call} IS NULL`}
         ORDER BY ${inSession}`,
        [toText(sessionId)],
      );
      // Events of unknown types are returned as they are: code that folds events skips them.
      return rows.flatMap((row) => decode(row).events as readonly QuittanceEvent[]);
    },
    async measure({ limit, ...query }) {
      type Row = Pick<EntrySize, 'position' | 'bytes'> & { readonly session_id: string | null };
      const conditions = where(query);
      const rows = await driver.all<Row>(
        `SELECT position, session_id, ${bytesOf} AS bytes FROM ${entries}${toWhere(conditions)} ORDER BY position LIMIT ?`,
        [...toValues(conditions), limit],
      );
      return rows.map((row) => ({ position: row.position, sessionId: sessionOf(row), bytes: row.bytes }));
    },
    /** As they are, or as they were at a position: so all pages are of one moment while other processes append. */
    async heads(query) {
      type Row = Pick<Head, 'sequence' | 'hash'> & { readonly session_id: string };
      const rows =
        'sessionId' in query
          ? await driver.all<Row>(
              `SELECT session_id, sequence, hash FROM ${sessions} WHERE session_id = ? AND sequence > 0`,
              [toText(query.sessionId)],
            )
          : await driver.all<Row>(
              query.at === undefined
                ? `SELECT session_id, sequence, hash FROM ${sessions} WHERE sequence > 0 AND session_id > ?
                   ORDER BY session_id LIMIT ?`
                : `SELECT s.session_id, e.sequence, e.hash FROM ${sessions} JOIN ${table} e
                   ON e.position = ${dialect.lastOf} WHERE s.session_id > ? ORDER BY s.session_id LIMIT ?`,
              [
                ...(query.at === undefined ? [] : [query.at]),
                query.after === undefined ? '' : toText(query.after), // stored names are never empty
                query.limit,
              ],
            );
      return {
        rows: rows.map(({ session_id, sequence, hash }) => ({
          sessionId: dialect.fromText(session_id),
          sequence,
          hash,
        })),
        next: undefined,
      };
    },
    async countSessions() {
      const [row] = await driver.all<{ readonly sessions: number }>(
        `SELECT count(*) AS sessions FROM ${sessions} WHERE sequence > 0`,
      );
      return row?.sessions ?? 0;
    },
  };
}

/** As an entry says; undefined if it cannot be read. */
function sessionIn(text: string): string | undefined {
  try {
    return readEntry({ text, bodies: undefined }).sessionId;
  } catch {
    return undefined;
  }
}

/** On damaged pages of a file a reader would loop forever. */
export function refuseDisorder(rows: readonly { readonly position: number }[], after = 0): void {
  let before = after;
  for (const { position } of rows) {
    if (!(position > before))
      throw new QuittanceError(
        'ledger.damaged',
        `The entries after position ${before} are out of order: pages of the file are damaged. Restore a backup.`,
      );
    before = position;
  }
}
