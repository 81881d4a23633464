/** Encodes one event for the text and the bodies of an entry, according to the table. */
import type { JsonObject, JsonValue } from '../../../base/json.ts';
import { isJsonObject } from '../../../base/json.ts';
import { isEmittedEvent } from '../../../call/emitted-event.ts';
import type { ToolRequested, ToolResponded } from '../../../call/event.ts';
import type { ReadEvent } from '../../unknown-event.ts';
import type { FieldTable } from './field.ts';
import { encodeFields } from './encode-fields.ts';
import { emittedFields } from './emitted-fields.ts';
import { eventFieldsOf } from './event-table.ts';

/** The entry of the event: values that the event shares with it are not repeated. */
export type Holder = { readonly sessionId: string; readonly callId: string | undefined };

/**
 * The previous event in the entry. Turn and time are written only if they differ from its. The cause is written only
 * if it is not that event; null means no cause.
 */
export type Previous = { readonly id: string; readonly turnId: string; readonly at: number };

/**
 * The text is written as JSON together with those of the other events, where members that are undefined are left out.
 * The body is JSON already: `null` for an event without a body.
 */
export type EncodedEvent = { readonly text: object; readonly body: string };

export function encodeEvent(event: ReadEvent, holder: Holder, previous?: Previous): EncodedEvent {
  const fields = isEmittedEvent(event) ? emittedFields : (eventFieldsOf(event.type) ?? noFields);
  const { text, body } = encodeFields(fields, event);
  if (event.type === 'tool.responded') shortenResponse(event as ToolResponded, text, body);
  if (event.type === 'tool.requested') shortenRequest(event as ToolRequested, text);
  const unknown = 'unknownFields' in event ? event.unknownFields : undefined;
  const whole: JsonObject = { ...toEnvelope(event, holder, previous), ...text };
  const wholeBody = unknown === undefined ? body : merge(body ?? {}, unknown.body);
  return {
    text: unknown === undefined ? whole : merge(whole, unknown.text),
    body: wholeBody === undefined || Object.keys(wholeBody).length === 0 ? 'null' : JSON.stringify(wholeBody),
  };
}

const noFields: FieldTable = {};

function toEnvelope(event: ReadEvent, holder: Holder, previous?: Previous): JsonObject {
  const { id, type, sessionId, turnId, at, cause } = event;
  const callId = 'callId' in event ? event.callId : undefined;
  return {
    id,
    type,
    ...(sessionId !== holder.sessionId && { session: sessionId }),
    ...(turnId !== previous?.turnId && { turn: turnId }),
    ...(callId !== holder.callId && { call: callId ?? null }),
    ...(at !== previous?.at && { at }),
    ...(cause !== previous?.id && { cause: cause ?? null }),
  };
}

type Draft = { [name: string]: JsonValue } | undefined;

/** Omits a display name that equals the name. */
function shortenRequest({ toolName, displayName }: ToolRequested, text: Draft): void {
  if (toolName === displayName) delete text?.['display_name'];
}

/** Omits derivable values: the id of the call, and a content that is the output. */
function shortenResponse({ outcome, callId, content }: ToolResponded, text: Draft, body: Draft): void {
  const written = text?.['outcome'] as { call_id?: string } | undefined;
  if (written !== undefined && outcome.callId === callId) delete written.call_id;
  if (outcome.type === 'ToolExecutionResult' && JSON.stringify(outcome.output) === content)
    delete body?.['content'];
}

/** Puts unknown fields back in their place. */
function merge(known: JsonObject, unknown: JsonObject): JsonObject {
  const merged = new Map(Object.entries(known));
  for (const [name, value] of Object.entries(unknown)) merged.set(name, mergeValue(merged.get(name), value));
  return Object.fromEntries(merged);
}

function mergeValue(known: JsonValue | undefined, unknown: JsonValue): JsonValue {
  if (Array.isArray(known) && Array.isArray(unknown))
    return (known as readonly JsonValue[]).map((item, index) =>
      mergeValue(item, (unknown as readonly JsonValue[])[index] ?? {}),
    );
  return isJsonObject(known) && isJsonObject(unknown) ? merge(known, unknown) : unknown;
}
