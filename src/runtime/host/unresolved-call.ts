/** A call whose effect may have happened although nobody can say so: what is known about it. */
import type { Call } from '../../call/call.ts';
import type { ToolLate } from '../../call/event.ts';
import type { ToolOutcome } from '../../call/outcome.ts';
import type { CallView } from './call-view.ts';
import { viewCall } from './call-view.ts';

/** A call that waits for somebody to find out what became of it. Inputs are in their kept form. */
export type UnresolvedCall = CallView & {
  readonly inputDigest: string | undefined;
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
  /** Whether the tool can be asked: `runtime.calls.reconcile(call, { ask: 'tool', by })`. */
  readonly canAskTool: boolean;
};

/** Undefined for a call without an end. */
export function toUnresolvedCall(call: Call, canAskTool: boolean): UnresolvedCall | undefined {
  const { settled, started } = call;
  if (settled === undefined) return undefined;
  return {
    ...viewCall(call),
    inputDigest: call.inputDigest,
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
