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
import { CallInHand } from '../state/call-in-hand.ts';
import type { Engine } from '../state/engine.ts';
import { bindKey } from '../gates/key.ts';
import { collectHidden } from '../input/hidden-values.ts';
import { isGivenUp } from '../settle/lost-attempts.ts';
import { createRecentCalls } from '../state/recent-calls.ts';
import { recallSnapshot } from '../state/recall-snapshot.ts';
import { readRecorded } from '../state/read-recorded.ts';
import { sealedNameOf } from '../state/seal-input.ts';
import { takeRecorded } from '../accept/take-recorded.ts';
import { TurnState } from '../state/turn-state.ts';

/** The call in this process's hands. Its input is not looked at yet: see `prepareInput`. */
export async function takeOver(
  engine: Engine,
  stored: StoredCall,
  call: Call,
  takePlace?: CallInHand['takePlace'],
): Promise<CallInHand> {
  const executed = await readExecuted(engine, call);
  const hand = new CallInHand(
    engine,
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
      takePlace,
      tool: engine.undoToolFor(call.toolName, engine.policyInForce()),
    },
  );
  hand.inherit(call, stored.version);
  hand.claimKey = stored.claimKey;
  hand.previousOwner = stored.ownerId;
  hand.givenUp = isGivenUp(call);
  hand.sealedAs = sealedNameOf(call);
  hand.sealed = hand.sealedAs !== undefined || isPartlyHidden(call);
  return hand;
}

/**
 * Makes the input ready for the body, as it was approved. False where it cannot be had, or is not what was recorded.
 * What waits for a person is ready even where the schema now gives another value: whoever goes on with it asks again.
 * `mayDiffer`: nothing is run with it, so another value does no harm either. `stored`: the call as it was read just now.
 */
export async function prepareInput(
  hand: CallInHand,
  { mayDiffer = false, stored }: { readonly mayDiffer?: boolean; readonly stored?: StoredCall } = {},
): Promise<boolean> {
  const { call, tool } = hand;
  if (call?.inputDigest === undefined || tool === undefined) return false;
  const taken = await takeRecorded(hand, stored);
  if (stored !== undefined) hand.justTaken = { version: hand.version, taken };
  if (taken.type === 'unusable') {
    hand.unusable = taken;
    return false;
  }
  if (taken.type === 'differs' && call.status === 'running' && !mayDiffer) return false;
  const { prepared } = taken;
  const recorded = { ...prepared.effective, kept: call.effectiveInput ?? call.requestedInput };
  hand.prepared = { ...prepared, effective: { ...recorded, digest: call.inputDigest } };
  const { claimKey } = hand;
  if (bindKey(hand) !== undefined) return false;
  // The claim on record is the one to release, whatever key the tool makes now.
  if (call.status === 'running' && claimKey !== undefined) hand.claimKey = claimKey;
  // What is held goes on to be said to be void; what ran must not be run again with a mask in the snapshot's place.
  return (await recallSnapshot(hand)) || call.status !== 'running';
}

/** Would `prepareInput`, or what must be known before the intent, run code of the tool? */
export function preparesByCode({ tool }: CallInHand, { events }: StoredCall, call: Call): boolean {
  if (tool === undefined) return false;
  if (tool.idempotencyKey !== undefined || typeof tool.costMicros === 'function') return true;
  const request = events.find((event) => event.type === 'tool.requested');
  return call.inputForm !== 'json' || !isSameSchema(tool, request?.schemaDigest);
}

/**
 * Puts on record that this process goes on with the call. To be done before any code of the host or the tool runs for
 * it: that code may end the process, and the next one must know. False where another process was first.
 */
export async function recordTakeover(hand: CallInHand): Promise<boolean> {
  const { previousOwner } = hand;
  if (previousOwner === undefined) return true;
  const mark = hand.mark();
  hand.apply({ type: 'take_over', previousOwner });
  try {
    if ((await hand.flush()).status === 'appended') {
      hand.previousOwner = undefined;
      return true;
    }
  } catch (error) {
    hand.rewind(mark);
    throw error;
  }
  hand.rewind(mark);
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
 * The turn is over; what remains of it is what the call needs to be finished. A call of a behaviour stays as deep as it
 * was: a circle of behaviours that is killed each time around would otherwise never be cut.
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
