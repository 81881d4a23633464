/** The owners of a ledger file: this handle, other living handles, and gone ones. */
import type { Owners, OwnerStatus, MadeCalls } from '../../ledger/owners.ts';
import type { OwnerLock } from './owner-lock.ts';
import { newOwnerId } from '../files/owner-id.ts';
import { forgetOwner, listOwners, readOwnerStatus, takeOwnerLock } from './owner-lock.ts';

const rememberedLifeMs = 200;

export class SqliteOwners implements Owners {
  readonly ownerId: string = newOwnerId();
  readonly runtimes: Set<MadeCalls> = new Set();
  readonly #folder: string;
  readonly #onForget: (ownerId: string) => void;
  readonly #lock: OwnerLock | undefined;
  readonly #lives = new Set<string>();

  /** Takes its own lock unless it only reads. `onForget` removes what else belongs to a gone owner. */
  constructor(folder: string, readOnly: boolean, onForget: (ownerId: string) => void) {
    this.#folder = folder;
    this.#onForget = onForget;
    if (!readOnly) this.#lock = takeOwnerLock(folder, this.ownerId);
  }

  /** May this handle write? */
  get isOne(): boolean {
    return this.#lock !== undefined;
  }

  /** The lock of this handle; undefined if it only reads. */
  get lock(): OwnerLock | undefined {
    return this.#lock;
  }

  statusOf(ownerId: string): OwnerStatus {
    if (ownerId === this.ownerId) return this.isOne ? 'alive' : 'gone';
    return readOwnerStatus(this.#folder, ownerId);
  }

  findGone(): readonly string[] {
    const others = listOwners(this.#folder).filter((ownerId) => ownerId !== this.ownerId);
    return others.filter((ownerId) => !this.#lives.has(ownerId) && this.#isGone(ownerId));
  }

  forget(ownerId: string): void {
    if (this.statusOf(ownerId) !== 'gone') return;
    this.#onForget(ownerId);
    forgetOwner(this.#folder, ownerId);
  }

  /** Ends the ownership of this handle. */
  end(): void {
    this.#lock?.end();
  }

  /** Caches for a moment that an owner may be alive: one check is cheap, one per turn and owner is not. */
  #isGone(ownerId: string): boolean {
    if (this.statusOf(ownerId) === 'gone') return true;
    this.#lives.add(ownerId);
    setTimeout(() => this.#lives.delete(ownerId), rememberedLifeMs).unref();
    return false;
  }
}
