/**
 * The life of a call in this process, from its envelope to its outcome.
 *
 * 1. A call is in `state.activeCalls` from before its first wait until its outcome is stored. A repeat of the
 *    same call joins it.
 * 2. A body runs after its intent was appended, unless it is a read without a limit.
 */
import { QuittanceError } from '../../base/error.ts';
import type { Awaitable } from '../../base/json.ts';
import type { ParsedToolCall } from '../../call/tool-call.ts';
import type { StoredCall } from '../../ledger/journal.ts';
import type { LookUp } from '../../ledger/look-up.ts';
import { Later } from '../../base/later.ts';
import { isPromiseLike } from '../../base/when-ready.ts';
import type { CallOptions } from '../host/call-options.ts';
import type { AcceptedCall, Manner } from '../state/accepted-call.ts';
import { acceptCall } from '../state/accepted-call.ts';
import { ActiveCall } from '../state/active-call.ts';
import { CallObserver } from '../state/call-observer.ts';
import type { HeldHere } from '../state/call-stages.ts';
import type { PendingSettlement, RuntimeState } from '../state/runtime-state.ts';
import { foldStored } from '../../ledger/fold-stored.ts';
import { noteFailedWrite } from '../settle/note-failed-write.ts';
import { recordFailedWrites } from '../settle/record-failed-writes.ts';
import { isDigestOf, keepInput } from '../input/kept-input.ts';
import { recall } from '../settle/recall.ts';
import { overtaken } from '../settle/settle.ts';
import { importSpills, readWaiting } from '../state/spill.ts';
import { settlePending } from '../settle/settle-pending.ts';
import type { CallReply } from '../state/call-reply.ts';
import type { TurnState } from '../state/turn-state.ts';
import { notAccepted } from '../settle/unavailable.ts';
import { checkCallOptions, noOptions } from './check-call-options.ts';
import { MadeCall } from './made-call.ts';
import type { Going } from './go-through-gates.ts';
import { goOnFrom, goThroughGates, neverAsked } from './go-through-gates.ts';
import { toRequestDraft } from './request-draft.ts';
import { isSameRequest, rawOf, refuseConflict } from './same-request.ts';

export const waitedFor: Manner = { submitted: false, awaitStart: undefined };

/** Makes a call, or joins the same call that is already being made. */
export function makeCall(
  state: RuntimeState,
  turn: TurnState,
  request: ParsedToolCall,
  options: CallOptions,
  manner: Manner,
): ActiveCall {
  const { engine } = state;
  if (state.closed)
    throw new QuittanceError(
      'runtime.closed',
      'This runtime is closed; create a new one on the same ledger.',
    );
  const requested = keepInput(
    rawOf(request.input),
    (manner.tool ?? engine.tools.get(request.name))?.redact?.input,
    engine.redactor,
    engine.seal,
  );
  if (options !== noOptions) checkCallOptions(options);
  const key = turn.keyBeginning + request.id;
  const known = state.activeCalls.get(key);
  if (known?.reply !== undefined && isSameRequest(known.live, request, requested)) return known;
  const live = acceptCall(state, turn, request, requested, options, manner);
  if (known !== undefined) {
    const other = new ActiveCall(live);
    other.reply = afterConflict(state, known, live, manner);
    return other;
  }
  const active = new MadeCall(state, key, live);
  state.activeCalls.set(key, active);
  const { signal } = options;
  if (signal === undefined) run(state, key, active);
  else runUnlessAborted(state, key, active, signal);
  return active;
}

function runUnlessAborted(state: RuntimeState, key: string, active: MadeCall, signal: AbortSignal): void {
  const giveUp = (): void => active.live.signals.cancel('the caller gave up');
  signal.addEventListener('abort', giveUp, { once: true });
  if (signal.aborted) giveUp();
  run(state, key, active);
  // One signal may serve a thousand calls.
  const stopListening = (): void => signal.removeEventListener('abort', giveUp);
  void active.reply?.then((reply) => {
    if (reply.type === 'held') void reply.rest.then(stopListening, stopListening);
    else stopListening();
  }, stopListening);
}

/** Makes the call again once the active call with its id has ended, unless it conflicts with that one. */
function afterConflict(
  state: RuntimeState,
  known: ActiveCall,
  live: AcceptedCall,
  manner: Manner,
): Promise<CallReply> {
  const { turn, request, options, signals } = live;
  return refuseConflict(known, live, () => {
    const again = makeCall(state, turn, request, options, manner);
    signals.onCancel = () => again.live.signals.cancel(signals.cancelled ?? 'cancelled');
    return again.reply;
  }).catch((error: unknown) => notAccepted(live, error));
}

function run(state: RuntimeState, key: string, active: MadeCall): void {
  const turn = state.engine.starts.untilTurn();
  if (turn === undefined) start(state, key, active);
  else startLater(state, key, active, turn);
  active.started();
}

/** A function of its own: a function with a closure allocates its variables even if it makes none. */
const startLater = (state: RuntimeState, key: string, active: MadeCall, turn: Promise<void>): void =>
  void turn.then(() => start(state, key, active));

function start(state: RuntimeState, key: string, active: MadeCall): void {
  const { live } = active;
  const observer = CallObserver.start(live);
  if (observer !== undefined) live.journal.observer = observer;
  try {
    const going = proceed(state, key, live);
    if (going instanceof Later) going.tell(active);
    else if (isPromiseLike(going)) tellLater(going, active);
    else active.onValue(going);
  } catch (error) {
    active.onError(error);
  }
}

const tellLater = (going: PromiseLike<CallReply | HeldHere>, active: MadeCall): void =>
  void going.then(
    (found) => active.onValue(found),
    (error: unknown) => active.onError(error),
  );

function proceed(state: RuntimeState, key: string, live: AcceptedCall): Going {
  if (live.engine.failedWrites.hasWaiting || state.pendingSettlements.size > 0)
    return proceedAfterOthers(state, key, live);
  // A read runs before anything is appended, so it must know.
  const stored = readKnown(live, live.tool?.surelyReads === true ? 'certain' : 'before_append');
  return isPromiseLike(stored)
    ? Promise.resolve(stored).then((known) => proceedFrom(state, key, live, known))
    : proceedFrom(state, key, live, stored);
}

/**
 * First stores what the ledger could not store before. A call of ours that stopped then goes on from its record, so the
 * look-up must be certain.
 */
async function proceedAfterOthers(
  state: RuntimeState,
  key: string,
  live: AcceptedCall,
): Promise<CallReply | HeldHere> {
  if (live.engine.failedWrites.hasWaiting) await recordFailedWrites(state);
  if (state.pendingSettlements.size > 0) await settlePending(state);
  return proceedFrom(state, key, live, await readKnown(live, 'certain'));
}

function proceedFrom(
  state: RuntimeState,
  key: string,
  live: AcceptedCall,
  known: StoredCall | undefined,
): Going {
  const { request, engine } = live;
  if (known !== undefined) {
    const left = state.pendingSettlements.get(key);
    return left?.live.journal.version === known.version && isSameRequest(left.live, request, live.requested)
      ? resume(live, left, known)
      : recall(live, known);
  }
  return engine.spill.waiting ? replyOrMake(live) : make(live);
}

async function replyOrMake(live: AcceptedCall): Promise<CallReply | HeldHere> {
  return (await replyWaiting(live)) ?? make(live);
}

function make(live: AcceptedCall): Going {
  const { journal, engine } = live;
  journal.apply(toRequestDraft(live));
  // Adds the facts about this call that could not be stored before.
  if (engine.failedWrites.size > 0)
    for (const command of engine.failedWrites.commandsFor(journal)) journal.apply(command);
  return live.manner.submitted ? makeSubmitted(live) : goThroughGates(live);
}

async function makeSubmitted(live: AcceptedCall): Promise<CallReply | HeldHere> {
  return (await live.journal.flush()).status === 'appended' ? goThroughGates(live) : overtaken(live);
}

/** Reads the call from the ledger. */
function readKnown(live: AcceptedCall, lookUp: LookUp): Awaitable<StoredCall | undefined> {
  try {
    const stored = live.engine.ledger.journal.readCall(live.turn.sessionId, live.request.id, lookUp);
    return isPromiseLike(stored) ? noteIfRejected(live, stored) : stored;
  } catch (error) {
    noteFailedWrite(live, error);
    throw error;
  }
}

const noteIfRejected = <Value>(live: AcceptedCall, reading: PromiseLike<Value>): PromiseLike<Value> =>
  reading.then(undefined, (error: unknown) => {
    noteFailedWrite(live, error);
    throw error;
  });

/** A read needs no intent, so the ledger may not know it yet while its end waits in the spill. */
async function replyWaiting(live: AcceptedCall): Promise<CallReply | undefined> {
  const { engine, request } = live;
  const waiting = await readWaiting(engine, live, undefined);
  if (waiting?.toolName !== request.name) return undefined;
  if (!isDigestOf(waiting.requestDigest, rawOf(request.input), engine.seal)) return undefined;
  await importSpills(engine).catch(() => undefined);
  return waiting.settled?.outcome;
}

/** Continues a call of this runtime that stopped because the ledger failed. */
async function resume(
  live: AcceptedCall,
  left: PendingSettlement,
  known: StoredCall,
): Promise<CallReply | HeldHere> {
  const { journal, preview } = left.live;
  if (journal.unkept !== undefined) return journal.unkept.reply;
  const call = foldStored(known);
  if (call === undefined) return recall(live, known);
  live.journal.inherit(call, known.version);
  live.journal.sealed = journal.sealed;
  live.journal.sealedAs = journal.sealedAs;
  if (left.asked === undefined) return goOnFrom({ ...neverAsked, ...live }, call);
  live.preview.snapshot = preview.snapshot;
  live.secrets.ofSnapshot = preview.snapshot?.hiddenValues ?? [];
  const { input, notes, toolKey, claimKey, twins, supersedes, ruled } = left.asked;
  live.secrets.ofInput = input?.effective.secrets ?? [];
  return goOnFrom({ ...live, input, notes, toolKey, claimKey, twins, supersedes, ruled }, call);
}
