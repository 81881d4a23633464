/** Events of types that hosts make up: behaviors emit them, and everything that reads events finds them. */
import type { JsonObject } from '../base/json.ts';

/** Something a behavior said, e.g. `order.flagged`. It tells nothing about how a call went, so no call changes by it. */
export type EmittedEvent = {
  readonly id: string;
  /** One of the host's own: see `isReservedEventType`. */
  readonly type: string;
  readonly sessionId: string;
  readonly turnId: string;
  /** The call it is about. */
  readonly callId: string | undefined;
  /** Milliseconds since 1970, by the ledger's clock. */
  readonly at: number;
  /** The event that brought this one about. */
  readonly cause: string | undefined;
  /** The name of the behavior. */
  readonly by: string;
  /** What it says. `{}` once it was erased. */
  readonly data: JsonObject;
};

/** First words of types that mean, or may one day mean, something to us. */
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
 * Whether a host may not use this as the type of an event: it is not words of `a-z`, `0-9` and `_` with dots between
 * them, at least two and at most 100 characters in all, or its first word is one of ours.
 */
export function isReservedEventType(type: string): boolean {
  const first = type.length > longest ? undefined : shape.exec(type)?.[1];
  return first === undefined || reservedWords.has(first);
}

/** Narrows to what a behavior emitted, among events that were read or are to be appended. */
export const isEmittedEvent = (event: object): event is EmittedEvent =>
  // Asked of every event there is, and the first question answers it for almost all.
  Object.hasOwn(event, 'data') &&
  'by' in event &&
  typeof event.by === 'string' &&
  'type' in event &&
  typeof event.type === 'string' &&
  !isReservedEventType(event.type);
