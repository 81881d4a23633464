/** What a tool shows of what it would do, before it does it: a listen tool gives such previews. */
import type { JsonObject, JsonValue } from '../base/json.ts';

/** How a preview is shown. */
export type Preview =
  | { readonly kind: 'text'; readonly text: string }
  /** A unified diff. */
  | { readonly kind: 'diff'; readonly path: string; readonly diff: string }
  | { readonly kind: 'fields'; readonly fields: readonly PreviewField[] }
  | { readonly kind: 'command'; readonly command: string; readonly directory?: string };
export type PreviewField = { readonly name: string; readonly before?: JsonValue; readonly after?: JsonValue };

/** One version of what a tool would do. */
export type PreviewRevision = Preview & {
  /** What the body needs in order to do exactly this. Rules see it; the body gets it back. */
  readonly snapshot?: JsonObject;
  /** When it goes stale: in milliseconds since 1970, or from now. It never does where nothing is said. */
  readonly expiresAt?: number;
  readonly expiresInMs?: number;
};

/** A version of a preview, as a body is given it. */
export type PreviewedOperation = {
  readonly operationId: string;
  readonly revision: number;
  /** As the tool gave it. Frozen. */
  readonly snapshot: JsonObject;
};

/** A preview that nothing will come of. */
export type CancelledOperation = {
  readonly sessionId: string;
  readonly callId: string;
  readonly operationId: string;
  /** Of the last version that was kept. */
  readonly revision: number;
  /** Undefined where it was hidden and cannot be read here any more. */
  readonly snapshot: JsonObject | undefined;
  readonly reason: string;
};
