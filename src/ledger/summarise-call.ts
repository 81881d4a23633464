import type { Call } from '../call/call.ts';
import { troubleOf } from '../call/outcome.ts';
import type { CallSummary } from './call-query.ts';

/** One line about a call: what every store keeps in its read table, and what can be made again from events. */
export function toCallSummary(call: Call): CallSummary {
  const { settled } = call;
  const outcome = settled?.outcome;
  return {
    sessionId: call.sessionId,
    callId: call.callId,
    turnId: call.turnId,
    toolName: call.toolName,
    mode: call.mode,
    modeOrigin: call.modeOrigin,
    status: call.status,
    outcome: outcome?.type,
    reason: outcome?.type === 'ToolDenied' ? outcome.reason : undefined,
    code: outcome && 'code' in outcome ? outcome.code : undefined,
    message: outcome && cut(troubleOf(outcome)),
    inputDigest: call.inputDigest,
    attempts: call.attempt,
    unresolved: isUnresolved(call),
    requestedAt: call.requestedAt,
    settledAt: settled?.at,
    elapsedMs: outcome && 'elapsedMs' in outcome ? outcome.elapsedMs : undefined,
    costMicros: settled?.costMicros ?? 0,
    userId: userIdOf(call),
  };
}

/** A text or nothing, whatever somebody once said: one odd name must not keep all other calls from being listed. */
export const userIdOf = ({ principal }: Pick<Call, 'principal'>): string | undefined =>
  typeof principal?.userId === 'string' ? principal.userId : undefined;

/** Whether the effect may have happened and nobody can say so: no resolution, and no result that came late. */
export const isUnresolved = ({ settled, resolution, late }: Call): boolean =>
  settled?.unsettledEffect === true &&
  resolution === undefined &&
  !late.some(({ result }) => result.type === 'returned');

const longest = 200;

/** No character is cut in half. */
const cut = (text: string | undefined): string | undefined =>
  text === undefined || text.length <= longest
    ? text
    : `${text.slice(0, longest - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
