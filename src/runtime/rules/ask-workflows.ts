/**
 * Applies workflows to a call. The ledger stores the stage of each session and moves it by compare-and-set,
 * in one append with the event that caused the move. A process that finds it moved judges the call again.
 */
import type { Awaitable, JsonObject, JsonValue } from '../../base/json.ts';
import type { Ask, CallEvent, DecidedBy, WorkflowEvent, WorkflowUpdate } from '../../call/event.ts';
import type { ToolOutcome } from '../../call/outcome.ts';
import type { Move } from '../../ledger/journal.ts';
import { workflowSubject } from '../../ledger/last-state.ts';
import { evaluateWorkflow } from '../../policy/workflow/evaluate-workflow.ts';
import { approveStage } from '../../policy/workflow/set-workflow-stage.ts';
import { recordEvidence } from '../../policy/workflow/record-evidence.ts';
import type { Workflow } from '../../policy/language/workflow.ts';
import type { WorkflowCall } from '../../policy/workflow/evidence-sources.ts';
import type { WorkflowHost } from '../../policy/workflow/first-shut-gate.ts';
import type { WorkflowState } from '../../policy/workflow/workflow-state.ts';
import { initialState, parseWorkflowState, toWire } from '../../policy/workflow/workflow-state.ts';
import { whenReady } from '../../base/when-ready.ts';
import type { AcceptedCall } from '../state/accepted-call.ts';
import { answerInTime } from '../state/answer-in-time.ts';
import type { EndedCall, ReadyCall } from '../state/call-stages.ts';
import { cleanState } from '../input/clean.ts';
import type { Engine } from '../state/engine.ts';
import type { WorkflowStep } from '../state/workflow-step.ts';

export type FoundState = { readonly state: WorkflowState; readonly version: number };

export const readState = ({ ledger }: Engine, sessionId: string, workflow: Workflow): Awaitable<FoundState> =>
  whenReady(ledger.journal.readState(sessionId, workflowSubject(workflow.name)), (stored) =>
    stored === undefined
      ? { state: initialState(workflow), version: 0 }
      : { state: parseWorkflowState(workflow, stored.state), version: stored.version },
  );

/** Asks every workflow about the call, in order. */
export async function askWorkflows(
  live: ReadyCall,
  workflows: readonly Workflow[],
): Promise<readonly WorkflowStep[]> {
  const host = workflowHostOf(live.engine);
  if (host === undefined) return [];
  const steps: WorkflowStep[] = [];
  for (const workflow of workflows) {
    const { state, version } = await readState(live.engine, live.sessionId, workflow);
    const ruling = await evaluateWorkflow(workflow, state, toWorkflowCall(live, live.judged), host);
    steps.push({ workflow, ruling, before: state, version });
  }
  return steps;
}

/** The host of the contracts, with a time limit for its commands. Without a number, the gate stays closed. */
function workflowHostOf(engine: Engine): WorkflowHost | undefined {
  const host = engine.contracts?.workflowHost;
  const exec = host?.exec;
  if (host === undefined || exec === undefined) return host;
  return { ...host, exec: (command) => answerInTime(engine, exec(command), Number.NaN) };
}

const toWorkflowCall = (live: AcceptedCall, input: JsonObject): WorkflowCall => ({
  toolName: live.request.name,
  input,
  at: live.engine.ledger.now(),
});

/** The decider recorded when a workflow stops or holds a call. */
export const workflowDecider = ({ workflow, ruling }: WorkflowStep): DecidedBy => ({
  type: 'rule',
  name:
    ruling.stageId === undefined
      ? `workflow:${workflow.name}`
      : `workflow:${workflow.name}/${ruling.stageId}`,
});

/**
 * Creates the events for the steps that a decision causes. A call that runs moves the workflows that allowed
 * it. A call that waits for a stage's approval, or that a stage stopped, moves the workflows that say so. Any
 * other call moves none.
 */
export function keepSteps(
  live: AcceptedCall,
  steps: readonly WorkflowStep[],
  decision: 'allow' | 'ask' | 'deny',
): void {
  const blocks = steps.some(({ ruling }) => ruling.decision === 'block');
  for (const step of steps) {
    const { ruling, before, workflow } = step;
    const counts =
      decision === 'allow' ||
      (decision === 'ask' && ruling.decision === 'ask') ||
      (decision === 'deny' && blocks && ruling.decision === 'block');
    if (!counts || ruling.state === before) continue;
    live.journal.move(
      toMove(workflow, step.version),
      eventsOf(live, step).map((event) => ({ ...envelope(live, workflow), ...event })),
    );
  }
}

const toMove = (workflow: Workflow, version: number): Move => ({
  subject: workflowSubject(workflow.name),
  expectedVersion: version,
});

/** `Omit` of a union, variant by variant. */
type Bare<Event> = Event extends unknown
  ? Omit<Event, 'id' | 'sessionId' | 'turnId' | 'at' | 'cause' | 'workflow' | 'workflowVersion'>
  : never;

/**
 * Every step carries the state in which the call left the workflow. Another call may expect it only there.
 */
function eventsOf(live: AcceptedCall, { ruling }: WorkflowStep): readonly Bare<WorkflowEvent>[] {
  const state = cleanState(live, toWire(ruling.state));
  if (ruling.advances.length > 0)
    return ruling.advances.map(({ from, to }) =>
      to === undefined
        ? { type: 'workflow.completed', stageId: from, state }
        : { type: 'workflow.advanced', stageId: from, toStageId: to, state },
    );
  const why: WorkflowUpdate = ruling.decision === 'allow' ? 'resumed' : 'stopped';
  return [{ type: 'workflow.updated', why, by: undefined, state }];
}

const envelope = (
  live: AcceptedCall,
  { name, version }: Workflow,
): Omit<WorkflowEvent, 'type' | 'state' | 'stageId' | 'toStageId' | 'why' | 'by'> => ({
  id: live.engine.nextEventId(),
  sessionId: live.sessionId,
  turnId: live.turn.turnId,
  at: live.engine.ledger.now(),
  cause: live.journal.call?.lastEventId,
  workflow: name,
  workflowVersion: version,
});

/** Stores the evidence of an ended call together with its end. */
export async function keepEvidence(live: EndedCall, success: boolean, outcome: ToolOutcome): Promise<void> {
  if (success) await keepEvidenceOf(live, outcome.type === 'ToolExecutionResult' ? outcome.output : null);
}

/** Stores the evidence of a call that took effect with this output. */
export async function keepEvidenceOf(live: EndedCall, output: JsonValue): Promise<void> {
  const { policy, engine } = live;
  const host = workflowHostOf(engine);
  if (host === undefined || policy === undefined) return;
  const kept =
    live.input?.effective.kept ?? live.journal.call?.effectiveInput ?? live.journal.call?.requestedInput;
  // Hidden values never become evidence, because the state is stored in plain text. A call whose arguments
  // were not an object never ran.
  const call = toWorkflowCall(live, kept as JsonObject);
  const stages = live.journal.call?.started?.stages ?? [];
  for (const workflow of policy.workflows) {
    const { state, version } = await readState(engine, live.sessionId, workflow);
    const stageId = stages.find((stage) => stage.workflow === workflow.name)?.stageId;
    const recorded = await recordEvidence(workflow, state, call, { success: true, output }, host, stageId);
    if (recorded.state === state) continue;
    const wire = cleanState(live, toWire(recorded.state));
    const head = (): ReturnType<typeof envelope> => envelope(live, workflow);
    live.journal.move(toMove(workflow, version), [
      { ...head(), type: 'workflow.updated', why: 'evidence', by: undefined, state: wire },
      ...(recorded.completed === undefined
        ? []
        : [{ ...head(), type: 'workflow.completed' as const, stageId: recorded.completed, state: wire }]),
    ]);
  }
}

/** The approval of the stages that asked, as events with their moves. */
export async function approvalsOf(
  engine: Engine,
  { sessionId, turnId }: Pick<CallEvent, 'sessionId' | 'turnId'>,
  asks: readonly Ask[],
  by: DecidedBy,
  cause: Pick<CallEvent, 'id'> | undefined,
): Promise<readonly { readonly move: Move; readonly event: WorkflowEvent }[]> {
  const approvals: { move: Move; event: WorkflowEvent }[] = [];
  for (const { stage } of asks) {
    const workflow = engine.policyInForce()?.workflows.find(({ name }) => name === stage?.workflow);
    if (stage === undefined || workflow === undefined) continue;
    const { state, version } = await readState(engine, sessionId, workflow);
    approvals.push({
      move: toMove(workflow, version),
      event: {
        id: engine.nextEventId(),
        type: 'workflow.updated',
        sessionId,
        turnId,
        at: engine.ledger.now(),
        cause: cause?.id,
        workflow: workflow.name,
        workflowVersion: workflow.version,
        why: 'approval',
        by: engine.redactor.text(by.name),
        ...(by.identity !== undefined && { identity: by.identity }),
        state: toWire(approveStage(workflow, state, stage.stageId)),
      },
    });
  }
  return approvals;
}

/** Stores the approval of the stages that asked, together with the person's decision. */
export async function keepApprovals(live: AcceptedCall, asks: readonly Ask[], by: DecidedBy): Promise<void> {
  const cause = live.journal.call && { id: live.journal.call.lastEventId };
  for (const { move, event } of await approvalsOf(live.engine, live.turn, asks, by, cause))
    live.journal.move(move, [event]);
}
