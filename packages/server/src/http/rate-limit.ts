/** Limits requests per caller with a token bucket. Idle callers are forgotten. */
import { HttpRefusal } from './problem.ts';

export type Rate = { readonly perSecond: number; readonly burst: number };

const mostAskers = 10_000;

export class RateLimit {
  readonly #rate: Rate;
  readonly #askers = new Map<string, { left: number; at: number }>();

  constructor(rate: Rate) {
    this.#rate = rate;
  }

  /** Throws if the bucket is empty. */
  take(asker: string): void {
    const { perSecond, burst } = this.#rate;
    const now = performance.now();
    const known = this.#askers.get(asker) ?? { left: burst, at: now };
    const left = Math.min(burst, known.left + ((now - known.at) / 1_000) * perSecond);
    this.#askers.delete(asker);
    this.#askers.set(asker, { left: Math.max(0, left - 1), at: now });
    for (const old of this.#askers.keys()) {
      if (this.#askers.size <= mostAskers) break;
      this.#askers.delete(old);
    }
    if (left >= 1) return;
    const seconds = Math.max(1, Math.ceil((1 - left) / perSecond));
    throw new HttpRefusal(
      'http.too_many_requests',
      `More than ${perSecond} requests a second. Wait ${seconds} s; to follow the ledger use GET /v1/events instead of asking again and again.`,
      {},
      { 'retry-after': String(seconds) },
    );
  }
}
