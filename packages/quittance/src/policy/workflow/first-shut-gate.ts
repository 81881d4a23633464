/** Decides whether a gate of a stage is open, by the evidence of the workflow. */
import type { Awaitable } from '../../base/json.ts';
import { ownValue } from '../../base/json.ts';
import { whenReady } from '../../base/deadlines.ts';
import type { EvidenceSources } from './evidence-sources.ts';
import type { Stage, StageCondition, StageGate, Workflow } from '../language/workflow.ts';
import { isBoundary, stageIndex } from '../language/workflow.ts';
import type { WorkflowState } from './workflow-state.ts';
import { isApproved, entriesOf } from './workflow-state.ts';

/** What workflows need from the host. */
export type WorkflowHost = {
  readonly evidence: EvidenceSources;
  /**
   * Runs a command and returns its exit code; the host limits its time. Without it every `exec` gate is closed. If it
   * throws or returns no number, the gate is closed.
   */
  readonly exec?: (command: string) => Awaitable<number>;
  /** Base of relative paths: a file below it also counts under its relative path. */
  readonly workingDirectory?: string;
};

/** Is the gate at the entry of a stage or at its exit? */
export type GateSide = 'entry' | 'exit';

/** The message of the first closed gate; undefined if all are open. */
export function firstShutGate(
  gates: readonly StageGate[],
  place: { readonly workflow: Workflow; readonly stage: Stage; readonly side: GateSide },
  state: WorkflowState,
  host: WorkflowHost,
  from = 0,
): Awaitable<string | undefined> {
  for (let index = from; index < gates.length; index++) {
    const gate = gates[index];
    if (gate === undefined) continue;
    const { condition } = gate;
    if (condition.type !== 'exec') {
      if (!isMet(condition, place, state, host)) return gate.message;
      continue;
    }
    if (host.exec === undefined)
      return `${gate.message} (exec conditions are disabled: the host provides no way to run commands)`;
    const next = index + 1;
    return whenReady(exitsWith(host.exec, condition), (met) =>
      met ? firstShutGate(gates, place, state, host, next) : gate.message,
    );
  }
  return undefined;
}

/**
 * The first exit gate that keeps a stage from being left. An `approval()` in a stage that asks for approval is left
 * to that request: as a closed gate it would prevent the request.
 */
export const shutOnLeaving = (
  workflow: Workflow,
  stage: Stage,
  state: WorkflowState,
  host: WorkflowHost,
): Awaitable<string | undefined> =>
  firstShutGate(
    stage.approvalMessage === undefined
      ? stage.exit
      : stage.exit.filter(({ condition }) => !isApprovalOf(condition, stage.id)),
    { workflow, stage, side: 'exit' },
    state,
    host,
  );

const isApprovalOf = (condition: StageCondition, stageId: string): boolean =>
  condition.type === 'approval' && (condition.stageId ?? stageId) === stageId;

function exitsWith(
  exec: NonNullable<WorkflowHost['exec']>,
  { command, exitCode }: Extract<StageCondition, { type: 'exec' }>,
): Awaitable<boolean> {
  try {
    return whenReady(
      exec(command),
      (code) => code === exitCode,
      () => false,
    );
  } catch {
    return false;
  }
}

function isMet(
  condition: Exclude<StageCondition, { type: 'exec' }>,
  place: { readonly workflow: Workflow; readonly stage: Stage; readonly side: GateSide },
  state: WorkflowState,
  host: WorkflowHost,
): boolean {
  switch (condition.type) {
    case 'stage_complete':
      return state.completedStages.includes(condition.stageId);
    case 'file_read': {
      const wanted = plainPath(condition.path, host.workingDirectory);
      return state.evidence.reads.some((path) => plainPath(path, host.workingDirectory) === wanted);
    }
    case 'approval':
      return isApproved(state, condition.stageId ?? place.stage.id);
    case 'command_matches':
      return commandsFor(place, state).some((command) => condition.regex.test(command));
    case 'command_not_matches':
      return !commandsFor(place, state).some((command) => condition.regex.test(command));
    case 'mcp_result_matches':
      return entriesOf(state.evidence.mcpResults, condition.tool).some(
        (result) => ownValue(result, condition.field) === condition.value,
      );
  }
}

/**
 * A stage is left by the commands that ran in it. A stage about to be entered has run none, and a boundary never runs
 * any. There the commands of all earlier stages count too.
 */
function commandsFor(
  { workflow, stage, side }: { readonly workflow: Workflow; readonly stage: Stage; readonly side: GateSide },
  state: WorkflowState,
): readonly string[] {
  const { stageCalls } = state.evidence;
  if (side === 'exit' && !isBoundary(stage)) return entriesOf(stageCalls, stage.id);
  return workflow.stages
    .slice(0, stageIndex(workflow, stage.id) + 1)
    .flatMap(({ id }) => entriesOf(stageCalls, id));
}

/**
 * One spelling per file, without reading the disk: `./a//b` is `a/b`, and a path below the working directory becomes
 * relative. `..` stays, since it may lead elsewhere after a link.
 */
function plainPath(path: string, workingDirectory: string | undefined): string {
  const parts = path.split('/').filter((part) => part !== '' && part !== '.');
  const plain = `${path.startsWith('/') ? '/' : ''}${parts.join('/')}`;
  if (workingDirectory === undefined || !workingDirectory.startsWith('/')) return plain;
  const base = plainPath(workingDirectory, undefined);
  return base !== '/' && plain.startsWith(`${base}/`) ? plain.slice(base.length + 1) : plain;
}
