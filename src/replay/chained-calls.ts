/** What the chain says of every call, in one number each: to be held against what is found by looking the call up. */
import type { ReadEntry } from '../ledger/formats/v1/read-entry.ts';
import type { StoredCall } from '../ledger/ledger.ts';
import type { ReadEvent } from '../ledger/unknown-event.ts';

export class ChainedCalls {
  readonly #calls = new Map<string, number>();

  add({ sessionId, callId, expectedVersion, events }: ReadEntry): void {
    if (callId === undefined) return;
    const key = keyOf(sessionId, callId);
    const before = this.#calls.get(key) ?? 0;
    const version = expectedVersion === 'any' ? Math.floor(before / range) : expectedVersion + 1;
    this.#calls.set(key, version * range + sumOf(events, before % range));
  }

  /** Whether looking a call up gives what the chain has. */
  isSame(sessionId: string, callId: string, { version, events }: StoredCall): boolean {
    return this.#calls.get(keyOf(sessionId, callId)) === version * range + sumOf(events, 0);
  }

  /** Those that were not looked up. */
  *without(seen: ReadonlySet<string>): Iterable<{ readonly sessionId: string; readonly callId: string }> {
    for (const key of this.#calls.keys()) {
      if (seen.has(key)) continue;
      const [sessionId, callId] = JSON.parse(key) as [string, string];
      yield { sessionId, callId };
    }
  }
}

export const keyOf = (sessionId: string, callId: string): string => JSON.stringify([sessionId, callId]);

const range = 2 ** 32;

/** The ids of events in their order, as a number: to notice one that is missing, not one who computes. */
function sumOf(events: readonly ReadEvent[], before: number): number {
  let sum = before;
  for (const event of events) {
    // What came with the call and is not about it, its turn's opening, is not looked up with it.
    if (!('callId' in event) || event.callId === undefined) continue;
    const { id } = event;
    for (let index = 0; index < id.length; index++) sum = Math.imul(sum, 31) + id.charCodeAt(index);
    sum = Math.imul(sum, 31) + 1;
  }
  return sum >>> 0;
}
