import type { QuittanceEvent } from '../../call/event.ts';
import { writeEntry } from '../../ledger/formats/v1/write-entry.ts';
import type {
  AppendResult,
  Entry,
  Journal,
  SessionScope,
  StoredCall,
  StoredState,
} from '../../ledger/journal.ts';
import { refuseEntry } from '../../ledger/refuse-entry.ts';
import { lastInputDigest } from '../../ledger/unsettled-effect.ts';
import type { Appender } from './append-job.ts';
import { AppendJob } from './append-job.ts';
import type { EntryTable } from './entry-table.ts';
import type { Heads } from './heads.ts';
import type { AskedFor, SideTables } from './side-tables.ts';
import type { ChangeWatch } from './change-watch.ts';
import type { Writer } from './writer.ts';

export type JournalParts = {
  readonly heads: Heads;
  readonly entries: EntryTable;
  readonly side: SideTables;
  readonly appender: Appender;
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
    const { appender, watch, writer, ownerId, salt } = this.#parts;
    return new Promise((resolve, reject) => {
      refuseEntry(entry);
      const written = writeEntry(entry, ownerId, salt);
      writer.add(new AppendJob(appender, watch, entry, written, resolve, reject));
    });
  }

  readCall(sessionId: string, callId: string): StoredCall | undefined {
    const { entries, heads, lastReads } = this.#parts;
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

const mostRead = 1_024;

/**
 * The requests of recently read calls, with the version read. A process that reads an unresolved call is about to
 * append its end, and the append then need not read the call again.
 */
export class LastReads {
  readonly #calls = new Map<string, { readonly version: number; readonly asked: AskedFor }>();
  readonly #heads: Heads;
  readonly #entries: EntryTable;

  constructor(heads: Heads, entries: EntryTable) {
    this.#heads = heads;
    this.#entries = entries;
  }

  note(sessionId: string, callId: string, { version, events }: StoredCall): void {
    if (events.at(-1)?.type !== 'tool.started') return;
    const asked = askedForIn(events, callId);
    if (asked === undefined) return;
    if (this.#calls.size >= mostRead) this.#calls.clear();
    this.#calls.set(callKey(sessionId, callId), { version, asked });
  }

  /** The request of a call, from its record, after the entry that set its current version. */
  askedFor(sessionId: string, callId: string): AskedFor | undefined {
    const head = this.#heads.find(sessionId);
    if (head === undefined) return undefined;
    const read = this.#calls.get(callKey(sessionId, callId));
    // That entry does not change the input, and it names the version that was read: nothing came in between.
    if (read?.version === this.#heads.versionOf(head, callId) - 1) return read.asked;
    return askedForIn(this.#entries.readCall(head, callId)?.events ?? [], callId);
  }
}

const callKey = (sessionId: string, callId: string): string => `${sessionId.length}:${sessionId}${callId}`;

function askedForIn(events: readonly QuittanceEvent[], callId: string): AskedFor | undefined {
  const toolName = events.find((event) => event.type === 'tool.requested')?.toolName;
  const inputDigest = lastInputDigest(events, callId);
  return toolName === undefined || inputDigest === undefined ? undefined : { toolName, inputDigest };
}
