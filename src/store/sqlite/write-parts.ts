/** The parts that write to a ledger file. The main thread has one set of them, and the writer thread another. */
import { Appender } from './appender.ts';
import { ArtifactTable } from './artifact-table.ts';
import { CursorTable } from './cursor-table.ts';
import type { Database } from './database.ts';
import { EntryTable } from './entry-table.ts';
import { Heads } from './heads.ts';
import type { LogState } from './log-state.ts';
import { LastReads } from './last-reads.ts';
import { Marks } from './marks.ts';
import { OrderExecutor } from './order-executor.ts';
import { SideTables } from './side-tables.ts';
import type { SqliteOwnFiles } from './sqlite-own-files.ts';
import { WriterLog } from './writer-log.ts';
import { Writer } from './writer.ts';

export type WriteParts = {
  readonly heads: Heads;
  readonly entries: EntryTable;
  readonly marks: Marks;
  readonly side: SideTables;
  readonly lastReads: LastReads;
  readonly cursors: CursorTable;
  readonly appender: Appender;
  readonly artifacts: ArtifactTable;
  readonly executor: OrderExecutor;
  readonly writer: Writer;
};

export type WritePlace = {
  readonly path: string;
  readonly ownerId: string;
  readonly files: SqliteOwnFiles;
  /** Number of entries after which the newest are written to the index. */
  readonly longestTail: number;
  readonly log: LogState;
};

export type WriteEvents = {
  readonly began?: () => void;
  /** Before the commit of a batch. */
  readonly ending?: () => void;
  readonly committed: () => void;
  readonly rolledBack?: () => void;
};

export function createWriteParts(
  database: Database,
  { path, ownerId, files, longestTail, log }: WritePlace,
  events: WriteEvents,
): WriteParts {
  const heads = new Heads(database, longestTail);
  const entries = new EntryTable(database, heads);
  const marks = new Marks(database, entries);
  const lastReads = new LastReads(heads, entries);
  const side = new SideTables(database, heads, marks, (sessionId, callId) =>
    lastReads.askedFor(sessionId, callId),
  );
  const writerLog = new WriterLog(database, log);
  const writer: Writer = new Writer(
    database,
    {
      entering: () => writerLog.tidy(),
      began: () => {
        events.began?.();
        files.requireUnchanged();
        return heads.refreshNow();
      },
      ending: () => {
        appender.flush();
        if (heads.isTailLong) heads.indexTail();
        events.ending?.();
      },
      committed: events.committed,
      rolledBack: () => {
        heads.forget();
        appender.forget();
        events.rolledBack?.();
      },
    },
    () => executor,
  );
  const cursors = new CursorTable(database, writer, ownerId);
  const appender: Appender = new Appender(database, heads, side, marks, cursors);
  const artifacts = new ArtifactTable(database, `${path}.artifacts`, heads, writer);
  const executor = new OrderExecutor(appender, cursors, artifacts);
  return { heads, entries, marks, side, lastReads, cursors, appender, artifacts, executor, writer };
}

export type WriteSettings = {
  readonly synchronous: 'full' | 'normal';
  readonly maxBytes: number | undefined;
};

/** Settings of a connection that writes. */
export function setUpToWrite(database: Database, { synchronous, maxBytes }: WriteSettings): void {
  database.pragma(`synchronous = ${synchronous === 'normal' ? 'NORMAL' : 'FULL'}`);
  // Erased data must not remain in unused pages.
  database.pragma('secure_delete = ON');
  if (maxBytes === undefined) return;
  const pageBytes = database.pragma('page_size', { simple: true }) as number;
  database.pragma(`max_page_count = ${Math.max(1, Math.floor(maxBytes / pageBytes))}`);
}
