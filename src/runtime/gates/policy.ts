import type { Awaitable } from '../../base/json.ts';
import { freezeJson } from '../../base/json.ts';
import type { DecidedBy } from '../../call/event.ts';
import type { Policy } from '../../policy/judge/compile-policy.ts';
import { describeThrown } from '../../tool/describe-thrown.ts';
import { whenReady } from '../../base/when-ready.ts';
import type { CallInHand } from '../state/call-in-hand.ts';
import { clean } from '../input/clean.ts';
import { askRules, toAsk, toMark, toMarks, toStop } from '../rules/contract-rules.ts';
import type { PreToolUse, ReadDecision, ToolUse } from '../host/tool-decision.ts';
import { blockFor, readToolDecision } from '../host/tool-decision.ts';
import { currentSnapshot } from '../state/recall-snapshot.ts';
import { askWorkflows, workflowDecider } from '../rules/follow-workflows.ts';
import type { Gate, Stop } from '../state/gate.ts';

/**
 * Every hook, every rule and every workflow is heard: block beats ask beats allow, whatever their order. Where a hook
 * and a rule both block, the hook is named.
 */
export const policyGate: Gate = {
  name: 'policy',
  check(hand) {
    const { hooks } = hand.engine;
    const { policy } = hand;
    if (policy === undefined) return hooks.length === 0 ? undefined : askHooks(hand);
    return hooks.length === 0
      ? askContracts(hand, policy)
      : askHooks(hand).then(async (stop) => {
          const ruled = await askContracts(hand, policy);
          return stop ?? ruled;
        });
  },
};

/** Rules answer at once; workflows need to know where the session stands. */
function askContracts(hand: CallInHand, policy: Policy): Awaitable<Stop | undefined> {
  return whenReady(askRules(hand, policy), (ruling): Awaitable<Stop | undefined> => {
    hand.ruled = true;
    hand.rules = toMarks(hand, ruling);
    for (const fired of ruling.fired) if (fired.action === 'ask') hand.ask(toAsk(hand, policy, fired));
    const { decidedBy } = ruling;
    const stop = ruling.decision === 'block' && decidedBy !== undefined ? toStop(hand, decidedBy) : undefined;
    return policy.workflows.length === 0 ? stop : askAllWorkflows(hand, policy, stop);
  });
}

async function askAllWorkflows(
  hand: CallInHand,
  policy: Policy,
  ruled: Stop | undefined,
): Promise<Stop | undefined> {
  hand.workflowSteps = await askWorkflows(hand, policy.workflows);
  let stop = ruled;
  for (const step of hand.workflowSteps) {
    const { decision, message = '', stageId } = step.ruling;
    if (decision === 'allow') continue;
    const by = workflowDecider(step);
    const description = clean(hand, message);
    hand.rules = [
      ...hand.rules,
      toMark(hand, {
        ruleId: by.name,
        ruleType: 'workflow',
        action: decision,
        message,
        tags: [],
        metadata: undefined,
        policyError: false,
        observed: false,
      }),
    ];
    if (decision === 'block')
      stop ??= { type: 'deny', reason: 'contract', code: 'policy.contract', details: description, by };
    else if (stageId !== undefined)
      hand.ask({ by, description, stage: { workflow: step.workflow.name, stageId } });
  }
  return stop;
}

async function askHooks(hand: CallInHand): Promise<Stop | undefined> {
  const use = toToolUse(hand);
  let block: Stop | undefined;
  for (const [index, hook] of hand.engine.hooks.entries()) {
    const by: DecidedBy = { type: 'hook', name: hook.name || `onPreToolUse[${index}]` };
    const decision = await hear(hook, use, by.name);
    switch (decision.type) {
      case 'allow':
        break;
      case 'block':
        block ??= {
          type: 'deny',
          reason: 'pre_hook',
          code: 'policy.hook',
          details: clean(hand, decision.reason),
          ...(decision.mistake !== undefined && { developer: decision.mistake }),
          by,
        };
        break;
      case 'requires_confirmation':
        hand.ask({
          by,
          description: clean(hand, decision.description),
          ...(decision.timeoutMs !== undefined && { timeoutSeconds: decision.timeoutMs / 1_000 }),
        });
        break;
      default:
        decision satisfies never;
    }
  }
  return block;
}

async function hear(hook: PreToolUse, use: ToolUse, name: string): Promise<ReadDecision> {
  try {
    return readToolDecision(await hook(use), name);
  } catch (error) {
    return blockFor(`${name} threw: ${describeThrown(error)}`);
  }
}

function toToolUse(hand: CallInHand): ToolUse {
  const { turn, request, knownTool: tool, facts, judged } = hand;
  return Object.freeze({
    sessionId: turn.sessionId,
    turnId: turn.turnId,
    callId: request.id,
    toolName: tool.name,
    mode: tool.mode,
    modeOrigin: tool.modeOrigin,
    arguments: freezeJson(judged),
    snapshot: currentSnapshot(hand)?.snapshot,
    principal: facts.principal,
    attrs: facts.attrs,
  });
}
