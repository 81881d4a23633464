/**
 * Makes the rows of lists from the entries: for a ledger of an older version, and to repair them.
 *
 * 1. Each step is a short transaction of its own, and `relisting` says how far the steps have come. Several processes may
 *    take steps. If they are killed, the next one that opens the ledger goes on.
 * 2. A step lists calls as they are now. Other processes may append meanwhile: they write the same rows.
 * 3. Counts are made in the last step, from the rows. Until then they are not exact.
 */
import { isQuittanceError } from '../../base/error.ts';
import { countEvent, newSessionTally } from '../../ledger/call-tally.ts';
import type { SessionTally } from '../../ledger/call-tally.ts';
import type { ReadEntry } from '../../ledger/formats/v1/read-entry.ts';
import { whenFree } from './backoff.ts';
import type { CallLists } from './call-lists.ts';
import { putSessionSql, toSessionRow, toTallySql, wordTable } from './call-lists.ts';
import type { Database } from './database.ts';
import { fromSqlText, prepareRow, prepareValue } from './database.ts';
import { decode } from '../sql/entries.ts';
import type { Sessions } from './sessions.ts';

const entriesPerStep = 2_000;
const mostNamed = 20;

export type RelistParts = {
  readonly database: Database;
  readonly sessions: Sessions;
  readonly lists: CallLists;
};

/** Runs work in a transaction. */
type Run = <Result>(work: () => Result) => Promise<Result>;

/** For a reader: it changes only its temporary tables. */
export const createTransactions =
  ({ database, sessions, lists }: RelistParts): Run =>
  (work) =>
    whenFree(() => {
      database.exec('PRAGMA query_only = OFF; BEGIN');
      try {
        const result = work();
        database.exec('COMMIT');
        return result;
      } finally {
        if (database.inTransaction) {
          database.exec('ROLLBACK');
          sessions.forget();
          lists.forget();
        }
        database.pragma('query_only = ON');
      }
    });

export type RelistProgress = { readonly position: number; readonly end: number };

/** Is there a ledger of an older version to list, or a repair to continue? */
export const isRelisting = (database: Database): boolean =>
  prepareValue<number>(database, 'SELECT EXISTS (SELECT 1 FROM relisting)').get() === 1;

/** Begins a repair. The search index is made anew, because its pages may be damaged. */
export function beginRelisting({ database }: RelistParts): void {
  database.exec(`
    DELETE FROM relisting;
    INSERT INTO relisting VALUES (0);
    DROP TABLE IF EXISTS words;
    ${wordTable}
    DELETE FROM session_counts;
  `);
}

/** Takes all steps that are left. Returns the calls and entries that could not be read, in words. */
export async function relist(parts: RelistParts, run: Run): Promise<readonly string[]> {
  const steps = new RelistSteps(parts);
  while ((await run(() => steps.take())) !== undefined) await new Promise(setImmediate);
  return steps.problems;
}

/** Takes one step at a time, each inside a transaction. */
export class RelistSteps {
  /** The calls and entries that could not be read, in words. */
  readonly problems: string[] = [];
  readonly #parts: RelistParts;
  readonly #confirmations = new Set<string>();

  constructor(parts: RelistParts) {
    this.#parts = parts;
  }

  /** Undefined if no step is left. */
  take(): RelistProgress | undefined {
    return takeStep(this.#parts, this.#confirmations, this.problems);
  }
}

type Row = {
  readonly position: number;
  readonly session: number;
  readonly name: string | null;
  readonly call: string | null;
  readonly version: number | null;
  /** Only of an entry without a call. */
  readonly text: string | null;
};

function takeStep(
  parts: RelistParts,
  confirmations: Set<string>,
  problems: string[],
): RelistProgress | undefined {
  const { database, sessions, lists } = parts;
  const from = prepareValue<number>(database, 'SELECT position FROM relisting').get();
  if (from === undefined) return undefined;
  const rows = prepareRow<Row>(
    database,
    `SELECT position, e.session, name, call, version, CASE WHEN call IS NULL THEN text END AS text
     FROM entries AS e LEFT JOIN sessions USING (session) WHERE position > ? ORDER BY position LIMIT ?`,
  ).all(from, entriesPerStep);
  const tallies = new Map<number, SessionTally>();
  const listed = new Set<number>();
  const count = ({ session }: Row, { events }: Pick<ReadEntry, 'events'>): void => {
    const tally = tallies.get(session) ?? newSessionTally('');
    tallies.set(session, tally);
    for (const { at } of events) countEvent(tally, at);
  };
  for (const row of rows)
    try {
      if (row.call === null) count(row, decode({ text: row.text ?? '', bodies: null }));
      if (row.call === null || row.version !== 1 || row.name === null) continue;
      const head = sessions.read(fromSqlText(row.name));
      if (head === undefined) continue;
      listed.add(row.position);
      for (const entry of lists.rewrite(head, fromSqlText(row.call), confirmations)) count(row, entry);
    } catch (error) {
      if (!isQuittanceError(error) || error.code === 'ledger.unavailable') throw error;
      if (problems.length < mostNamed)
        problems.push(`The entry at position ${row.position} cannot be listed: ${error.message}`);
    }
  const putSession = prepareRow<never>(database, putSessionSql);
  for (const [session, tally] of tallies) putSession.run(...toSessionRow(session, tally));
  const isLast = rows.length < entriesPerStep;
  const until = rows.at(-1)?.position ?? from;
  dropStrays(database, listed, from, isLast ? Number.MAX_SAFE_INTEGER : until);
  if (isLast) finish(parts, confirmations);
  else prepareRow<never>(database, 'UPDATE relisting SET position = ?').run(until);
  const end = prepareValue<number>(database, 'SELECT coalesce(max(position), 0) FROM entries').get() ?? 0;
  return { position: until, end };
}

/** Drops rows that no call has. */
function dropStrays(database: Database, listed: ReadonlySet<number>, from: number, until: number): void {
  const found = prepareValue<number>(
    database,
    'SELECT position FROM calls WHERE position > ? AND position <= ?',
  );
  const drop = prepareRow<never>(database, 'DELETE FROM calls WHERE position = ?');
  for (const position of found.all(from, until)) if (!listed.has(position)) drop.run(position);
}

function finish({ database, sessions, lists }: RelistParts, confirmations: ReadonlySet<string>): void {
  dropStrayConfirmations(database, sessions, lists, confirmations);
  database.exec(`
    DELETE FROM tallies;
    ${toTallySql('true', '')};
    UPDATE session_counts AS s SET (calls, open_calls, failures, denials, unresolved) =
      (SELECT count(*), count(*) FILTER (WHERE status <> 'settled'),
         count(*) FILTER (WHERE outcome IN ('ToolFailure', 'ToolTimeout')), count(*) FILTER (WHERE outcome = 'ToolDenied'),
         count(*) FILTER (WHERE unresolved = 1)
       FROM calls WHERE calls.session = s.session);
    DELETE FROM relisting;
  `);
}

/** Other processes may have asked since a call was listed, so a question that was not seen is looked up. */
function dropStrayConfirmations(
  database: Database,
  sessions: Sessions,
  lists: CallLists,
  seen: ReadonlySet<string>,
): void {
  type Asked = { confirmation_id: string; call_id: string; name: string | null };
  const rows = prepareRow<Asked>(
    database,
    'SELECT confirmation_id, call_id, name FROM confirmations LEFT JOIN sessions USING (session)',
  );
  const drop = prepareRow<never>(database, 'DELETE FROM confirmations WHERE confirmation_id = ?');
  for (const { confirmation_id: id, call_id: call, name } of rows.all())
    if (!seen.has(id) && !isAsked(id, call, name)) drop.run(id);

  function isAsked(id: string, call: string, name: string | null): boolean {
    try {
      const head = name === null ? undefined : sessions.read(fromSqlText(name));
      const asked = head && lists.read(head, fromSqlText(call))?.confirmations;
      return asked?.some(({ confirmationId }) => confirmationId === fromSqlText(id)) ?? false;
    } catch {
      return false; // not written by this program
    }
  }
}
