/**
 * Tells those who wait that something was appended: at once where this handle wrote it, and soon where another
 * process did. Only while somebody waits is the file looked at, and that never keeps the process alive.
 */
import { closedError } from '../../ledger/refuse-entry.ts';

type Waiter = { readonly resolve: () => void; readonly reject: (error: unknown) => void };
type CallWaiter = Waiter & { readonly sessionId: string; readonly callId: string; readonly version: number };
type EndWaiter = Waiter & { readonly after: number };

/** What the watch must be able to ask. */
export interface Watched {
  /** Changes when another connection commits. */
  dataVersion(): number;
  position(): number;
  versionOf(sessionId: string, callId: string): number;
}

const everyMs = 15;

export class Watch {
  readonly #watched: Watched;
  readonly #calls = new Map<string, CallWaiter[]>();
  #ends: EndWaiter[] = [];
  #timer: NodeJS.Timeout | undefined;
  #seen = 0;

  constructor(watched: Watched) {
    this.#watched = watched;
  }

  /** Resolves when the call has another version; at once for one that is not there. */
  call(sessionId: string, callId: string, version: number): Promise<void> {
    // Read before the question is asked, so that nothing can be committed in between unseen.
    const seen = this.#watched.dataVersion();
    const found = this.#watched.versionOf(sessionId, callId);
    if (found === 0 || found !== version) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const key = keyOf(sessionId, callId);
      const waiter: CallWaiter = { sessionId, callId, version, resolve, reject };
      const others = this.#calls.get(key);
      if (others === undefined) this.#calls.set(key, [waiter]);
      else others.push(waiter);
      this.#look(seen);
    });
  }

  /** Resolves when something stands after the position. */
  end(after: number): Promise<void> {
    const seen = this.#watched.dataVersion();
    if (this.#watched.position() > after) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#ends.push({ after, resolve, reject });
      this.#look(seen);
    });
  }

  /** This handle wrote about the call. */
  callChanged(sessionId: string, callId: string, version: number): void {
    if (this.#calls.size > 0) this.#tell(keyOf(sessionId, callId), version);
  }

  /** This handle wrote up to the position. */
  endChanged(position: number): void {
    if (this.#ends.length === 0) return;
    const due = this.#ends.filter(({ after }) => position > after);
    if (due.length === 0) return;
    this.#ends = this.#ends.filter(({ after }) => position <= after);
    for (const { resolve } of due) resolve();
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#rejectAll(closedError());
  }

  #rejectAll(error: unknown): void {
    for (const waiters of this.#calls.values()) for (const { reject } of waiters) reject(error);
    for (const { reject } of this.#ends) reject(error);
    this.#calls.clear();
    this.#ends = [];
  }

  #tell(key: string, version: number): void {
    const waiters = this.#calls.get(key);
    if (waiters === undefined) return;
    const left = waiters.filter((waiter) => waiter.version === version);
    if (left.length === 0) this.#calls.delete(key);
    else this.#calls.set(key, left);
    for (const waiter of waiters) if (waiter.version !== version) waiter.resolve();
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
      if (this.#calls.size > 0 || this.#ends.length > 0) this.#comeBack();
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
