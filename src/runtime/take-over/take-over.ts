/**
 * A call somebody else began, taken in hand: what is on record about it, and the input it really had, unsealed where
 * something of it is hidden.
 */
import { isKeyedDigest } from '../../base/canonical.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import type { Call } from '../../call/call.ts';
import type { StoredCall } from '../../ledger/journal.ts';
import { isSameSchema } from '../../tool/define-tool.ts';
import { bindBudgets, strictest } from '../host/budget.ts';
import { noFacts, readCallerFacts } from '../input/caller-facts.ts';
import type { AcceptedCall, CallMaker } from '../state/accepted-call.ts';
import { acceptCall } from '../state/accepted-call.ts';
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

/** A call that this process has taken over, before its input is looked at. */
export type TakenOverCall = AcceptedCall & {
  /** The key that the call has claimed. */
  readonly claimKey: string | undefined;
};

/** Takes a call over. Its input is not looked at yet: see `prepareInput`. */
export async function takeOver(
  maker: CallMaker,
  stored: StoredCall,
  call: Call,
  awaitStart?: AcceptedCall['awaitStart'],
): Promise<TakenOverCall> {
  const { engine } = maker;
  const executed = await readExecuted(engine, call);
  const live = acceptCall(
    maker,
    turnOf(engine, stored, call),
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
    },
    { givenUp: isGivenUp(call) },
  );
  const { journal } = live;
  journal.inherit(call, stored.version);
  journal.previousOwner = stored.ownerId;
  journal.sealedAs = sealedNameOf(call);
  journal.sealed = journal.sealedAs !== undefined || isPartlyHidden(call);
  return { ...live, claimKey: stored.claimKey };
}

/** What came of making the recorded input ready for the body. */
export type PreparedCall =
  | { readonly type: 'ready'; readonly live: ReadyCall & BoundKey; readonly taken: Taken }
  /** The schema now gives another value than the one that was approved. */
  | { readonly type: 'differs'; readonly live: ReadyCall & BoundKey }
  | {
      readonly type: 'unusable';
      readonly problem: string;
      /** Did someone change it where it is stored? */
      readonly altered: boolean;
    };

/**
 * Makes the input ready for the body, as it was approved. A call that waits for a person is ready even where the schema
 * now gives another value: before it runs, the person is asked again. `mayDiffer`: nothing is run with the input, so
 * another value does no harm. `stored`: the call as it was read just now.
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
    // The claim on record is the one to release, whatever key the tool makes now.
    claimKey:
      call.status === 'running' ? (claimKey ?? bound?.key.claimKey) : (bound?.key.claimKey ?? claimKey),
  };
  // A held call goes on and is then said to be void. What ran must not run again with a mask instead of the snapshot.
  if (!(await recallSnapshot(ready)) && call.status === 'running') return unusable;
  return { type: 'ready', live: { ...ready, ...key }, taken };
}

/** There is no input, or no tool that could be given it. */
export const unusable: Extract<PreparedCall, { type: 'unusable' }> = Object.freeze({
  type: 'unusable',
  problem: 'its tool cannot be given the input any more',
  altered: false,
});

/** Would `prepareInput`, or what must be known before the intent, run code of the tool? */
export function preparesByCode({ tool }: AcceptedCall, { events }: StoredCall, call: Call): boolean {
  if (tool === undefined) return false;
  if (tool.idempotencyKey !== undefined || typeof tool.costMicros === 'function') return true;
  const request = events.find((event) => event.type === 'tool.requested');
  return call.inputForm !== 'json' || !isSameSchema(tool, request?.schemaDigest);
}

/**
 * Puts on record that this process goes on with the call. To be done before any code of the host or the tool runs for
 * it: that code may end the process, and the next one must know. False where another process was first.
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

/** Whether the kept form of the input is not all of it: then its digest is keyed. */
const isPartlyHidden = ({ inputDigest, requestDigest }: Call): boolean =>
  isKeyedDigest(inputDigest ?? requestDigest);

/** What is hidden on record, told by what really was asked for. */
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

/** The effective input as it is on record: unsealed where something of it is hidden. */
export async function readExecuted(engine: Engine, call: Call): Promise<Executed> {
  const recorded = await readRecorded(engine, call);
  return recorded.ok ? { ok: true, arguments: recorded.effectiveInput } : recorded;
}

/**
 * The turn is over; what remains of it is what the call needs to be finished. A call of a behavior stays as deep as it
 * was: a circle of behaviors that is killed each time around would otherwise never be cut.
 */
function turnOf(engine: Engine, { depth = 0 }: StoredCall, call: Call): TurnState {
  const { sessionId, turnId, principal, provenance, attrs } = call;
  const state = new TurnState({
    opening: {
      id: '',
      type: 'turn.opened',
      sessionId,
      turnId,
      at: call.requestedAt,
      cause: undefined,
      deadlineMs: undefined,
      parentSessionId: undefined,
      principal,
    },
    facts: readCallerFacts({ principal, provenance, attrs }, noFacts, engine.redactor),
    // What the turn itself had set is gone with it; what the runtime sets holds for every call.
    budgets: strictest(bindBudgets(engine.budgets, sessionId, turnId)),
    recent: createRecentCalls(),
    deadlineAtMs: Number.POSITIVE_INFINITY,
    depth,
  });
  state.takeOpening();
  return state;
}
