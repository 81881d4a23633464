/** The state outside entries, as computed from the entries. */
import type { JsonObject } from '../base/json.ts';
import type { ArtifactArgument, InputForm } from '../call/event.ts';
import type { ClaimHolder, Counter } from './claims.ts';

/** A call that has no outcome. */
export type OpenInput = {
  readonly sessionId: string;
  readonly callId: string;
  inputDigest: string | undefined;
  /** What else the digest covers, if the input is a rendering. */
  inputForm: InputForm | undefined;
  artifacts: readonly Pick<ArtifactArgument, 'digest'>[];
  /** Part of its preview's snapshot is hidden. */
  hidesSnapshot: boolean;
  /** It was held or began, and part of its input or snapshot is hidden. */
  needsSealed: boolean;
};

/** A call that can still be undone, or whose tool can still be asked how it ended, and needs its input for that. */
export type UndoableInput = {
  readonly sessionId: string;
  readonly callId: string;
  readonly inputDigest: string | undefined;
  readonly inputForm: InputForm | undefined;
  readonly artifacts: readonly Pick<ArtifactArgument, 'digest'>[];
  /** By the ledger's clock; undefined means forever. */
  readonly until: number | undefined;
};

export type UnsettledEffect = {
  readonly sessionId: string;
  readonly callId: string;
  readonly toolName: string;
  readonly inputDigest: string;
  /** Position of the entry that left the effect unresolved. */
  readonly position: number;
};

export type FoldedState = {
  readonly sessionId: string;
  readonly subject: string;
  readonly version: number;
  /** Position of the entry that moved it. */
  readonly position: number;
  /** Undefined if it was erased, or recorded in a form this version does not know. */
  readonly state: JsonObject | undefined;
};

export type NamedArtifact = {
  readonly sessionId: string;
  readonly artifactId: string;
  readonly mimeType: string;
  readonly sizeBytes: number;
  readonly digest: string | undefined;
  /** A large output is always text. A file may be either. */
  readonly isText: boolean;
  /** Calls that named it: the one it was made for, and those that were answered with its outcome. */
  readonly callIds: Set<string>;
};

/** The holder of a key, and the position of the entry that gave it to them. */
export type FoldedClaim = ClaimHolder & { readonly position: number };

export type FoldedCounter = {
  used: number;
  reserved: number;
  /** The counter's total according to the last entry about it, and that entry's position. */
  stated: (Counter & { readonly position: number }) | undefined;
};

/** An entry that no append can have accepted after the previous ones. */
export type FoldFinding = {
  readonly kind: 'claim' | 'limit';
  readonly message: string;
};
