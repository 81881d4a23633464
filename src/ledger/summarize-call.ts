import type { Call } from '../call/call.ts';
import { troubleOf } from '../call/outcome.ts';
import type { JsonValue } from '../base/json.ts';
import type { CallSummary } from './call-query.ts';
import { toShownArguments } from './shown-arguments.ts';

/** One line about a call: every store keeps it in its read table and can rebuild it from events. */
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
    ruleId: ruleIdOf(call),
    args: toShownArguments(call.effectiveInput ?? call.requestedInput),
  };
}

/** The stored output of a call, or the part of it that its outcome has. */
export function outputOf({ settled }: Pick<Call, 'settled'>): JsonValue | undefined {
  switch (settled?.outcome.type) {
    case 'ToolExecutionResult':
      return settled.outcome.output;
    case 'ToolArtifactReference':
      return settled.outcome.summary;
    case 'ToolDenied':
    case 'ToolFailure':
    case 'ToolTimeout':
    case undefined:
      return undefined;
  }
}

/** A text or undefined, whatever was recorded: one odd name must not prevent the list of all other calls. */
export const userIdOf = ({ principal }: Pick<Call, 'principal'>): string | undefined =>
  typeof principal?.userId === 'string' ? principal.userId : undefined;

/** Rules may also ask: the rule of a question that expired, or that a person answered, did not deny the call. */
const ruleIdOf = ({ settled, ruling, decidedBy }: Call): string | undefined =>
  settled?.outcome.type === 'ToolDenied' && ruling === 'deny' && decidedBy?.type === 'rule'
    ? decidedBy.name
    : undefined;

/** May the effect have happened, with no resolution and no late result? */
export const isUnresolved = ({ settled, resolution, late }: Call): boolean =>
  settled?.unsettledEffect === true &&
  resolution === undefined &&
  !late.some(({ result }) => result.type === 'returned');

const longest = 200;

/** Never splits a character. */
const cut = (text: string | undefined): string | undefined =>
  text === undefined || text.length <= longest
    ? text
    : `${text.slice(0, longest - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
