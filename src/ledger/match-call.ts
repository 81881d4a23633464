/** Does a call match a query? Used by stores without an index and by tails. */
import type { CallQuery, CallSummary } from './call-query.ts';

export const matchesCall = (call: CallSummary, query: CallQuery): boolean =>
  isAsked(query.sessionId, call.sessionId) &&
  isAsked(query.toolName, call.toolName) &&
  isAsked(query.mode, call.mode) &&
  isAsked(query.status, call.status) &&
  hasOutcome(query.outcome, call.outcome) &&
  isAsked(query.code, call.code) &&
  isAsked(query.userId, call.userId) &&
  isAsked(query.unresolved, call.unresolved) &&
  (query.since === undefined || call.requestedAt >= query.since) &&
  (query.until === undefined || call.requestedAt < query.until) &&
  hasText(query.text, [call.callId, call.sessionId, call.toolName, call.code, call.message]);

const isAsked = <Value>(asked: Value | undefined, found: Value | undefined): boolean =>
  asked === undefined || asked === found;

const hasOutcome = (asked: CallQuery['outcome'], found: CallSummary['outcome']): boolean =>
  typeof asked === 'object' ? found !== undefined && asked.includes(found) : isAsked(asked, found);

/** Ignores the case of the letters A to Z. */
export const hasText = (text: string | undefined, places: readonly (string | undefined)[]): boolean =>
  text === undefined || places.some((place) => place !== undefined && lower(place).includes(lower(text)));

const lower = (text: string): string => text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
