/**
 * Wakes those who wait for a call or for the next entry. Processes tell each other by NOTIFY that something was written.
 * That is only faster: a timer looks as well, because a pooler may swallow notifications.
 */
import { closedError } from '../../ledger/prepare-entry.ts';
import type { Waiter } from '../../ledger/until-woken.ts';
import { untilWoken } from '../../ledger/until-woken.ts';
import { toTextArray, toPgText } from './pg-values.ts';
import type { PgPool } from './pg-pool.ts';

type CallWaiter = Waiter<{ readonly session: string; readonly call: string; readonly version: number }>;
/** An entry after this position. */
type EndWaiter = Waiter<number>;

export type ChangesParts = {
  readonly pool: PgPool;
  /** The position of the last entry that readers may see. */
  readonly lastPosition: () => Promise<number>;
};

const pollMs = 100;
const slowPollMs = 1_000;
/** Notifications of one process are sent at most this often: each costs a commit. */
const notifyMs = 10;
/** A lost notification does no harm, so its commit does not wait for the disk. */
const notifySql = `SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2)`;

export class Changes {
  readonly #parts: ChangesParts;
  readonly #calls = new Set<CallWaiter>();
  readonly #ends = new Set<EndWaiter>();
  /** Whether notifications of other processes arrive. */
  isListening = false;
  #timer: NodeJS.Timeout | undefined;
  #notifier: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #isAskedAgain = false;
  #closed = false;

  constructor(parts: ChangesParts) {
    this.#parts = parts;
  }

  get channel(): string {
    return `quittance_${this.#parts.pool.settings.schema}`;
  }

  call(sessionId: string, callId: string, version: number, signal?: AbortSignal): Promise<void> {
    return this.#wait(this.#calls, { session: toPgText(sessionId), call: toPgText(callId), version }, signal);
  }

  end(after: number, signal?: AbortSignal): Promise<void> {
    return this.#wait(this.#ends, after, signal);
  }

  /** This process wrote something: its own waiters look at once, other processes within moments. */
  noteOwnCommit(): void {
    this.look();
    if (this.#notifier !== undefined || this.#closed) return;
    this.#notifier = setTimeout(() => {
      this.#notifier = undefined;
      this.#parts.pool.query(notifySql, [this.channel, '']).catch(() => undefined); // others poll
    }, notifyMs);
    this.#notifier.unref();
  }

  /** Looks for those who wait, once at a time. */
  look(): void {
    if (this.#calls.size === 0 && this.#ends.size === 0) return;
    if (this.#looking !== undefined) {
      this.#isAskedAgain = true;
      return;
    }
    this.#looking = this.#lookOnce()
      .catch(() => undefined) // the server is away: the timer looks again
      .finally(() => {
        this.#looking = undefined;
        if (this.#isAskedAgain) {
          this.#isAskedAgain = false;
          this.look();
        } else this.#comeBack();
      });
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#notifier);
    const waiters = [...this.#calls, ...this.#ends];
    this.#calls.clear();
    this.#ends.clear();
    for (const waiter of waiters) waiter.reject(closedError());
    await this.#looking;
  }

  #wait<Awaited>(
    waiters: Set<Waiter<Awaited>>,
    awaited: Awaited,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    if (this.#closed) return Promise.reject(closedError());
    const waiting = untilWoken(waiters, awaited, signal);
    this.look();
    return waiting;
  }

  #comeBack(): void {
    clearTimeout(this.#timer);
    if (this.#closed || (this.#calls.size === 0 && this.#ends.size === 0)) return;
    this.#timer = setTimeout(() => this.look(), this.isListening ? slowPollMs : pollMs);
    this.#timer.unref();
  }

  async #lookOnce(): Promise<void> {
    await Promise.all([this.#lookAtCalls(), this.#lookAtEnd()]);
  }

  async #lookAtCalls(): Promise<void> {
    const waiters = [...this.#calls];
    if (waiters.length === 0) return;
    const rows = await this.#parts.pool.read<{ ord: number; version: number }>(
      `SELECT x.o::integer AS ord, coalesce((SELECT max(e.version) FROM @entries e
         WHERE e.session_id = x.s AND e.call_id = x.c AND e.version IS NOT NULL), 0) AS version
       FROM unnest($1::text[], $2::text[]) WITH ORDINALITY x(s, c, o)`,
      [
        toTextArray(waiters.map(({ awaited }) => awaited.session)),
        toTextArray(waiters.map(({ awaited }) => awaited.call)),
      ],
    );
    for (const { ord, version } of rows) {
      const waiter = waiters[ord - 1];
      // No version means that there is no such call.
      if (waiter === undefined || (version > 0 && waiter.awaited.version === version)) continue;
      if (!this.#calls.delete(waiter)) continue;
      waiter.resolve();
    }
  }

  async #lookAtEnd(): Promise<void> {
    if (this.#ends.size === 0) return;
    const last = await this.#parts.lastPosition();
    for (const waiter of this.#ends) {
      if (last <= waiter.awaited) continue;
      this.#ends.delete(waiter);
      waiter.resolve();
    }
  }
}
