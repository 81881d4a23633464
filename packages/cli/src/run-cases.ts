/** Runs cases and compares each result with the expected one. */
import { dirname, resolve } from 'node:path';
import { canonicalJson } from 'quittance/internal/base/canonical';
import type { ContractsOptions } from 'quittance/internal/contracts/contracts-options';
import type { LoadedContracts } from 'quittance/internal/contracts/loaded-contracts';
import { evaluateWorkflow } from 'quittance/internal/policy/workflow/evaluate-workflow';
import type { CallExplanation } from 'quittance/internal/policy/judge/explain-call';
import { approveStage } from 'quittance/internal/policy/workflow/set-workflow-stage';
import { recordEvidence } from 'quittance/internal/policy/workflow/record-evidence';
import type { FiredRule } from 'quittance/internal/policy/language/ruling';
import type { Workflow } from 'quittance/internal/policy/language/workflow';
import type { WorkflowState } from 'quittance/internal/policy/workflow/workflow-state';
import { initialState } from 'quittance/internal/policy/workflow/workflow-state';
import type { CaseFile, CaseWord, ContractCase } from './contracts-case.ts';

export type CaseResult = {
  readonly case: ContractCase;
  readonly passed: boolean;
  readonly came: CaseWord;
  readonly decidedBy: FiredRule | undefined;
  /** Differences from the expected result, in words. Empty if there are none. */
  readonly problems: readonly string[];
};

export type LoadContracts = (options: ContractsOptions) => Promise<LoadedContracts>;

/** Results in the order of the file. */
export async function runCases(file: CaseFile, load: LoadContracts): Promise<readonly CaseResult[]> {
  const contractsOf = createCaseLoader(file, load);
  const results: CaseResult[] = [];
  for (const each of file.cases) results.push(await runCase(each, await contractsOf(each)));
  return results;
}

/**
 * Loads the contracts for one case. Environment variables and folders of this machine are not visible, so a case
 * gives the same result everywhere.
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
    // Relative to the case file, not to the current folder.
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
  const explanation = await contracts.explain(toCaseCall(each), {
    end,
    counters,
    stateOf: (workflow) => states.get(workflow.name) ?? initialState(workflow),
  });
  const { word: came, decidedBy } = wordOf(explanation);
  const { word, ruleId, message, output } = each.expected;
  if (came !== word) problems.push(`expected ${word}, got ${came}`);
  if (ruleId !== undefined && ruleId !== decidedBy?.ruleId)
    problems.push(`expected rule ${ruleId} to decide, but ${decidedBy?.ruleId ?? 'none'} did`);
  if (message !== undefined && !decidedBy?.message.toLowerCase().includes(message.toLowerCase()))
    problems.push(`expected a message with ${JSON.stringify(message)}`);
  if (output !== undefined) {
    const left = explanation.output?.output;
    if (left === undefined || canonicalJson(left) !== canonicalJson(output.value))
      problems.push(`expected the output ${JSON.stringify(output.value)}, got ${JSON.stringify(left)}`);
  }
  return { case: each, passed: problems.length === 0, came, decidedBy, problems };
}

export const toCaseCall = ({
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

/** The decision in one word: on the output if a rule decided about it, else on the call. */
export function wordOf({ ruling, output }: Pick<CallExplanation, 'ruling' | 'output'>): {
  readonly word: CaseWord;
  readonly decidedBy: FiredRule | undefined;
} {
  if (output !== undefined && output.decision !== 'pass')
    return { word: output.decision, decidedBy: output.decidedBy };
  return { word: ruling.decision, decidedBy: ruling.decidedBy };
}

/** The state of a workflow after the earlier calls. */
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
