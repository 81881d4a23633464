/**
 * Notifies waiters about appends: at once if this handle wrote, and soon if another process did. The file is checked
 * only while there are waiters, and that never keeps the process alive.
 */
import { closedError } from '../../ledger/prepare-entry.ts';
import type { Waiter, Waiters } from '../../ledger/until-woken.ts';
import { untilWoken } from '../../ledger/until-woken.ts';

type CallWaiter = Waiter<{ readonly sessionId: string; readonly callId: string; readonly version: number }>;
/** An entry after this position. */
type EndWaiter = Waiter<number>;

/** The questions that the watch asks. */
export interface Watched {
  /** Changes when another connection commits. */
  dataVersion(): number;
  position(): number;
  versionOf(sessionId: string, callId: string): number;
}

const everyMs = 15;

export class ChangeWatch {
  readonly #watched: Watched;
  readonly #calls = new CallWaiters();
  readonly #ends = new Set<EndWaiter>();
  #timer: NodeJS.Timeout | undefined;
  #seen = 0;

  constructor(watched: Watched) {
    this.#watched = watched;
  }

  /** Resolves when the call has another version; at once for a call that does not exist. */
  call(sessionId: string, callId: string, version: number, signal?: AbortSignal): Promise<void> {
    // Read before the check, so that no commit in between goes unnoticed.
    const seen = this.#watched.dataVersion();
    const found = this.#watched.versionOf(sessionId, callId);
    if (found === 0 || found !== version) return Promise.resolve();
    this.#look(seen);
    return untilWoken(this.#calls, { sessionId, callId, version }, signal);
  }

  /** Resolves when an entry exists after the position. */
  end(after: number, signal?: AbortSignal): Promise<void> {
    const seen = this.#watched.dataVersion();
    if (this.#watched.position() > after) return Promise.resolve();
    this.#look(seen);
    return untilWoken(this.#ends, after, signal);
  }

  /** Called when this handle has written about the call. */
  callChanged(sessionId: string, callId: string, version: number): void {
    if (this.#calls.size > 0) this.#calls.tell(keyOf(sessionId, callId), version);
  }

  /** Called when this handle has written up to the position. */
  endChanged(position: number): void {
    for (const waiter of this.#ends) {
      if (position <= waiter.awaited) continue;
      this.#ends.delete(waiter);
      waiter.resolve();
    }
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#rejectAll(closedError());
  }

  #rejectAll(error: unknown): void {
    const waiters = [...[...this.#calls.byCall()].flat(), ...this.#ends];
    this.#calls.clear();
    this.#ends.clear();
    for (const waiter of waiters) waiter.reject(error);
  }

  #look(seen: number): void {
    if (this.#timer !== undefined) return;
    this.#seen = seen;
    this.#comeBack();
  }

  #comeBack(): void {
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      try {
        this.#lookAgain();
      } catch (error) {
        this.#rejectAll(error);
      }
      if (this.#calls.size > 0 || this.#ends.size > 0) this.#comeBack();
    }, everyMs);
    this.#timer.unref();
  }

  #lookAgain(): void {
    const version = this.#watched.dataVersion();
    if (version === this.#seen) return;
    this.#seen = version;
    for (const [first] of this.#calls.byCall()) {
      if (first === undefined) continue;
      const { sessionId, callId } = first.awaited;
      this.#calls.tell(keyOf(sessionId, callId), this.#watched.versionOf(sessionId, callId));
    }
    this.endChanged(this.#watched.position());
  }
}

/** The waiters of each call, which usually has one. */
class CallWaiters implements Waiters<CallWaiter['awaited']> {
  readonly #waiters = new Map<string, readonly CallWaiter[]>();

  /** The number of calls with waiters. Without any, the file is no longer checked. */
  get size(): number {
    return this.#waiters.size;
  }

  byCall(): Iterable<readonly CallWaiter[]> {
    return this.#waiters.values();
  }

  add(waiter: CallWaiter): void {
    const key = keyOf(waiter.awaited.sessionId, waiter.awaited.callId);
    this.#waiters.set(key, [...(this.#waiters.get(key) ?? []), waiter]);
  }

  delete(waiter: CallWaiter): void {
    const key = keyOf(waiter.awaited.sessionId, waiter.awaited.callId);
    this.#keep(key, this.#waiters.get(key)?.filter((other) => other !== waiter) ?? []);
  }

  /** Wakes those that wait for another version than this one. */
  tell(key: string, version: number): void {
    const waiters = this.#waiters.get(key);
    if (waiters === undefined) return;
    this.#keep(
      key,
      waiters.filter((waiter) => waiter.awaited.version === version),
    );
    for (const waiter of waiters) if (waiter.awaited.version !== version) waiter.resolve();
  }

  clear(): void {
    this.#waiters.clear();
  }

  #keep(key: string, waiters: readonly CallWaiter[]): void {
    if (waiters.length === 0) this.#waiters.delete(key);
    else this.#waiters.set(key, waiters);
  }
}

const keyOf = (sessionId: string, callId: string): string => `${sessionId.length}:${sessionId}${callId}`;
