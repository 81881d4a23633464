/**
 * Takes over a call that another process began: reads its record and its exact input, unsealed if part of it
 * is hidden.
 */
import { isKeyedDigest } from '../../base/canonical.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import type { Call } from '../../call/call.ts';
import { outcomeBlocksTool } from '../../call/outcome.ts';
import { foldStored } from '../../ledger/fold-stored.ts';
import type { StoredCall } from '../../ledger/journal.ts';
import { isSameSchema } from '../../tool/define-tool.ts';
import { bindBudgets } from '../host/budget.ts';
import { noFacts, readCallerFacts } from '../input/caller-facts.ts';
import type { AcceptedCall, CallMaker, Manner } from '../state/accepted-call.ts';
import { acceptCall } from '../state/accepted-call.ts';
import type { CallSignals } from '../state/call-signals.ts';
import type { BoundKey, ReadyCall } from '../state/call-stages.ts';
import { withInput } from '../state/call-stages.ts';
import type { Taken } from '../input/taken.ts';
import type { Engine } from '../state/engine.ts';
import { bindKey } from '../gates/key.ts';
import { collectHidden } from '../input/collect-hidden.ts';
import { isGivenUp } from '../settle/lost-runs.ts';
import { createRecentCalls } from '../state/recent-calls.ts';
import { recallSnapshot } from '../state/recall-snapshot.ts';
import { readRecorded } from '../state/read-recorded.ts';
import { sealedNameOf } from '../state/seal-input.ts';
import { takeRecorded } from '../accept/take-recorded.ts';
import { TurnState } from '../state/turn-state.ts';

/** A call that this process has taken over, before its input is prepared. */
export type TakenOverCall = AcceptedCall & {
  /** The key that the call has claimed. */
  readonly claimKey: string | undefined;
};

/**
 * Takes a call over. `prepareInput` handles its input later. `asker`: the signals of the caller who repeated the call.
 * They reach the call, so that the caller can cancel it or leave.
 */
export async function takeOver(
  maker: CallMaker,
  stored: StoredCall,
  call: Call,
  awaitStart?: Manner['awaitStart'],
  asker?: CallSignals,
): Promise<TakenOverCall> {
  const { engine } = maker;
  const executed = await readExecuted(engine, call);
  const live = acceptCall(
    maker,
    await turnOf(engine, stored, call),
    { id: call.callId, name: call.toolName, input: executed },
    {
      kept: call.requestedInput,
      hidden: [],
      repeated: [],
      digest: call.requestDigest,
      secrets: secretsOf(engine, call, executed),
    },
    {},
    {
      submitted: call.submitted,
      awaitStart,
      tool: engine.undoToolFor(call.toolName, engine.policyInForce()),
      takenOver: { givenUp: isGivenUp(call) },
    },
  );
  const { journal } = live;
  journal.inherit(call, stored.version);
  journal.previousOwner = stored.ownerId;
  journal.sealedAs = sealedNameOf(call);
  journal.sealed = journal.sealedAs !== undefined || isPartlyHidden(call);
  const signals = asker ?? live.signals;
  signals.tookOver = true;
  return { ...live, claimKey: stored.claimKey, signals };
}

/** Result of preparing the recorded input for the body. */
export type PreparedCall =
  | { readonly type: 'ready'; readonly live: ReadyCall & BoundKey; readonly taken: Taken }
  /** The schema now returns another value than the approved one. */
  | { readonly type: 'differs'; readonly live: ReadyCall & BoundKey }
  | {
      readonly type: 'unusable';
      readonly problem: string;
      /** Was it changed in the store? */
      readonly altered: boolean;
    };

/**
 * Prepares the approved input for the body. A held call is ready even if the schema now returns another
 * value: the person is asked again before it runs. `mayDiffer`: nothing runs with the input, so another value
 * does no harm. `stored`: the call as it was just read.
 */
export async function prepareInput(
  live: TakenOverCall,
  { mayDiffer = false, stored }: { readonly mayDiffer?: boolean; readonly stored?: StoredCall } = {},
): Promise<PreparedCall> {
  const {
    tool,
    claimKey,
    journal: { call },
  } = live;
  if (call?.inputDigest === undefined || tool === undefined) return unusable;
  const taken = await takeRecorded({ ...live, tool }, stored);
  if (taken.type === 'unusable')
    return { type: 'unusable', problem: taken.problem, altered: taken.why === 'altered' };
  const { prepared } = taken;
  const recorded = { ...prepared.effective, kept: call.effectiveInput ?? call.requestedInput };
  const input = { ...prepared, effective: { ...recorded, digest: call.inputDigest } };
  const ready = withInput(live, tool, input, []);
  if (taken.type === 'differs' && call.status === 'running' && !mayDiffer)
    return { type: 'differs', live: { ...ready, toolKey: undefined } };
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
  return { type: 'ready', live: { ...ready, ...key }, taken };
}

/** There is no input, or no tool for it. */
export const unusable: Extract<PreparedCall, { type: 'unusable' }> = Object.freeze({
  type: 'unusable',
  problem: 'its tool no longer accepts the input',
  altered: false,
});

/** Would `prepareInput`, or a step before the intent, run code of the tool? */
export function preparesByCode({ tool }: AcceptedCall, { events }: StoredCall, call: Call): boolean {
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
export async function recordTakeover({ journal }: AcceptedCall): Promise<boolean> {
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

/** Does the stored form hide part of the input? Then its digest is keyed. */
const isPartlyHidden = ({ inputDigest, requestDigest }: Call): boolean =>
  isKeyedDigest(inputDigest ?? requestDigest);

/** The values hidden in the record, found by comparing it with the exact request. */
export const secretsOf = (engine: Engine, call: Call, executed: Executed): readonly string[] =>
  executed.ok && isPartlyHidden(call)
    ? [
        ...collectHidden(executed.arguments, call.effectiveInput ?? call.requestedInput),
        ...engine.redactor.input(executed.arguments).secrets,
      ]
    : [];

type Executed =
  | { readonly ok: true; readonly arguments: JsonObject }
  | { readonly ok: false; readonly problem: string; readonly raw: JsonValue };

/** The recorded effective input, unsealed if part of it is hidden. */
export async function readExecuted(engine: Engine, call: Call): Promise<Executed> {
  const recorded = await readRecorded(engine, call);
  return recorded.ok ? { ok: true, arguments: recorded.effectiveInput } : recorded;
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
    facts: readCallerFacts({ principal, provenance, attrs }, noFacts, engine.redactor),
    runtimeBudgets: bindBudgets(engine.budgets, sessionId, turnId),
    ownBudgets: request?.budgets ?? [],
    recent: createRecentCalls(),
    deadlineAtMs:
      deadlineMs === undefined
        ? Number.POSITIVE_INFINITY
        : engine.clock.monotonicMs() + deadlineMs - engine.clock.now(),
    depth,
  });
  state.takeOpening();
  if (call.status === 'requested' && call.submitted) await recallTurn(engine, state, call);
  return state;
}

/** Reads what the turn knew in the dead process: whether it has ended, and whether the tool is blocked in it. */
async function recallTurn({ ledger }: Engine, state: TurnState, call: Call): Promise<void> {
  const { sessionId, turnId, toolName } = call;
  const events = await ledger.journal.readSession(sessionId, 'without_call');
  const ended = events.find((event) => event.type === 'turn.ended' && event.turnId === turnId);
  if (ended?.type === 'turn.ended') state.endBy(ended.why);
  const { rows } = await ledger.queries.findCalls({
    sessionId,
    toolName,
    outcome: ['ToolFailure', 'ToolTimeout'],
  });
  for (const row of rows) {
    if (row.turnId !== turnId) continue;
    const stored = await ledger.journal.readCall(sessionId, row.callId);
    const failed = stored && foldStored(stored);
    if (failed?.settled !== undefined && outcomeBlocksTool(failed.settled.outcome))
      state.blocked.set(toolName, failed.callId);
  }
}
