/**
 * Wakes those who wait for a call or for the next entry. Processes tell each other by NOTIFY that something was written.
 * That is only faster: a timer looks as well, because a pooler may swallow notifications.
 */
import { closedError } from 'quittance/internal/ledger/prepare-entry';
import { ChangeWaiters } from 'quittance/internal/ledger/until-woken';
import { toTextArray, toPgText } from './pg-values.ts';
import type { PgPool } from './pg-pool.ts';

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
  readonly #waiters = new ChangeWaiters();
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
    return this.#wait(() => this.#waiters.untilCall({ sessionId, callId, version }, signal));
  }

  end(after: number, signal?: AbortSignal): Promise<void> {
    return this.#wait(() => this.#waiters.untilAfter(after, signal));
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
    if (this.#waiters.isEmpty) return;
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
    this.#waiters.rejectAll(closedError());
    await this.#looking;
  }

  #wait(wait: () => Promise<void>): Promise<void> {
    if (this.#closed) return Promise.reject(closedError());
    const waiting = wait();
    this.look();
    return waiting;
  }

  #comeBack(): void {
    clearTimeout(this.#timer);
    if (this.#closed || this.#waiters.isEmpty) return;
    this.#timer = setTimeout(() => this.look(), this.isListening ? slowPollMs : pollMs);
    this.#timer.unref();
  }

  async #lookOnce(): Promise<void> {
    await Promise.all([this.#lookAtCalls(), this.#lookAtEnd()]);
  }

  async #lookAtCalls(): Promise<void> {
    const { calls } = this.#waiters;
    if (calls.length === 0) return;
    const rows = await this.#parts.pool.read<{ ord: number; version: number }>(
      `SELECT x.o::integer AS ord, coalesce((SELECT max(e.version) FROM @entries e
         WHERE e.session_id = x.s AND e.call_id = x.c AND e.version IS NOT NULL), 0) AS version
       FROM unnest($1::text[], $2::text[]) WITH ORDINALITY x(s, c, o)`,
      [
        toTextArray(calls.map(([first]) => toPgText(first?.awaited.sessionId ?? ''))),
        toTextArray(calls.map(([first]) => toPgText(first?.awaited.callId ?? ''))),
      ],
    );
    for (const { ord, version } of rows) this.#waiters.tell(calls[ord - 1] ?? [], version);
  }

  async #lookAtEnd(): Promise<void> {
    if (this.#waiters.hasEnds) this.#waiters.tellEnd(await this.#parts.lastPosition());
  }
}
