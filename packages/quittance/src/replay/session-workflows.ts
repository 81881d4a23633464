/** The workflow states of one session under other rules, moved as the runtime would move them. */
import type { JsonObject } from '../base/json.ts';
import type { ToolResponded, WorkflowUpdated } from '../call/event.ts';
import type { WorkflowRuling } from '../policy/workflow/evaluate-workflow.ts';
import { evaluateWorkflow } from '../policy/workflow/evaluate-workflow.ts';
import { approveStage, resetWorkflow, setWorkflowStage } from '../policy/workflow/set-workflow-stage.ts';
import { recordEvidence } from '../policy/workflow/record-evidence.ts';
import type { FiredRule } from '../policy/language/ruling.ts';
import type { WorkflowHost } from '../policy/workflow/first-shut-gate.ts';
import type { Workflow } from '../policy/language/workflow.ts';
import { stageIndex } from '../policy/language/workflow.ts';
import type { WorkflowCall } from '../policy/workflow/evidence-sources.ts';
import type { WorkflowState } from '../policy/workflow/workflow-state.ts';
import { initialState } from '../policy/workflow/workflow-state.ts';

/** The decisions of the workflows on a call, and their next states. */
export type WorkflowRulings = {
  readonly fired: readonly FiredRule[];
  readonly steps: readonly { readonly workflow: Workflow; readonly ruling: WorkflowRuling }[];
};

export class SessionWorkflows {
  readonly #host: WorkflowHost;
  readonly #places: { readonly workflow: Workflow; state: WorkflowState }[];

  constructor(workflows: readonly Workflow[], host: WorkflowHost) {
    this.#host = host;
    this.#places = workflows.map((workflow) => ({ workflow, state: initialState(workflow) }));
  }

  /**
   * Asks every workflow. With `approves`, a stage that needs approval counts as approved, and the workflow is asked
   * again. The first answer stays its decision.
   */
  async ask(call: WorkflowCall, approves: boolean): Promise<WorkflowRulings> {
    const fired: FiredRule[] = [];
    const steps: WorkflowRulings['steps'][number][] = [];
    for (const { workflow, state } of this.#places) {
      let ruling = await evaluateWorkflow(workflow, state, call, this.#host);
      let asked: FiredRule | undefined;
      // Each round approves another stage, so the number of stages is the limit.
      for (let round = 0; approves && ruling.decision === 'ask' && round < workflow.stages.length; round++) {
        asked ??= toFired(workflow, ruling);
        if (ruling.stageId === undefined) break;
        const approved = approveStage(workflow, ruling.state, ruling.stageId);
        ruling = await evaluateWorkflow(workflow, approved, call, this.#host);
      }
      const said = toFired(workflow, ruling);
      if (asked !== undefined) fired.push(asked);
      if (said !== undefined && said.ruleId !== asked?.ruleId) fired.push(said);
      steps.push({ workflow, ruling });
    }
    return { fired, steps };
  }

  /** The call continues or is stopped. If it is stopped, only the workflows that stop it record that. */
  move({ steps }: WorkflowRulings, goesOn: boolean): void {
    for (const { workflow, ruling } of steps)
      if (goesOn ? ruling.decision === 'allow' : ruling.decision === 'block')
        this.#put(workflow, ruling.state);
  }

  /** A person approved what the workflows asked about this call. */
  approve({ steps }: WorkflowRulings): void {
    for (const { workflow, ruling } of steps)
      if (ruling.decision === 'ask' && ruling.stageId !== undefined)
        this.#put(workflow, approveStage(workflow, this.#stateOf(workflow), ruling.stageId));
  }

  async record(
    { steps }: WorkflowRulings,
    call: WorkflowCall,
    { outcome, toolSuccess }: ToolResponded,
  ): Promise<void> {
    const output = outcome.type === 'ToolExecutionResult' ? outcome.output : null;
    for (const { workflow, ruling } of steps) {
      const recorded = await recordEvidence(
        workflow,
        this.#stateOf(workflow),
        call,
        { success: toolSuccess === true, output },
        this.#host,
        ruling.stageId,
      );
      this.#put(workflow, recorded.state);
    }
  }

  /** Manual changes to a workflow of this name apply to this one too, if it has the stage. */
  follow({ workflow: name, why, state }: WorkflowUpdated): void {
    const place = this.#places.find(({ workflow }) => workflow.name === name);
    if (place === undefined || (why !== 'reset' && why !== 'stage_set')) return;
    const stageId = activeStage(state);
    if (stageId === undefined || stageIndex(place.workflow, stageId) < 0) return;
    const go = why === 'reset' ? resetWorkflow : setWorkflowStage;
    place.state = go(place.workflow, place.state, stageId);
  }

  #stateOf(workflow: Workflow): WorkflowState {
    return this.#places.find((place) => place.workflow === workflow)?.state ?? initialState(workflow);
  }

  #put(workflow: Workflow, state: WorkflowState): void {
    const place = this.#places.find((each) => each.workflow === workflow);
    if (place !== undefined) place.state = state;
  }
}

const activeStage = ({ active_stage: stage }: JsonObject): string | undefined =>
  typeof stage === 'string' ? stage : undefined;

function toFired(
  workflow: Workflow,
  { decision, message = '', stageId }: WorkflowRuling,
): FiredRule | undefined {
  if (decision === 'allow') return undefined;
  return {
    ruleId: `workflow:${workflow.name}${stageId === undefined ? '' : `/${stageId}`}`,
    ruleType: 'workflow',
    action: decision,
    message,
    tags: [],
    metadata: undefined,
    policyError: false,
    observed: false,
  };
}
