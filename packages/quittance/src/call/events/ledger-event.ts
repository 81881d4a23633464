import type { Identity } from '../identity.ts';
import type { EventOf } from './event-of.ts';

/** Events about the ledger itself: the first in a session's chain, the second in the ledger's own. */
export type LedgerEvent = BodyErased | SessionDropped;

/** Inputs, outputs and texts of some entries were erased permanently. Their digests stay in the chain. */
export type BodyErased = EventOf<
  'body.erased',
  {
    entryIds: readonly string[];
    by: string;
    /** How that person was identified. Absent: not recorded. */
    identity?: Identity;
    reason: string;
  }
>;

/**
 * A session was removed with all its entries. The end of its chain is kept, so that an anchor can still
 * confirm it.
 */
export type SessionDropped = EventOf<
  'session.dropped',
  {
    droppedSessionId: string;
    sequence: number;
    hash: string;
    by: string;
    /** How that person was identified. Absent: not recorded. */
    identity?: Identity;
    reason: string;
  }
>;

/**
 * Rules were loaded. Contains their text, so that decisions under this version can always be explained.
 */
export type ContractsLoaded = EventOf<
  'contracts.loaded',
  {
    policyVersion: string;
    documents: readonly { readonly name: string; readonly stamp: string; readonly text?: string }[];
    /** The base of relative paths. Absent: not given, or written by an older version. */
    workingDirectory?: string;
  }
>;
