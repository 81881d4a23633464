/**
 * The progress of a session in a workflow, and its evidence. Plain data: the ledger stores it as `toWire` writes it.
 * Every change creates a new state; a change without effect returns the same object.
 */
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { isJsonObject, ownValue } from '../../base/json.ts';
import type { Workflow } from '../language/workflow.ts';

export type WorkflowState = {
  /** Undefined once the workflow is complete: then every call is allowed. */
  readonly activeStage: string | undefined;
  readonly completedStages: readonly string[];
  readonly approvals: { readonly [stageId: string]: string };
  readonly evidence: WorkflowEvidence;
  readonly blockedReason: string | undefined;
  readonly pendingApproval: PendingApproval | undefined;
  readonly lastBlockedAction: (NotedAction & { readonly message: string }) | undefined;
  readonly lastRecordedEvidence: NotedAction | undefined;
};

export type WorkflowEvidence = {
  /** Paths as the calls named them, each once. */
  readonly reads: readonly string[];
  /** Commands by stage, in the order they succeeded. */
  readonly stageCalls: { readonly [stageId: string]: readonly string[] };
  /** Structured results by tool, in the order they came. */
  readonly mcpResults: { readonly [tool: string]: readonly JsonObject[] };
};

export type PendingApproval = { readonly stageId: string; readonly message: string };

/** A short description of a call, with the time if the host gives it. */
export type NotedAction = { readonly tool: string; readonly summary: string; readonly timestamp?: string };

export const initialState = (workflow: Workflow): WorkflowState => ({
  activeStage: workflow.stages[0]?.id,
  completedStages: [],
  approvals: {},
  evidence: { reads: [], stageCalls: {}, mcpResults: {} },
  blockedReason: undefined,
  pendingApproval: undefined,
  lastBlockedAction: undefined,
  lastRecordedEvidence: undefined,
});

export const isApproved = (state: WorkflowState, stageId: string): boolean =>
  ownValue(state.approvals, stageId) === 'approved';

/** The list under a key that may be any text. */
export const entriesOf = <Item>(
  lists: { readonly [key: string]: readonly Item[] },
  key: string,
): readonly Item[] => (Object.hasOwn(lists, key) ? (lists[key] ?? []) : []);

/** A copy with one member set. `__proto__` is a key like any other. */
export const withMember = <Value>(
  holder: { readonly [key: string]: Value },
  key: string,
  value: Value,
): { readonly [key: string]: Value } => Object.fromEntries([...Object.entries(holder), [key, value]]);

/** In the spelling of the ledger and of other implementations of the language. */
export const toWire = (state: WorkflowState): JsonObject => ({
  active_stage: state.activeStage ?? '',
  completed_stages: state.completedStages,
  approvals: state.approvals,
  evidence: {
    reads: state.evidence.reads,
    stage_calls: state.evidence.stageCalls,
    mcp_results: state.evidence.mcpResults,
  },
  ...statusToWire(state),
});

/** The part of a state that describes the current situation, without the evidence. */
export const statusToWire = (state: WorkflowState): JsonObject => ({
  blocked_reason: state.blockedReason ?? null,
  pending_approval:
    state.pendingApproval === undefined
      ? { required: false }
      : {
          required: true,
          stage_id: state.pendingApproval.stageId,
          message: state.pendingApproval.message,
        },
  last_blocked_action: state.lastBlockedAction ?? null,
  last_recorded_evidence: state.lastRecordedEvidence ?? null,
});

/**
 * Reads a state that `toWire` or another implementation wrote. Fields may be missing, and invalid values are dropped.
 * That never opens a gate: only an active stage that is the empty text means complete.
 */
export const parseWorkflowState = (workflow: Workflow, wire: JsonValue): WorkflowState =>
  isJsonObject(wire) ? parseState(wire, workflow.stages[0]?.id) : initialState(workflow);

/** The same for a workflow of which only the first stage is known, or not even that. */
export function parseState(wire: JsonObject, firstStage: string | undefined): WorkflowState {
  const activeStage = ownValue(wire, 'active_stage');
  const evidence = ownObject(wire, 'evidence');
  const pending = ownObject(wire, 'pending_approval');
  const blocked = ownObject(wire, 'last_blocked_action');
  const blockedMessage = ownText(blocked, 'message');
  const blockedAction = notedAction(blocked);
  const stageId = ownText(pending, 'stage_id');
  return {
    activeStage: activeStage === '' ? undefined : typeof activeStage === 'string' ? activeStage : firstStage,
    completedStages: texts(ownValue(wire, 'completed_stages')),
    approvals: mapMembers(ownObject(wire, 'approvals'), (value) =>
      typeof value === 'string' ? value : undefined,
    ),
    evidence: {
      reads: texts(ownValue(evidence, 'reads')),
      stageCalls: mapMembers(ownObject(evidence, 'stage_calls'), texts),
      mcpResults: mapMembers(ownObject(evidence, 'mcp_results'), (value) => list(value).filter(isJsonObject)),
    },
    blockedReason: ownText(wire, 'blocked_reason'),
    pendingApproval:
      ownValue(pending, 'required') === true && stageId !== undefined
        ? { stageId, message: ownText(pending, 'message') ?? '' }
        : undefined,
    lastBlockedAction:
      blockedAction === undefined || blockedMessage === undefined
        ? undefined
        : { ...blockedAction, message: blockedMessage },
    lastRecordedEvidence: notedAction(ownObject(wire, 'last_recorded_evidence')),
  };
}

function notedAction(wire: JsonObject): NotedAction | undefined {
  const tool = ownText(wire, 'tool');
  const summary = ownText(wire, 'summary');
  const timestamp = ownText(wire, 'timestamp');
  if (tool === undefined || summary === undefined) return undefined;
  return { tool, summary, ...(timestamp === undefined ? {} : { timestamp }) };
}

function ownObject(holder: JsonObject, key: string): JsonObject {
  const value = ownValue(holder, key);
  return isJsonObject(value) ? value : {};
}

function ownText(holder: JsonObject, key: string): string | undefined {
  const value = ownValue(holder, key);
  return typeof value === 'string' ? value : undefined;
}

const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const texts = (value: unknown): readonly string[] => list(value).filter((item) => typeof item === 'string');

const mapMembers = <Value>(
  holder: JsonObject,
  read: (value: JsonValue) => Value | undefined,
): { readonly [key: string]: Value } =>
  Object.fromEntries(
    Object.entries(holder).flatMap(([key, value]) => {
      const member = read(value);
      return member === undefined ? [] : [[key, member] as const];
    }),
  );
