/** Events of custom types. Behaviors emit them, and every reader of events gets them. */
import type { JsonObject } from '../base/json.ts';

/** An event that a behavior emitted, e.g. `order.flagged`. It never changes a call. */
export type EmittedEvent = {
  readonly id: string;
  /** A custom type: see `isReservedEventType`. */
  readonly type: string;
  readonly sessionId: string;
  readonly turnId: string;
  /** The call it is about. */
  readonly callId: string | undefined;
  /** Milliseconds since 1970, by the ledger's clock. */
  readonly at: number;
  /** The event that caused this one. */
  readonly cause: string | undefined;
  /** The name of the behavior. */
  readonly by: string;
  /** Its data. `{}` after it was erased. */
  readonly data: JsonObject;
};

/** First words of types that have, or may get, a built-in meaning. */
const reservedWords: ReadonlySet<string> = new Set([
  'artifact',
  'behavior',
  'body',
  'call',
  'confirmation',
  'contracts',
  'grant',
  'ledger',
  'persistence',
  'quittance',
  'retry',
  'runtime',
  'session',
  'tool',
  'turn',
  'workflow',
]);

const shape = /^([a-z0-9_]+)(?:\.[a-z0-9_]+)+$/;
const longest = 100;

/**
 * True if a host may not use this event type. A custom type consists of at least two words of `a-z`, `0-9` and `_` with
 * dots between them, at most 100 characters in all, and its first word is not reserved.
 */
export function isReservedEventType(type: string): boolean {
  const first = type.length > longest ? undefined : shape.exec(type)?.[1];
  return first === undefined || reservedWords.has(first);
}

/** Narrows an event to one that a behavior emitted. */
export const isEmittedEvent = (event: object): event is EmittedEvent =>
  // Runs for every event. The first condition decides almost all of them.
  Object.hasOwn(event, 'data') &&
  'by' in event &&
  typeof event.by === 'string' &&
  'type' in event &&
  typeof event.type === 'string' &&
  !isReservedEventType(event.type);
