import type { QuittanceEvent } from '../../call/event.ts';
import type { StoredCall } from '../../ledger/journal.ts';
import { lastInputDigest } from '../../ledger/unsettled-effect.ts';
import type { EntryTable } from './entry-table.ts';
import type { Heads } from './heads.ts';
import type { AskedFor } from './side-tables.ts';

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
