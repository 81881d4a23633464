/** The parts of the store that write, in the thread that does. */
import { createIds } from '../../base/ids.ts';
import type { Ids } from '../../base/ids.ts';
import { createSalts } from '../files/spill-file.ts';
import { Appender } from './appender.ts';
import { ArtifactFiles } from './artifact-files.ts';
import { ArtifactTable } from './artifact-table.ts';
import { CallLists } from './call-lists.ts';
import { CursorTable } from './cursor-table.ts';
import type { Database } from './database.ts';
import { EntryTable } from './entry-table.ts';
import { Marks } from './marks.ts';
import { Sessions } from './sessions.ts';
import { SideTables } from './side-tables.ts';
import { Statements } from './statements.ts';

export type WriteParts = {
  /** Of the ledger file. */
  readonly path: string;
  readonly database: Database;
  readonly sql: Statements;
  readonly sessions: Sessions;
  readonly entries: EntryTable;
  readonly marks: Marks;
  readonly side: SideTables;
  readonly lists: CallLists;
  readonly cursors: CursorTable;
  readonly appender: Appender;
  readonly artifacts: ArtifactTable;
  readonly ownerId: string;
  readonly ids: Ids;
  readonly salt: () => string;
  /** Runs work in a transaction of the queue, between appends. It finds everything that was appended before. */
  readonly transact: <Result>(work: () => Result | Promise<Result>) => Promise<Result>;
};

export type WritePlace = { readonly path: string; readonly ownerId: string };

export function createWriteParts(
  database: Database,
  { path, ownerId }: WritePlace,
  run: WriteParts['transact'],
): WriteParts {
  const sql = new Statements(database);
  const sessions = new Sessions(sql);
  const entries = new EntryTable(sql);
  const marks = new Marks(sql, entries);
  const side = new SideTables(sql, marks, entries, true);
  const lists: CallLists = new CallLists(sql, entries, () => appender.flush());
  const cursors = new CursorTable(sql);
  const appender = new Appender({ sql, sessions, entries, side, marks, cursors, lists });
  const artifacts = new ArtifactTable(sql, new ArtifactFiles(`${path}.artifacts`));
  const transact: WriteParts['transact'] = (work) =>
    run(() => {
      appender.flush();
      sessions.flush();
      return work();
    });
  const [ids, salt] = [createIds(), createSalts()];
  const parts = { database, sql, sessions, entries, marks, side, lists, cursors, appender, artifacts };
  return { ...parts, path, ownerId, ids, salt, transact };
}
