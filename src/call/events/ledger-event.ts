import type { Identity } from '../identity.ts';
import type { EventOf } from './event-of.ts';

/** About the ledger itself: the first inside a session's chain, the second in the ledger's own. */
export type LedgerEvent = BodyErased | SessionDropped;

/** Inputs, outputs and texts of some entries are gone for good; what they were worth is still in the chain. */
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

/** A session was removed with all its entries. Where its chain stood is kept, so that an anchor still says so. */
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

/** Rules came into force. Holds their text, so that a decision under this version can be explained for ever. */
export type ContractsLoaded = EventOf<
  'contracts.loaded',
  {
    policyVersion: string;
    documents: readonly { readonly name: string; readonly stamp: string; readonly text?: string }[];
    /** What relative paths were relative to. Absent: nothing was said, or an older version wrote this. */
    workingDirectory?: string;
  }
>;
