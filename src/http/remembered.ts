/** Answers that cost something and may be a moment old: whoever asks meanwhile shares them. */
export class Remembered {
  readonly #lastsMs: number;
  readonly #answers = new Map<string, { readonly at: number; readonly answer: Promise<unknown> }>();

  constructor(lastsMs: number) {
    this.#lastsMs = lastsMs;
  }

  get<Answer>(key: string, make: () => Promise<Answer>): Promise<Answer> {
    const now = performance.now();
    const known = this.#answers.get(key);
    // A key belongs to one question, so its answer is of that type.
    if (known !== undefined && now - known.at < this.#lastsMs) return known.answer as Promise<Answer>;
    const answer = make();
    answer.catch(() => this.#answers.delete(key));
    this.#answers.delete(key);
    this.#answers.set(key, { at: now, answer });
    for (const [old, { at }] of this.#answers) {
      if (this.#answers.size <= most && now - at < this.#lastsMs) break;
      if (old !== key) this.#answers.delete(old);
    }
    return answer;
  }
}

const most = 100;
