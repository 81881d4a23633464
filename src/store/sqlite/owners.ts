/** Who writes to a ledger file: this handle, the others that live, and those that are gone. */
import { forgetOwner, isOwnerAlive, listOwners, newOwnerId, takeOwnerLock } from './owner-lock.ts';

const rememberedLifeMs = 200;

export class Owners {
  readonly ownId: string = newOwnerId();
  readonly #folder: string;
  readonly #end: (() => void) | undefined;
  readonly #lives = new Set<string>();

  /** Takes a life of its own, unless it is there to look only. */
  constructor(folder: string, readOnly: boolean) {
    this.#folder = folder;
    if (!readOnly) this.#end = takeOwnerLock(folder, this.ownId);
  }

  /** Whether this handle may write. */
  get isOne(): boolean {
    return this.#end !== undefined;
  }

  isAlive(ownerId: string): boolean {
    return ownerId === this.ownId ? this.isOne : isOwnerAlive(this.#folder, ownerId);
  }

  findGone(): readonly string[] {
    const others = listOwners(this.#folder).filter((ownerId) => ownerId !== this.ownId);
    return others.filter((ownerId) => !this.#lives.has(ownerId) && !this.#noteLife(ownerId));
  }

  forget(ownerId: string): void {
    forgetOwner(this.#folder, ownerId);
  }

  /** Ends the life of this handle. */
  end(): void {
    this.#end?.();
  }

  /** Remembers for a moment that an owner lives: asking is cheap, but not for every turn and every owner. */
  #noteLife(ownerId: string): boolean {
    const isAlive = this.isAlive(ownerId);
    if (isAlive) {
      this.#lives.add(ownerId);
      setTimeout(() => this.#lives.delete(ownerId), rememberedLifeMs).unref();
    }
    return isAlive;
  }
}
