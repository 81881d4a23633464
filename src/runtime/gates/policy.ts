import { freezeJson } from '../../base/json.ts';
import type { DecidedBy } from '../../call/event.ts';
import { describeThrown } from '../../tool/describe-thrown.ts';
import type { CallInHand } from '../call-in-hand.ts';
import type { PreToolUse, ToolUse } from '../tool-decision.ts';
import { readToolDecision, ToolDecision } from '../tool-decision.ts';
import type { Gate, Stop } from './gate.ts';

/** Every hook is heard: block beats ask beats allow, whatever their order. */
export const policyGate: Gate = {
  name: 'policy',
  check: (hand) => (hand.engine.hooks.length === 0 ? undefined : askHooks(hand)),
};

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
          details: hand.clean(decision.reason),
          by,
        };
        break;
      case 'requires_confirmation':
        hand.ask({ by, description: hand.clean(decision.description) });
        break;
      default:
        decision satisfies never;
    }
  }
  return block;
}

async function hear(hook: PreToolUse, use: ToolUse, name: string): Promise<ToolDecision> {
  try {
    return readToolDecision(await hook(use), name);
  } catch (error) {
    return ToolDecision.block(`${name} threw: ${describeThrown(error)}`);
  }
}

function toToolUse({ turn, request, knownTool: tool, facts, input }: CallInHand): ToolUse {
  return Object.freeze({
    sessionId: turn.sessionId,
    turnId: turn.turnId,
    callId: request.id,
    toolName: tool.name,
    mode: tool.mode,
    modeOrigin: tool.modeOrigin,
    arguments: freezeJson(input.checked),
    principal: facts.principal,
    attrs: facts.attrs,
  });
}
