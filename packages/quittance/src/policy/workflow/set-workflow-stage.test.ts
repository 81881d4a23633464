import { describe, expect, test } from 'vitest';
import { releaseStages, workflowOf } from '../../../../../test/sample-workflow.ts';
import { thrownBy } from '../../../../../test/thrown-by.ts';
import { approveStage, resetWorkflow, setWorkflowStage } from './set-workflow-stage.ts';
import { parseWorkflowState } from './workflow-state.ts';

const workflow = workflowOf(
  ...releaseStages.slice(0, 4),
  { id: 'ci', tools: ['mcp__ci__*'], approval: { message: 'Ship it?' } },
  { id: 'ship', tools: ['mcp__cd__*'] },
);
const state = parseWorkflowState(workflow, {
  active_stage: 'ship',
  completed_stages: ['study', 'change', 'check', 'review', 'ci'],
  approvals: { review: 'approved', ci: 'approved' },
  evidence: {
    reads: ['docs/plan.md'],
    stage_calls: { check: ['make test'], ship: ['x'] },
    mcp_results: { mcp__ci__status: [{ a: 1 }], mcp__cd__go: [{ b: 2 }] },
  },
  blocked_reason: 'because',
  last_blocked_action: { tool: 'Edit', summary: 'Edit', message: 'because' },
});

describe('a reset', () => {
  test('keeps evidence from before the stage and drops that of the stage and later ones', () => {
    expect(resetWorkflow(workflow, state, 'ci')).toEqual({
      ...state,
      activeStage: 'ci',
      completedStages: ['study', 'change', 'check', 'review'],
      approvals: { review: 'approved' },
      evidence: {
        reads: ['docs/plan.md'],
        stageCalls: { check: ['make test'] },
        mcpResults: { mcp__ci__status: [{ a: 1 }] },
      },
      blockedReason: undefined,
      lastBlockedAction: undefined,
      pendingApproval: { stageId: 'ci', message: 'Ship it?' },
    });
  });

  test('a reset to the first stage keeps no evidence', () => {
    expect(resetWorkflow(workflow, state, 'study')).toMatchObject({
      activeStage: 'study',
      completedStages: [],
      approvals: {},
      evidence: { reads: [], stageCalls: {}, mcpResults: {} },
      pendingApproval: undefined,
    });
  });

  test('reopens a complete workflow', () => {
    const complete = { ...state, activeStage: undefined };
    expect(resetWorkflow(workflow, complete, 'change').activeStage).toBe('change');
  });
});

test('putting a workflow into a stage keeps approvals and evidence', () => {
  expect(setWorkflowStage(workflow, state, 'review')).toMatchObject({
    activeStage: 'review',
    completedStages: ['study', 'change', 'check'],
    approvals: state.approvals,
    evidence: state.evidence,
    blockedReason: undefined,
    pendingApproval: undefined,
  });
});

test('an approval is stored and clears the pending one', () => {
  const asked = { ...state, approvals: {}, pendingApproval: { stageId: 'ci', message: 'Ship it?' } };
  expect(approveStage(workflow, asked, 'ci')).toMatchObject({
    approvals: { ci: 'approved' },
    pendingApproval: undefined,
  });
});

test.each([resetWorkflow, setWorkflowStage, approveStage])(
  'an unknown stage is reported with the known ones',
  (move) => {
    expect(thrownBy(() => move(workflow, state, 'sip'))).toMatchObject({
      code: 'config.invalid',
      message: expect.stringMatching(/^No stage named "sip". Known stages: ship, study/),
    });
  },
);
