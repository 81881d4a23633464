/**
 * Describes what happened to calls in the words that other implementations of the language use in their audit trails.
 * This is a projection: it decides nothing.
 */
import type { JsonObject } from '../../base/json.ts';
import { defineMember } from '../../base/json.ts';
import type { QuittanceEvent, WorkflowEvent } from '../../call/event.ts';
import type { WorkflowState } from '../workflow/workflow-state.ts';
import { parseState, statusToWire } from '../workflow/workflow-state.ts';

/** One fact about a call or a workflow, named as in our events. Facts without a word are left out before. */
export type PolicyStep = {
  readonly sessionId: string;
  readonly parentSessionId?: string | undefined;
  /** State of the workflow when the fact was written. */
  readonly workflow?: WorkflowSnapshot | undefined;
} & (
  | {
      readonly type: 'tool.decided';
      readonly decision: 'allow' | 'deny' | 'ask';
      /** An observing rule would have blocked. */
      readonly wouldBlock?: boolean;
    }
  | { readonly type: 'tool.held' }
  | { readonly type: 'confirmation.decided'; readonly decision: 'approve' | 'deny' }
  | { readonly type: 'confirmation.expired' }
  | { readonly type: 'tool.responded'; readonly attempt: number; readonly toolSuccess: boolean | undefined }
  | { readonly type: 'workflow.advanced'; readonly stageId: string; readonly toStageId: string }
  | { readonly type: 'workflow.completed'; readonly stageId: string }
  | { readonly type: 'workflow.updated' }
);

export type WorkflowSnapshot = {
  readonly name: string;
  readonly version: string | undefined;
  readonly state: WorkflowState;
};

export type ActionWord =
  | 'call_allowed'
  | 'call_blocked'
  | 'call_would_block'
  | 'call_asked'
  | 'call_approval_granted'
  | 'call_approval_denied'
  | 'call_approval_timeout'
  | 'call_executed'
  | 'call_failed'
  | 'workflow_stage_advanced'
  | 'workflow_completed'
  | 'workflow_state_updated';

export type ActionRecord = {
  readonly action: ActionWord;
  readonly session_id: string;
  readonly parent_session_id?: string;
  readonly workflow?: JsonObject;
};

export const toActionWords = (steps: readonly PolicyStep[]): readonly ActionRecord[] =>
  steps.flatMap((step) =>
    wordsFor(step).map((action) => ({
      action,
      session_id: step.sessionId,
      ...(step.parentSessionId === undefined ? {} : { parent_session_id: step.parentSessionId }),
      ...(step.workflow === undefined ? {} : { workflow: describeWorkflow(step.workflow, step) }),
    })),
  );

/**
 * Reads events in stored order. Each call carries the state of its session's workflow as of the last workflow event.
 * Before the first such event the state is unknown.
 */
export function eventsToActionWords(events: readonly QuittanceEvent[]): readonly ActionRecord[] {
  const workflows = new Map<string, WorkflowSnapshot>();
  const parents = new Map<string, string | undefined>();
  return events.flatMap((event) => {
    const { sessionId } = event;
    if (event.type === 'turn.opened') parents.set(sessionId, event.parentSessionId);
    if (isWorkflowEvent(event)) workflows.set(sessionId, snapshotOf(event));
    const fact = toFact(event);
    if (fact === undefined) return [];
    return toActionWords([
      { ...fact, sessionId, parentSessionId: parents.get(sessionId), workflow: workflows.get(sessionId) },
    ]);
  });
}

const isWorkflowEvent = (event: QuittanceEvent): event is WorkflowEvent =>
  event.type === 'workflow.advanced' ||
  event.type === 'workflow.updated' ||
  event.type === 'workflow.completed';

const snapshotOf = ({ workflow, workflowVersion, state }: WorkflowEvent): WorkflowSnapshot => ({
  name: workflow,
  version: workflowVersion,
  state: parseState(state, undefined),
});

/** `Omit` of a union, variant by variant. */
type Fact = PolicyStep extends infer Step
  ? Step extends PolicyStep
    ? Omit<Step, 'sessionId' | 'parentSessionId' | 'workflow'>
    : never
  : never;

/** Undefined for an event that the other trails have no word for. */
function toFact(event: QuittanceEvent): Fact | undefined {
  switch (event.type) {
    case 'tool.decided': {
      const { type, decision, rules } = event;
      const wouldBlock = rules.some(({ observed, action }) => observed === true && action === 'block');
      return { type, decision, wouldBlock };
    }
    case 'tool.responded':
      // A retried attempt has not ended its call.
      return event.final
        ? { type: event.type, attempt: event.attempt, toolSuccess: event.toolSuccess }
        : undefined;
    case 'tool.held':
    case 'workflow.updated':
      return { type: event.type };
    case 'confirmation.decided':
      return {
        type: event.type,
        decision: event.decision === 'approve' || event.decision === 'edit' ? 'approve' : 'deny',
      };
    case 'confirmation.expired':
      return { type: event.type };
    case 'workflow.advanced':
      return { type: event.type, stageId: event.stageId, toStageId: event.toStageId };
    case 'workflow.completed':
      return { type: event.type, stageId: event.stageId };
    case 'turn.opened':
    case 'turn.ended':
    case 'tool.requested':
    case 'tool.recalled':
    case 'tool.started':
    case 'tool.late':
    case 'retry.requested':
    case 'behavior.failed':
    case 'tool.resolved':
    case 'persistence.failed':
    case 'persistence.unlisted':
    case 'call.not_accepted':
    case 'confirmation.withdrawn':
    case 'runtime.budget_exhausted':
    case 'contracts.loaded':
    case 'tool.previewed':
    case 'tool.taken_over':
    case 'tool.reported':
    case 'tool.undone':
    case 'confirmation.voted':
    case 'confirmation.reminded':
    case 'delegation.given':
    case 'delegation.revoked':
    case 'grant.given':
    case 'grant.revoked':
    case 'body.erased':
    case 'session.dropped':
    case 'session.forked':
      return undefined;
    default:
      // Written by a later version of the format.
      event satisfies never;
      return undefined;
  }
}

function wordsFor(step: PolicyStep): readonly ActionWord[] {
  switch (step.type) {
    case 'tool.decided':
      return [
        ...(step.wouldBlock === true ? ['call_would_block' as const] : []),
        ...decisionWords(step.decision),
      ];
    case 'tool.held':
      return ['call_asked'];
    case 'confirmation.decided':
      return [step.decision === 'approve' ? 'call_approval_granted' : 'call_approval_denied'];
    case 'confirmation.expired':
      return ['call_approval_timeout'];
    case 'tool.responded':
      // The event that stopped a call before its body ran has already reported it.
      if (step.attempt === 0) return [];
      return [step.toolSuccess === true ? 'call_executed' : 'call_failed'];
    case 'workflow.advanced':
      return ['workflow_stage_advanced'];
    case 'workflow.completed':
      return ['workflow_completed'];
    case 'workflow.updated':
      return ['workflow_state_updated'];
  }
}

function decisionWords(decision: 'allow' | 'deny' | 'ask'): readonly ActionWord[] {
  switch (decision) {
    case 'allow':
      return ['call_allowed'];
    case 'deny':
      return ['call_blocked'];
    case 'ask':
      return []; // the hold that follows reports it
  }
}

function describeWorkflow({ name, version, state }: WorkflowSnapshot, step: PolicyStep): JsonObject {
  const described = {
    name,
    active_stage: state.activeStage ?? '',
    completed_stages: state.completedStages,
    ...statusToWire(state),
  };
  if (version !== undefined) defineMember(described, 'version', version);
  if (step.type === 'workflow.advanced' || step.type === 'workflow.completed')
    defineMember(described, 'stage_id', step.stageId);
  if (step.type === 'workflow.advanced') defineMember(described, 'to_stage_id', step.toStageId);
  return described;
}
