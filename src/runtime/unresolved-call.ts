/** A call whose effect may have happened although nobody can say so: what is known about it. */
import type { JsonValue } from '../base/json.ts';
import type { Call } from '../call/call.ts';
import type { Provenance, ToolLate } from '../call/event.ts';
import type { ToolOutcome } from '../call/outcome.ts';
import type { ToolMode, ToolModeOrigin } from '../tool/mode.ts';
import type { Principal } from '../tool/tool-context.ts';

/** A call that waits for somebody to find out what became of it. Inputs are in their kept form. */
export type UnresolvedCall = {
  readonly sessionId: string;
  readonly turnId: string;
  readonly callId: string;
  readonly toolName: string;
  readonly displayName: string;
  readonly mode: ToolMode;
  readonly modeOrigin: ToolModeOrigin;
  readonly requestedInput: JsonValue;
  readonly effectiveInput: JsonValue;
  readonly hidden: readonly string[];
  readonly inputDigest: string | undefined;
  readonly policyVersion: string | undefined;
  readonly principal: Principal | undefined;
  readonly provenance: Provenance | undefined;
  /** What was told about it. */
  readonly outcome: ToolOutcome;
  readonly attempts: number;
  /** When its last attempt began, until when it had time, and when it was given up. */
  readonly startedAt: number;
  readonly deadlineMs: number | undefined;
  readonly settledAt: number;
  /** The key the service was given, where the tool made one. */
  readonly idempotencyKey: string | undefined;
  /** Who had it in hand, where another process ran it. */
  readonly worker: string | undefined;
  /** What came after the call had ended, errors among it. */
  readonly late: readonly ToolLate[];
  /** Whether the tool can be asked: `runtime.reconcile(call, { ask: 'tool', by })`. */
  readonly canAskTool: boolean;
};

/** Undefined for a call without an end. */
export function toUnresolvedCall(call: Call, canAskTool: boolean): UnresolvedCall | undefined {
  const { settled, started } = call;
  if (settled === undefined) return undefined;
  return {
    sessionId: call.sessionId,
    turnId: call.turnId,
    callId: call.callId,
    toolName: call.toolName,
    displayName: call.displayName,
    mode: call.mode,
    modeOrigin: call.modeOrigin,
    requestedInput: call.requestedInput,
    effectiveInput: call.effectiveInput ?? call.requestedInput,
    hidden: call.hidden,
    inputDigest: call.inputDigest,
    policyVersion: call.policyVersion,
    principal: call.principal,
    provenance: call.provenance,
    outcome: settled.outcome,
    attempts: call.attempt,
    startedAt: started?.at ?? call.requestedAt,
    deadlineMs: started?.deadlineMs,
    settledAt: settled.at,
    idempotencyKey: started?.idempotencyKey,
    worker: call.handedTo?.worker,
    late: call.late,
    canAskTool,
  };
}
