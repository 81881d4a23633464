import type { CallEvent } from './event.ts';

type Envelope = 'id' | 'type' | 'sessionId' | 'turnId' | 'callId' | 'at' | 'cause';

/** The fields of an event without its envelope. */
export type EventDataOf<Type extends CallEvent['type']> = Omit<
  Extract<CallEvent, { readonly type: Type }>,
  Envelope
>;
