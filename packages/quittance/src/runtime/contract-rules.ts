/**
 * Applies contracts and workflows to a call, prepares their rulings for the record, and stores which rules are in force. The
 * ledger stores the stage of each session and changes it by compare-and-set, in one append with the event that caused the
 * change. If another process changed it first, the call is judged again.
 */
import { sandboxMarkOf } from '../tool/sandboxed-tool.ts';
import type { Ask } from '../call/events/confirmation-event.ts';
import type { ReservedShare } from '../call/events/attempt-event.ts';
import type { RuleMark, DecidedBy } from '../call/events/gate-event.ts';
import type { Settlement } from '../ledger/claims.ts';
import type { Policy } from '../policy/judge/compile-policy.ts';
import type { SessionCounters } from '../policy/language/session-metric.ts';
import type { PolicyCall } from '../policy/language/policy-call.ts';
import type { FiredRule, Ruling } from '../policy/language/ruling.ts';
import { counterNameOf, countersFrom, sessionMetrics } from '../policy/language/session-metric.ts';
import type { ContractShare } from './budget.ts';
import { noShares } from './budget.ts';
import { logProblem } from './active-call.ts';
import type { ActiveCall, CheckedCall, Stop, WorkflowStep } from './active-call.ts';
import { clean, cleanObject, cleanState } from './call-input.ts';
import { currentSnapshot } from './recorded-input.ts';
import type { Ids } from '../base/ids.ts';
import type { ContractsLoaded } from '../call/events/ledger-event.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { ledgerSessionId } from '../ledger/ledger.ts';
import type { Contracts } from '../policy/judge/contracts.ts';
import { readCounters, readState } from '../ledger/reads.ts';
import type { JsonObject, JsonValue } from '../base/json.ts';
import type { CallEvent } from '../call/event.ts';
import type { WorkflowEvent, WorkflowUpdate, WorkflowUpdated } from '../call/events/workflow-event.ts';
import type { ToolOutcome } from '../call/outcome.ts';
import type { Move } from '../ledger/journal.ts';
import { workflowSubject } from '../ledger/last-state.ts';
import { evaluateWorkflow } from '../policy/workflow/evaluate-workflow.ts';
import { approveStage, resetWorkflow, setWorkflowStage } from '../policy/workflow/set-workflow-stage.ts';
import { recordEvidence } from '../policy/workflow/record-evidence.ts';
import type { Workflow } from '../policy/language/workflow.ts';
import type { WorkflowCall } from '../policy/workflow/evidence-sources.ts';
import type { WorkflowHost } from '../policy/workflow/first-shut-gate.ts';
import type { WorkflowState } from '../policy/workflow/workflow-state.ts';
import { initialState, parseWorkflowState, toWire } from '../policy/workflow/workflow-state.ts';
import { answerInTime } from './engine.ts';
import type { Engine } from './engine.ts';
import { checkObject } from '../base/check-keys.ts';
import { QuittanceError } from '../base/error.ts';
import { isDotSegment } from '../base/ids.ts';
import { foldCall } from '../call/evolve.ts';
import type { DirectIdentity } from '../call/identity.ts';
import { describeUnknownName } from '../base/nearest.ts';
import type { Acting } from './rights.ts';
import { checkName } from '../call/limits.ts';
import { refuseRole } from '../call/role.ts';
import { readIdentity } from './rights.ts';
import { isCallEvent } from '../ledger/fold-stored.ts';
import { orUnavailable } from './ledger-trouble.ts';
import { whyAsker } from './approvers.ts';

export function toPolicyCall(active: CheckedCall): PolicyCall {
  const { tool, facts } = active;
  const { contracts } = active.engine;
  return {
    toolName: tool.name,
    input: active.judged,
    principal: facts.principal,
    metadata: facts.attrs,
    snapshot: currentSnapshot(active)?.snapshot,
    resources: tool.resources,
    mode: tool.mode,
    risk: tool.risk,
    // The executor enforces the rules of its own contracts only.
    confined: contracts !== undefined && sandboxMarkOf(tool)?.contracts === contracts,
  };
}

type CountedCall = Pick<CheckedCall, 'engine' | 'tool' | 'sessionId'>;

/** Asks every rule, including session limits, which use the counts so far. */
export const askRules = async (active: CheckedCall, policy: Policy): Promise<Ruling> =>
  policy.judgeCall(toPolicyCall(active), await readCounted(active, policy));

/** The counts of the session so far, or undefined if no rule uses them. */
async function readCounted(active: CountedCall, policy: Policy): Promise<SessionCounters | undefined> {
  const { name: toolName } = active.tool;
  const metrics = [
    ...new Set([...policy.limitsFor(toolName).map(({ metric }) => metric), ...policy.countsFor(toolName)]),
  ];
  if (metrics.length === 0) return undefined;
  const names = metrics.map((metric) => counterOf(active, counterNameOf(metric, toolName)));
  const counters = await readCounters(active.engine.ledger, names);
  return countersFrom((metric) => {
    const { used, reserved } = counters[metrics.indexOf(metric)] ?? { used: 0, reserved: 0 };
    return used + reserved;
  });
}

/**
 * The shares that the call must reserve: one for each counter, under the strictest enforced rule. A counter
 * whose rules only observe has no limit. Failures are not reserved, since no call is meant to fail: the
 * intent is refused once the limit is reached.
 */
export function contractShares(active: CountedCall, policy: Policy): readonly ContractShare[] {
  const all = policy.limitsFor(active.tool.name);
  if (all.length === 0) return noShares;
  const shares = new Map<string, ContractShare>();
  for (const limits of all) {
    const counter = counterOf(active, limits.counter);
    const isEnforced = limits.mode === 'enforce' && !limits.candidate;
    const { byEnd } = sessionMetrics[limits.metric];
    // A counter without a reservation or a limit is left to `countedByEnd`.
    if (byEnd !== undefined && !isEnforced) continue;
    const most = isEnforced ? limits.limit : Number.MAX_SAFE_INTEGER;
    const limit = byEnd === undefined ? most : most - 1;
    const metric = byEnd ?? (limits.metric === 'attempts' ? 'attempts' : 'tool_calls');
    const known = shares.get(counter);
    if (known === undefined || limit < known.limit)
      shares.set(counter, { counter, amount: byEnd === undefined ? 1 : 0, limit, metric, limits });
  }
  return [...shares.values()];
}

/** The counts that the end of the call adds, in any process. They are stored with the intent. */
export function countedByEnd(active: CountedCall, policy: Policy): readonly ReservedShare[] {
  const { name: toolName } = active.tool;
  const metrics = new Set([
    ...policy.limitsFor(toolName).map(({ metric }) => metric),
    ...policy.countsFor(toolName),
  ]);
  return [...metrics].flatMap((metric) => {
    const { byEnd } = sessionMetrics[metric];
    const counter = counterOf(active, counterNameOf(metric, toolName));
    return byEnd === undefined ? [] : [{ counter, amount: 0, metric: byEnd }];
  });
}

/** The stop of a call whose session limit was used up by another call between the gate and the intent. */
export async function usedUp(
  active: CheckedCall,
  policy: Policy,
  { limits }: ContractShare,
): Promise<{ readonly stop: Stop; readonly mark: RuleMark }> {
  const fired = policy.limitFired(limits, toPolicyCall(active), await readCounted(active, policy));
  return { stop: toStop(active, fired), mark: toMark(active, fired) };
}

/** A call that is stopped after the rules judged it is counted at its end. */
export const stoppedShares = ({
  policy,
  tool,
  sessionId,
  engine,
  ruled,
}: ActiveCall): readonly Settlement[] =>
  policy === undefined || tool === undefined || ruled !== true
    ? []
    : contractShares({ engine, tool, sessionId }, policy)
        .filter(({ metric }) => metric === 'attempts')
        .map(({ counter }) => ({ counter, reserved: 0, used: 1 }));

/**
 * One counter for each counted thing, independent of the rules, so that a session keeps its counts when rules
 * change.
 */
const counterOf = ({ sessionId }: CountedCall, counter: string): string =>
  `session/${JSON.stringify(sessionId)}/contract/${counter}`;

export const toStop = (active: ActiveCall, { ruleId, message }: FiredRule): Stop => ({
  type: 'deny',
  reason: 'contract',
  code: 'policy.contract',
  details: clean(active, message),
  by: { type: 'rule', name: ruleId },
});

export function toAsk(active: ActiveCall, policy: Policy, fired: FiredRule): Ask {
  const digest = policy.digestOf(fired.ruleId);
  return {
    by: { type: 'rule', name: fired.ruleId },
    description: clean(active, fired.message),
    ...(digest !== undefined && { digest }),
    ...(fired.timeoutSeconds !== undefined && { timeoutSeconds: fired.timeoutSeconds }),
    ...(fired.timeoutEffect !== undefined && { timeoutEffect: fired.timeoutEffect }),
    ...(fired.approval !== undefined && { approval: fired.approval }),
  };
}

const noMarks: readonly RuleMark[] = Object.freeze([]);

/**
 * The rules that fired, and those in observe mode that would have, for the record. Mistakes of rules written as
 * functions go into the log of the call.
 */
export function toMarks(
  active: ActiveCall,
  { fired, observed }: { readonly fired: readonly FiredRule[]; readonly observed: readonly FiredRule[] },
): readonly RuleMark[] {
  if (fired.length + observed.length === 0) return noMarks;
  const rules = [...fired, ...observed];
  for (const { ruleId, mistake } of rules)
    if (mistake !== undefined) logProblem(active, `The rule ${ruleId} could not be applied: ${mistake}`);
  return rules.map((rule) => toMark(active, rule));
}

export function toMark(active: ActiveCall, rule: FiredRule): RuleMark {
  return Object.freeze({
    ruleId: rule.ruleId,
    action: rule.action,
    message: clean(active, rule.message),
    ...(rule.tags.length > 0 && { tags: rule.tags }),
    ...(rule.metadata !== undefined && { metadata: cleanObject(active, rule.metadata) }),
    ...(rule.observed && { observed: true as const }),
    ...(rule.policyError && { policyError: true as const }),
  });
}

/**
 * Returns the rules in force. New rules are stored with their text in the ledger's own chain; a decision names only their
 * version. This append is submitted before any decision under these rules, so it is written before or with that decision.
 */
export function followContracts(
  contracts: Contracts | undefined,
  ledger: Ledger,
  ids: Ids,
  stragglers: Set<Promise<unknown>>,
): () => Policy | undefined {
  if (contracts === undefined) return () => undefined;
  let noted: string | undefined;
  return () => {
    const { policy } = contracts;
    if (policy.version !== noted) {
      noted = policy.version;
      const kept: Promise<unknown> = note(contracts, policy.version, ledger, ids)
        // Another runtime or the next start tries again.
        .catch(() => undefined)
        .finally(() => stragglers.delete(kept));
      stragglers.add(kept);
    }
    return policy;
  };
}

async function note(
  { documents, workflowHost: { workingDirectory } }: Contracts,
  policyVersion: string,
  ledger: Ledger,
  ids: Ids,
): Promise<void> {
  const known = await ledger.readSession(ledgerSessionId);
  const last = known.findLast(
    (event) => event.type === 'contracts.loaded' && event.policyVersion === policyVersion,
  );
  if (last?.type === 'contracts.loaded' && last.workingDirectory === workingDirectory) return;
  const event: ContractsLoaded = {
    id: ids.next('evt'),
    type: 'contracts.loaded',
    sessionId: ledgerSessionId,
    turnId: '',
    at: ledger.now(),
    cause: undefined,
    policyVersion,
    documents,
    ...(workingDirectory !== undefined && { workingDirectory }),
  };
  await ledger.append({
    entryId: ids.next('ent'),
    sessionId: ledgerSessionId,
    callId: undefined,
    expectedVersion: 0,
    events: [event],
  });
}

type FoundState = { readonly state: WorkflowState; readonly version: number };

async function readWorkflowState(
  { ledger }: Engine,
  sessionId: string,
  workflow: Workflow,
): Promise<FoundState> {
  const stored = await readState(ledger, sessionId, workflowSubject(workflow.name));
  return stored === undefined
    ? { state: initialState(workflow), version: 0 }
    : { state: parseWorkflowState(workflow, stored.state), version: stored.version };
}

/** Asks every workflow about the call, in order. */
export async function askWorkflows(
  active: CheckedCall,
  workflows: readonly Workflow[],
): Promise<readonly WorkflowStep[]> {
  const host = workflowHostOf(active.engine);
  if (host === undefined) return [];
  const steps: WorkflowStep[] = [];
  for (const workflow of workflows) {
    const { state, version } = await readWorkflowState(active.engine, active.sessionId, workflow);
    const ruling = await evaluateWorkflow(workflow, state, toWorkflowCall(active, active.judged), host);
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

const toWorkflowCall = (active: ActiveCall, input: JsonObject): WorkflowCall => ({
  toolName: active.request.name,
  input,
  at: active.engine.ledger.now(),
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
 * Creates the events for the steps that a decision causes. A call that runs advances the workflows that allowed it. A call
 * that waits for the approval of a stage, or that a stage stopped, changes the workflows that ask for it. Any other call
 * changes none.
 */
export function keepSteps(
  active: ActiveCall,
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
    active.journal.move(
      toMove(workflow, step.version),
      eventsOf(active, step).map((event) => ({ ...envelope(active, workflow), ...event })),
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
 * The events of a step. Each carries the state of the workflow after the call, which the next call must expect.
 */
function eventsOf(active: ActiveCall, { ruling }: WorkflowStep): readonly Bare<WorkflowEvent>[] {
  const state = cleanState(active, toWire(ruling.state));
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
  active: ActiveCall,
  { name, version }: Workflow,
): Omit<WorkflowEvent, 'type' | 'state' | 'stageId' | 'toStageId' | 'why' | 'by'> => ({
  id: active.engine.nextEventId(),
  sessionId: active.sessionId,
  turnId: active.turn.turnId,
  at: active.engine.ledger.now(),
  cause: active.journal.call?.lastEventId,
  workflow: name,
  workflowVersion: version,
});

/** Stores the evidence of an ended call together with its end. */
export async function keepEvidence(
  active: ActiveCall,
  success: boolean,
  outcome: ToolOutcome,
): Promise<void> {
  if (success) await keepEvidenceOf(active, outcome.type === 'ToolExecutionResult' ? outcome.output : null);
}

/** Stores the evidence of a call that took effect with this output. */
export async function keepEvidenceOf(active: ActiveCall, output: JsonValue): Promise<void> {
  const { policy, engine } = active;
  const host = workflowHostOf(engine);
  if (host === undefined || policy === undefined) return;
  const kept =
    active.input?.effective.kept ??
    active.journal.call?.effectiveInput ??
    active.journal.call?.requestedInput;
  // Hidden values never become evidence, because the state is stored in plain text. A call whose arguments
  // were not an object never ran.
  const call = toWorkflowCall(active, kept as JsonObject);
  const stages = active.journal.call?.started?.stages ?? [];
  for (const workflow of policy.workflows) {
    const { state, version } = await readWorkflowState(engine, active.sessionId, workflow);
    const stageId = stages.find((stage) => stage.workflow === workflow.name)?.stageId;
    const recorded = await recordEvidence(workflow, state, call, { success: true, output }, host, stageId);
    if (recorded.state === state) continue;
    const wire = cleanState(active, toWire(recorded.state));
    const head = (): ReturnType<typeof envelope> => envelope(active, workflow);
    active.journal.move(toMove(workflow, version), [
      { ...head(), type: 'workflow.updated', why: 'evidence', by: undefined, state: wire },
      ...(recorded.completed === undefined
        ? []
        : [{ ...head(), type: 'workflow.completed' as const, stageId: recorded.completed, state: wire }]),
    ]);
  }
}

/** The approval of the stages that asked, as events with their changes of state. */
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
    const { state, version } = await readWorkflowState(engine, sessionId, workflow);
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
export async function keepApprovals(active: ActiveCall, asks: readonly Ask[], by: DecidedBy): Promise<void> {
  const cause = active.journal.call && { id: active.journal.call.lastEventId };
  for (const { move, event } of await approvalsOf(active.engine, active.turn, asks, by, cause))
    active.journal.move(move, [event]);
}

/** A workflow of a session. The name may be omitted if the contracts have only one workflow. */
export type WorkflowRef = { readonly sessionId: string; readonly workflow?: string };

/** The target stage, and the person who orders the change. */
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
  // Turns refuse such ids too, so no session has one.
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
    checkName('runtime.workflow', by);
    const identity = readIdentity('runtime.workflow', to.identity, engine.redactor);
    refuseRole(identity, 'approver', 'move a workflow');
    await refuseAsker(engine, sessionId, { by, identity });
    for (;;) {
      const workflow = find();
      const found = await readWorkflowState(engine, sessionId, workflow);
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
      const result = await engine.ledger.append({
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
    state: () => orUnavailable((async () => (await readWorkflowState(engine, sessionId, find())).state)()),
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
  for (const event of await engine.ledger.readSession(sessionId)) {
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
