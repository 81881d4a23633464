/** The thread that fills the read tables of a busy ledger. `Projector` starts it and sets its target. */
import type { MessagePort } from 'node:worker_threads';
import { parentPort, workerData } from 'node:worker_threads';
import { behindCalls, lowerPriority } from '../../runtime/host/lower-priority.ts';
import { LockWait } from './backoff.ts';
import { isBusy, openDatabase } from './database.ts';
import { EntryTable } from './entry-table.ts';
import { Heads } from './heads.ts';
import { entriesPerLongStep, Projection } from './projection.ts';
import { openReadTables } from './read-schema.ts';

export type ProjectorThreadData = {
  readonly ledgerPath: string;
  readonly tablesPath: string;
  readonly ledgerId: string;
  /** How long to wait for another process that makes no progress. */
  readonly patienceMs: number;
};

/** The answer to a target. */
export type ProjectorAnswer = { readonly target: number; readonly isDone: boolean };

if (parentPort !== null) serve(parentPort, workerData as ProjectorThreadData);

function serve(port: MessagePort, data: ProjectorThreadData): void {
  const { ledgerPath, tablesPath, ledgerId, patienceMs } = data;
  lowerPriority(behindCalls);
  const ledger = openDatabase(ledgerPath, { readOnly: true, mustExist: true, cacheKiB: 4_000 });
  const heads = new Heads(ledger, Number.POSITIVE_INFINITY);
  const { writer } = openReadTables(tablesPath, ledgerId);
  const projection = new Projection(ledger, new EntryTable(ledger, heads), heads, writer, entriesPerLongStep);
  let isOver = false;
  let filling: Promise<void> = Promise.resolve();

  const fill = async (target: number): Promise<void> => {
    const wait = new LockWait(patienceMs);
    let isDone = true;
    while (isDone && !isOver && !projection.reaches(target))
      try {
        await projection.step(() => isOver);
      } catch (error) {
        if (!isBusy(error)) throw error;
        isDone = await wait.again(projection.position);
      }
    if (!isOver) port.postMessage({ target, isDone } satisfies ProjectorAnswer);
  };

  const end = async (): Promise<void> => {
    isOver = true;
    await filling;
    writer.close();
    ledger.close();
    port.close();
  };

  // A failure ends the thread: the waiting process then fills the tables itself.
  port.on('message', (target: number | 'end') => {
    if (target === 'end') void end();
    else filling = filling.then(() => fill(target));
  });
}
