/** Workflow states in the format of cases: written to a ledger, and read from a runtime. */
import type { JsonObject } from 'quittance';
import type { WorkflowState } from 'quittance/runtime';
import type { OpenLedger } from 'quittance/store';
import type { Data } from './case.ts';
import { dataAt, textAt } from './case.ts';

/** Puts the session into this state, with an entry as the runtime would write it. */
export async function seedState(
  ledger: OpenLedger,
  sessionId: string,
  workflow: Data,
  initial: JsonObject,
): Promise<void> {
  const metadata = dataAt(workflow, 'metadata');
  const name = textAt(metadata, 'name') ?? '';
  await ledger.append({
    entryId: 'seed',
    sessionId,
    callId: undefined,
    expectedVersion: 0,
    events: [
      {
        id: 'seed',
        type: 'workflow.updated',
        sessionId,
        turnId: '',
        at: ledger.now(),
        cause: undefined,
        workflow: name,
        workflowVersion: textAt(metadata, 'version'),
        why: 'stage_set',
        by: 'conformance',
        state: initial,
      },
    ],
    moves: [{ subject: `workflow/${name}`, expectedVersion: 0 }],
  });
}

export function readState(state: WorkflowState): Data {
  const { activeStage, completedStages, approvals, evidence, pendingApproval } = state;
  return {
    active_stage: activeStage ?? '',
    completed_stages: completedStages,
    approvals,
    evidence: {
      reads: evidence.reads,
      stage_calls: evidence.stageCalls,
      mcp_results: evidence.mcpResults,
    },
    blocked_reason: state.blockedReason ?? null,
    pending_approval:
      pendingApproval === undefined
        ? { required: false }
        : { required: true, stage_id: pendingApproval.stageId, message: pendingApproval.message },
    last_blocked_action: state.lastBlockedAction ?? null,
    last_recorded_evidence: state.lastRecordedEvidence ?? null,
  };
}
