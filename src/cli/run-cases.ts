/** Runs cases: what came of each call, held against what was expected. */
import { dirname, resolve } from 'node:path';
import { canonicalJson } from '../base/canonical.ts';
import type { ContractsOptions } from '../contracts/contracts-options.ts';
import type { LoadedContracts } from '../contracts/loaded-contracts.ts';
import { evaluateWorkflow } from '../policy/workflow/evaluate-workflow.ts';
import type { CallExplanation } from '../policy/judge/explain-call.ts';
import { approveStage } from '../policy/workflow/set-workflow-stage.ts';
import { recordEvidence } from '../policy/workflow/record-evidence.ts';
import type { FiredRule } from '../policy/language/ruling.ts';
import type { Workflow } from '../policy/language/workflow.ts';
import type { WorkflowState } from '../policy/workflow/workflow-state.ts';
import { initialState } from '../policy/workflow/workflow-state.ts';
import type { CaseFile, CaseWord, ContractCase } from './contracts-case.ts';

export type CaseResult = {
  readonly case: ContractCase;
  readonly passed: boolean;
  readonly came: CaseWord;
  readonly decidedBy: FiredRule | undefined;
  /** What is not as expected, in words. Empty where all is. */
  readonly problems: readonly string[];
};

export type LoadContracts = (options: ContractsOptions) => Promise<LoadedContracts>;

/** In the order of the file. */
export async function runCases(file: CaseFile, load: LoadContracts): Promise<readonly CaseResult[]> {
  const contractsOf = createCaseLoader(file, load);
  const results: CaseResult[] = [];
  for (const each of file.cases) results.push(await runCase(each, await contractsOf(each)));
  return results;
}

/**
 * The contracts in the world of a case. Variables and directories of this machine are out of sight: a case means the
 * same anywhere.
 */
export function createCaseLoader(
  file: CaseFile,
  load: LoadContracts,
): (each: ContractCase) => Promise<LoadedContracts> {
  const loaded = new Map<string, Promise<LoadedContracts>>();
  return (each) => {
    const key = JSON.stringify([each.environment, each.env]);
    const contracts = loaded.get(key) ?? load(optionsOf(file, each));
    loaded.set(key, contracts);
    return contracts;
  };
}

function optionsOf(
  { source, workingDirectory, homeDirectory }: CaseFile,
  each: ContractCase,
): ContractsOptions {
  return {
    env: each.env,
    ...(each.environment !== undefined && { environment: each.environment }),
    // Seen from the file, wherever the command is typed.
    ...(workingDirectory !== undefined && { workingDirectory: resolve(dirname(source), workingDirectory) }),
    ...(homeDirectory !== undefined && { homeDirectory }),
  };
}

async function runCase(each: ContractCase, contracts: LoadedContracts): Promise<CaseResult> {
  const { counters, end } = each;
  const problems: string[] = [];
  const states = new Map<string, WorkflowState>();
  for (const workflow of contracts.policy.workflows) {
    const reached = await walk(workflow, each, contracts);
    states.set(workflow.name, reached.state);
    if (reached.problem !== undefined) problems.push(reached.problem);
  }
  const explanation = await contracts.explain(toCall(each), {
    end,
    counters,
    stateOf: (workflow) => states.get(workflow.name) ?? initialState(workflow),
  });
  const { word: came, decidedBy } = wordOf(explanation);
  const { word, ruleId, message, output } = each.expected;
  if (came !== word) problems.push(`expected ${word}, came ${came}`);
  if (ruleId !== undefined && ruleId !== decidedBy?.ruleId)
    problems.push(`expected rule ${ruleId} to decide, ${decidedBy?.ruleId ?? 'none'} did`);
  if (message !== undefined && !decidedBy?.message.toLowerCase().includes(message.toLowerCase()))
    problems.push(`expected a message with ${JSON.stringify(message)}`);
  if (output !== undefined) {
    const left = explanation.output?.output;
    if (left === undefined || canonicalJson(left) !== canonicalJson(output.value))
      problems.push(`expected the output ${JSON.stringify(output.value)}, ${JSON.stringify(left)} was left`);
  }
  return { case: each, passed: problems.length === 0, came, decidedBy, problems };
}

export const toCall = ({
  toolName,
  input,
  principal,
  metadata,
  snapshot,
  resources,
}: ContractCase): Parameters<LoadedContracts['explain']>[0] => ({
  toolName,
  input,
  ...(principal !== undefined && { principal }),
  ...(metadata !== undefined && { metadata }),
  ...(snapshot !== undefined && { snapshot }),
  ...(resources !== undefined && { resources }),
});

/** What is said about a call in one word: about its result where there is something to say, else about the call. */
export function wordOf({ ruling, output }: Pick<CallExplanation, 'ruling' | 'output'>): {
  readonly word: CaseWord;
  readonly decidedBy: FiredRule | undefined;
} {
  if (output !== undefined && output.decision !== 'pass')
    return { word: output.decision, decidedBy: output.decidedBy };
  return { word: ruling.decision, decidedBy: ruling.decidedBy };
}

/** Where a workflow stands after the calls before. */
async function walk(
  workflow: Workflow,
  { before }: ContractCase,
  { workflowHost: host }: LoadedContracts,
): Promise<{ readonly state: WorkflowState; readonly problem: string | undefined }> {
  let state = initialState(workflow);
  for (const [index, step] of before.entries()) {
    if (step.type === 'approval') {
      if (workflow.stages.some(({ id }) => id === step.stageId))
        state = approveStage(workflow, state, step.stageId);
      continue;
    }
    const ruling = await evaluateWorkflow(workflow, state, step, host);
    if (ruling.decision !== 'allow')
      return {
        state,
        problem: `before[${index}] would not have run: ${ruling.message ?? ruling.decision}`,
      };
    const result = { success: true, output: step.output };
    ({ state } = await recordEvidence(workflow, ruling.state, step, result, host, ruling.stageId));
  }
  return { state, problem: undefined };
}
