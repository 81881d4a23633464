/** Limits cost per caller with a token bucket. Idle callers are forgotten. */
export type AllowanceRate = { readonly perSecond: number; readonly burst: number };

const mostCallers = 10_000;

export class Allowance {
  readonly #rate: AllowanceRate;
  readonly #callers = new Map<string, { readonly left: number; readonly atMs: number }>();

  constructor(rate: AllowanceRate) {
    this.#rate = rate;
  }

  /** Takes the amount if enough is left. */
  take(caller: string, amount: number): boolean {
    const { perSecond, burst } = this.#rate;
    const atMs = performance.now();
    const known = this.#callers.get(caller) ?? { left: burst, atMs };
    const left = Math.min(burst, known.left + ((atMs - known.atMs) / 1_000) * perSecond);
    const isEnough = left >= amount;
    this.#callers.delete(caller);
    this.#callers.set(caller, { left: isEnough ? left - amount : left, atMs });
    for (const oldest of this.#callers.keys()) {
      if (this.#callers.size <= mostCallers) break;
      this.#callers.delete(oldest);
    }
    return isEnough;
  }
}
