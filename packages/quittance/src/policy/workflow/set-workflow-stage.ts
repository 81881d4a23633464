/** Changes that people make to a workflow: approve a stage, reset to a stage, set a stage. */
import { QuittanceError } from '../../base/error.ts';
import { describeUnknownName } from '../../base/nearest.ts';
import type { Stage, Workflow } from '../language/workflow.ts';
import { isBoundary, stageIndex } from '../language/workflow.ts';
import type { WorkflowState } from './workflow-state.ts';
import { isApproved, withMember } from './workflow-state.ts';

/** An approval lasts until the stage is reset. */
export function approveStage(workflow: Workflow, state: WorkflowState, stageId: string): WorkflowState {
  indexOf(workflow, stageId);
  return { ...state, ...noStatus, approvals: withMember(state.approvals, stageId, 'approved') };
}

/**
 * Goes back to a stage as if it and later stages had not happened. Drops their approvals and commands,
 * and the MCP results of tools of later stages. A reset to the first stage keeps no evidence.
 */
export function resetWorkflow(workflow: Workflow, state: WorkflowState, stageId: string): WorkflowState {
  const index = indexOf(workflow, stageId);
  const isAgain = new Set(workflow.stages.slice(index).map(({ id }) => id));
  const later = workflow.stages.slice(index + 1);
  const { reads, stageCalls, mcpResults } = state.evidence;
  return withPending(workflow, {
    ...state,
    ...placeAt(workflow, index),
    approvals: without(state.approvals, (id) => isAgain.has(id)),
    evidence: {
      reads: index === 0 ? [] : reads,
      stageCalls: without(stageCalls, (id) => isAgain.has(id)),
      mcpResults: without(mcpResults, (tool) => index === 0 || later.some((stage) => hasTool(stage, tool))),
    },
  });
}

/** Sets the stage, whatever its gates say; approvals and evidence stay. */
export function setWorkflowStage(workflow: Workflow, state: WorkflowState, stageId: string): WorkflowState {
  return withPending(workflow, { ...state, ...placeAt(workflow, indexOf(workflow, stageId)) });
}

const noStatus = { blockedReason: undefined, pendingApproval: undefined, lastBlockedAction: undefined };

const placeAt = (
  workflow: Workflow,
  index: number,
): Pick<WorkflowState, 'activeStage' | 'completedStages'> => ({
  activeStage: workflow.stages[index]?.id,
  completedStages: workflow.stages.slice(0, index).map(({ id }) => id),
});

/** After a move the state says at once if the stage waits for approval. */
function withPending(workflow: Workflow, state: WorkflowState): WorkflowState {
  const stage = workflow.stages.find(({ id }) => id === state.activeStage);
  const waits = stage?.approvalMessage !== undefined && !isApproved(state, stage.id);
  return {
    ...state,
    ...noStatus,
    pendingApproval: waits ? { stageId: stage.id, message: stage.approvalMessage } : undefined,
  };
}

function indexOf(workflow: Workflow, stageId: string): number {
  const index = stageIndex(workflow, stageId);
  if (index >= 0) return index;
  const known = workflow.stages.map(({ id }) => id);
  throw new QuittanceError('config.invalid', describeUnknownName('stage', stageId, known), {
    workflow: workflow.name,
    stageId,
  });
}

const hasTool = (stage: Stage, tool: string): boolean =>
  stage.tools.length === 0
    ? !stage.terminal && !isBoundary(stage)
    : stage.tools.some(({ matches }) => matches(tool));

const without = <Value>(
  holder: { readonly [key: string]: Value },
  isDropped: (key: string) => boolean,
): { readonly [key: string]: Value } =>
  Object.fromEntries(Object.entries(holder).filter(([key]) => !isDropped(key)));
