import type { JsonObject, JsonValue } from '../../../base/json.ts';
import { QuittanceError } from '../../../base/error.ts';
import { isJsonObject } from '../../../base/json.ts';
import type { ReadEvent } from '../../unknown-event.ts';
import type { Holder, Previous } from './encode-event.ts';
import { decodeFields } from './decode-fields.ts';
import type { outcomeFields } from './event-table.ts';
import { emittedFields, isWrittenAsEmitted } from './emitted-fields.ts';
import { envelopeNames, eventFieldsOf } from './event-table.ts';
import { ERASED } from './field.ts';

/** Decodes an event from its two parts in an entry. */
export function decodeEvent(
  text: JsonValue,
  body: JsonValue,
  holder: Holder,
  erased: boolean,
  previous?: Previous,
): ReadEvent {
  if (!isJsonObject(text)) throw damaged('an event is not an object');
  if (!isJsonObject(body) && body !== null)
    throw damaged('the body of an event is neither an object nor null');
  const { id, type, session = holder.sessionId, turn = previous?.turnId, at = previous?.at } = text;
  const cause = text['cause'] === undefined ? previous?.id : (text['cause'] ?? undefined);
  const call = text['call'] === undefined ? holder.callId : (text['call'] ?? undefined);
  if (typeof id !== 'string' || typeof type !== 'string' || typeof session !== 'string')
    throw damaged('an event has no id, no type or no session');
  if (typeof turn !== 'string' || typeof at !== 'number') throw damaged(`event ${id} has no turn or no time`);
  if (typeof call !== 'string' && call !== undefined) throw damaged(`the call of event ${id} is not a text`);
  if (typeof cause !== 'string' && cause !== undefined)
    throw damaged(`the cause of event ${id} is not a text`);
  const isEmitted = isWrittenAsEmitted(type, text, body, erased);
  const fields = isEmitted ? emittedFields : eventFieldsOf(type);
  if (fields === undefined) {
    const unknown = decodeFields({}, text, body ?? undefined, erased, envelopeNames).unknown;
    const unknownFields = unknown ?? { text: {}, body: {} };
    return { id, type, sessionId: session, turnId: turn, callId: call, at, cause, unknownFields };
  }
  const envelope: { [name: string]: unknown } =
    call === undefined && !isEmitted
      ? { id, type, sessionId: session, turnId: turn, at, cause }
      : { id, type, sessionId: session, turnId: turn, callId: call, at, cause };
  const source = type === 'tool.responded' ? withCallId(text, call) : text;
  const decoded = decodeFields(fields, source, body ?? undefined, erased, envelopeNames, envelope);
  if (type === 'tool.responded') {
    const outcome = inOrder(decoded.fields['outcome'] as { readonly [name: string]: unknown });
    decoded.fields['outcome'] = outcome;
    decoded.fields['content'] ??= contentOf(outcome);
  }
  if (type === 'tool.requested') decoded.fields['displayName'] ??= decoded.fields['toolName'];
  if (decoded.unknown !== undefined) decoded.fields['unknownFields'] = decoded.unknown;
  // The table has every field of the type; the values had their types when they were written.
  return decoded.fields as ReadEvent;
}

/** The id of the call is written in the outcome only if it differs. */
function withCallId(text: JsonObject, callId: string | undefined): JsonObject {
  const outcome = text['outcome'];
  if (!isJsonObject(outcome)) throw damaged('an outcome is not an object');
  return callId === undefined ? text : { ...text, outcome: { call_id: callId, ...outcome } };
}

/** The field order of outcomes: a repeated outcome has the same bytes, wherever it was stored meanwhile. */
const outcomeOrder: { readonly [Name in keyof typeof outcomeFields]: true } = {
  type: true,
  callId: true,
  toolName: true,
  code: true,
  reason: true,
  details: true,
  error: true,
  output: true,
  artifactId: true,
  summary: true,
  sizeBytes: true,
  digest: true,
  deadlineMs: true,
  retryable: true,
  inDoubt: true,
  blocksTool: true,
  finished: true,
  elapsedMs: true,
  wasCoerced: true,
  payloadExtras: true,
  toolResult: true,
  files: true,
  undo: true,
  modelNote: true,
};

function inOrder(outcome: { readonly [name: string]: unknown }): { [name: string]: unknown } {
  const ordered: { [name: string]: unknown } = {};
  for (const name in outcomeOrder) if (Object.hasOwn(outcome, name)) ordered[name] = outcome[name];
  return ordered;
}

/** The model content of a result is its output as JSON: the same bytes, whichever code writes them. */
function contentOf(outcome: unknown): string {
  const { output } = outcome as { output?: JsonValue };
  return output === undefined ? ERASED : JSON.stringify(output);
}

const damaged = (problem: string): QuittanceError =>
  new QuittanceError('ledger.damaged', `An entry of the ledger is invalid: ${problem}.`);
