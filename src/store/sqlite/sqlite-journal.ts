import type { QuittanceEvent } from '../../call/event.ts';
import type {
  AppendResult,
  Entry,
  Journal,
  SessionScope,
  StoredCall,
  StoredState,
} from '../../ledger/journal.ts';
import { AppendJob } from './append-job.ts';
import type { EntryTable } from './entry-table.ts';
import type { Heads } from './heads.ts';
import type { LastReads } from './last-reads.ts';
import type { SideTables } from './side-tables.ts';
import type { ChangeWatch } from './change-watch.ts';
import { createAppendOrder } from './write-order.ts';
import type { Writer } from './writer.ts';

export type JournalParts = {
  readonly heads: Heads;
  readonly entries: EntryTable;
  readonly side: SideTables;
  readonly writer: Writer;
  readonly watch: ChangeWatch;
  readonly ownerId: string;
  readonly salt: () => string;
  readonly lastReads: LastReads;
};

export class SqliteJournal implements Journal {
  readonly #parts: JournalParts;

  constructor(parts: JournalParts) {
    this.#parts = parts;
  }

  append(entry: Entry): Promise<AppendResult> {
    const { watch, writer, ownerId, salt } = this.#parts;
    return new Promise((resolve, reject) => {
      const order = createAppendOrder(entry, ownerId, salt);
      writer.add(new AppendJob(order, writer.executor, watch, resolve, reject));
    });
  }

  readCall(sessionId: string, callId: string): StoredCall | undefined {
    const { entries, heads, lastReads } = this.#parts;
    // Most calls are new.
    if (heads.isCurrent && heads.isKnownAbsent(sessionId, callId)) return undefined;
    const head = heads.fresh().find(sessionId);
    const stored = head && entries.readCall(head, callId);
    if (stored !== undefined) lastReads.note(sessionId, callId, stored);
    return stored;
  }

  measureCall(sessionId: string, callId: string): number {
    const { entries, heads } = this.#parts;
    const head = heads.fresh().find(sessionId);
    return head === undefined ? 0 : entries.measureCall(head, callId);
  }

  readSession(sessionId: string, scope: SessionScope = 'all'): readonly QuittanceEvent[] {
    const { entries, heads } = this.#parts;
    const head = heads.fresh().find(sessionId);
    return head === undefined ? [] : entries.readSession(head, scope);
  }

  readState(sessionId: string, subject: string): StoredState | undefined {
    const { heads, side } = this.#parts;
    const head = heads.fresh().find(sessionId);
    return head && side.readState(head, subject);
  }

  readSealed(sessionId: string, callId: string): string | undefined {
    const { heads, side } = this.#parts;
    const head = heads.fresh().find(sessionId);
    return head && side.readSealed(head, callId);
  }

  whenChanged(sessionId: string, callId: string, version: number, signal?: AbortSignal): Promise<void> {
    return this.#parts.watch.call(sessionId, callId, version, signal);
  }
}
