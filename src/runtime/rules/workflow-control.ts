/** Reads and changes the workflow of a session on behalf of a host. */
import { checkObject } from '../../base/check-keys.ts';
import { QuittanceError } from '../../base/error.ts';
import { isDotSegment } from '../../base/dot-segment.ts';
import { foldCall } from '../../call/evolve.ts';
import type { DirectIdentity, WorkflowUpdated } from '../../call/event.ts';
import { workflowSubject } from '../../ledger/last-state.ts';
import { resetWorkflow, setWorkflowStage } from '../../policy/workflow/set-workflow-stage.ts';
import type { Workflow } from '../../policy/language/workflow.ts';
import type { WorkflowState } from '../../policy/workflow/workflow-state.ts';
import { toWire } from '../../policy/workflow/workflow-state.ts';
import { describeUnknownName } from '../../base/nearest.ts';
import type { Acting } from '../host/acting.ts';
import { readIdentity } from '../host/acting.ts';
import type { Engine } from '../state/engine.ts';
import { isCallEvent } from '../../ledger/fold-stored.ts';
import { readState } from './ask-workflows.ts';
import { orUnavailable } from '../host/ledger-trouble.ts';
import { whyAsker } from '../host/may-decide.ts';

/** A workflow of a session. The name may be omitted if the contracts have only one workflow. */
export type WorkflowRef = { readonly sessionId: string; readonly workflow?: string };

/** The target stage, and the person who orders the move. */
export type WorkflowMove = {
  readonly stageId: string;
  readonly by: string;
  /** How the host knows this person. Without it, the name counts as self-asserted. */
  readonly identity?: DirectIdentity;
};

export type WorkflowControl = {
  state(): Promise<WorkflowState>;
  /**
   * Returns to a stage. Earlier stages stay complete; approvals and commands of this stage and later ones are
   * dropped.
   */
  reset(move: WorkflowMove): Promise<WorkflowState>;
  /** Sets the stage without checking its gates. Approvals and evidence stay. */
  setStage(move: WorkflowMove): Promise<WorkflowState>;
};

export function controlWorkflow(engine: Engine, ref: WorkflowRef): WorkflowControl {
  checkObject('runtime.workflow', ref);
  const { sessionId, workflow: name } = ref;
  // Turns refuse such ids too: no session can have one.
  if (
    typeof sessionId !== 'string' ||
    sessionId === '' ||
    !sessionId.isWellFormed() ||
    isDotSegment(sessionId)
  )
    throw invalid('runtime.workflow: sessionId must be the id of a session.');
  const find = (): Workflow => findWorkflow(engine.policyInForce()?.workflows ?? [], name);
  const move = async (
    why: 'reset' | 'stage_set',
    to: WorkflowMove,
    change: (workflow: Workflow, state: WorkflowState) => WorkflowState,
  ): Promise<WorkflowState> => {
    const { stageId, by } = to ?? {};
    if (typeof by !== 'string' || by.trim() === '')
      throw invalid('Moving a workflow needs a name: give {stageId, by: "<who>"}.');
    if (typeof stageId !== 'string') throw invalid('Moving a workflow needs the id of a stage: stageId.');
    const identity = readIdentity('runtime.workflow', to.identity, engine.redactor);
    await refuseAsker(engine, sessionId, { by, identity });
    for (;;) {
      const workflow = find();
      const found = await readState(engine, sessionId, workflow);
      const state = change(workflow, found.state);
      const event: WorkflowUpdated = {
        id: engine.nextEventId(),
        type: 'workflow.updated',
        sessionId,
        turnId: '',
        at: engine.ledger.now(),
        cause: undefined,
        workflow: workflow.name,
        workflowVersion: workflow.version,
        why,
        by: engine.redactor.text(by),
        identity,
        state: toWire(state),
      };
      const result = await engine.ledger.journal.append({
        entryId: engine.ids.next('ent'),
        sessionId,
        callId: undefined,
        expectedVersion: 0,
        events: [event],
        moves: [{ subject: workflowSubject(workflow.name), expectedVersion: found.version }],
      });
      if (result.status === 'appended') return state;
    }
  };
  return {
    state: () => orUnavailable((async () => (await readState(engine, sessionId, find())).state)()),
    reset: (to) =>
      orUnavailable(move('reset', to, (workflow, state) => resetWorkflow(workflow, state, to.stageId))),
    setStage: (to) =>
      orUnavailable(
        move('stage_set', to, (workflow, state) => setWorkflowStage(workflow, state, to.stageId)),
      ),
  };
}

/**
 * A move can pass a stage that needs an approval. With separate duties, requesters of the session may not
 * make it.
 */
async function refuseAsker(engine: Engine, sessionId: string, acting: Acting): Promise<void> {
  if (!engine.separateDuties) return;
  for (const event of await engine.ledger.journal.readSession(sessionId)) {
    if (!isCallEvent(event) || event.type !== 'tool.requested') continue;
    const call = foldCall([event]);
    if (call === undefined || whyAsker(engine, call, acting) === undefined) continue;
    throw new QuittanceError(
      'confirmation.forbidden',
      `${acting.by} may not move a workflow of session ${sessionId}: they asked for call ${call.callId} in it, and duties are separate.`,
      { by: acting.by, sessionId },
    );
  }
}

const invalid = (problem: string): QuittanceError => new QuittanceError('config.invalid', problem);

function findWorkflow(workflows: readonly Workflow[], name: string | undefined): Workflow {
  const known = workflows.map((workflow) => workflow.name);
  if (name === undefined && workflows.length === 1) return workflows[0] as Workflow;
  if (name === undefined)
    throw new QuittanceError(
      'config.invalid',
      workflows.length === 0
        ? 'The contracts of this runtime hold no workflow.'
        : `The contracts hold several workflows; name one of ${known.join(', ')}.`,
    );
  const found = workflows.find((workflow) => workflow.name === name);
  if (found === undefined)
    throw new QuittanceError('config.invalid', describeUnknownName('workflow', name, known));
  return found;
}
