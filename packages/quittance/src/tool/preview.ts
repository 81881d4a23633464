/** A tool's preview of what it would do, before it does it. */
import type { JsonObject, JsonValue } from '../base/json.ts';

/** The form of a preview. */
export type Preview =
  | { readonly kind: 'text'; readonly text: string }
  /** A unified diff. */
  | { readonly kind: 'diff'; readonly path: string; readonly diff: string }
  | { readonly kind: 'fields'; readonly fields: readonly PreviewField[] }
  | { readonly kind: 'command'; readonly command: string; readonly directory?: string };
export type PreviewField = { readonly name: string; readonly before?: JsonValue; readonly after?: JsonValue };

/** One version of what a tool would do. */
export type PreviewRevision = Preview & {
  /** The data that the body needs to do exactly this. Rules can read it; the body receives it. */
  readonly snapshot?: JsonObject;
  /** When it becomes stale: in milliseconds since 1970, or from now. Default: never. */
  readonly expiresAt?: number;
  readonly expiresInMs?: number;
};

/** A version of a preview, as passed to a body. */
export type PreviewedOperation = {
  readonly operationId: string;
  readonly revision: number;
  /** As the tool returned it. Frozen. */
  readonly snapshot: JsonObject;
};

/** A preview that will not be carried out. */
export type CancelledOperation = {
  readonly sessionId: string;
  readonly callId: string;
  readonly operationId: string;
  /** Number of the last stored version. */
  readonly revision: number;
  /** Undefined if it was hidden and cannot be read here any more. */
  readonly snapshot: JsonObject | undefined;
  readonly reason: string;
};
