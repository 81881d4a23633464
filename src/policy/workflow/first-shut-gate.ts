/** Whether a gate of a stage is open, going by what the workflow was shown. */
import type { Awaitable } from '../../base/json.ts';
import { ownValue } from '../../tool/own-value.ts';
import { whenReady } from '../../base/when-ready.ts';
import type { EvidenceSources } from './evidence-sources.ts';
import type { Stage, StageCondition, StageGate, Workflow } from '../language/workflow.ts';
import { isBoundary, stageIndex } from '../language/workflow.ts';
import type { WorkflowState } from './workflow-state.ts';
import { isApproved, listOf } from './workflow-state.ts';

/** What workflows need of the world. */
export type WorkflowHost = {
  readonly evidence: EvidenceSources;
  /**
   * Runs a command and gives its exit code; the host bounds it in time. Without it no `exec` gate is ever open; one
   * that throws or gives no number leaves the gate shut.
   */
  readonly exec?: (command: string) => Awaitable<number>;
  /** What relative paths are relative to: a file below it counts under its relative path too. */
  readonly workingDirectory?: string;
};

/** Where a gate stands: on the way into a stage or out of it. */
export type GateSide = 'entry' | 'exit';

/** The first gate that is shut, as the message it gives; undefined where all are open. */
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
      return `${gate.message} (exec conditions are off: the host gives no way to run one)`;
    const next = index + 1;
    return whenReady(exitsWith(host.exec, condition), (met) =>
      met ? firstShutGate(gates, place, state, host, next) : gate.message,
    );
  }
  return undefined;
}

/**
 * The first exit gate that keeps a stage from being left. An `approval()` of a stage that asks for approval is left
 * to the asking: were it a shut gate, nobody would ever be asked.
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
      return listOf(state.evidence.mcpResults, condition.tool).some(
        (result) => ownValue(result, condition.field) === condition.value,
      );
  }
}

/**
 * A stage is left by what ran in it. Nothing has run in a stage that is about to be entered, and nothing ever runs in
 * a boundary: there the commands of all stages before count as well.
 */
function commandsFor(
  { workflow, stage, side }: { readonly workflow: Workflow; readonly stage: Stage; readonly side: GateSide },
  state: WorkflowState,
): readonly string[] {
  const { stageCalls } = state.evidence;
  if (side === 'exit' && !isBoundary(stage)) return listOf(stageCalls, stage.id);
  return workflow.stages
    .slice(0, stageIndex(workflow, stage.id) + 1)
    .flatMap(({ id }) => listOf(stageCalls, id));
}

/**
 * The same file under one spelling, without asking the disk: `./a//b` is `a/b`, and a path below the working directory
 * loses it. `..` stays, since behind a link it may lead elsewhere.
 */
function plainPath(path: string, workingDirectory: string | undefined): string {
  const parts = path.split('/').filter((part) => part !== '' && part !== '.');
  const plain = `${path.startsWith('/') ? '/' : ''}${parts.join('/')}`;
  if (workingDirectory === undefined || !workingDirectory.startsWith('/')) return plain;
  const base = plainPath(workingDirectory, undefined);
  return base !== '/' && plain.startsWith(`${base}/`) ? plain.slice(base.length + 1) : plain;
}
