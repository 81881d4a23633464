/**
 * The ledger: where events are appended. What the runtime needs from a store, and no more.
 *
 * 1. An append is all or nothing: its events, its claim, its reservations, its seals.
 * 2. Whatever may legally go wrong with an append is a status, never an exception; an exception means
 *    that the store could not be reached or could not write, and that nothing of the append is kept.
 * 3. Appends about one call are ordered by the call's version: who names an old one is refused.
 */
import type { Awaitable } from '../base/json.ts';
import type { QuittanceEvent } from '../call/event.ts';

export interface Ledger {
  append(entry: Entry): Awaitable<AppendResult>;
  /** The events of one call with the version to name in the next append, or undefined. */
  readCall(sessionId: string, callId: string): Awaitable<StoredCall | undefined>;
  /** Every event of a session, in the order of appending. */
  readSession(sessionId: string): Awaitable<readonly QuittanceEvent[]>;
  readClaim(claimKey: string): Awaitable<ClaimHolder | undefined>;
  /** What is used and reserved under each name, in the order asked. */
  readCounters(names: readonly string[]): Awaitable<readonly Counter[]>;
  /** Calls of the session with this tool and input whose effect may have happened unseen. */
  findUnsettledEffects(
    sessionId: string,
    toolName: string,
    inputDigest: string,
  ): Awaitable<readonly string[]>;
  /** Resolves when the call has another version than this one. */
  whenChanged(sessionId: string, callId: string, version: number): Promise<void>;
  readSealed(sessionId: string, callId: string): Awaitable<string | undefined>;
  putArtifact(artifact: NewArtifact): Awaitable<void>;
  readArtifact(sessionId: string, artifactId: string): Awaitable<StoredArtifact | undefined>;
  /** Milliseconds since 1970 by the clock that expiry and days go by. */
  now(): number;
  /** 32 bytes, the same for everybody who may open what is sealed in this ledger. */
  readonly sealKey: Uint8Array;
}

export type Entry = {
  readonly entryId: string;
  readonly sessionId: string;
  readonly callId: string | undefined;
  /**
   * The version the call must have; 0 for a call that must not exist yet. `any` is for remarks, which change nothing
   * about a call (a recall, a late result): it must exist, and keeps its version. Ignored without a call.
   */
  readonly expectedVersion: number | 'any';
  readonly events: readonly QuittanceEvent[];
  readonly claim?: Claim | undefined;
  /** Gives a claim up, so that the next call with its key may run. */
  readonly releaseClaim?: string | undefined;
  readonly reserve?: readonly Reservation[] | undefined;
  readonly settle?: readonly Settlement[] | undefined;
  /** Sealed executed form of the input, kept until it is dropped. */
  readonly sealed?: string | undefined;
  readonly dropSealed?: boolean | undefined;
};

export type AppendResult =
  | { readonly status: 'appended'; readonly version: number }
  /** The call has another version: somebody else was first. */
  | { readonly status: 'conflict'; readonly version: number }
  | { readonly status: 'claimed'; readonly holder: ClaimHolder }
  | { readonly status: 'exhausted'; readonly counter: string; readonly used: number };

/** Takes a key that a tool made, unless somebody has it. */
export type Claim = {
  readonly key: string;
  readonly inputDigest: string;
  /** A person allowed to run again what this call left in doubt: its claim passes on. */
  readonly supersedes?: Pick<ClaimHolder, 'sessionId' | 'callId'>;
};
export type ClaimHolder = {
  readonly sessionId: string;
  readonly callId: string;
  readonly inputDigest: string;
};

/** Takes `amount` of what is left under `limit`, or nothing. */
export type Reservation = { readonly counter: string; readonly amount: number; readonly limit: number };
/** Gives back what was reserved and charges what was used. */
export type Settlement = { readonly counter: string; readonly reserved: number; readonly used: number };
export type Counter = { readonly used: number; readonly reserved: number };

export type StoredCall = { readonly version: number; readonly events: readonly QuittanceEvent[] };

export type NewArtifact = {
  readonly artifactId: string;
  readonly sessionId: string;
  readonly callId: string;
  readonly mimeType: string;
  readonly content: string | Uint8Array;
};
export type StoredArtifact = Pick<NewArtifact, 'artifactId' | 'mimeType' | 'content'>;
