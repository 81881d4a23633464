/**
 * What recovery has to do about a call whose owner is gone, by the code of the host or of the tool it runs for it. That
 * code may be what ended the owner, so recovery begins with the calls that need none.
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
  /** Ends the call, or leaves it to another process, and runs no code for that. */
  | 'settle'
  /** Nothing to do until a person decides or a worker reports. */
  | 'wait'
  /** Asks the tool what became of an attempt, or tells it that nothing comes of a preview. */
  | 'ask'
  /** Walks the gates, asks the host, runs the body: none of it was begun as far as the record tells. */
  | 'go_on'
  /** Runs the body once more. */
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

/** The tool of the call as this runtime has it. */
export function findRecoveryTool(engine: Engine, { toolName }: Call): AnyTool | undefined {
  const policy = engine.policyInForce();
  return engine.undoToolFor(toolName, policy) ?? engine.toolFor(toolName, policy);
}

const cancelsPreview = (tool: AnyTool | undefined, { preview }: Call): boolean =>
  preview !== undefined && tool?.cancel !== undefined;

/** Is a person asked, with time left to answer? */
const isPending = ({ confirmation }: Call, now: number): boolean =>
  confirmation?.status === 'pending' && !isExpired(confirmation, now);

/** Is all that is left to say that it did not run? */
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

/** Can only a process that has the tool, as it was, do anything about the call? */
export function isForOthers(engine: Engine, tool: AnyTool | undefined, call: Call): boolean {
  switch (call.status) {
    case 'held':
    case 'approved':
      return !isOver(call, engine.ledger.now()) && !isSameTool(tool, call);
    case 'running': {
      // Between two attempts nothing is in doubt: it can end as it stands, once no process is expected that goes on.
      const until = orphanDeadline(call);
      if (until !== undefined) return tool === undefined && engine.ledger.now() < until;
      // What was never safe to run again is not decided by who has the tool.
      return tool === undefined && call.started?.mayRerun === true && !isHandoff(call);
    }
    case 'requested':
    case 'settled':
      return false;
  }
}

/** Another version of the tool may mean something else by what was approved. */
const isSameTool = (tool: AnyTool | undefined, { confirmation }: Call): boolean =>
  tool !== undefined && isSameSchema(tool, confirmation?.schemaDigest);

/** The call needs neither a person nor time: recovering it does not take as long as the call itself. */
export const endsAtOnce = (plan: RecoveryPlan): boolean => plan === 'settle' || plan === 'ask';
