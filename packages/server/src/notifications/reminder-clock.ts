/**
 * Reminds of open questions at the times of their rules and of the notifications file. A reminder is an event of the call,
 * recorded once whatever number of processes do this; the message follows from the event. So a crash or a restart loses
 * no reminder, also if no process holds the call any more.
 */
import type { Clock, Timer } from 'quittance/internal/base/deadlines';
import type { QuietTimes } from 'quittance/internal/base/quiet-hours';
import type { Runtime } from 'quittance/internal/runtime/create-runtime';

type Options = {
  readonly runtime: Runtime;
  readonly clock: Clock;
  readonly quietTimes: QuietTimes;
  /** Times since a question was asked. */
  readonly remindAfterMs: readonly number[];
};

/** New questions are heard of at once. Questions that were missed are found this often. */
const scanEveryMs = 10 * 60_000;
/** The ledger's clock may jump. */
const longestSleepMs = 15_000;
const pageSize = 200;

export class ReminderClock {
  readonly #options: Options;
  /** When each open question needs a look, and when it was asked. */
  readonly #questions = new Map<string, { readonly askedAt: number; readonly lookAt: number }>();
  readonly #listener: { off(): Promise<void> } | undefined;
  #scanAt = 0;
  #timer: Timer | undefined;
  #running: Promise<void> | undefined;
  #isClosed = false;

  constructor(options: Options) {
    this.#options = options;
    // The process that holds a call records the times of its rules. So only times of the file concern new questions.
    this.#listener =
      options.remindAfterMs.length === 0
        ? undefined
        : options.runtime.events.on(
            { name: 'notifications_clock', on: 'tool.held', ephemeral: true },
            ({ confirmationId, at }) => {
              this.#questions.set(confirmationId, { askedAt: at, lookAt: 0 });
              this.#wake();
            },
          );
    this.#wake();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.stop();
    await this.#listener?.off();
    await this.#running;
  }

  #wake(): void {
    // A round that is running looks at new questions before it ends.
    if (this.#isClosed || this.#running !== undefined) return;
    this.#timer?.stop();
    this.#running = this.#round()
      // The ledger failed: the next round tries again, and behaviors report a ledger that stays away.
      .catch(() => longestSleepMs)
      .then((sleepMs) => {
        this.#running = undefined;
        if (this.#isClosed) return;
        this.#timer = this.#options.clock.startTimer(() => this.#wake(), sleepMs);
        this.#timer.keepAlive(false);
      });
  }

  /** Returns how long to sleep. */
  async #round(): Promise<number> {
    const { clock } = this.#options;
    if (clock.now() >= this.#scanAt) {
      await this.#scan();
      this.#scanAt = clock.now() + scanEveryMs;
    }
    for (;;) {
      const due = [...this.#questions].filter(([, { lookAt }]) => lookAt <= clock.now());
      if (due.length === 0 || this.#isClosed) break;
      for (const [confirmationId, { askedAt }] of due) await this.#look(confirmationId, askedAt);
    }
    let next = this.#scanAt;
    for (const { lookAt } of this.#questions.values()) next = Math.min(next, lookAt);
    return Math.min(longestSleepMs, Math.max(1, next - clock.now()));
  }

  async #scan(): Promise<void> {
    let cursor: string | undefined;
    do {
      const { rows, next } = await this.#options.runtime.confirmations.list({
        status: 'pending',
        limit: pageSize,
        cursor,
      });
      for (const { confirmationId, createdAt: askedAt } of rows)
        if (!this.#questions.has(confirmationId)) this.#questions.set(confirmationId, { askedAt, lookAt: 0 });
      cursor = next;
    } while (cursor !== undefined && !this.#isClosed);
  }

  async #look(confirmationId: string, askedAt: number): Promise<void> {
    const { runtime, quietTimes, remindAfterMs, clock } = this.#options;
    const times = remindAfterMs.map((ms) => quietTimes.addWakingTime(askedAt, ms));
    const next = await runtime.confirmations.remind(confirmationId, times);
    if (next === undefined) this.#questions.delete(confirmationId);
    // Not at once: the clock of the ledger may be behind this one.
    else this.#questions.set(confirmationId, { askedAt, lookAt: Math.max(next, clock.now() + 1) });
  }
}
