/** What a newer version wrote and this one does not know. Carried as it came, never dropped. */
import type { JsonObject } from '../base/json.ts';
import type { EmittedEvent } from '../call/emitted-event.ts';
import type { QuittanceEvent } from '../call/event.ts';

/** Fields in the spelling they have on disk: those of the chained text, and those that may be erased. */
export type UnknownFields = { readonly text: JsonObject; readonly body: JsonObject };

/** An event of a type this version does not know. Everything it says is in `unknownFields`. */
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

/** An event as it was read: of a known type or of a host's own, perhaps with fields that are not known. */
export type ReadEvent =
  ((QuittanceEvent | EmittedEvent) & { readonly unknownFields?: UnknownFields }) | UnknownEvent;
