/**
 * Notifies waiters about appends: at once if this handle wrote, and soon if another process did. The file is checked
 * only while there are waiters, and that never keeps the process alive.
 */
import { closedError } from '../../ledger/refuse-entry.ts';
import type { Waiter } from '../../ledger/until-woken.ts';
import { untilWoken } from '../../ledger/until-woken.ts';

type CallWaiter = Waiter & { readonly sessionId: string; readonly callId: string; readonly version: number };
type EndWaiter = Waiter & { readonly after: number };

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
  readonly #calls = new Map<string, Set<CallWaiter>>();
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
    return untilWoken((woken) => {
      const key = keyOf(sessionId, callId);
      const waiter: CallWaiter = { sessionId, callId, version, ...woken };
      const waiters = this.#calls.get(key) ?? new Set();
      this.#calls.set(key, waiters.add(waiter));
      this.#look(seen);
      return () => this.#leave(key, waiter);
    }, signal);
  }

  /** Resolves when an entry exists after the position. */
  end(after: number, signal?: AbortSignal): Promise<void> {
    const seen = this.#watched.dataVersion();
    if (this.#watched.position() > after) return Promise.resolve();
    return untilWoken((woken) => {
      const waiter: EndWaiter = { after, ...woken };
      this.#ends.add(waiter);
      this.#look(seen);
      return () => this.#ends.delete(waiter);
    }, signal);
  }

  /** Called when this handle has written about the call. */
  callChanged(sessionId: string, callId: string, version: number): void {
    if (this.#calls.size > 0) this.#tell(keyOf(sessionId, callId), version);
  }

  /** Called when this handle has written up to the position. */
  endChanged(position: number): void {
    for (const waiter of this.#ends) {
      if (position <= waiter.after) continue;
      this.#ends.delete(waiter);
      waiter.resolve();
    }
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#rejectAll(closedError());
  }

  #rejectAll(error: unknown): void {
    for (const waiters of this.#calls.values()) for (const { reject } of waiters) reject(error);
    for (const { reject } of this.#ends) reject(error);
    this.#calls.clear();
    this.#ends.clear();
  }

  #tell(key: string, version: number): void {
    for (const waiter of this.#calls.get(key) ?? []) {
      if (waiter.version === version) continue;
      this.#leave(key, waiter);
      waiter.resolve();
    }
  }

  /** Without waiters, the file is no longer checked. */
  #leave(key: string, waiter: CallWaiter): void {
    const waiters = this.#calls.get(key);
    if (waiters?.delete(waiter) === true && waiters.size === 0) this.#calls.delete(key);
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
    for (const [key, [first]] of this.#calls)
      if (first !== undefined) this.#tell(key, this.#watched.versionOf(first.sessionId, first.callId));
    this.endChanged(this.#watched.position());
  }
}

const keyOf = (sessionId: string, callId: string): string => `${sessionId.length}:${sessionId}${callId}`;
