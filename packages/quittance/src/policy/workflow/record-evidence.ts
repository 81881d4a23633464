/** Records the evidence of a call. Only a successful call gives evidence. */
import { isDeepStrictEqual } from 'node:util';
import type { Awaitable, JsonValue } from '../../base/json.ts';
import { whenReady } from '../../base/deadlines.ts';
import type { WorkflowHost } from './first-shut-gate.ts';
import { shutOnLeaving } from './first-shut-gate.ts';
import type { Workflow } from '../language/workflow.ts';
import { mustBeLeft, stageIndex } from '../language/workflow.ts';
import type { WorkflowCall } from './evidence-sources.ts';
import { commandsOfCall, noteOf, readPathOf, structuredResultOf } from './evidence-sources.ts';
import type { WorkflowEvidence, WorkflowState } from './workflow-state.ts';
import { isApproved, entriesOf, withMember } from './workflow-state.ts';

export type CallResult = { readonly success: boolean; readonly output: JsonValue };

export type EvidenceRecord = {
  /** The same object as the input if the call gave no evidence. */
  readonly state: WorkflowState;
  /** The last stage, if this was all it waited for. */
  readonly completed: string | undefined;
};

/**
 * `stageId` is the stage that allowed the call. Another call may have left it meanwhile. It is undefined if the
 * workflow was already complete. A stage after the active one was reset while the call ran: then the evidence no
 * longer counts.
 */
export function recordEvidence(
  workflow: Workflow,
  state: WorkflowState,
  call: WorkflowCall,
  result: CallResult,
  host: WorkflowHost,
  stageId: string | undefined,
): Awaitable<EvidenceRecord> {
  const unchanged: EvidenceRecord = { state, completed: undefined };
  if (!result.success || stageId === undefined || stageIndex(workflow, stageId) < 0) return unchanged;
  const evidence = withCall(workflow, state, call, result.output, host, stageId);
  const recorded: WorkflowState =
    evidence === undefined
      ? state
      : { ...state, evidence, lastRecordedEvidence: noteOf(call, host.evidence) };
  return whenReady(isFinished(workflow, recorded, host), (finished): EvidenceRecord => {
    const last = recorded.activeStage;
    if (!finished || last === undefined) return { state: recorded, completed: undefined };
    const completedStages = recorded.completedStages.includes(last)
      ? recorded.completedStages
      : [...recorded.completedStages, last];
    return { state: { ...recorded, activeStage: undefined, completedStages }, completed: last };
  });
}

/** Undefined if the call gives no evidence. */
function withCall(
  workflow: Workflow,
  state: WorkflowState,
  call: WorkflowCall,
  output: JsonValue,
  host: WorkflowHost,
  stageId: string,
): WorkflowEvidence | undefined {
  const path = readPathOf(call, host.evidence);
  const commands = commandsOfCall(call, host.evidence);
  const result = structuredResultOf(call, output, host.evidence);
  const { reads, stageCalls, mcpResults } = state.evidence;
  const countsForStage = commands?.type === 'clear' && isBehind(workflow, state, stageId);
  if (path === undefined && !countsForStage && result === undefined) return undefined;
  return {
    reads: path === undefined || reads.includes(path) ? reads : [...reads, path],
    stageCalls: countsForStage
      ? withMember(
          stageCalls,
          stageId,
          commands.texts.reduce(withItem<string>, entriesOf(stageCalls, stageId)),
        )
      : stageCalls,
    mcpResults:
      result === undefined
        ? mcpResults
        : withMember(mcpResults, call.toolName, withItem(entriesOf(mcpResults, call.toolName), result)),
  };
}

/** Active, or already left. */
const isBehind = (workflow: Workflow, state: WorkflowState, stageId: string): boolean =>
  state.activeStage === undefined || stageIndex(workflow, stageId) <= stageIndex(workflow, state.activeStage);

/** Beyond this number, a repeated command is not recorded again: no gate needs it, and the state stays bounded. */
const mostRepeated = 1000;

const withItem = <Item>(items: readonly Item[], item: Item): readonly Item[] =>
  items.length >= mostRepeated && items.some((other) => isDeepStrictEqual(other, item))
    ? items
    : [...items, item];

/**
 * Does the last stage have everything it waits for? A terminal stage, or one that waits for nothing, is never left.
 */
function isFinished(workflow: Workflow, state: WorkflowState, host: WorkflowHost): Awaitable<boolean> {
  const last = workflow.stages.at(-1);
  if (last === undefined || last.id !== state.activeStage || last.terminal || !mustBeLeft(last)) return false;
  if (last.approvalMessage !== undefined && !isApproved(state, last.id)) return false;
  return whenReady(shutOnLeaving(workflow, last, state, host), (shut) => shut === undefined);
}
