import type { JsonObject } from '../base/json.ts';
import type { PreviewedOperation } from './preview.ts';

/** On whose behalf a call is made. */
export type Principal = {
  readonly userId?: string;
  readonly serviceId?: string;
  readonly orgId?: string;
  readonly role?: string;
  readonly ticketRef?: string;
  readonly claims?: JsonObject;
};

/** The second argument of a tool's body: facts about the call, and functions to report to the ledger. */
export type ToolContext = {
  readonly callId: string;
  readonly sessionId: string;
  readonly turnId: string;
  readonly toolName: string;
  /** Number of this run of the body for the call, from 1. */
  readonly attempt: number;
  /**
   * Aborted when the attempt is past its deadline or the call is cancelled. Pass it on to functions that accept a
   * signal.
   */
  readonly signal: AbortSignal;
  /** The same for every attempt of this call. Pass it to a service that recognizes repeated requests. */
  readonly idempotencyKey: string;
  readonly principal: Principal | undefined;
  /**
   * The trace context of this attempt, as a `traceparent` of the W3C, for requests that no instrumentation sees.
   * Undefined if the call has no trace.
   */
  readonly traceparent: string | undefined;
  /** The preview that a person approved: do exactly this, or refuse. Undefined if no person was asked. */
  readonly approved: PreviewedOperation | undefined;
  /** The last preview, whether or not a person was asked about it. */
  readonly previewed: PreviewedOperation | undefined;
  readonly log: (message: string, fields?: JsonObject) => void;
  /** Reports that the body is alive: restarts the idle timeout. */
  readonly progress: (update?: { readonly message?: string; readonly fraction?: number }) => void;
  /** Stores a partial result, so that a failure or a timeout still shows how far the body came. */
  readonly record: (partial: JsonObject) => void;
  /** Records a reached external target, for the audit record. */
  readonly reached: (target: string) => void;
  /** Sets the cost of this attempt, in millionths of a unit; replaces the tool's declared cost. */
  readonly charge: (micros: number) => void;
  /** Stores an image or a file with the output. Put the returned name into the output where the file belongs. */
  readonly attach: (attachment: Attachment) => AttachmentName;
};

/** A file that a tool adds to its output. */
export type Attachment = {
  readonly mimeType: string;
  readonly content: Uint8Array | string;
  readonly name?: string;
};

/** Stands for a file in an output, and in the arguments of a later call. */
export type AttachmentName = { readonly $artifact: string };
