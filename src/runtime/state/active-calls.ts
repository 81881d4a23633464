/** The calls a runtime is making, by session and call id. */
import { PassingMap } from '../../base/passing-map.ts';
import type { ActiveCall } from './active-call.ts';

export interface ActiveCalls {
  readonly size: number;
  get(key: string): ActiveCall | undefined;
  has(key: string): boolean;
  set(key: string, active: ActiveCall): unknown;
  delete(key: string): boolean;
  values(): IterableIterator<ActiveCall>;
}

export const createActiveCalls = (): ActiveCalls => new CallTable();

/**
 * Most agents make one call at a time. It has a place of its own, because V8 allocates a new table for every entry of a
 * map that was empty before.
 */
class CallTable implements ActiveCalls {
  #firstKey: string | undefined;
  #first: ActiveCall | undefined;
  readonly #others = new PassingMap<string, ActiveCall>();

  get size(): number {
    return this.#others.size + (this.#first === undefined ? 0 : 1);
  }

  get(key: string): ActiveCall | undefined {
    return key === this.#firstKey ? this.#first : this.#others.get(key);
  }

  has(key: string): boolean {
    return this.get(key) !== undefined;
  }

  set(key: string, active: ActiveCall): void {
    if (key !== this.#firstKey && this.size > 0) this.#others.set(key, active);
    else {
      this.#firstKey = key;
      this.#first = active;
    }
  }

  delete(key: string): boolean {
    if (key !== this.#firstKey) return this.#others.delete(key);
    this.#firstKey = undefined;
    this.#first = undefined;
    return true;
  }

  *values(): Generator<ActiveCall, undefined, undefined> {
    if (this.#first !== undefined) yield this.#first;
    yield* this.#others.values();
  }
}
