/** Which entries an erasure empties, and what a session leaves behind that is removed. */
import { readEntry } from '../../ledger/formats/v1/read-entry.ts';
import { inUseError } from '../../ledger/prepare-entry.ts';
import type { Erasure } from '../../ledger/retention.ts';

/** An entry of the session, with the way in which the store finds it again. */
export type RemovedEntry<Place> = {
  readonly place: Place;
  readonly entryId: string;
  readonly callId: string | undefined;
};

/** Looks at every entry of a session, in order. */
export class RemovalScan<Place> {
  readonly #erasure: Pick<Erasure, 'sessionId' | 'entryIds'>;
  readonly #asked: ReadonlySet<string> | undefined;
  readonly #calls = new Map<string, boolean>();
  readonly #erased: RemovedEntry<Place>[] = [];
  /** Keys and counters that entries of the session mention. */
  readonly claims: Set<string> = new Set();
  readonly counters: Set<string> = new Set();

  constructor(erasure: Pick<Erasure, 'sessionId' | 'entryIds'>) {
    this.#erasure = erasure;
    this.#asked = erasure.entryIds && new Set(erasure.entryIds);
  }

  add({ text, bodies }: { readonly text: string; readonly bodies: string | null }, place: Place): void {
    const entry = readEntry({ text, bodies: bodies ?? undefined });
    const { entryId, callId, events, claim, reserve = [], settle = [] } = entry;
    if (callId !== undefined && this.#calls.get(callId) !== true)
      this.#calls.set(
        callId,
        events.some((event) => event.type === 'tool.responded' && 'final' in event && event.final === true),
      );
    if (bodies !== null && (this.#asked?.has(entryId) ?? true)) this.#erased.push({ place, entryId, callId });
    if (claim !== undefined) this.claims.add(claim.key);
    for (const { counter } of [...reserve, ...settle]) this.counters.add(counter);
  }

  /** The entries to empty. Throws `ledger.in_use` if one belongs to a call without an outcome. */
  erased(): readonly RemovedEntry<Place>[] {
    for (const { callId } of this.#erased) this.#requireSettled(callId);
    return this.#erased;
  }

  /** Throws `ledger.in_use` if any call of the session has no outcome. */
  requireSettled(): void {
    for (const callId of this.#calls.keys()) this.#requireSettled(callId);
  }

  #requireSettled(callId: string | undefined): void {
    if (callId !== undefined && this.#calls.get(callId) !== true)
      throw inUseError(this.#erasure.sessionId, callId);
  }
}
