/**
 * Writes that the ledger could not store. They are recorded once it accepts writes again.
 *
 * 1. A failed write of a stored call is recorded as `persistence.failed` of that call. It does not change the
 *    call, so it is appended at any version.
 * 2. A call that the ledger never stored was refused. If the same id is used again first, that call is stored
 *    with the records of the earlier failures. Otherwise each failure is recorded as `call.not_accepted` of
 *    the session, which opens no call.
 * 3. Each failure is recorded once: it is taken out before it is recorded, and put back if that fails.
 * 4. Memory is limited: the first failure per call and boundary, up to a total number. Further failures are
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
  /** Redacted, because it is stored. */
  readonly error: string;
  /** The result that could not be stored, in its stored form. Undefined if nothing ran. */
  readonly result?: JsonValue | undefined;
  /** A late result that has to be stored as well. */
  readonly late?: (Command & { readonly type: 'add_late' }) | undefined;
};

/** A failed write of a call that the ledger never stored. */
export type RefusedWrite = Pick<FailedWrite, 'call' | 'depth'> & {
  /** The event for which a behavior made the call. */
  readonly cause: string | undefined;
  readonly refusal: Pick<
    CallNotAccepted,
    'toolName' | 'mode' | 'modeOrigin' | 'principal' | 'boundary' | 'error' | 'failedAt'
  >;
};

export type Unlisted = Pick<FailedWritesUnlisted, 'count' | 'firstAt' | 'lastAt' | 'error'>;

/** The limit of each kind: writes of stored calls, and of refused calls. */
export const mostWaiting = 1_000;

/** The writes that wait to be recorded, in the order they failed. */
export class FailedWrites {
  readonly #waiting = new Map<string, FailedWrite>();
  /** Writes of calls that the ledger never stored, by call. */
  readonly #refused = new Map<string, readonly RefusedWrite[]>();
  readonly #now: () => number;
  #unlisted: Unlisted | undefined;
  /** Was a call refused since the last try to record it? A failed try is left to the timer. */
  isDue = false;
  /** Called when there is something to record. */
  onAdded: (() => void) | undefined;

  constructor(now: () => number) {
    this.#now = now;
  }

  get size(): number {
    return this.#waiting.size + this.#refused.size + (this.#unlisted === undefined ? 0 : 1);
  }

  /** Are there failed writes of stored calls? */
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

  /** Puts a write back for the next try. */
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

  /** Commands that are stored with a call that was refused before. */
  commandsFor(call: CallRef): readonly Command[] {
    if (this.#refused.size === 0) return [];
    return (this.#refused.get(keyOf(call)) ?? []).map(({ refusal: { boundary, error } }) =>
      toFailureCommand({ boundary, error }),
    );
  }

  /** The call and its earlier failures are stored. */
  forget(call: CallRef): void {
    if (this.#refused.size > 0) this.#refused.delete(keyOf(call));
  }

  entries(): readonly (readonly [key: string, write: FailedWrite])[] {
    return [...this.#waiting];
  }

  delete(key: string): void {
    this.#waiting.delete(key);
  }

  /** Takes out the writes to record now. Active calls are skipped: they may store theirs themselves. */
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
