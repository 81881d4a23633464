/**
 * Takes over a call that another process began: reads its record and its exact input, unsealed if part of it is hidden. Also
 * judges an attempt without a recorded end.
 */
import type { Call } from '../call/call.ts';
import { outcomeBlocksTool } from '../call/outcome.ts';
import { foldStored } from '../ledger/fold-stored.ts';
import type { StoredCall } from '../ledger/journal.ts';
import { isSameSchema } from '../tool/define-tool.ts';
import { bindBudgets } from './budget.ts';
import { noFacts, readCallerFacts, inputForTool } from './call-input.ts';
import type { ActiveCall, BoundKey, CallMaker, CallSignals, CallTerms, CheckedCall } from './active-call.ts';
import { acceptCall, withInput, recallNotes, modelNote, logProblem } from './active-call.ts';
import type { RestoredInput } from './call-input.ts';
import type { Engine } from './engine.ts';
import { bindKey } from './gate-checks.ts';
import { isGivenUp, unjudged } from './settle.ts';
import { TurnState } from './turn-state.ts';
import {
  isPartlyHidden,
  recallSnapshot,
  readRequest,
  openFacts,
  sealedNameOf,
  restoreInput,
} from './recorded-input.ts';
import type { ToolOutcome } from '../call/outcome.ts';
import { describeThrown } from '../tool/describe-thrown.ts';
import type { Reconciliation } from '../tool/tool-spec.ts';
import { BodyContext } from './body-context.ts';
import { AttemptRemarks, fail } from './judgement.ts';
import type { AttemptRecord } from './call-journal.ts';
import { judgeEnd } from './judge.ts';
import type { AttemptFacts, Judgement } from './judgement.ts';
import { finalResult, readEnd } from './end-turn.ts';
import { endNotRecorded, unknownEnd } from './recall.ts';
import { findCalls } from '../ledger/reads.ts';

/**
 * Takes a call over. `prepareInput` handles its input later. `asker`: the signals of the caller who repeated the call.
 * They reach the call, so that the caller can cancel it or leave.
 */
export async function takeOver(
  maker: CallMaker,
  stored: StoredCall,
  call: Call,
  waitForSlot?: CallTerms['waitForSlot'],
  asker?: CallSignals,
): Promise<ActiveCall> {
  const { engine } = maker;
  const { request, requested } = await readRequest(engine, call);
  const active = acceptCall(
    maker,
    await turnOf(engine, stored, call),
    request,
    requested,
    {},
    { submitted: call.submitted, waitForSlot, takenOver: { givenUp: isGivenUp(call) } },
    engine.undoToolFor(call.toolName, engine.policyInForce()),
    asker,
  );
  const { journal } = active;
  journal.inherit(call, stored.version);
  journal.previousOwner = stored.ownerId;
  journal.sealedAs = sealedNameOf(call);
  journal.sealed = journal.sealedAs !== undefined || isPartlyHidden(call);
  active.signals.takenFrom = call.turnId;
  return { ...active, claimKey: stored.claimKey, notes: recallNotes(stored, call) };
}

/** Result of preparing the recorded input for the body. */
export type PreparedCall =
  | { readonly type: 'ready'; readonly active: CheckedCall; readonly restored: RestoredInput }
  /** The schema now returns another value than the approved one. */
  | { readonly type: 'differs'; readonly active: CheckedCall }
  | {
      readonly type: 'unusable';
      readonly problem: string;
      /** True if it was changed in the store. */
      readonly altered: boolean;
    };

/**
 * Prepares the approved input for the body. A held call is ready even if the schema now returns another
 * value: the person is asked again before it runs. `mayDiffer`: nothing runs with the input, so another value
 * does no harm. `stored`: the call as it was just read.
 */
export async function prepareInput(
  active: ActiveCall,
  { mayDiffer = false, stored }: { readonly mayDiffer?: boolean; readonly stored?: StoredCall } = {},
): Promise<PreparedCall> {
  const {
    tool,
    claimKey,
    journal: { call },
  } = active;
  if (call?.inputDigest === undefined || tool === undefined) return unusable;
  const restored = await restoreInput({ ...active, tool }, stored);
  if (restored.type === 'unusable')
    return { type: 'unusable', problem: restored.problem, altered: restored.why === 'altered' };
  const { prepared } = restored;
  const recorded = { ...prepared.effective, kept: call.effectiveInput ?? call.requestedInput };
  const input = { ...prepared, effective: { ...recorded, digest: call.inputDigest } };
  const ready = withInput(active, tool, input, active.notes);
  if (restored.type === 'differs' && call.status === 'running' && !mayDiffer)
    return { type: 'differs', active: ready };
  const bound = tool.idempotencyKey === undefined ? undefined : bindKey(ready);
  if (bound?.type === 'mistake') return unusable;
  const key: BoundKey = {
    toolKey: bound?.key.toolKey,
    // Release the recorded claim, whatever key the tool makes now.
    claimKey:
      call.status === 'running' ? (claimKey ?? bound?.key.claimKey) : (bound?.key.claimKey ?? claimKey),
  };
  // A held call continues and is then found void. A call that ran must not run again with a mask instead of
  // the snapshot.
  if (!(await recallSnapshot(ready)) && call.status === 'running') return unusable;
  return { type: 'ready', active: { ...ready, ...key }, restored };
}

/** There is no input, or no tool for it. */
export const unusable: Extract<PreparedCall, { type: 'unusable' }> = Object.freeze({
  type: 'unusable',
  problem: 'its tool no longer accepts the input',
  altered: false,
});

/** True if `prepareInput`, or a step before the intent, would run code of the tool. */
export function preparesByCode({ tool }: ActiveCall, { events }: StoredCall, call: Call): boolean {
  if (tool === undefined) return false;
  if (tool.idempotencyKey !== undefined || typeof tool.costMicros === 'function') return true;
  const request = events.find((event) => event.type === 'tool.requested');
  return call.inputForm !== 'json' || !isSameSchema(tool, request?.schemaDigest);
}

/**
 * Records that this process continues the call. This must happen before any code of the host or the tool runs
 * for it: that code may end the process, and the next process must know. Returns false if another process was
 * first.
 */
export async function recordTakeover({ journal }: ActiveCall): Promise<boolean> {
  const { previousOwner } = journal;
  if (previousOwner === undefined) return true;
  const mark = journal.mark();
  journal.apply({ type: 'take_over', previousOwner });
  try {
    if ((await journal.flush()).status === 'appended') {
      journal.previousOwner = undefined;
      return true;
    }
  } catch (error) {
    journal.rewind(mark);
    throw error;
  }
  journal.rewind(mark);
  return false;
}

/**
 * The part of the turn that the call still needs. A held call is not bound by the deadline or the end of its turn. A
 * submitted call that has not passed its gates is. A behavior's call keeps its depth: otherwise a loop of behaviors
 * that is killed in each round would never be cut.
 */
async function turnOf(engine: Engine, { depth = 0, events }: StoredCall, call: Call): Promise<TurnState> {
  const { sessionId, turnId, principal, provenance, attrs } = call;
  const request = events.find((event) => event.type === 'tool.requested');
  const deadlineMs = request?.turnDeadlineMs;
  const facts = await openFacts(engine, call);
  const state = new TurnState({
    opening: {
      id: '',
      type: 'turn.opened',
      sessionId,
      turnId,
      at: call.requestedAt,
      cause: undefined,
      deadlineMs,
      parentSessionId: undefined,
      principal,
    },
    facts: readCallerFacts(facts ?? { principal, provenance, attrs }, noFacts, engine.redactor),
    runtimeBudgets: bindBudgets(engine.budgets, sessionId, turnId),
    ownBudgets: request?.budgets ?? [],
    deadlineAtMs:
      deadlineMs === undefined
        ? Number.POSITIVE_INFINITY
        : engine.clock.monotonicMs() + deadlineMs - engine.clock.now(),
    depth,
  });
  state.takeOpening();
  // After the final result of another tool, no question of the turn stays open.
  if (call.status === 'held' && (await readEnd(engine, call)) === 'terminal_result')
    state.withdraw(finalResult);
  if (call.status === 'requested' && call.submitted) await recallTurn(engine, state, call);
  return state;
}

/** Restores from the record whether the turn has ended, and whether the tool is blocked in it. */
async function recallTurn(engine: Engine, state: TurnState, call: Call): Promise<void> {
  const { ledger } = engine;
  const { sessionId, turnId, toolName } = call;
  const ended = await readEnd(engine, call);
  if (ended !== undefined) state.endBy(ended);
  const { rows } = await findCalls(ledger, {
    sessionId,
    toolName,
    outcome: ['ToolFailure', 'ToolTimeout'],
  });
  for (const row of rows) {
    if (row.turnId !== turnId) continue;
    const stored = await ledger.readCall(sessionId, row.callId);
    const failed = stored && foldStored(stored);
    if (failed?.settled !== undefined && outcomeBlocksTool(failed.settled.outcome))
      (state.blocked ??= new Map()).set(toolName, failed.callId);
  }
}

/** Asks the tool's `reconcile` about an attempt without a recorded end. An invalid answer counts as `unknown`. */
export async function askTool(active: CheckedCall, call: Call): Promise<Reconciliation> {
  const { tool } = active;
  if (tool.reconcile === undefined) return { status: 'unknown' };
  try {
    const found: unknown = await tool.reconcile({
      args: inputForTool(active.tool.input, active.input),
      sessionId: call.sessionId,
      callId: call.callId,
      attempt: call.attempt,
      idempotencyKey: new BodyContext(active, call.attempt, active.toolKey).idempotencyKey,
      startedAt: call.started?.at ?? call.requestedAt,
    });
    return readReconciliation(found);
  } catch (error) {
    logProblem(active, `reconcile of the tool threw: ${describeThrown(error)}`);
    return { status: 'unknown' };
  }
}

function readReconciliation(found: unknown): Reconciliation {
  const { status, output, reason } = (found ?? {}) as Partial<Record<string, unknown>>;
  if (status === 'succeeded') return { status, output };
  if (status === 'failed') return { status, ...(typeof reason === 'string' && { reason }) };
  return { status: 'unknown' };
}

/** A finding of the tool about an attempt whose end was not recorded. */
type KnownEnd = Exclude<Reconciliation, { status: 'unknown' }>;

/** The end of such an attempt by the tool's finding. `why`: why its end was not recorded. */
export async function judgeFound(
  active: CheckedCall,
  found: KnownEnd,
  why: string = endNotRecorded,
): Promise<Judgement> {
  const facts = unseenFacts(active);
  switch (found.status) {
    case 'succeeded':
      return judgeEnd(active, { type: 'returned', value: found.output }, facts);
    case 'failed':
      return fail(
        active,
        {
          code: 'tool.execution_error',
          error: `${why}. The tool reports that it did not take effect${found.reason === undefined ? '.' : `: ${found.reason}`}`,
          retryable: true,
          // The tool states that nothing happened, so a repeat is safe.
          repeatIsSafe: true,
        },
        facts,
      );
  }
}

/** The end of such an attempt if its effect is unknown. */
export const judgeUnknown = (active: ActiveCall, why: string = endNotRecorded): Judgement =>
  unjudged(unknownEnd(active, active.notes, why));

/** The end of a read that ended every process that worked on it. A repeat is pointless. No rule judges it. */
export function judgePoison({ request, notes }: ActiveCall, error: string): Judgement {
  const outcome: ToolOutcome = Object.freeze({
    type: 'ToolFailure',
    callId: request.id,
    toolName: request.name,
    code: 'tool.execution_error',
    error,
    retryable: false,
    elapsedMs: 0,
    ...modelNote(notes),
  });
  return unjudged(outcome, false);
}

const unseenFacts = (active: CheckedCall): AttemptFacts => ({
  remarks: new AttemptRemarks(active.notes),
  context: new BodyContext(active, active.journal.call?.attempt ?? 1, active.toolKey),
  elapsedMs: 0,
  deadlineMs: active.journal.call?.started?.deadlineMs ?? 0,
});

/** The record of an attempt whose end was not recorded. Its cost is the reserved amount. */
export const lostAttempt = ({ journal: { call } }: ActiveCall): AttemptRecord => ({
  costMicros: call?.started?.reserved.find(({ metric }) => metric === 'cost_micros')?.amount ?? 0,
  reached: [],
  log: [],
  payloadExtras: undefined,
});
