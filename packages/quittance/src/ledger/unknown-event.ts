/** Data that a newer version wrote and this one does not know. It is kept unchanged, never dropped. */
import type { JsonObject } from '../base/json.ts';
import type { EmittedEvent } from '../call/emitted-event.ts';
import type { QuittanceEvent } from '../call/event.ts';

/** Fields as spelled on disk: those of the chained text, and those that may be erased. */
export type UnknownFields = { readonly text: JsonObject; readonly body: JsonObject };

/** An event of a type this version does not know. All its data is in `unknownFields`. */
export type UnknownEvent = {
  readonly id: string;
  readonly type: string;
  readonly sessionId: string;
  readonly turnId: string;
  readonly callId: string | undefined;
  readonly at: number;
  readonly cause: string | undefined;
  readonly unknownFields: UnknownFields;
};

/** An event as it was read: of a known type or defined by the host, possibly with unknown fields. */
export type ReadEvent =
  | ((QuittanceEvent | EmittedEvent) & { readonly unknownFields?: UnknownFields })
  | UnknownEvent;
