import type { JsonObject } from '../../base/json.ts';
import type { DirectIdentity, Provenance } from '../../call/event.ts';
import type { Principal } from '../../tool/tool-context.ts';

/** What may be said about one call beside the envelope. */
export type CallOptions = {
  /** Metadata of the call: on its record, and there for policy. */
  readonly attrs?: JsonObject;
  readonly principal?: Principal;
  readonly provenance?: Provenance;
  /** How the program that asks was identified, for the record and for `separateDuties`. */
  readonly askedBy?: DirectIdentity;
  /**
   * Cancels the call. Where somebody else is making it, and this only joined, it ends the wait: `call.pending` is thrown,
   * and the call goes on.
   */
  readonly signal?: AbortSignal;
  readonly onProgress?: (update: Progress) => void;
};
export type Progress = { readonly callId: string; readonly message?: string; readonly fraction?: number };
