/**
 * Notifies waiters about appends: at once if this handle wrote, and soon if another process did. The file is checked
 * only while there are waiters, and that never keeps the process alive.
 */
import { closedError } from '../../ledger/prepare-entry.ts';
import { ChangeWaiters } from '../../ledger/until-woken.ts';

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
  readonly #waiters = new ChangeWaiters();
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
    return this.#waiters.untilCall({ sessionId, callId, version }, signal);
  }

  /** Resolves when an entry exists after the position. */
  end(after: number, signal?: AbortSignal): Promise<void> {
    const seen = this.#watched.dataVersion();
    if (this.#watched.position() > after) return Promise.resolve();
    this.#look(seen);
    return this.#waiters.untilAfter(after, signal);
  }

  /** Called when this handle has written about the call. */
  callChanged(sessionId: string, callId: string, version: number): void {
    if (!this.#waiters.isEmpty) this.#waiters.tellCall({ sessionId, callId, version });
  }

  /** Called when this handle has written up to the position. */
  endChanged(position: number): void {
    this.#waiters.tellEnd(position);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#waiters.rejectAll(closedError());
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
        this.#waiters.rejectAll(error);
      }
      if (!this.#waiters.isEmpty) this.#comeBack();
    }, everyMs);
    this.#timer.unref();
  }

  #lookAgain(): void {
    const version = this.#watched.dataVersion();
    if (version === this.#seen) return;
    this.#seen = version;
    for (const waiters of this.#waiters.calls) {
      const { sessionId = '', callId = '' } = waiters[0]?.awaited ?? {};
      this.#waiters.tell(waiters, this.#watched.versionOf(sessionId, callId));
    }
    this.endChanged(this.#watched.position());
  }
}
