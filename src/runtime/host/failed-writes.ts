/**
 * Writes that the ledger could not take. They are recorded once it takes writes again.
 *
 * 1. A failed write of a call in the ledger is recorded as `persistence.failed` of that call. It changes nothing about
 *    the call: it is appended whatever the version of the call.
 * 2. A call that the ledger never stored was refused and is not in the ledger. If the same id is asked for again first,
 *    the call is stored with the records of what failed before. Otherwise each failure is recorded as
 *    `call.not_accepted` of the session, which opens no call.
 * 3. Each failure is recorded once: what is being recorded is taken out first, and put back if that fails.
 * 4. Memory is bounded: of one call and boundary the first failure is kept, and only so many in all. The others are
 *    counted.
 */
import type { JsonValue } from '../../base/json.ts';
import type { Call } from '../../call/call.ts';
import type { Command } from '../../call/command.ts';
import type { CallNotAccepted, FailedWritesUnlisted } from '../../call/event.ts';
import type { PersistenceBoundary } from '../../call/persistence-boundary.ts';

type CallRef = Pick<Call, 'sessionId' | 'callId' | 'turnId'>;

export type FailedWrite = {
  readonly call: CallRef;
  readonly depth: number | undefined;
  readonly boundary: PersistenceBoundary;
  /** Cleaned: it is written down. */
  readonly error: string;
  /** What could not be stored, in its kept form. Undefined where nothing ran. */
  readonly result?: JsonValue | undefined;
  /** A late result that has to be stored as well. */
  readonly late?: (Command & { readonly type: 'add_late' }) | undefined;
};

/** Of a call that the ledger never stored. */
export type RefusedWrite = Pick<FailedWrite, 'call' | 'depth'> & {
  /** The event a behavior asked for the call with. */
  readonly cause: string | undefined;
  readonly refusal: Pick<
    CallNotAccepted,
    'toolName' | 'mode' | 'modeOrigin' | 'principal' | 'boundary' | 'error' | 'failedAt'
  >;
};

export type Unlisted = Pick<FailedWritesUnlisted, 'count' | 'firstAt' | 'lastAt' | 'error'>;

/** Of each kind, those of calls in the ledger and those of refused calls. */
export const mostWaiting = 1_000;

/** Those that wait to be recorded, in the order they failed. */
export class FailedWrites {
  readonly #waiting = new Map<string, FailedWrite>();
  /** Of calls the ledger never stored, by call. */
  readonly #refused = new Map<string, readonly RefusedWrite[]>();
  readonly #now: () => number;
  #unlisted: Unlisted | undefined;
  /** Whether a call was refused since the last try to record it. A try that failed is left to the timer. */
  isDue = false;
  /** Called when there is something to record. */
  onAdded: (() => void) | undefined;

  constructor(now: () => number) {
    this.#now = now;
  }

  get size(): number {
    return this.#waiting.size + this.#refused.size + (this.#unlisted === undefined ? 0 : 1);
  }

  /** Whether there are failed writes of calls in the ledger. */
  get hasWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  add(write: FailedWrite): void {
    const key = `${keyOf(write.call)} ${write.boundary}${write.late === undefined ? '' : ' late'}`;
    if (this.#waiting.has(key)) return;
    if (this.#waiting.size < mostWaiting) this.#waiting.set(key, write);
    else this.#count(write.error, this.#now());
    this.onAdded?.();
  }

  refuse(write: RefusedWrite): void {
    this.isDue = true;
    this.putBack(write);
  }

  /** What could not be recorded waits for the next try. */
  putBack(write: RefusedWrite): void {
    const key = keyOf(write.call);
    const before = this.#refused.get(key) ?? [];
    const { boundary, failedAt, error } = write.refusal;
    if (before.some(({ refusal }) => refusal.boundary === boundary)) return;
    if (before.length > 0 || this.#refused.size < mostWaiting) this.#refused.set(key, [...before, write]);
    else this.#count(error, failedAt);
    this.onAdded?.();
  }

  /** Counts failed writes that are not listed one by one. */
  count(more: Unlisted): void {
    const before = this.#unlisted;
    this.#unlisted =
      before === undefined
        ? more
        : {
            count: before.count + more.count,
            firstAt: Math.min(before.firstAt, more.firstAt),
            lastAt: Math.max(before.lastAt, more.lastAt),
            error: before.error,
          };
  }

  #count(error: string, at: number): void {
    this.count({ count: 1, firstAt: at, lastAt: at, error });
  }

  /** What is stored with a call that was refused before. */
  commandsFor(call: CallRef): readonly Command[] {
    if (this.#refused.size === 0) return [];
    return (this.#refused.get(keyOf(call)) ?? []).map(({ refusal: { boundary, error } }) =>
      toFailureCommand({ boundary, error }),
    );
  }

  /** The call is stored, and what was to be stored with it. */
  forget(call: CallRef): void {
    if (this.#refused.size > 0) this.#refused.delete(keyOf(call));
  }

  entries(): readonly (readonly [key: string, write: FailedWrite])[] {
    return [...this.#waiting];
  }

  delete(key: string): void {
    this.#waiting.delete(key);
  }

  /** Takes out what is to be recorded now. Calls that are being made are left: they may store it themselves. */
  takeRefused(isActive: (call: CallRef) => boolean): RefusedWrite[] {
    this.isDue = false;
    const taken: RefusedWrite[] = [];
    for (const [key, writes] of this.#refused) {
      if (writes.some(({ call }) => isActive(call))) continue;
      taken.push(...writes);
      this.#refused.delete(key);
    }
    return taken;
  }

  takeUnlisted(): Unlisted | undefined {
    const taken = this.#unlisted;
    this.#unlisted = undefined;
    return taken;
  }
}

export const toFailureCommand = ({
  boundary,
  error,
  result,
}: Pick<FailedWrite, 'boundary' | 'error' | 'result'>): Command => ({
  type: 'fail_to_persist',
  boundary,
  error,
  keptIn: 'nowhere',
  ...(result !== undefined && { result }),
});

const keyOf = ({ sessionId, callId }: CallRef): string => JSON.stringify([sessionId, callId]);
