/** A held call as an AG-UI interrupt, and the answer to it. */
import { isJsonObject, ownValue } from 'quittance/internal/base/json';
import type { JsonObject, JsonValue } from 'quittance/internal/base/json';
import type { ConfirmationView } from 'quittance/internal/runtime/views';

/** One entry of `outcome.interrupts` in `RUN_FINISHED`. */
export type AgUiInterrupt = {
  /** Identifies the confirmation, the input and the revision shown. An answer covers exactly these. */
  id: string;
  reason: 'tool_call';
  /** The question for the person. */
  message: string;
  toolCallId: string;
  /** Schema of the answer's `payload`. */
  responseSchema: JsonObject;
  expiresAt?: string;
  metadata: {
    confirmationId: string;
    toolName: string;
    /** In stored form. An edit has the same form. */
    arguments: JsonValue;
    risk: string[];
  };
};

/** Uses only schema keywords that clients with their own approval UI understand. */
const responseSchema: JsonObject = {
  type: 'object',
  properties: {
    approved: { type: 'boolean' },
    reason: { type: 'string' },
    editedArgs: { type: 'object' },
  },
  required: ['approved'],
};

export function toInterrupt(view: ConfirmationView): AgUiInterrupt {
  const { confirmationId, callId, toolName, description, expiresAt, acceptedInput, risk } = view;
  return {
    id: interruptId(view),
    reason: 'tool_call',
    message: description,
    toolCallId: callId,
    responseSchema,
    ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt).toISOString() }),
    metadata: { confirmationId, toolName, arguments: acceptedInput, risk: [...risk] },
  };
}

/** A confirmation may be repeated with another input or preview. It is then another interrupt. */
export const interruptId = ({ confirmationId, inputDigest, preview }: ConfirmationView): string =>
  `${confirmationId}.${preview?.revision ?? 0}.${inputDigest.slice(-16)}`;

/** The answer of a person. */
export type AgUiAnswer =
  | { readonly decision: 'approve' }
  | { readonly decision: 'edit'; readonly arguments: JsonObject }
  | { readonly decision: 'deny'; readonly reason: string | undefined };

/**
 * Reads an entry of `resume`; undefined if it is neither yes nor no. Only an own property `approved: true` approves.
 */
export function readAgUiAnswer(entry: JsonObject): AgUiAnswer | undefined {
  const status = ownValue(entry, 'status');
  // A person who cancels abandons the call, so it must not wait for an answer.
  if (status === 'cancelled') return { decision: 'deny', reason: 'The person cancelled the question.' };
  const payload = ownValue(entry, 'payload');
  if (status !== 'resolved' || !isJsonObject(payload)) return undefined;
  const approved = ownValue(payload, 'approved');
  const reason = ownValue(payload, 'reason');
  if (approved === false)
    return { decision: 'deny', reason: typeof reason === 'string' ? reason : undefined };
  if (approved !== true) return undefined;
  const edited = ownValue(payload, 'editedArgs');
  if (edited === undefined || edited === null) return { decision: 'approve' };
  return isJsonObject(edited) ? { decision: 'edit', arguments: edited } : undefined;
}
