/**
 * One small content that the servers of a ledger share: tokens, sign-ins. It is in a file next to the ledger, in its
 * database, or in this process.
 *
 * 1. A change is atomic: no process loses the change of another.
 * 2. A stored change is seen by every process after its next `refresh`.
 */
import type { Awaitable } from '../../base/json.ts';

export interface StoredContent<Content> {
  /** Throws if other users of the machine could change the content. */
  check(): void;
  /** Reads the current state. */
  refresh(): Awaitable<void>;
  /** Changes whenever the content changes. */
  readonly revision: string;
  /** The content at the last refresh. Throws if it could not be read. */
  read(): Content;
  /** The function may be called more than once. Undefined means that nothing changes. */
  change(change: (content: Content) => Content | undefined): Awaitable<void>;
}

/** How a content is written as a text. */
export type ContentFormat<Content> = {
  /** Names the content in errors, e.g. `tokens`. */
  readonly name: string;
  readonly empty: Content;
  /** `place` names the text in the error. */
  readonly parse: (text: () => string, place: string) => Content;
  readonly write: (content: Content) => string;
};
