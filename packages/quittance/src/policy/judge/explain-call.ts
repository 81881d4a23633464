/**
 * Explains the decision about a call. The evaluation is the real one: the policy is compiled again with a trace and
 * asked once.
 */
import type { JsonValue } from '../../base/json.ts';
import type { Redactor } from '../../base/redaction.ts';
import { createRedactor } from '../../base/redaction.ts';
import { redacted } from '../../base/secret-pattern.ts';
import { cutText } from '../../base/cut-text.ts';
import type { ToolEnd } from './compile-policy.ts';
import type { PolicyOptions } from './create-contexts.ts';
import { compilePolicy } from './compile-policy.ts';
import type { ComposedRule, ComposedRules } from '../language/composed-rules.ts';
import { evaluateWorkflow } from '../workflow/evaluate-workflow.ts';
import { explainSandbox, type ResourceExplanation } from '../sandbox/explain-sandbox.ts';
import type { Leaf } from '../language/expression.ts';
import { maskSelected } from './fill-message.ts';
import type { Truth } from './operators.ts';
import type { PolicyCall, PolicyWorld } from '../language/policy-call.ts';
import { findResources } from '../sandbox/resources.ts';
import { createRuleIndex } from '../language/rule-index.ts';
import type { FiredRule, OutputRuling, Ruling } from '../language/ruling.ts';
import { combineRulings } from '../language/ruling.ts';
import type { SessionCounters } from '../language/session-metric.ts';
import { countOfMetric } from '../language/session-metric.ts';
import type { WorkflowHost } from '../workflow/first-shut-gate.ts';
import type { Workflow } from '../language/workflow.ts';
import type { WorkflowState } from '../workflow/workflow-state.ts';
import { initialState } from '../workflow/workflow-state.ts';

export type CallExplanation = {
  /** The decision before the call: rules and workflows together. */
  readonly ruling: Ruling;
  /** The ruling on the result. Undefined if there is no result, or the call would not have run. */
  readonly output: OutputRuling | undefined;
  /** All rules, in evaluation order. */
  readonly rules: readonly RuleExplanation[];
  readonly workflows: readonly WorkflowExplanation[];
};

export type RuleExplanation = {
  readonly ruleId: string;
  readonly ruleType: ComposedRule['rule']['type'];
  readonly source: string;
  readonly line: number | undefined;
  /**
   * - `fired`: the rule fired and counts.
   * - `observed`: the rule fired but only observes.
   * - `quiet`: the rule was asked and did not fire.
   * - `other_tool`: the rule applies to other tools.
   * - `not_asked`: the rule had no input, such as a post rule without a result or a limit without counters.
   */
  readonly verdict: 'fired' | 'observed' | 'quiet' | 'other_tool' | 'not_asked';
  readonly fired: FiredRule | undefined;
  /** The evaluated leaves, in order. The last one decided. */
  readonly leaves: readonly LeafExplanation[];
  /** For a sandbox rule: all resources that the call names. */
  readonly resources: readonly ResourceExplanation[];
  /** For a session rule: each limit and how much of it was used before the call. */
  readonly limits: readonly { readonly counter: string; readonly limit: number; readonly used: number }[];
};

export type LeafExplanation = {
  readonly selector: string;
  readonly operator: string;
  readonly operand: JsonValue;
  /** The value found, masked and shortened. Undefined if there is none. */
  readonly value: JsonValue | undefined;
  readonly truth: Truth;
};

export type WorkflowExplanation = {
  readonly workflow: string;
  /** Current stage before the call. */
  readonly stageBefore: string | undefined;
  readonly decision: 'allow' | 'ask' | 'block';
  readonly message: string | undefined;
  readonly stageId: string | undefined;
};

export type ExplainOptions = PolicyOptions & {
  /** The session's counters. Without them limits are not judged. */
  readonly counters?: SessionCounters | undefined;
  /** The end of the call, for post rules. */
  readonly end?: ToolEnd | undefined;
  readonly workflowHost: WorkflowHost;
  /** State of each workflow. Default: its start. */
  readonly stateOf?: ((workflow: Workflow) => WorkflowState) | undefined;
};

export async function explainCall(
  composed: ComposedRules,
  world: PolicyWorld,
  call: PolicyCall,
  options: ExplainOptions,
): Promise<CallExplanation> {
  const { counters, end, redactor = createRedactor() } = options;
  const leaves = new Map<string, Map<Leaf, LeafExplanation>>();
  const policy = compilePolicy(composed, world, {
    ...options,
    trace: (ruleId, leaf, field, truth) => {
      const known = leaves.get(ruleId) ?? new Map<Leaf, LeafExplanation>();
      leaves.set(ruleId, known);
      // Redaction evaluates leaves again; the first answer is the one that counted.
      if (!known.has(leaf)) known.set(leaf, explainLeaf(leaf, field, truth, redactor));
    },
  });
  const workflows = await Promise.all(
    composed.workflows.map((workflow) => explainWorkflow(workflow, call, options)),
  );
  const asked = await policy.judgeCall(call, counters);
  const stopped = workflows.flatMap(toFired);
  const ruling =
    stopped.length === 0
      ? asked
      : combineRulings([...asked.fired, ...stopped], asked.observed, asked.policyVersion);
  const output =
    end === undefined || ruling.decision === 'block' ? undefined : await policy.judgeOutput(call, end);
  const shares = policy.limitsFor(call.toolName);
  const all = [ruling, output].flatMap((each) =>
    each === undefined ? [] : [...each.fired, ...each.observed],
  );
  const rules = composed.rules.map((each): RuleExplanation => {
    const fired = all.find(({ ruleId }) => ruleId === each.id);
    const concerned = isConcerned(each, call.toolName);
    return {
      ruleId: each.id,
      ruleType: each.rule.type,
      source: each.source,
      line: each.line,
      verdict: verdictOf(each, fired, concerned, counters, output),
      fired,
      leaves: [...(leaves.get(each.id) ?? [])].map(([leaf, found]) => veil(leaf, found, output)),
      resources:
        each.rule.type === 'sandbox' && concerned
          ? explainSandbox(each.rule, findResources(call, world), world, redactor)
          : [],
      limits: shares
        .filter(({ ruleId }) => ruleId === each.id && counters !== undefined)
        .map(({ metric, limit }) => ({
          counter: metric,
          limit,
          used: countOfMetric(metric, counters, call.toolName),
        })),
    };
  });
  return { ruling, output, rules, workflows };
}

const longestValue = 200;

function explainLeaf(
  { selector, operator, operand, items }: Leaf,
  field: JsonValue | undefined,
  truth: Truth,
  redactor: Redactor,
): LeafExplanation {
  const masked = field === undefined ? undefined : maskSelected(selector, field, redactor);
  const text = typeof masked === 'string' ? masked : JSON.stringify(masked ?? null);
  const value = text.length > longestValue ? cutText(text, longestValue) : masked;
  const word =
    items === undefined
      ? operator
      : [items.hold, ...(items.path.length === 0 ? [] : [`item.${items.path.join('.')}`]), operator].join(
          ' ',
        );
  return { selector: selector.text, operator: word, operand, value, truth };
}

/** Values that a rule redacts from a result are hidden here too. */
function veil(
  { selector: { source } }: Leaf,
  found: LeafExplanation,
  output: OutputRuling | undefined,
): LeafExplanation {
  const isAboutOutput = source === 'output.text' || source === 'result';
  const isTakenOut = output?.decision === 'redact' || output?.decision === 'block';
  return isAboutOutput && isTakenOut && found.value !== undefined ? { ...found, value: redacted } : found;
}

function isConcerned({ rule }: ComposedRule, toolName: string): boolean {
  const tools =
    rule.type === 'sandbox' ? rule.tools : rule.type === 'session' ? undefined : ([rule.tool] as const);
  return createRuleIndex([{ tools, entry: rule }])(toolName).length > 0;
}

function verdictOf(
  { rule }: ComposedRule,
  fired: FiredRule | undefined,
  concerned: boolean,
  counters: SessionCounters | undefined,
  output: OutputRuling | undefined,
): RuleExplanation['verdict'] {
  if (fired !== undefined) return fired.observed ? 'observed' : 'fired';
  if (!concerned) return 'other_tool';
  const isAfter = rule.type === 'post' || (rule.type === 'code' && rule.when === 'after');
  if (isAfter ? output === undefined : rule.type === 'session' && counters === undefined) return 'not_asked';
  return 'quiet';
}

async function explainWorkflow(
  workflow: Workflow,
  call: PolicyCall,
  { workflowHost, stateOf = initialState }: ExplainOptions,
): Promise<WorkflowExplanation> {
  const state = stateOf(workflow);
  const { decision, message, stageId } = await evaluateWorkflow(workflow, state, call, workflowHost);
  return { workflow: workflow.name, stageBefore: state.activeStage, decision, message, stageId };
}

function toFired({ workflow, decision, message = '', stageId }: WorkflowExplanation): readonly FiredRule[] {
  if (decision === 'allow') return [];
  return [
    {
      ruleId: `workflow:${workflow}${stageId === undefined ? '' : `/${stageId}`}`,
      ruleType: 'workflow',
      action: decision,
      message,
      tags: [],
      metadata: undefined,
      policyError: false,
      observed: false,
    },
  ];
}
