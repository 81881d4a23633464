/**
 * Writes that the ledger could not take. They are recorded as `persistence.failed` once it takes writes again: before
 * the next call is made, and by a timer while no call is made.
 *
 * 1. A record changes nothing about its call: it is appended whatever the version of the call.
 * 2. A call that the ledger never knew was not accepted and is not in the ledger. Asked for again, it is stored with the
 *    records of what failed before.
 * 3. Memory is bounded: of one call and boundary the first failure is kept, and only so many in all.
 */
import type { JsonValue } from '../../base/json.ts';
import type { Call } from '../../call/call.ts';
import type { Command } from '../../call/command.ts';
import type { PersistenceBoundary } from '../../call/persistence-boundary.ts';

export type FailedWrite = {
  readonly call: Pick<Call, 'sessionId' | 'callId' | 'turnId'>;
  readonly depth: number | undefined;
  readonly boundary: PersistenceBoundary;
  /** Cleaned: it is written down. */
  readonly error: string;
  /** What could not be stored, in its kept form. Undefined where nothing ran. */
  readonly result?: JsonValue | undefined;
  /** A late result that has to be stored as well. */
  readonly late?: (Command & { readonly type: 'add_late' }) | undefined;
};

const mostWaiting = 1_000;

/** Those that wait to be recorded, in the order they failed. */
export class FailedWrites {
  readonly #waiting = new Map<string, FailedWrite>();
  /** Of calls the ledger does not know, by call. */
  readonly #unaccepted = new Map<string, readonly FailedWrite[]>();
  /** Called when one is added that can be recorded by itself. */
  onAdded: (() => void) | undefined;

  get size(): number {
    return this.#waiting.size;
  }

  add(write: FailedWrite): void {
    const key = `${keyOf(write.call)} ${write.boundary}${write.late === undefined ? '' : ' late'}`;
    if (this.#waiting.has(key) || this.#waiting.size >= mostWaiting) return;
    this.#waiting.set(key, write);
    this.onAdded?.();
  }

  /** Of a call that was not accepted: it is recorded when the call is asked for again. */
  addUnaccepted(write: FailedWrite): void {
    const key = keyOf(write.call);
    const before = this.#unaccepted.get(key) ?? [];
    if (before.some(({ boundary }) => boundary === write.boundary)) return;
    if (before.length === 0 && this.#unaccepted.size >= mostWaiting) return;
    this.#unaccepted.set(key, [...before, write]);
  }

  /** What is stored with a call that was not accepted before. */
  commandsFor(call: FailedWrite['call']): readonly Command[] {
    if (this.#unaccepted.size === 0) return [];
    return (this.#unaccepted.get(keyOf(call)) ?? []).map(toCommand);
  }

  /** The call is stored, and what was to be stored with it. */
  forget(call: FailedWrite['call']): void {
    if (this.#unaccepted.size > 0) this.#unaccepted.delete(keyOf(call));
  }

  entries(): readonly (readonly [key: string, write: FailedWrite])[] {
    return [...this.#waiting];
  }

  delete(key: string): void {
    this.#waiting.delete(key);
  }
}

export const toCommand = ({ boundary, error, result }: FailedWrite): Command => ({
  type: 'fail_to_persist',
  boundary,
  error,
  keptIn: 'nowhere',
  ...(result !== undefined && { result }),
});

const keyOf = ({ sessionId, callId }: FailedWrite['call']): string => JSON.stringify([sessionId, callId]);
