/**
 * A cassette: a slice of a ledger for replay. Everything is in stored form, so it contains no redacted value. It
 * contains nothing that differs between machines or runs: turns are numbered, and artifacts are named in order.
 */
import type { JsonObject, JsonValue } from '../base/json.ts';
import type { LogLine, PersistenceFailed, Preview, RuleMark } from '../call/event.ts';
import type { DirectIdentity } from '../call/event.ts';
import type { ToolOutcome } from '../call/outcome.ts';

export type Cassette = {
  /** The recorded session. */
  readonly sessionId: string;
  /** In milliseconds since 1970, by the clock of the ledger. */
  readonly createdAt: number;
  readonly tools: readonly CassetteTool[];
  readonly artifacts: readonly CassetteArtifact[];
  /** In the order of their requests. */
  readonly calls: readonly RecordedCall[];
};

export type CassetteTool = {
  readonly name: string;
  /** Digest of the tool's latest recorded schemas; undefined if neither the ledger nor the recorder knows it. */
  readonly schemaDigest: string | undefined;
};

/** A large output or a file. */
export type CassetteArtifact = {
  /** Its name in this cassette: `artifact-1`, `artifact-2`, … */
  readonly artifactId: string;
  readonly mimeType: string;
  readonly digest: string;
  readonly sizeBytes: number;
  /** Undefined if it was too large for the cassette. */
  readonly content: string | Uint8Array | undefined;
};

export type RecordedCall = {
  readonly callId: string;
  /** Number of its turn in the slice, from 1. */
  readonly turn: number;
  readonly toolName: string;
  /** Digest of the tool's schemas for this call. */
  readonly schemaDigest: string | undefined;
  /** The rules that decided the call. */
  readonly policyVersion: string | undefined;
  /** As requested, in stored form. */
  readonly requestedInput: JsonValue;
  /** The input that the schema accepted, if it differs from the requested one. Stored form. */
  readonly effectiveInput: JsonObject | undefined;
  /** Paths of redacted values in the requested input. Calls are compared by the mask there. */
  readonly hidden: readonly string[];
  /** The previews of the tool, one per request. */
  readonly previews: readonly RecordedPreview[];
  /** The decisions on its confirmations, in order. */
  readonly answers: readonly RecordedAnswer[];
  /** Every run of the tool that ended, in order; empty if it never ran. */
  readonly runs: readonly RecordedRun[];
  /** The outcome of the call. */
  readonly outcome: ToolOutcome;
};

/** The end of a confirmation: decided, expired or withdrawn. */
export type RecordedAnswer = {
  /** The input of the confirmation, if it is not the requested one. Stored form. */
  readonly input: JsonObject | undefined;
  /** How the person was verified. Recorded if a rule said who must approve. */
  readonly identity?: DirectIdentity;
} & (
  | {
      readonly decision: 'approve' | 'deny';
      /** Undefined if no approver could be asked, which counts as a denial. */
      readonly by: string | undefined;
      readonly reason: string | undefined;
    }
  | {
      readonly decision: 'edit';
      readonly by: string;
      readonly reason: string | undefined;
      /** The arguments that were approved instead. Stored form. */
      readonly arguments: JsonObject;
    }
  | {
      readonly decision: 'respond';
      readonly by: string;
      readonly reason: string | undefined;
      readonly response: string;
    }
  /** It expired this many milliseconds after it was created. */
  | { readonly decision: 'expired'; readonly afterMs: number }
  /** The call was cancelled, or its turn ended, before a decision. */
  | { readonly decision: 'withdrawn' }
);

/** The answer to one preview request: drafts and the final version. */
export type RecordedPreview = {
  /** The input of the preview, if it is not the requested one. Stored form. */
  readonly input: JsonObject | undefined;
  readonly versions: readonly RecordedVersion[];
  /** Why there was no final version, in words that follow "The preview of the tool". */
  readonly problem: string | undefined;
};

export type RecordedVersion = {
  readonly preview: Preview;
  readonly snapshot: JsonObject;
  readonly expiresInMs: number | undefined;
};

export type RecordedRun = {
  /** The end of this run; for the last run, the outcome of the call. */
  readonly outcome: ToolOutcome;
  /** It was unknown whether the effect had happened. */
  readonly unsettled: boolean;
  readonly costMicros: number;
  readonly reached: readonly string[];
  readonly log: readonly Omit<LogLine, 'at'>[];
  /** Partial output that a run recorded before it succeeded or timed out. */
  readonly partial: JsonObject | undefined;
  /** The result after its deadline. */
  readonly late: RecordedLate | undefined;
  /** The decisions of rules on its output. */
  readonly rules: readonly RuleMark[];
  /** The answer to each repeated report of the same result, by the worker. */
  readonly reportedAgain: readonly string[];
  /** Parts of its end that could not be stored in the ledger. */
  readonly unkept: readonly Pick<PersistenceFailed, 'boundary' | 'error' | 'keptIn'>[];
};

export type RecordedLate =
  | { readonly type: 'returned'; readonly output: JsonValue }
  | { readonly type: 'threw'; readonly error: string };

/** The input that identifies a call. */
export const inputOf = ({ effectiveInput, requestedInput }: RecordedCall): JsonValue =>
  effectiveInput ?? requestedInput;
