/**
 * The life of a call in this process, from its envelope to its outcome.
 *
 * 1. A call is in `state.activeCalls` from before its first wait until its outcome is stored. A repeat of the
 *    same call joins it.
 * 2. A body runs after its intent was appended, unless it is a read without a limit.
 */
import { QuittanceError } from '../../base/error.ts';
import type { Awaitable, JsonValue } from '../../base/json.ts';
import { freezeJson } from '../../base/json.ts';
import type { Call } from '../../call/call.ts';
import type { Command } from '../../call/command.ts';
import type { ParsedArguments, ParsedToolCall } from '../../call/tool-call.ts';
import type { StoredCall } from '../../ledger/journal.ts';
import type { LookUp } from '../../ledger/look-up.ts';
import { isPromiseLike } from '../../base/when-ready.ts';
import type { CallOptions } from '../host/call-options.ts';
import type { AcceptedCall, Manner } from '../state/accepted-call.ts';
import { acceptCall } from '../state/accepted-call.ts';
import { ActiveCall } from '../state/active-call.ts';
import { CallObserver } from '../state/call-observer.ts';
import type { AskedCall, HeldHere, JudgedCall, Moved } from '../state/call-stages.ts';
import type { Taken } from '../input/taken.ts';
import type { Ask } from '../../call/event.ts';
import type { HostAnswer } from '../hold/await-hold-signal.ts';
import type { PendingSettlement } from '../state/runtime-state.ts';
import { checkKeys } from '../../base/check-keys.ts';
import type { RuntimeState } from '../state/runtime-state.ts';
import { callKey } from '../state/runtime-state.ts';
import { end, execute } from '../execute/execute.ts';
import { gates } from '../gates/gates.ts';
import { foldStored } from '../../ledger/fold-stored.ts';
import { noteFailedWrite } from '../settle/note-failed-write.ts';
import { recordFailedWrites } from '../settle/record-failed-writes.ts';
import { hold, holdOn, notAsked, resolveHold } from '../hold/hold.ts';
import type { KeptInput } from '../input/kept-input.ts';
import { isDigestOf, keepInput } from '../input/kept-input.ts';
import { modeOf } from '../state/mode-of.ts';
import { recall } from '../settle/recall.ts';
import { overtaken } from '../settle/settle.ts';
import { importSpills, readWaiting } from '../state/spill.ts';
import { settlePending } from '../settle/settle-pending.ts';
import type { CallReply } from '../state/call-reply.ts';
import type { TurnState } from '../state/turn-state.ts';
import { notAccepted, unavailable } from '../settle/unavailable.ts';
import { answerByGrant } from '../grants/answer-by-grant.ts';
import type { WalkedAll } from '../gates/walk.ts';
import { walkAll } from '../gates/walk.ts';
import { within } from '../../base/within.ts';

/** The default options, one shared object. */
export const noOptions: CallOptions = Object.freeze({});
const callOptionNames = [
  'attrs',
  'principal',
  'provenance',
  'askedBy',
  'traceparent',
  'signal',
  'onProgress',
] as const;

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
  const key = callKey({ sessionId: turn.sessionId, callId: request.id });
  const known = state.activeCalls.get(key);
  if (known?.reply !== undefined && isSame(known.live, request, requested)) return known;
  const live = acceptCall(state, turn, request, requested, options, manner);
  const active = new ActiveCall(live);
  if (known !== undefined) {
    active.reply = afterConflict(state, known, live, manner);
    return active;
  }
  state.activeCalls.set(key, active);
  const { signal } = options;
  active.reply = signal === undefined ? run(state, key, live) : runUnlessAborted(state, key, live, signal);
  return active;
}

async function runUnlessAborted(
  state: RuntimeState,
  key: string,
  live: AcceptedCall,
  signal: AbortSignal,
): Promise<CallReply> {
  const giveUp = (): void => live.signals.cancel('the caller gave up');
  signal.addEventListener('abort', giveUp, { once: true });
  if (signal.aborted) giveUp();
  // One signal may serve a thousand calls.
  const stopListening = (): void => signal.removeEventListener('abort', giveUp);
  let reply: CallReply | undefined;
  try {
    return (reply = await run(state, key, live));
  } finally {
    if (reply?.type === 'held') void reply.rest.then(stopListening, stopListening);
    else stopListening();
  }
}

/** The call is no longer made here. `asked`: the question to a person, if one is open. */
function leave(state: RuntimeState, key: string, live: AcceptedCall, asked: AskedCall | undefined): void {
  state.activeCalls.delete(key);
  if (live.journal.isLeftOpen()) state.pendingSettlements.set(key, { live, asked });
  else if (live.journal.owned && state.pendingSettlements.size > 0) state.pendingSettlements.delete(key);
  if (state.closed) unlist(state);
}

/** A closed runtime that makes no call any more is not counted among those that might. */
export function unlist({ activeCalls, engine }: RuntimeState): void {
  if (activeCalls.size === 0) engine.ledger.owners.runtimes.delete(activeCalls);
}

/** Runs before the call becomes active. An error after that would leave the call active for ever. */
export function checkCallOptions(options: CallOptions): void {
  checkKeys('turn.call', options, callOptionNames);
  const { signal, onProgress } = options;
  if (signal !== undefined && typeof signal?.addEventListener !== 'function')
    throw new QuittanceError('config.invalid', 'The signal of a call must be an AbortSignal.');
  if (onProgress !== undefined && typeof onProgress !== 'function')
    throw new QuittanceError('config.invalid', 'onProgress of a call must be a function.');
}

const isSame = (known: AcceptedCall, { name, input }: ParsedToolCall, { digest }: KeptInput): boolean =>
  known.request.name === name &&
  (known.requested.digest === digest || isDigestOf(known.requested.digest, rawOf(input), known.engine.seal));

const rawOf = (input: ParsedArguments): JsonValue => (input.ok ? input.arguments : input.raw);

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

/**
 * Handles a different request with the id of an active call. It waits until the ledger knows the active call,
 * then answers with a conflict. If the ledger has this request instead, or neither, the request is made like
 * a new one.
 */
async function refuseConflict(
  known: ActiveCall,
  live: AcceptedCall,
  makeAgain: () => Promise<CallReply> | undefined,
): Promise<CallReply> {
  const { request, engine, turn } = live;
  await Promise.race([known.live.journal.whenKept(), known.reply]);
  const stored = await engine.ledger.journal.readCall(turn.sessionId, request.id);
  const call = stored && foldStored(stored);
  const isOther =
    call?.toolName !== request.name || !isDigestOf(call.requestDigest, rawOf(request.input), engine.seal);
  if (stored !== undefined && isOther) return recall(live, stored);
  await known.reply;
  return makeAgain() ?? unavailable(live, 'another call with this id was not accepted either');
}

function run(state: RuntimeState, key: string, live: AcceptedCall): Promise<CallReply> {
  live.journal.observer = CallObserver.start(live);
  try {
    const going = proceed(state, key, live);
    if (!isPromiseLike(going)) return Promise.resolve(reply(state, key, live, going));
    // Only our own functions make it.
    return (going as Promise<CallReply | HeldHere>).then(
      (found) => reply(state, key, live, found),
      (error: unknown) => replyWithError(state, key, live, error),
    );
  } catch (error) {
    return Promise.resolve(replyWithError(state, key, live, error));
  }
}

function reply(
  state: RuntimeState,
  key: string,
  live: AcceptedCall,
  found: CallReply | HeldHere,
): Awaitable<CallReply> {
  if (live.engine.failedWrites.isDue) return recordAndReply(state, key, live, found);
  finish(state, key, live, found);
  return found;
}

async function recordAndReply(
  state: RuntimeState,
  key: string,
  live: AcceptedCall,
  found: CallReply | HeldHere,
): Promise<CallReply> {
  try {
    await recordRefusals(state, live);
  } catch (error) {
    return replyWithError(state, key, live, error, found);
  }
  finish(state, key, live, found);
  return found;
}

function replyWithError(
  state: RuntimeState,
  key: string,
  live: AcceptedCall,
  error: unknown,
  found?: CallReply | HeldHere,
): CallReply {
  let answer: CallReply | undefined;
  try {
    if (live.journal.owned) noteFailedWrite(live, error);
    return (answer = notAccepted(live, error));
  } finally {
    finish(state, key, live, found ?? answer);
  }
}

/** The call is no longer made here, or it is held and leaves when it ends. */
function finish(
  state: RuntimeState,
  key: string,
  live: AcceptedCall,
  found: CallReply | HeldHere | undefined,
): void {
  const { journal, engine } = live;
  if (journal.owned && journal.version > 0) engine.failedWrites.forget(journal);
  if (found?.type !== 'held') {
    journal.observer?.end(found);
    return leave(state, key, live, undefined);
  }
  const asked = 'asked' in found ? found.asked : undefined;
  void found.rest
    .catch(() => undefined)
    .then((outcome) => {
      journal.observer?.end(outcome);
      leave(state, key, live, asked);
    });
}

/** Longest time that a stored outcome waits for the records of other calls. */
const recordingGraceMs = 250;

/** The ledger stored this call, so it can now store the records of calls that it refused before. */
async function recordRefusals(state: RuntimeState, live: AcceptedCall): Promise<void> {
  if (live.journal.version === 0) return;
  if (live.journal.owned) live.engine.failedWrites.forget(live.journal);
  await within(live.engine, recordingGraceMs, recordFailedWrites(state), undefined);
}

type Going = Awaitable<CallReply | HeldHere>;

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
    return left?.live.journal.version === known.version && isSame(left.live, request, live.requested)
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
  journal.apply(toRequestCommand(live));
  // Adds the facts about this call that could not be stored before.
  if (engine.failedWrites.size > 0)
    for (const command of engine.failedWrites.commandsFor(journal)) journal.apply(command);
  return live.submitted ? makeSubmitted(live) : goThroughGates(live);
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

/** Values for a call that was never held, or that was taken over. */
export const neverAsked: Omit<AskedCall, keyof AcceptedCall> = Object.freeze({
  notes: [],
  toolKey: undefined,
  claimKey: undefined,
  twins: [],
  supersedes: undefined,
  ruled: false,
});

/** Continues a call whose body never started, from the last event of its record. */
export async function goOnFrom(
  live: AskedCall,
  { confirmation }: Call,
  asked: HostAnswer = notAsked,
  just?: Taken,
): Promise<CallReply | HeldHere> {
  if (confirmation === undefined) return goThroughGates(live);
  return confirmation.status === 'pending' ? holdOn(live, asked) : resolveHold(live, asked, just);
}

/** Passes the gates, asks a person if needed, then runs the body. */
export function goThroughGates(live: AcceptedCall): Going {
  const walking = walkAll(live, gates);
  return isPromiseLike(walking)
    ? Promise.resolve(walking).then((walked) => goOnAfterGates(live, walked))
    : goOnAfterGates(live, walking);
}

function goOnAfterGates(live: AcceptedCall, walked: WalkedAll): Going {
  if (walked.type === 'stopped') return end(walked.live, walked.stop);
  const asks = withAskByMode(walked.live);
  const going = asks.length === 0 ? execute(walked.live, false) : ask(walked.live, asks);
  // If the gates went by something that has changed since, they look again.
  if (isPromiseLike(going))
    return Promise.resolve(going).then((reply) => (reply.type === 'moved' ? goThroughGates(live) : reply));
  return going.type === 'moved' ? goThroughGates(live) : going;
}

async function ask(walked: JudgedCall, asks: readonly Ask[]): Promise<CallReply | HeldHere | Moved> {
  const granted = await answerByGrant(walked, asks);
  return granted === undefined ? hold({ ...walked, asks }) : execute({ ...walked, ...granted }, false);
}

export function toRequestCommand(live: AcceptedCall): Command & { type: 'request' } {
  const { engine, tool, request, requested, facts, submitted, journal } = live;
  const { mode, modeOrigin } = tool ?? modeOf(live);
  const command: Command & { type: 'request' } = {
    type: 'request',
    toolName: request.name,
    displayName: tool?.displayName ?? request.name,
    mode,
    modeOrigin,
    requestedInput: freezeJson(requested.kept),
    hidden: requested.hidden,
    requestDigest: requested.digest,
    principal: facts.kept.principal,
    provenance: facts.kept.provenance,
    attrs: facts.kept.attrs,
    submitted,
    schemaDigest: tool?.input.jsonSchema === undefined ? undefined : tool.schemaDigest,
    traceparent: journal.observer?.traceparent ?? live.traceparent,
  };
  if (facts.askedBy === undefined && !engine.separateDuties) return command;
  return {
    ...command,
    ...(facts.askedBy !== undefined && { askedBy: facts.askedBy }),
    ...(engine.separateDuties && { separateDuties: true as const }),
  };
}

/** Some modes need an approval by default. The host can change this. */
export function withAskByMode({ tool, engine, asks }: JudgedCall): readonly Ask[] {
  const { mode, displayName, undo } = tool;
  const treatment = engine.treatments[mode];
  if (treatment === 'run' || (treatment === 'ask_unless_undo' && undo !== undefined)) return asks;
  const description = `"${displayName}" is ${mode === 'external' ? 'an' : 'a'} ${mode} tool.`;
  return [...asks, { by: { type: 'gate', name: 'mode' }, description }];
}
