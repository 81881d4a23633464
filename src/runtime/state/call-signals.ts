/**
 * Signals that reach a call while it is being made. Each wait sets its own handlers and removes them at its
 * end.
 */
import type { CallJournal } from './call-journal.ts';

export class CallSignals {
  readonly #journal: CallJournal;
  /** Why the call must end early. */
  declare cancelled: string | undefined;
  declare onCancel: (() => void) | undefined;
  /** The body that runs. An object instead of a function spares every call a function. */
  running: { cancel(): void } | undefined = undefined;
  /** Is this runtime closed? It then no longer waits for people and other processes. */
  declare left: boolean;
  declare onLeave: (() => void) | undefined;
  /** Has this process taken the call over from a dead one? The signals then reach the call that it continues. */
  declare tookOver: boolean;
  /** Stops the running preview, or the wait for another call. Nothing more of it is recorded. */
  declare abandon: (() => void) | undefined;
  /** Withdraws the open question, if there is one. */
  declare withdraw: ((reason: string) => void) | undefined;

  /** Few calls have signals, so most are on the prototype until they are set. */
  static {
    const unset: Partial<CallSignals> = { left: false, tookOver: false };
    Object.assign(this.prototype, unset);
  }

  constructor(journal: CallJournal) {
    this.#journal = journal;
  }

  /** A settled call cannot be cancelled. */
  cancel(reason: string): void {
    if (this.cancelled !== undefined || this.#journal.call?.status === 'settled') return;
    this.cancelled = reason;
    this.onCancel?.();
    this.running?.cancel();
  }

  /** Stops waiting for people and other processes. Everything else continues. */
  leave(): void {
    this.left = true;
    this.onLeave?.();
  }
}
