/**
 * A call somebody else began, taken in hand: what is on record about it, and the input it really had, unsealed where
 * something of it is hidden.
 */
import { isKeyedDigest } from '../base/canonical.ts';
import { isJsonObject } from '../base/json.ts';
import type { JsonObject, JsonValue } from '../base/json.ts';
import type { Call } from '../call/call.ts';
import type { StoredCall } from '../ledger/ledger.ts';
import { bindBudgets, strictest } from './budget.ts';
import { noFacts, readCallerFacts } from './caller-facts.ts';
import { CallInHand } from './call-in-hand.ts';
import type { Engine } from './engine.ts';
import { bindKey } from './gates/key.ts';
import { validateGate } from './gates/validate.ts';
import { collectHidden } from './hidden-values.ts';
import { keepInput } from './kept-input.ts';
import { createRecentCalls } from './recent-calls.ts';
import { recallSnapshot } from './recall-snapshot.ts';
import { openSealed, sealedNameOf } from './seal-input.ts';
import { TurnState } from './turn-state.ts';

/** The call in this process's hands. Its input is not looked at yet: see `prepareInput`. */
export async function takeOver(engine: Engine, stored: StoredCall, call: Call): Promise<CallInHand> {
  const executed = await readExecuted(engine, call);
  const hand = new CallInHand(
    engine,
    turnOf(engine, stored, call),
    { id: call.callId, name: call.toolName, input: executed },
    {
      kept: call.requestedInput,
      hidden: [],
      digest: call.requestDigest,
      secrets: secretsOf(engine, call, executed),
    },
    {},
    {
      submitted: call.submitted,
      takePlace: undefined,
      tool: engine.undoToolFor(call.toolName, engine.policyInForce()),
    },
  );
  hand.inherit(call, stored.version);
  hand.sealedAs = sealedNameOf(call);
  hand.sealed = hand.sealedAs !== undefined || isPartlyHidden(call);
  return hand;
}

/** Makes the input ready for the body, as it was approved. False where it does not fit its schema any more. */
export async function prepareInput(hand: CallInHand): Promise<boolean> {
  const { call, tool, engine } = hand;
  const { input } = hand.request;
  if (call?.inputDigest === undefined || tool === undefined || !input.ok) return false;
  if ((await validateGate.check(hand)) !== undefined || hand.input.changes.length > 0) return false;
  const kept = call.effectiveInput ?? call.requestedInput;
  // What was mended may hide more than what was asked for.
  const found = keepInput(input.arguments, tool.redact?.input, engine.redactor, engine.seal);
  const { secrets } = found;
  // What was said beside the call may have hidden more, and is not at hand any more.
  const hidden = isKeyedDigest(call.inputDigest) && found.hidden.length === 0 ? ['$'] : found.hidden;
  hand.prepared = { ...hand.input, effective: { kept, hidden, digest: call.inputDigest, secrets } };
  if (bindKey(hand) !== undefined) return false;
  // What is held goes on to be said to be void; what ran must not be run again with a mask in the snapshot's place.
  return (await recallSnapshot(hand)) || call.status !== 'running';
}

/** Whether the kept form of the input is not all of it: then its digest is keyed, whatever was mended on the way. */
const isPartlyHidden = ({ hidden, inputDigest, requestDigest }: Call): boolean =>
  hidden.length > 0 || isKeyedDigest(inputDigest ?? requestDigest);

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

/** The input as the body must get it: unsealed where something of it is hidden. */
export async function readExecuted(engine: Engine, call: Call): Promise<Executed> {
  const kept = call.effectiveInput ?? call.requestedInput;
  const refuse = (problem: string): Executed => ({ ok: false, problem, raw: kept });
  if (!isPartlyHidden(call))
    return isJsonObject(kept) ? { ok: true, arguments: kept } : refuse('the arguments are no object');
  const opened = await openSealed(engine, call);
  return opened.ok ? { ok: true, arguments: opened.input } : refuse(opened.problem);
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
