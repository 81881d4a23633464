import type { WorkflowRuling } from '../../policy/workflow/evaluate-workflow.ts';
import type { Workflow } from '../../policy/language/workflow.ts';
import type { WorkflowState } from '../../policy/workflow/workflow-state.ts';

/** A workflow's ruling about a call, and the step to store. */
export type WorkflowStep = {
  readonly workflow: Workflow;
  readonly ruling: WorkflowRuling;
  readonly before: WorkflowState;
  readonly version: number;
};
