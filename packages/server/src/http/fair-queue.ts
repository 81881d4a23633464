/**
 * Expensive work of many callers, a few pieces at a time.
 *
 * 1. Callers take turns: one that sends a thousand requests delays another by one piece of work, not by a thousand.
 * 2. What waits is bounded, for each caller and in total. Beyond that a request is refused with 429.
 * 3. After its work a caller rests some times as long as the work took, so one caller never keeps the machine busy.
 */
import { HttpRefusal } from './problem.ts';

export type QueueLimits = {
  /** Pieces of work at once. A caller has one of them at most. */
  readonly running: number;
  /** Requests that wait. */
  readonly waiting: number;
  readonly waitingPerCaller: number;
  /** Work shorter than this needs no rest. */
  readonly restAfterMs: number;
  /** How many times as long as the work took a caller rests. */
  readonly restTimes: number;
};

type Line = {
  isRunning: boolean;
  /** When the next piece may start, by `performance.now()`. */
  readyMs: number;
  readonly starts: (() => void)[];
};

export class FairQueue {
  readonly #what: string;
  readonly #limits: QueueLimits;
  /** By caller; the one whose turn is next comes first. */
  readonly #lines = new Map<string, Line>();
  #running = 0;
  #waiting = 0;
  #timer: NodeJS.Timeout | undefined;

  /** `what`: names the work in refusals, in the plural. */
  constructor(what: string, limits: QueueLimits) {
    this.#what = what;
    this.#limits = limits;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** Throws 429 if too much waits already. A request whose caller is gone loses its place. */
  async run<Result>(
    caller: string,
    signal: AbortSignal | undefined,
    work: () => Promise<Result>,
  ): Promise<Result> {
    const line = this.#lines.get(caller) ?? { isRunning: false, readyMs: 0, starts: [] };
    this.#lines.set(caller, line);
    if (line.starts.length >= this.#limits.waitingPerCaller)
      throw this.#refusal(`${this.#limits.waitingPerCaller} of yours`, line);
    if (this.#waiting >= this.#limits.waiting) throw this.#refusal(String(this.#limits.waiting), line);
    await this.#turn(line, signal);
    const beganMs = performance.now();
    try {
      signal?.throwIfAborted();
      return await work();
    } finally {
      const tookMs = performance.now() - beganMs;
      line.isRunning = false;
      line.readyMs =
        tookMs < this.#limits.restAfterMs ? 0 : performance.now() + tookMs * this.#limits.restTimes;
      this.#running--;
      // To the end: the others come first.
      this.#lines.delete(caller);
      this.#lines.set(caller, line);
      this.#startNext();
    }
  }

  #turn(line: Line, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        const at = line.starts.indexOf(start);
        if (at === -1) return;
        line.starts.splice(at, 1);
        this.#waiting--;
        reject(new HttpRefusal('http.timeout', 'The caller went away before its turn.'));
      };
      const start = (): void => {
        signal?.removeEventListener('abort', leave);
        resolve();
      };
      line.starts.push(start);
      this.#waiting++;
      signal?.addEventListener('abort', leave, { once: true });
      this.#startNext();
    });
  }

  #startNext(): void {
    clearTimeout(this.#timer);
    const now = performance.now();
    let soonestMs = Number.POSITIVE_INFINITY;
    for (const [caller, line] of this.#lines) {
      if (line.isRunning) continue;
      if (line.readyMs > now) {
        if (line.starts.length > 0) soonestMs = Math.min(soonestMs, line.readyMs);
        continue;
      }
      if (line.starts.length === 0) {
        this.#lines.delete(caller);
        continue;
      }
      if (this.#running >= this.#limits.running) return;
      const start = line.starts.shift();
      this.#waiting--;
      this.#running++;
      line.isRunning = true;
      start?.();
    }
    if (Number.isFinite(soonestMs)) this.#timer = setTimeout(() => this.#startNext(), soonestMs - now);
  }

  #refusal(found: string, line: Line): HttpRefusal {
    const seconds = Math.max(1, Math.ceil((line.readyMs - performance.now()) / 1_000));
    return new HttpRefusal(
      'http.too_many_requests',
      `Requests that need ${this.#what} wait in line, and ${found} wait already. Wait ${seconds} s and send it again; send one at a time.`,
      {},
      { 'retry-after': String(seconds) },
    );
  }
}
