/**
 * A map for values that come and go all the time, such as the calls that are being made.
 *
 * A `Map` of V8 moves to a new table whenever its table is full, also of deleted entries. The old table keeps its
 * entries and refers to the new one. Once one such table is in the old generation, all later ones stay reachable from
 * it. So do the values that they had, until the next full collection. With 256 calls at a time, collecting the young
 * generation took 10 ms instead of 4. Here the tables refer to small slots, which are emptied with their value.
 */
export class PassingMap<Key, Value extends object> {
  readonly #slots = new Map<Key, { value: Value | undefined }>();

  get size(): number {
    return this.#slots.size;
  }

  get(key: Key): Value | undefined {
    return this.#slots.get(key)?.value;
  }

  has(key: Key): boolean {
    return this.#slots.has(key);
  }

  set(key: Key, value: Value): void {
    const slot = this.#slots.get(key);
    if (slot === undefined) this.#slots.set(key, { value });
    else slot.value = value;
  }

  delete(key: Key): boolean {
    const slot = this.#slots.get(key);
    if (slot === undefined) return false;
    slot.value = undefined;
    return this.#slots.delete(key);
  }

  *values(): IterableIterator<Value> {
    for (const { value } of this.#slots.values()) if (value !== undefined) yield value;
  }
}
