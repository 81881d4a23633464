/**
 * The entries of a session that the index does not have yet, in order. Every append adds one, and few readers ask for
 * them. So entries are only listed here, and grouped by call when that is asked for.
 */
export class SessionTail {
  /** The call of each entry; null for an entry without a call. */
  #calls: (string | null)[] = [];
  #positions: number[] = [];

  get length(): number {
    return this.#positions.length;
  }

  /** Of all entries, ascending. */
  get positions(): readonly number[] {
    return this.#positions;
  }

  /** Later entries have higher positions. */
  add(callId: string | null, position: number): void {
    this.#calls.push(callId);
    this.#positions.push(position);
  }

  positionsOf(callId: string | null): number[] {
    return this.#positions.filter((_, index) => this.#calls[index] === callId);
  }

  /** Ids of the calls, each once. */
  callIds(): ReadonlySet<string> {
    return new Set(this.#calls.filter((callId) => callId !== null));
  }

  byCall(): ReadonlyMap<string | null, readonly number[]> {
    const grouped = new Map<string | null, number[]>();
    for (const [index, callId] of this.#calls.entries()) {
      const position = this.#positions[index] as number; // both lists have the same length
      const positions = grouped.get(callId);
      if (positions === undefined) grouped.set(callId, [position]);
      else positions.push(position);
    }
    return grouped;
  }

  clear(): void {
    this.#calls = [];
    this.#positions = [];
  }

  /** Removes the entries up to a position. Returns how many. */
  dropUntil(position: number): number {
    const first = this.#positions.findIndex((other) => other > position);
    const dropped = first < 0 ? this.#positions.length : first;
    this.#calls = this.#calls.slice(dropped);
    this.#positions = this.#positions.slice(dropped);
    return dropped;
  }
}
