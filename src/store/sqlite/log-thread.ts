/** The thread that copies the log of a busy ledger into its file. `LogKeeper` starts it. */
import type { MessagePort } from 'node:worker_threads';
import { parentPort, workerData } from 'node:worker_threads';
import { openDatabase, prepareRow, prepareValue } from './database.ts';
import { LogState } from './log-state.ts';
import type { WriteSettings } from './write-parts.ts';
import { setUpToWrite } from './write-parts.ts';

export type LogThreadData = {
  readonly path: string;
  readonly ledgerId: string;
  readonly settings: WriteSettings;
  /** Of `LogState`. */
  readonly logMemory: SharedArrayBuffer;
};

/** Pages in the log, and how many of them are in the file. */
type LogSize = { readonly log: number; readonly checkpointed: number };

/** With fewer pages in the log, nothing is done. Measured: with 500 the flushes of the file cost more than they save. */
const longLog = 2_000;
/** A writer copies this many in a few milliseconds. */
const fewPages = 256;
/** The second copies what was written during the first. */
const mostPasses = 2;
const everyMs = 25;
const idleLooks = 40;

if (parentPort !== null) serve(parentPort, workerData as LogThreadData);

function serve(port: MessagePort, { path, ledgerId, settings, logMemory }: LogThreadData): void {
  const database = openDatabase(path, { mustExist: true, cacheKiB: 500 });
  setUpToWrite(database, settings);
  if (prepareValue<string>(database, 'SELECT ledger_id FROM ledger').get() !== ledgerId)
    throw new Error(`${path} is another ledger than before.`);
  const measure = prepareRow<LogSize>(database, 'PRAGMA wal_checkpoint(NOOP)');
  const copy = prepareRow<LogSize>(database, 'PRAGMA wal_checkpoint(PASSIVE)');
  const state = new LogState(logMemory);
  let timer: NodeJS.Timeout | undefined;
  let last = -1;
  let idle = 0;

  const look = (): void => {
    timer = undefined;
    let size = measure.get() as LogSize; // always a row
    if (size.log >= longLog) {
      for (let pass = 0; pass < mostPasses && size.log - size.checkpointed > fewPages; pass++) {
        copy.get();
        size = measure.get() as LogSize;
      }
      state.isRestartDue = true;
    }
    idle = size.log === last ? idle + 1 : 0;
    last = size.log;
    if (idle < idleLooks) timer = setTimeout(look, everyMs);
    else state.isAsleep = true;
  };

  // A failure ends the thread: the writers then copy the log themselves.
  port.on('message', (message: 'look' | 'end') => {
    if (message === 'look') {
      idle = 0;
      if (timer === undefined) look();
      return;
    }
    state.isKept = false;
    clearTimeout(timer);
    database.close();
    port.close();
  });
  state.isKept = true;
  look();
}
