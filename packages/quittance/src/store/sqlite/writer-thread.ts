/**
 * The thread that writes to a ledger. `WriterClient` starts it with the first order. It has its own connection, and the
 * only one of the process that writes.
 */
import type { MessagePort } from 'node:worker_threads';
import { parentPort, workerData } from 'node:worker_threads';
import type { Database } from './database.ts';
import { openDatabase, prepareValue } from './database.ts';
import { requireUnchanged } from './file-checks.ts';
import type { OrderEvents, WrittenPlace } from './order-writer.ts';
import { OrderWriter } from './order-writer.ts';
import type { WriteSettings } from './sqlite-ledger-options.ts';
import { setUpToWrite } from './sqlite-ledger-options.ts';
import type { ThreadError } from './thread-error.ts';
import { toThreadError } from './thread-error.ts';
import type { Answer, SentOrder } from './write-order.ts';
import { fromSent } from './write-order.ts';

export type WriterThreadData = WrittenPlace & {
  readonly ledgerId: string;
  readonly settings: WriteSettings;
};

export type ThreadRequest = readonly SentOrder[] | 'end';

export type ThreadReply = {
  readonly answers: readonly (readonly [number: number, answer: Answer])[];
  readonly errors: readonly (readonly [number: number, error: ThreadError])[];
  /** Of the last entry in the ledger. */
  readonly position: number;
  /** Has another process written since the last reply? */
  readonly metOthers: boolean;
};

if (parentPort !== null) serve(parentPort, workerData as WriterThreadData);

function serve(port: MessagePort, data: WriterThreadData): void {
  let writer: OrderWriter | undefined;
  let answers: [number, Answer][] = [];
  let errors: [number, ThreadError][] = [];
  let position = 0;
  let metOthers = false;

  const events: OrderEvents = {
    committed: (end) => {
      position = end;
    },
    metOthers: () => {
      metOthers = true;
    },
    answered: () => {
      if (answers.length === 0 && errors.length === 0) return;
      port.postMessage({ answers, errors, position, metOthers } satisfies ThreadReply);
      [answers, errors, metOthers] = [[], [], false];
    },
  };

  port.on('message', (request: ThreadRequest) => {
    if (request === 'end') {
      writer?.close();
      port.close();
      return;
    }
    for (const sent of request) {
      const [number] = sent;
      const answer = (given: Answer): void => void answers.push([number, given]);
      const refuse = (error: unknown): void => void errors.push([number, toThreadError(error)]);
      try {
        // Tried again with each order: a file that was moved away may be back.
        writer ??= new OrderWriter(openToWrite(data), data, events);
        writer.perform(fromSent(sent), answer, refuse);
      } catch (error) {
        refuse(error);
      }
    }
    events.answered();
  });
}

/** How long another process may lock the file while it is opened. */
const openingPatienceMs = 10_000;

function openToWrite({ path, ledgerId, settings, opened }: WriterThreadData): Database {
  requireUnchanged(opened);
  const database = openDatabase(path, { mustExist: true });
  try {
    database.pragma(`busy_timeout = ${openingPatienceMs}`);
    setUpToWrite(database, settings);
    const found = prepareValue<string>(database, 'SELECT ledger_id FROM ledger').get();
    database.pragma('busy_timeout = 0');
    if (found !== ledgerId) throw new Error(`${path} is another ledger than before.`);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}
