/** Signals that reach a call while it is being made. Each wait sets its own handlers and removes them when it is over. */
import type { CallJournal } from './call-journal.ts';

export class CallSignals {
  readonly #journal: CallJournal;
  /** Why the call is to end early. */
  cancelled: string | undefined;
  onCancel: (() => void) | undefined;
  /** Whether this runtime is closed and has stopped waiting for people and for other processes. */
  left = false;
  onLeave: (() => void) | undefined;
  /** Stops the preview that is being made, or the wait for another call. Nothing more of it is recorded. */
  abandon: (() => void) | undefined;
  /** Withdraws the question to a person, while one is open. */
  withdraw: ((reason: string) => void) | undefined;

  constructor(journal: CallJournal) {
    this.#journal = journal;
  }

  /** A call that has its outcome cannot be cancelled. */
  cancel(reason: string): void {
    if (this.cancelled !== undefined || this.#journal.call?.status === 'settled') return;
    this.cancelled = reason;
    this.onCancel?.();
  }

  /** Stops waiting for people and other processes. Everything else about the call goes on. */
  leave(): void {
    this.left = true;
    this.onLeave?.();
  }
}
