/** Calls that this process knows to exist. Bounded: the oldest are forgotten first. */
const mostPerGeneration = 20_000;

export class SeenCalls {
  #young = new Set<string>();
  #old = new Set<string>();

  add(session: string, call: string): void {
    this.#young.add(keyOf(session, call));
    if (this.#young.size < mostPerGeneration) return;
    this.#old = this.#young;
    this.#young = new Set();
  }

  has(session: string, call: string): boolean {
    const key = keyOf(session, call);
    return this.#young.has(key) || this.#old.has(key);
  }
}

const keyOf = (session: string, call: string): string => `${session.length}:${session}${call}`;
