/**
 * Decides whether a workflow allows a call, and computes the next state.
 *
 * 1. A stage is entered only from the stage before it, if that stage's exit gates and approval and its own entry
 *    gates allow it.
 * 2. A blocked call moves nothing, unless it ran into a terminal stage: then the workflow is there.
 * 3. This code changes no state and never throws. It answers synchronously unless an `exec` gate must run.
 */
import type { Awaitable } from '../../base/json.ts';
import { quote } from '../../base/nearest.ts';
import { whenReady } from '../../base/deadlines.ts';
import type { WorkflowHost } from './first-shut-gate.ts';
import { firstShutGate, shutOnLeaving } from './first-shut-gate.ts';
import type { Stage, Workflow } from '../language/workflow.ts';
import { isBoundary, mustBeLeft, stageIndex } from '../language/workflow.ts';
import type { WorkflowCall, EvidenceSources } from './evidence-sources.ts';
import { noteOf, commandsOfCall } from './evidence-sources.ts';
import type { WorkflowState } from './workflow-state.ts';
import { isApproved } from './workflow-state.ts';
import { cutText } from '../../base/cut-text.ts';

export type WorkflowRuling = {
  readonly decision: 'allow' | 'ask' | 'block';
  /** The reason for a block, or the question of an ask. */
  readonly message: string | undefined;
  /** The stage that decided: where the call runs, which stage needs approval, or which one blocks. */
  readonly stageId: string | undefined;
  /** The same object as the input if nothing changed. */
  readonly state: WorkflowState;
  readonly advances: readonly StageAdvance[];
};

/** One step forward. `to` is undefined when the last stage is left: the workflow is complete. */
type StageAdvance = { readonly from: string; readonly to: string | undefined };

export function evaluateWorkflow(
  workflow: Workflow,
  state: WorkflowState,
  call: WorkflowCall,
  host: WorkflowHost,
): Awaitable<WorkflowRuling> {
  const walk: Walk = { workflow, call, host, before: state, state, advances: [] };
  return state.activeStage === undefined ? allow(walk) : look(walk, state.activeStage);
}

type Walk = {
  readonly workflow: Workflow;
  readonly call: WorkflowCall;
  readonly host: WorkflowHost;
  /** The state when the call came. */
  readonly before: WorkflowState;
  readonly state: WorkflowState;
  readonly advances: readonly StageAdvance[];
};

/** Does the stage accept the call? */
function look(walk: Walk, stageId: string): Awaitable<WorkflowRuling> {
  const { workflow, call, host, state } = walk;
  const index = stageIndex(workflow, stageId);
  const stage = workflow.stages[index];
  if (stage === undefined) {
    const known = workflow.stages.map(({ id }) => id).join(', ');
    return block(
      walk,
      undefined,
      inWords(
        `Workflow ${quote(workflow.name)} is in the unknown stage ${quote(stageId)}; reset it to one ` +
          `of ${known}.`,
      ),
    );
  }
  const reason = reasonAgainst(stage, call, host.evidence);
  if (stage.terminal)
    return whenReady(firstShutGate(stage.exit, { workflow, stage, side: 'exit' }, state, host), (shut) => {
      if (shut === undefined)
        return block(
          walk,
          stage,
          inWords(`${quote(workflow.name)}: workflow complete, no further calls are accepted.`),
        );
      return reason === undefined ? allow(walk, stage) : block(walk, stage, reason);
    });
  if (reason === undefined) return allow(walk, stage);
  const next = workflow.stages[index + 1];
  if (next === undefined) return finish(walk, stage, reason);
  return mustBeLeft(stage)
    ? leave(walk, stage, index, next, reason)
    : drift(walk, stage, index, next, reason);
}

/** Leaves a stage with exit gates or an approval. */
function leave(
  walk: Walk,
  stage: Stage,
  index: number,
  next: Stage,
  reason: StageRefusal,
): Awaitable<WorkflowRuling> {
  const { workflow, call, host, state } = walk;
  if (!isTakenLater(workflow, index, call, host.evidence)) return block(walk, stage, reason);
  return whenReady(shutOnLeaving(workflow, stage, state, host), (shut): Awaitable<WorkflowRuling> => {
    if (shut !== undefined) return block(walk, stage, inWords(shut));
    if (!isTakenNext(workflow, index, call, host.evidence)) return block(walk, stage, reason);
    if (stage.approvalMessage !== undefined && !isApproved(state, stage.id))
      return ask(walk, stage, stage.approvalMessage);
    return enter(walk, stage, next);
  });
}

/** Leaves a stage without conditions: only a call that clearly belongs to the next stage may. */
function drift(
  walk: Walk,
  stage: Stage,
  index: number,
  next: Stage,
  reason: StageRefusal,
): Awaitable<WorkflowRuling> {
  const { workflow, call, host } = walk;
  if (next.terminal) return enter(walk, stage, next);
  if (!isTakenNext(workflow, index, call, host.evidence)) return block(walk, stage, reason);
  // Only the agent's wish would separate the two stages, so this stage's reason against the call applies.
  return enter(walk, stage, next, mustBeLeft(next) ? undefined : reason);
}

/**
 * Leaves the last stage and completes the workflow. A call that the stage refuses cannot leave a stage that accepts
 * calls.
 */
function finish(walk: Walk, stage: Stage, reason: StageRefusal): Awaitable<WorkflowRuling> {
  const { workflow, host, state } = walk;
  if (!mustBeLeft(stage)) return block(walk, stage, reason);
  return whenReady(shutOnLeaving(workflow, stage, state, host), (shut) => {
    if (shut !== undefined) return block(walk, stage, isBoundary(stage) ? inWords(shut) : reason);
    if (stage.approvalMessage !== undefined && !isApproved(state, stage.id))
      return isBoundary(stage) ? ask(walk, stage, stage.approvalMessage) : block(walk, stage, reason);
    return allow(advance(walk, stage, undefined));
  });
}

/** Passes the entry gates of the next stage, unless there is a reason to stay anyway. */
function enter(
  walk: Walk,
  stage: Stage,
  next: Stage,
  reasonToStay?: StageRefusal,
): Awaitable<WorkflowRuling> {
  const { workflow, host } = walk;
  const moved = advance(walk, stage, next);
  return whenReady(
    firstShutGate(next.entry, { workflow, stage: next, side: 'entry' }, moved.state, host),
    (shut) => {
      const reason = shut === undefined ? reasonToStay : inWords(shut);
      return reason === undefined ? look(moved, next.id) : block(walk, stage, reason);
    },
  );
}

function advance(walk: Walk, stage: Stage, next: Stage | undefined): Walk {
  const { state } = walk;
  const completedStages = state.completedStages.includes(stage.id)
    ? state.completedStages
    : [...state.completedStages, stage.id];
  return {
    ...walk,
    state: { ...state, activeStage: next?.id, completedStages },
    advances: [...walk.advances, { from: stage.id, to: next?.id }],
  };
}

function allow({ state, advances }: Walk, stage?: Stage): WorkflowRuling {
  const isClear =
    state.blockedReason === undefined &&
    state.pendingApproval === undefined &&
    state.lastBlockedAction === undefined;
  const clear = isClear
    ? state
    : { ...state, blockedReason: undefined, pendingApproval: undefined, lastBlockedAction: undefined };
  return { decision: 'allow', message: undefined, stageId: stage?.id, state: clear, advances };
}

function ask({ state, advances }: Walk, stage: Stage, message: string): WorkflowRuling {
  const pending = state.pendingApproval;
  const isSame =
    pending?.stageId === stage.id && pending.message === message && state.blockedReason === undefined;
  return {
    decision: 'ask',
    message,
    stageId: stage.id,
    state: isSame
      ? state
      : { ...state, blockedReason: undefined, pendingApproval: { stageId: stage.id, message } },
    advances,
  };
}

function block(walk: Walk, stage: Stage | undefined, { reason, message }: StageRefusal): WorkflowRuling {
  const isThere = stage?.terminal === true;
  const state = isThere ? walk.state : walk.before;
  const note = noteOf(walk.call, walk.host.evidence);
  const last = state.lastBlockedAction;
  const isSame =
    state.blockedReason === reason &&
    state.pendingApproval === undefined &&
    last?.tool === note.tool &&
    last.summary === note.summary &&
    last.message === message;
  return {
    decision: 'block',
    message,
    stageId: stage?.id,
    state: isSame
      ? state
      : {
          ...state,
          blockedReason: reason,
          pendingApproval: undefined,
          lastBlockedAction: { ...note, message },
        },
    advances: isThere ? walk.advances : [],
  };
}

/** Decides which calls belong to a stage: by the tool's name, and by the command if the tool runs one. */

/** Why a call is stopped: the reason that the state stores, and the message for the caller. */
type StageRefusal = { readonly reason: string; readonly message: string };

/** The stored reason for every tool that a stage does not accept, word for word. */
const toolNotAllowed = 'Tool is not allowed in this workflow stage';

/** Why the stage does not accept the call; undefined if it does. */
function reasonAgainst(stage: Stage, call: WorkflowCall, sources: EvidenceSources): StageRefusal | undefined {
  if (!takesTool(stage, call.toolName))
    return {
      reason: toolNotAllowed,
      message: `Tool ${quote(call.toolName)} is not allowed in this workflow stage, ${quote(stage.id)}: ${whatItTakes(stage)}.`,
    };
  // Checks apply to commands: a tool that runs none passes them.
  const commands = stage.checks.length === 0 ? undefined : commandsOfCall(call, sources);
  if (commands === undefined) return undefined;
  if (commands.type === 'unclear')
    return inWords(
      `Stage ${quote(stage.id)} checks commands, but this call of ${quote(call.toolName)} has no ` +
        `command text in ${quote(commands.argument)}.`,
    );
  const failed = stage.checks.find(
    ({ type, regex }) => !commands.texts.every((text) => regex.test(text) === (type === 'command_matches')),
  );
  return failed && inWords(failed.message);
}

/** A refusal whose stored reason is also the message. */
const inWords = (message: string): StageRefusal => ({ reason: message, message });

/** Does the next stage accept the call, looking through boundaries? After the last stage every call is accepted. */
function isTakenNext(
  workflow: Workflow,
  index: number,
  call: WorkflowCall,
  sources: EvidenceSources,
): boolean {
  const after = workflow.stages.slice(index + 1);
  const next = after.find((stage) => !isBoundary(stage));
  return next === undefined ? after.length > 0 : reasonAgainst(next, call, sources) === undefined;
}

/** Does any later stage accept the call? */
const isTakenLater = (
  workflow: Workflow,
  index: number,
  call: WorkflowCall,
  sources: EvidenceSources,
): boolean =>
  isTakenNext(workflow, index, call, sources) ||
  workflow.stages
    .slice(index + 1)
    .some((stage) => !isBoundary(stage) && reasonAgainst(stage, call, sources) === undefined);

function takesTool(stage: Stage, toolName: string): boolean {
  if (stage.tools.length === 0) return !stage.terminal && !isBoundary(stage);
  return stage.tools.some(({ matches }) => matches(toolName));
}

function whatItTakes(stage: Stage): string {
  if (stage.tools.length > 0)
    return `it accepts ${cutText(stage.tools.map(({ pattern }) => pattern).join(', '), 200)}`;
  return 'it accepts no calls itself';
}
