/**
 * A cassette: a slice of a ledger, made to be played again. Everything in it is in its kept form, so nothing a
 * redactor hid is in it, and nothing that would differ from one machine or run to the next is either: turns are
 * numbered, artifacts are named in the order they appear.
 */
import type { JsonObject, JsonValue } from '../base/json.ts';
import type { LogLine, PersistenceFailed, Preview, RuleMark } from '../call/event.ts';
import type { ToolOutcome } from '../call/outcome.ts';

export type Cassette = {
  /** The session it was taken from. */
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
  /** Of the tool as it was recorded last; undefined where neither the ledger nor the recorder knows. */
  readonly schemaDigest: string | undefined;
};

/** An output or a file that was kept aside. */
export type CassetteArtifact = {
  /** What stands for it in this cassette: `artifact-1`, `artifact-2`, … */
  readonly artifactId: string;
  readonly mimeType: string;
  readonly digest: string;
  readonly sizeBytes: number;
  /** Undefined where it was too large to be taken along. */
  readonly content: string | Uint8Array | undefined;
};

export type RecordedCall = {
  readonly callId: string;
  /** Which turn of the slice it belongs to, from 1. */
  readonly turn: number;
  readonly toolName: string;
  /** Of the tool as it was for this call. */
  readonly schemaDigest: string | undefined;
  /** The rules that let it run, or did not. */
  readonly policyVersion: string | undefined;
  /** As it came, in its kept form. */
  readonly requestedInput: JsonValue;
  /** What the schema accepted, where that differs from what was requested. Kept form. */
  readonly effectiveInput: JsonObject | undefined;
  /** Where something was hidden in the requested input: there, calls are compared by the mask. */
  readonly hidden: readonly string[];
  /** What the tool showed of it before it ran, each time it was asked. */
  readonly previews: readonly RecordedPreview[];
  /** What became of each question about it, in order. */
  readonly answers: readonly RecordedAnswer[];
  /** Every run of the body that ended, in order; empty where it never ran. */
  readonly runs: readonly RecordedRun[];
  /** How the call ended. */
  readonly outcome: ToolOutcome;
};

/** What became of a question to people: a person decided, or nobody did. */
export type RecordedAnswer = {
  /** What was asked about, where that is not the requested input. Kept form. */
  readonly input: JsonObject | undefined;
} & (
  | {
      readonly decision: 'approve' | 'deny';
      /** Undefined where nobody could be asked, and so it was a no. */
      readonly by: string | undefined;
      readonly reason: string | undefined;
    }
  | {
      readonly decision: 'edit';
      readonly by: string;
      readonly reason: string | undefined;
      /** What was approved instead. Kept form. */
      readonly arguments: JsonObject;
    }
  | {
      readonly decision: 'respond';
      readonly by: string;
      readonly reason: string | undefined;
      readonly response: string;
    }
  /** The time was up, so many milliseconds after it was asked. */
  | { readonly decision: 'expired'; readonly afterMs: number }
  /** The call was cancelled, or its turn ended, before anybody decided. */
  | { readonly decision: 'withdrawn' }
);

/** What a tool showed when it was asked once: drafts, and the version that counted. */
export type RecordedPreview = {
  /** What it was asked about, where that is not the requested input. Kept form. */
  readonly input: JsonObject | undefined;
  readonly versions: readonly RecordedVersion[];
  /** Why there was no version that counted, in words that follow "The preview of the tool". */
  readonly problem: string | undefined;
};

export type RecordedVersion = {
  readonly preview: Preview;
  readonly snapshot: JsonObject;
  readonly expiresInMs: number | undefined;
};

export type RecordedRun = {
  /** How this run ended; the outcome of the call for the last one. */
  readonly outcome: ToolOutcome;
  /** Nobody could say whether the effect had happened. */
  readonly unsettled: boolean;
  readonly costMicros: number;
  readonly reached: readonly string[];
  readonly log: readonly Omit<LogLine, 'at'>[];
  /** What a body that succeeded or timed out had put on record on its way. */
  readonly partial: JsonObject | undefined;
  /** What it gave after its deadline. */
  readonly late: RecordedLate | undefined;
  /** What rules said about what it gave. */
  readonly rules: readonly RuleMark[];
  /** What was said each time the same result was reported again, by whoever ran it elsewhere. */
  readonly reportedAgain: readonly string[];
  /** What of its end could not be kept where it belongs. */
  readonly unkept: readonly Pick<PersistenceFailed, 'boundary' | 'error' | 'keptIn'>[];
};

export type RecordedLate =
  | { readonly type: 'returned'; readonly output: JsonValue }
  | { readonly type: 'threw'; readonly error: string };

/** The input a call is known by. */
export const inputOf = ({ effectiveInput, requestedInput }: RecordedCall): JsonValue =>
  effectiveInput ?? requestedInput;
