import type { JsonObject } from '../../base/json.ts';
import type { DirectIdentity, Provenance } from '../../call/event.ts';
import type { Principal } from '../../tool/tool-context.ts';

/** Options of one call, next to its envelope. */
export type CallOptions = {
  /** Metadata of the call: recorded, and visible to policy. */
  readonly attrs?: JsonObject;
  readonly principal?: Principal;
  readonly provenance?: Provenance;
  /** How the calling program was identified, for the record and for `separateDuties`. */
  readonly askedBy?: DirectIdentity;
  /**
   * The trace that the call belongs to, as a `traceparent` of the W3C, if the caller sent one. A malformed one is
   * ignored. Default: that of the turn, then the active span of the telemetry.
   */
  readonly traceparent?: string;
  /**
   * Cancels the call. If another caller makes it and this one only joined, it ends the wait: `call.pending`
   * is thrown, and the call continues.
   */
  readonly signal?: AbortSignal;
  readonly onProgress?: (update: Progress) => void;
};
export type Progress = { readonly callId: string; readonly message?: string; readonly fraction?: number };
