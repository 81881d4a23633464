import type { Awaitable } from '../../base/json.ts';
import { freezeJson } from '../../base/json.ts';
import type { Ask, DecidedBy } from '../../call/event.ts';
import type { Policy } from '../../policy/judge/compile-policy.ts';
import { describeThrown } from '../../tool/describe-thrown.ts';
import { isPromiseLike, whenReady } from '../../base/when-ready.ts';
import { answerInTime, noAnswer } from '../state/answer-in-time.ts';
import type { Findings, ReadyCall } from '../state/call-stages.ts';
import { clean } from '../input/clean.ts';
import { askRules, toAsk, toMark, toMarks, toStop } from '../rules/contract-rules.ts';
import type { PreToolUse, ReadDecision, ToolUse } from '../host/tool-decision.ts';
import { blockFor, readToolDecision } from '../host/tool-decision.ts';
import { currentSnapshot } from '../state/recall-snapshot.ts';
import { askWorkflows, workflowDecider } from '../rules/ask-workflows.ts';
import type { Gate, Stop, Verdict } from '../state/gate.ts';
import type { WorkflowStep } from '../state/workflow-step.ts';

/**
 * Asks every hook, every rule and every workflow: block beats ask beats allow, in any order. If a hook and a
 * rule both block, the hook is named.
 */
export const policyGate: Gate = {
  name: 'policy',
  check(live) {
    const { policy } = live;
    const { hooks } = live.engine;
    if (policy === undefined) return hooks.length === 0 ? undefined : askHooks(live);
    return hooks.length === 0 ? askContracts(live, policy) : askBoth(live, policy);
  },
};

const late = Symbol('late');

type Asked = Extract<Verdict, { type: 'found' | 'stopped' }>;

const toVerdict = (stop: Stop | undefined, found: Partial<Findings>): Asked =>
  stop === undefined ? { type: 'found', found } : { type: 'stopped', stop, found };

/** Rules are asked even if a hook has blocked the call: their answers go on record. */
async function askBoth(live: ReadyCall & Findings, policy: Policy): Promise<Verdict> {
  const hooked = await askHooks(live);
  const ruled = await askContracts({ ...live, ...hooked.found }, policy);
  if (hooked.type === 'found') return ruled;
  return { ...hooked, found: { ...hooked.found, ...ruled.found } };
}

/** Rules answer at once. Workflows first read the stage of the session. */
function askContracts(live: ReadyCall & Findings, policy: Policy): Awaitable<Asked> {
  const asked = askRules(live, policy);
  const ruled = isPromiseLike(asked) ? answerInTime(live.engine, asked, late) : asked;
  return whenReady(ruled, (ruling): Awaitable<Asked> => {
    if (ruling === late) return toVerdict(silentRule, { ruled: true });
    const asking = ruling.fired.filter(({ action }) => action === 'ask');
    const found = {
      ruled: true,
      rules: toMarks(live, ruling),
      asks:
        asking.length === 0
          ? live.asks
          : [...live.asks, ...asking.map((fired) => toAsk(live, policy, fired))],
    };
    const { decidedBy } = ruling;
    const stop = ruling.decision === 'block' && decidedBy !== undefined ? toStop(live, decidedBy) : undefined;
    return policy.workflows.length === 0
      ? toVerdict(stop, found)
      : askAllWorkflows(live, policy, stop, found);
  });
}

/** Rules of documents answer at once, so it is a rule written as a function. */
const silentRule: Stop = {
  type: 'deny',
  reason: 'contract',
  code: 'policy.contract',
  details: 'A rule gave no answer, so the call was not allowed.',
  developer: `A rule written as a function ${noAnswer}.`,
};

async function askAllWorkflows(
  live: ReadyCall,
  policy: Policy,
  ruled: Stop | undefined,
  found: Pick<Findings, 'rules' | 'asks' | 'ruled'>,
): Promise<Asked> {
  const workflowSteps = await askWorkflows(live, policy.workflows);
  const rules = [...found.rules];
  const asks = [...found.asks];
  let stop = ruled;
  for (const step of workflowSteps) {
    const { decision, message = '', stageId } = step.ruling;
    if (decision === 'allow') continue;
    const by = workflowDecider(step);
    const description = clean(live, message);
    rules.push(
      toMark(live, {
        ruleId: by.name,
        ruleType: 'workflow',
        action: decision,
        message,
        tags: [],
        metadata: undefined,
        policyError: false,
        observed: false,
      }),
    );
    if (decision === 'block')
      stop ??= { type: 'deny', reason: 'contract', code: 'policy.contract', details: description, by };
    else if (stageId !== undefined)
      asks.push({
        by,
        description,
        stage: { workflow: step.workflow.name, stageId },
        ...approvalOf(step, stageId),
      });
  }
  return toVerdict(stop, { ruled: found.ruled, rules, asks, workflowSteps });
}

function approvalOf({ workflow }: WorkflowStep, stageId: string): Pick<Ask, 'approval'> {
  const approval = workflow.stages.find(({ id }) => id === stageId)?.approval;
  return approval === undefined ? {} : { approval };
}

async function askHooks(live: ReadyCall & Findings): Promise<Asked> {
  const use = toToolUse(live);
  const asks = [...live.asks];
  let block: Stop | undefined;
  for (const [index, hook] of live.engine.hooks.entries()) {
    const by: DecidedBy = { type: 'hook', name: hook.name || `onPreToolUse[${index}]` };
    const decision = await hear(live, hook, use, by.name);
    switch (decision.type) {
      case 'allow':
        break;
      case 'block':
        block ??= {
          type: 'deny',
          reason: 'pre_hook',
          code: 'policy.hook',
          details: clean(live, decision.reason),
          ...(decision.mistake !== undefined && { developer: decision.mistake }),
          by,
        };
        break;
      case 'requires_confirmation':
        asks.push({
          by,
          description: clean(live, decision.description),
          ...(decision.timeoutMs !== undefined && { timeoutSeconds: decision.timeoutMs / 1_000 }),
        });
        break;
      default:
        decision satisfies never;
    }
  }
  return toVerdict(block, { asks });
}

async function hear(
  { engine }: ReadyCall,
  hook: PreToolUse,
  use: ToolUse,
  name: string,
): Promise<ReadDecision> {
  try {
    const answer = await answerInTime(engine, hook(use), late);
    return answer === late ? blockFor(`${name} ${noAnswer}.`) : readToolDecision(answer, name);
  } catch (error) {
    return blockFor(`${name} threw: ${describeThrown(error)}`);
  }
}

function toToolUse(live: ReadyCall): ToolUse {
  const { turn, request, tool, facts, judged } = live;
  return Object.freeze({
    sessionId: turn.sessionId,
    turnId: turn.turnId,
    callId: request.id,
    toolName: tool.name,
    mode: tool.mode,
    modeOrigin: tool.modeOrigin,
    arguments: freezeJson(judged),
    snapshot: currentSnapshot(live)?.snapshot,
    principal: facts.principal,
    attrs: facts.attrs,
  });
}
