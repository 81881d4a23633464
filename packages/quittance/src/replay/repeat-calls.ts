/**
 * Makes the recorded calls of a session again, in a new session and in their order. Each call is live: it passes every
 * gate, may be held, and has its own outcome.
 *
 * The requests were made by a model that had read the earlier results. Unless the caller wants to go on, the first call
 * with another kind of outcome is the last.
 */
import type { JsonObject } from '../base/json.ts';
import { QuittanceError } from '../base/error.ts';
import { isJsonObject } from '../base/json.ts';
import { redacted } from '../base/secret-pattern.ts';
import type { Call } from '../call/call.ts';
import type { DirectIdentity } from '../call/event.ts';
import type { ToolOutcome } from '../call/outcome.ts';
import type { Runtime } from '../runtime/create-runtime.ts';
import { whyRoleForbids } from '../call/role.ts';
import type { Turn } from '../runtime/turn.ts';
import type { Principal } from '../tool/tool-context.ts';

export type RepeatableCall = {
  readonly callId: string;
  readonly turnId: string;
  readonly toolName: string;
  readonly arguments: JsonObject | string;
  readonly principal: Principal | undefined;
  readonly attrs: JsonObject | undefined;
  readonly outcome: ToolOutcome['type'] | undefined;
};

/** Undefined if the record hides a part of the arguments: a mask must never run as if it were the value. */
export function toRepeatable(call: Call): RepeatableCall | undefined {
  const { callId, turnId, toolName, hidden, acceptedInput, requestedInput, settled } = call;
  // The schema is applied again, so its input is taken and not its output.
  const input = acceptedInput ?? requestedInput;
  if (hidden.length > 0 || hasMask(input)) return undefined;
  if (typeof input !== 'string' && !isJsonObject(input)) return undefined;
  // Claims and metadata may hold hidden values too.
  const { claims: _, ...named } = call.principal ?? {};
  return {
    callId,
    turnId,
    toolName,
    arguments: input,
    principal: Object.keys(named).length === 0 ? undefined : named,
    attrs: hasMask(call.attrs) ? undefined : call.attrs,
    outcome: settled?.outcome.type,
  };
}

const hasMask = (value: unknown): boolean => JSON.stringify(value)?.includes(redacted) === true;

export type RepeatOptions = {
  readonly sessionId: string;
  readonly parentSessionId: string;
  readonly askedBy: DirectIdentity;
  /** Continue after a call with another kind of outcome? */
  readonly continues: boolean;
  readonly signal: AbortSignal;
  /** Called after each call. */
  readonly onOutcome?: (call: RepeatableCall, outcome: ToolOutcome) => void;
};

/** Resolves after the last call, or when the signal is aborted. A held call is awaited. */
export async function repeatCalls(
  runtime: Runtime,
  calls: readonly RepeatableCall[],
  { sessionId, parentSessionId, askedBy, continues, signal, onOutcome }: RepeatOptions,
): Promise<void> {
  const why = whyRoleForbids(askedBy, 'operator');
  if (why !== undefined)
    throw new QuittanceError('confirmation.forbidden', `The calls are not made again: ${why}.`);
  // Guards against duplicates and loops count within a turn, so calls share turns as they did.
  const turns = new Map<string, Turn>();
  for (const call of calls) {
    if (signal.aborted) return;
    const turn = turns.get(call.turnId) ?? runtime.turn({ sessionId, parentSessionId });
    turns.set(call.turnId, turn);
    const outcome = await turn.call(
      { id: call.callId, name: call.toolName, arguments: call.arguments },
      {
        askedBy,
        ...(call.principal !== undefined && { principal: call.principal }),
        ...(call.attrs !== undefined && { attrs: call.attrs }),
      },
    );
    onOutcome?.(call, outcome);
    if (!continues && outcome.type !== call.outcome) return;
  }
}
