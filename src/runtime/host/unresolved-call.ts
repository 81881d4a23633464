/** A call whose effect is unknown, with the facts about it. */
import type { Call } from '../../call/call.ts';
import type { ToolLate } from '../../call/event.ts';
import type { ToolOutcome } from '../../call/outcome.ts';
import type { CallView } from './call-view.ts';
import { viewCall } from './call-view.ts';

/** A call that waits for a person to find out its effect. Inputs are in their stored form. */
export type UnresolvedCall = CallView & {
  readonly inputDigest: string | undefined;
  /** The outcome that the caller got. */
  readonly outcome: ToolOutcome;
  readonly attempts: number;
  /** When its last attempt started, when it was due, and when it was given up. */
  readonly startedAt: number;
  readonly deadlineMs: number | undefined;
  readonly settledAt: number;
  /** The key that the service got, if the tool made one. */
  readonly idempotencyKey: string | undefined;
  /** The worker that had claimed it, if any. */
  readonly worker: string | undefined;
  /** Results and errors after the call had ended. */
  readonly late: readonly ToolLate[];
  /** Can the tool be asked with `runtime.calls.reconcile(call, { ask: 'tool', by })`? */
  readonly canAskTool: boolean;
};

/** Undefined for a call without an outcome. */
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
