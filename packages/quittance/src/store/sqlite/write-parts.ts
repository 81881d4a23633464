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

export type WriteParts = {
  /** Of the ledger file. */
  readonly path: string;
  readonly database: Database;
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
  const sessions = new Sessions(database);
  const entries = new EntryTable(database);
  const marks = new Marks(database, entries);
  const side = new SideTables(database, marks, entries, true);
  const lists: CallLists = new CallLists(database, entries, () => appender.flush());
  const cursors = new CursorTable(database);
  const appender = new Appender({ database, sessions, entries, side, marks, cursors, lists });
  const artifacts = new ArtifactTable(database, new ArtifactFiles(`${path}.artifacts`));
  const transact: WriteParts['transact'] = (work) =>
    run(() => {
      appender.flush();
      sessions.flush();
      return work();
    });
  const [ids, salt] = [createIds(), createSalts()];
  const parts = { database, sessions, entries, marks, side, lists, cursors, appender, artifacts };
  return { ...parts, path, ownerId, ids, salt, transact };
}
