import type { WorkflowRuling } from '../../policy/workflow/evaluate-workflow.ts';
import type { Workflow } from '../../policy/language/workflow.ts';
import type { WorkflowState } from '../../policy/workflow/workflow-state.ts';

/** What a workflow says about a call, and what is to be kept of it. */
export type WorkflowStep = {
  readonly workflow: Workflow;
  readonly ruling: WorkflowRuling;
  readonly before: WorkflowState;
  readonly version: number;
};
