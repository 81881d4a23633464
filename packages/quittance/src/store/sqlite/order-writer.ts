/** Performs orders with the one connection of a process that writes. Runs in the writer thread. */
import type { StoredPlace } from './appender.ts';
import type { Database } from './database.ts';
import { prepareValue } from './database.ts';
import type { OpenedFile } from './file-checks.ts';
import { identifyOwnFiles, requireUnchanged, WriterLog } from './file-checks.ts';
import { LastEntryFile } from './last-entry.ts';
import type { RelistSteps } from './relist.ts';
import type { WriteParts, WritePlace } from './write-parts.ts';
import { createWriteParts } from './write-parts.ts';
import type { Answer, AppendOrder, LongOrder, ShortOrder, WriteOrder } from './write-order.ts';
import type { WriteJob } from './writer.ts';
import { Writer } from './writer.ts';

/** `opened`: the files that the process has open. */
export type WrittenPlace = WritePlace & { readonly opened: readonly OpenedFile[] };

export type OrderEvents = {
  /** `position`: of the last entry. */
  committed(position: number): void;
  /** Another process has written. */
  metOthers(): void;
  /** Some orders were answered. */
  answered(): void;
};

export class OrderWriter {
  readonly #parts: WriteParts;
  readonly #writer: Writer;
  readonly #events: OrderEvents;
  readonly #end: () => void;
  #relist: RelistSteps | undefined;

  constructor(database: Database, { path, ownerId, opened }: WrittenPlace, events: OrderEvents) {
    const log = new WriterLog(database, path);
    const lastEntry = new LastEntryFile(database, path, ownerId);
    const dataVersion = prepareValue<number>(database, 'PRAGMA data_version');
    let seen = dataVersion.get();
    let files = opened;
    const writer: Writer = new Writer(database, {
      entering: () => log.requireWhole(),
      began: () => {
        // A log that did not exist when the process opened the ledger exists in every transaction.
        if (files === opened) files = [...opened, ...newFiles(path, opened)];
        requireUnchanged(files);
        const version = dataVersion.get();
        if (version === seen) return false;
        seen = version;
        const { sessions, appender, lists, side } = parts;
        sessions.forgetAll();
        appender.forget();
        lists.forgetCalls();
        side.forget();
        events.metOthers();
        return true;
      },
      ending: () => {
        const { sessions, appender, lists } = parts;
        appender.flush();
        lists.flush();
        sessions.flush();
      },
      committed: () => {
        parts.appender.end();
        lastEntry.noteCommit();
        events.committed(parts.appender.position);
      },
      rolledBack: () => {
        const { sessions, appender, lists, side } = parts;
        sessions.forget();
        appender.forget();
        lists.forget();
        side.forget();
      },
      answered: () => events.answered(),
    });
    const parts: WriteParts = createWriteParts(database, { path, ownerId }, (work) => writer.run(work));
    this.#parts = parts;
    this.#writer = writer;
    this.#events = events;
    this.#end = () => {
      log.close();
      lastEntry.close();
      database.close();
    };
  }

  perform(order: WriteOrder, answer: (answer: Answer) => void, refuse: (error: unknown) => void): void {
    switch (order.type) {
      case 'append':
      case 'cursor':
      case 'artifact':
      case 'key':
        this.#writer.add(new OrderJob(this.#parts, order, answer, refuse));
        return;
      case 'erase':
      case 'drop':
      case 'rebuild':
      case 'relist':
        void this.#performLong(order)
          .then(answer, refuse)
          .then(() => this.#events.answered());
    }
  }

  /** Long work is rare: its code is loaded with the first such order, because every thread that starts would pay for it. */
  async #performLong(order: LongOrder): Promise<Answer> {
    const parts = this.#parts;
    switch (order.type) {
      case 'erase':
        return (await import('./sqlite-retention.ts')).eraseEntries(parts, order.erasure, order.at);
      case 'drop':
        return (await import('./sqlite-retention.ts')).dropSession(parts, order.removal, order.at);
      case 'rebuild':
        return (await import('./side-rebuild.ts')).rebuildLedger(parts, order.at);
      case 'relist': {
        const steps = (this.#relist ??= new (await import('./relist.ts')).RelistSteps(parts));
        return (await parts.transact(() => steps.take())) ?? 'done';
      }
    }
  }

  /** Call when all orders are answered. */
  close(): void {
    this.#end();
  }
}

const newFiles = (path: string, opened: readonly OpenedFile[]): readonly OpenedFile[] =>
  identifyOwnFiles(path, undefined).filter((file) => !opened.some((known) => known.path === file.path));

class OrderJob implements WriteJob {
  readonly #parts: WriteParts;
  readonly #order: AppendOrder | ShortOrder;
  readonly #answer: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
  #given: Answer = false;
  #stored: StoredPlace | undefined;

  constructor(
    parts: WriteParts,
    order: AppendOrder | ShortOrder,
    answer: (answer: Answer) => void,
    refuse: (error: unknown) => void,
  ) {
    this.#parts = parts;
    this.#order = order;
    this.#answer = answer;
    this.reject = refuse;
  }

  perform(): void {
    this.#stored = undefined;
    this.#given =
      this.#order.type === 'append'
        ? this.#parts.appender.append(this.#order, (place) => {
            this.#stored = place;
          })
        : performShort(this.#parts, this.#order);
  }

  isKept(): boolean {
    const { entries, cursors } = this.#parts;
    const stored = this.#stored;
    if (stored !== undefined) return entries.hashAt(stored.position) === stored.hash;
    return this.#order.type === 'cursor' && this.#given === true && cursors.isChanged(this.#order.change);
  }

  resolve(): void {
    this.#answer(this.#given);
  }
}

function performShort(
  { appender, sessions, cursors, artifacts, database, ownerId }: WriteParts,
  order: ShortOrder,
): boolean {
  appender.flush();
  switch (order.type) {
    case 'cursor':
      return cursors.set(order.change, ownerId);
    case 'artifact':
      return artifacts.name(sessions.take(order.artifact.sessionId), order.artifact);
    case 'key':
      return (
        database.run(
          'INSERT INTO key_check SELECT ? WHERE NOT EXISTS (SELECT 1 FROM key_check)',
          order.check,
        ) > 0
      );
  }
}
