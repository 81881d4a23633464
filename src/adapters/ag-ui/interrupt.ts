/** A held call as an interrupt of the AG-UI protocol, and the answer to one. */
import { isJsonObject } from '../../base/json.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import type { ConfirmationView } from '../../runtime/host/confirmation-view.ts';
import { ownValue } from '../../tool/own-value.ts';

/** What the run waits for, as `outcome.interrupts` of `RUN_FINISHED` has it. */
export type AgUiInterrupt = {
  /** Of the question, the input and the revision that are shown: an answer to it is about nothing else. */
  id: string;
  reason: 'tool_call';
  /** What the person is asked. */
  message: string;
  toolCallId: string;
  /** Of the `payload` of the answer. */
  responseSchema: JsonObject;
  expiresAt?: string;
  metadata: {
    confirmationId: string;
    toolName: string;
    /** In kept form. An edit is written like this. */
    arguments: JsonValue;
    risk: string[];
  };
};

/** As clients that show approvals of their own accept it: every word of it is understood by them. */
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

/** A question may be asked again with another input or another preview. Then it is another interrupt. */
export const interruptId = ({ confirmationId, inputDigest, preview }: ConfirmationView): string =>
  `${confirmationId}.${preview?.revision ?? 0}.${inputDigest.slice(-16)}`;

/** What a person said. */
export type AgUiAnswer =
  | { readonly decision: 'approve' }
  | { readonly decision: 'edit'; readonly arguments: JsonObject }
  | { readonly decision: 'deny'; readonly reason: string | undefined };

/** Reads an entry of `resume`; undefined where it says neither yes nor no. Nothing but an own `approved: true` is a yes. */
export function readAgUiAnswer(entry: JsonObject): AgUiAnswer | undefined {
  const status = ownValue(entry, 'status');
  // A person who turns to something else leaves the call: it must not wait for an answer that will not come.
  if (status === 'cancelled') return { decision: 'deny', reason: 'The question was set aside.' };
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
