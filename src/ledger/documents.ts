/**
 * Small texts that belong to the servers of a ledger: their tokens, and the history of tool schemas. Ledgers with a file
 * keep them in files next to it, and have no such port.
 */
import type { Awaitable } from '../base/json.ts';

export interface Documents {
  /** The text of this name. It is left out if it still has the version that the caller knows. */
  read(name: string, knownVersion?: number): Awaitable<StoredDocument>;
  /** Compare-and-set: stores the text if the document still has this version. False if another process was first. */
  replace(name: string, version: number, text: string): Awaitable<boolean>;
}

/** A document that was never stored has version 0 and no text. */
export type StoredDocument = { readonly version: number; readonly text: string | undefined };
