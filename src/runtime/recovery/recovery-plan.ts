/**
 * Plans the recovery of a call by the code of the host or the tool that it needs. That code may have ended
 * the owner, so recovery starts with calls that need none.
 */
import type { Call } from '../../call/call.ts';
import { isHandoff } from '../../call/handoff.ts';
import type { AnyTool } from '../../tool/define-tool.ts';
import { isSameSchema } from '../../tool/define-tool.ts';
import type { Engine } from '../state/engine.ts';
import { isExpired, isUsedTooLate } from '../settle/expiry.ts';
import { isDue } from '../handoff/handoff-due.ts';
import { orphanDeadline } from '../state/orphan-deadline.ts';
import { isGivenUp } from '../settle/lost-runs.ts';

export type RecoveryPlan =
  /** Ends the call or leaves it to another process. Runs no code. */
  | 'settle'
  /** Nothing to do until a person decides or a worker reports. */
  | 'wait'
  /** Asks the tool about an attempt, or tells it to release a preview. */
  | 'ask'
  /** Passes the gates, asks the host, runs the body: by the record, none of it has started. */
  | 'go_on'
  /** Runs the body again. */
  | 'rerun';

export function planRecovery(engine: Engine, call: Call): RecoveryPlan {
  const tool = findRecoveryTool(engine, call);
  if (isForOthers(engine, tool, call)) return 'settle';
  const withoutCode = isGivenUp(call);
  const end = cancelsPreview(tool, call) && !withoutCode ? 'ask' : 'settle';
  switch (call.status) {
    case 'requested':
      return call.submitted && tool !== undefined && !withoutCode ? 'go_on' : end;
    case 'held':
    case 'approved':
      if (isOver(call, engine.ledger.now())) return end;
      if (isPending(call, engine.ledger.now()))
        return engine.onConfirm === undefined || withoutCode ? 'wait' : 'go_on';
      return withoutCode ? 'settle' : 'go_on';
    case 'running':
      if (isHandoff(call) && !isDue(engine, call)) return 'wait';
      if (withoutCode || tool === undefined) return 'settle';
      if (call.failed !== undefined) return 'rerun';
      if (call.started?.mayRerun === true && !isHandoff(call)) return 'rerun';
      return tool.reconcile === undefined ? 'settle' : 'ask';
    case 'settled':
      return 'settle';
  }
}

/** The tool of the call in this runtime. */
export function findRecoveryTool(engine: Engine, { toolName }: Call): AnyTool | undefined {
  const policy = engine.policyInForce();
  return engine.undoToolFor(toolName, policy) ?? engine.toolFor(toolName, policy);
}

const cancelsPreview = (tool: AnyTool | undefined, { preview }: Call): boolean =>
  preview !== undefined && tool?.cancel !== undefined;

/** Is a question open and not expired? */
const isPending = ({ confirmation }: Call, now: number): boolean =>
  confirmation?.status === 'pending' && !isExpired(confirmation, now);

/** Is the only remaining step to record that it did not run? */
export function isOver({ confirmation }: Call, now: number): boolean {
  if (confirmation === undefined) return false;
  switch (confirmation.status) {
    case 'pending':
      return isExpired(confirmation, now) && confirmation.timeoutEffect === 'block';
    case 'approved':
      return isUsedTooLate(confirmation, now);
    case 'denied':
    case 'answered':
    case 'withdrawn':
    case 'expired':
      return true;
  }
}

/** Can only a process with the same tool do anything about the call? */
export function isForOthers(engine: Engine, tool: AnyTool | undefined, call: Call): boolean {
  switch (call.status) {
    case 'held':
    case 'approved':
      return !isOver(call, engine.ledger.now()) && !isSameTool(tool, call);
    case 'running': {
      // Between two attempts no effect is unknown. The call can end with its last failure once no process is
      // expected to continue it.
      const until = orphanDeadline(call);
      if (until !== undefined) return tool === undefined && engine.ledger.now() < until;
      // A call that was never safe to rerun does not depend on which process has the tool.
      return tool === undefined && call.started?.mayRerun === true && !isHandoff(call);
    }
    case 'requested':
    case 'settled':
      return false;
  }
}

/** Another version of the tool may interpret the approved input differently. */
const isSameTool = (tool: AnyTool | undefined, { confirmation }: Call): boolean =>
  tool !== undefined && isSameSchema(tool, confirmation?.schemaDigest);

/** The call needs neither a person nor time, so its recovery is quick. */
export const endsAtOnce = (plan: RecoveryPlan): boolean => plan === 'settle' || plan === 'ask';
