/**
 * A cache for expensive answers that may be a moment old. Callers share them. A slightly older answer is served once more
 * while the next one is made, so that no caller waits.
 */
type Kept<Answer> = {
  readonly atMs: number;
  readonly owner: string;
  answer: Promise<Answer>;
  isDue: boolean;
};

export type RememberedLimits = {
  readonly freshMs: number;
  readonly staleMs: number;
  readonly most: number;
  /** Per caller: a caller with a thousand different requests evicts only its own answers. */
  readonly mostPerCaller: number;
};

export class Remembered<Answer> {
  readonly #limits: RememberedLimits;
  readonly #kept = new Map<string, Kept<Answer>>();

  constructor(limits: RememberedLimits) {
    this.#limits = limits;
  }

  /** `mayKeep`: is an answer small enough for the cache? */
  get(
    key: string,
    owner: string,
    make: () => Promise<Answer>,
    mayKeep: (answer: Answer) => boolean,
  ): Promise<Answer> {
    const known = this.#kept.get(key);
    const ageMs = known === undefined ? Number.POSITIVE_INFINITY : performance.now() - known.atMs;
    if (known !== undefined && ageMs < this.#limits.freshMs) return known.answer;
    if (known !== undefined && ageMs < this.#limits.staleMs) {
      if (known.isDue) return known.answer;
      known.isDue = true;
      this.#keep(key, owner, make(), mayKeep, known);
      return known.answer;
    }
    const answer = make();
    this.#keep(key, owner, answer, mayKeep, undefined);
    return answer;
  }

  /** An older answer stays until the next one is ready. */
  #keep(
    key: string,
    owner: string,
    answer: Promise<Answer>,
    mayKeep: (answer: Answer) => boolean,
    older: Kept<Answer> | undefined,
  ): void {
    const kept = { atMs: performance.now(), owner, answer, isDue: false };
    const put = (): void => {
      this.#kept.delete(key);
      this.#kept.set(key, kept);
      this.#forget(owner);
    };
    if (older === undefined) put();
    answer.then(
      (given) => {
        if (!mayKeep(given)) this.#drop(key, older ?? kept);
        else if (older !== undefined && this.#kept.get(key) === older) put();
      },
      () => this.#drop(key, older ?? kept),
    );
  }

  #drop(key: string, kept: Kept<Answer>): void {
    if (this.#kept.get(key) === kept) this.#kept.delete(key);
  }

  #forget(owner: string): void {
    const own = [...this.#kept].filter(([, each]) => each.owner === owner).map(([key]) => key);
    for (const key of own.slice(0, Math.max(0, own.length - this.#limits.mostPerCaller)))
      this.#kept.delete(key);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= this.#limits.most) return;
      this.#kept.delete(oldest);
    }
  }
}
