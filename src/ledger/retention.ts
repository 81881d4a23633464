/** Removal of old or personal content. Both methods record the removal in the ledger. */
import type { Awaitable } from '../base/json.ts';
import type { DirectIdentity } from '../call/event.ts';

export interface Retention {
  /**
   * Empties the bodies of entries permanently, with the artifacts and sealed inputs of their calls. For a whole
   * session it also empties the states of its subjects. Appends `body.erased`. Returns the number of entries. Refuses
   * while one of the calls has no outcome.
   */
  erase(erasure: Erasure): Awaitable<number>;
  /**
   * Removes a session with everything that belongs to it, and records in the ledger's own chain that it existed and how
   * it ended. Refuses while a call of it has no outcome. False if there is no such session, or if its last entry has
   * another hash than `lastHash`.
   */
  dropSession(removal: Removal): Awaitable<boolean>;
}

/** Selects some entries of a session, or all of them. */
export type Erasure = {
  readonly sessionId: string;
  readonly entryIds?: readonly string[];
  readonly by: string;
  /** How the host identified the person who erases. Default: the name is self-asserted. */
  readonly identity?: DirectIdentity;
  readonly reason: string;
};

export type Removal = {
  readonly sessionId: string;
  readonly by: string;
  /** How the host identified the person who removes it. Default: the name is self-asserted. */
  readonly identity?: DirectIdentity;
  readonly reason: string;
  /** Removes the session only if its last entry has this hash. An entry that is not archived yet is never lost. */
  readonly lastHash?: string;
};
