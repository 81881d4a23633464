/** The format of events emitted by behaviors: one shape for every type that a host defines. */
import type { JsonObject } from '../../../base/json.ts';
import { isJsonObject } from '../../../base/json.ts';
import type { EmittedEvent } from '../../../call/emitted-event.ts';
import { isReservedEventType } from '../../../call/emitted-event.ts';
import type { Field } from './field.ts';
import { body, text } from './field.ts';

export const emittedFields: { readonly [Name in 'by' | ('data' & keyof EmittedEvent)]: Field } = {
  by: text('by'),
  data: body('data', { erased: { value: {} } }),
};

/** Does an event of this type have that shape? Any other event of unknown type is kept unchanged. */
export const isWrittenAsEmitted = (
  type: string,
  inText: JsonObject,
  inBody: JsonObject | null,
  erased: boolean,
): boolean =>
  Object.hasOwn(inText, 'by') &&
  typeof inText['by'] === 'string' &&
  (erased || (inBody !== null && Object.hasOwn(inBody, 'data') && isJsonObject(inBody['data']))) &&
  !isReservedEventType(type);
