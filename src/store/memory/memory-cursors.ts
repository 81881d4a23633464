/** The positions that the readers of a memory ledger have reached. */
import type { Cursor, CursorMove, CursorTake } from '../../ledger/cursors.ts';

export class MemoryCursors {
  readonly #ownerId: string;
  readonly #cursors = new Map<string, Cursor>();

  constructor(ownerId: string) {
    this.#ownerId = ownerId;
  }

  read(name: string): Cursor | undefined {
    return this.#cursors.get(name);
  }

  list(): readonly Cursor[] {
    return [...this.#cursors.values()].sort((left, right) => (left.name < right.name ? -1 : 1));
  }

  take({ name, holder, instead, startAfter }: CursorTake): Cursor {
    const found = this.#cursors.get(name);
    const isFree = found?.holder === undefined || found.holder === holder || found.holder === instead;
    if (found !== undefined && !isFree) return found;
    const taken = { name, position: found?.position ?? startAfter, holder, ownerId: this.#ownerId };
    this.#cursors.set(name, taken);
    return taken;
  }

  /** Finds the reason why a move is refused. */
  findDisplaced({
    name,
    holder,
    from,
  }: CursorMove): { readonly holder: string | undefined; readonly position: number } | undefined {
    const found = this.#cursors.get(name);
    if (found?.holder === holder && found.position === from) return undefined;
    return { holder: found?.holder, position: found?.position ?? 0 };
  }

  move(move: CursorMove): boolean {
    const found = this.#cursors.get(move.name);
    if (found === undefined || this.findDisplaced(move) !== undefined) return false;
    this.#cursors.set(move.name, { ...found, position: move.to });
    return true;
  }

  release(name: string, holder: string): void {
    const found = this.#cursors.get(name);
    if (found?.holder === holder)
      this.#cursors.set(name, { ...found, holder: undefined, ownerId: undefined });
  }

  drop(name: string): boolean {
    return this.#cursors.delete(name);
  }
}
