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

/** What the body of a tool is given beside its arguments: which call this is, and a line back to the ledger. */
export type ToolContext = {
  readonly callId: string;
  readonly sessionId: string;
  readonly turnId: string;
  readonly toolName: string;
  /** Which run of the body for this call this is, from 1. */
  readonly attempt: number;
  /** Aborted when the attempt is over its deadline or the call is cancelled. Pass it to whatever takes one. */
  readonly signal: AbortSignal;
  /** The same for every attempt of this call. Hand it to a service that can tell a repeat from a new request. */
  readonly idempotencyKey: string;
  readonly principal: Principal | undefined;
  /** The preview a person approved: do exactly this, or refuse. Undefined where nobody was asked. */
  readonly approved: PreviewedOperation | undefined;
  /** The last preview, whether or not anybody was asked about it. */
  readonly previewed: PreviewedOperation | undefined;
  readonly log: (message: string, fields?: JsonObject) => void;
  /** Says the body is alive: a tool with an idle timeout gets that long again. */
  readonly progress: (update?: { readonly message?: string; readonly fraction?: number }) => void;
  /** Keeps what is known so far, so that a failure or a timeout still tells how far the body came. */
  readonly record: (partial: JsonObject) => void;
  /** Says which place outside was reached, for the audit record. */
  readonly reached: (target: string) => void;
  /** Says what this attempt cost, in millionths of a unit; replaces what the tool declares. */
  readonly charge: (micros: number) => void;
  /** Keeps an image or a file beside the output. Put the name it gives into the output where the file belongs. */
  readonly attach: (attachment: Attachment) => AttachmentName;
};

/** A file a tool gives beside its output. */
export type Attachment = {
  readonly mimeType: string;
  readonly content: Uint8Array | string;
  readonly name?: string;
};

/** Stands for a file in an output, and in the arguments of a later call. */
export type AttachmentName = { readonly $artifact: string };
