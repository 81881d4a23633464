/**
 * The life of a call in this process, from its envelope to its outcome.
 *
 * 1. A call in hand is in `desk.inHand` from before its first wait until its outcome is kept, so that the same call
 *    asked for twice is made once.
 * 2. A body runs after its intent was appended, or is a read under no limit.
 */
import { QuittanceError } from '../../base/error.ts';
import type { Awaitable, JsonValue } from '../../base/json.ts';
import { freezeJson } from '../../base/json.ts';
import type { Call } from '../../call/call.ts';
import type { Command } from '../../call/command.ts';
import type { ParsedArguments, ParsedToolCall } from '../../call/tool-call.ts';
import type { StoredCall } from '../../ledger/journal.ts';
import type { AnyTool } from '../../tool/define-tool.ts';
import { isPromiseLike } from '../../base/when-ready.ts';
import type { CallOptions } from '../host/call-options.ts';
import { CallInHand } from '../state/call-in-hand.ts';
import { checkKeys } from '../../base/check-keys.ts';
import type { Desk } from '../state/desk.ts';
import { keyOf } from '../state/desk.ts';
import { end, execute } from '../execute/execute.ts';
import { gates } from '../gates/gates.ts';
import { foldStored } from '../../ledger/fold-stored.ts';
import { noteFailedWrite } from '../settle/note-failed-write.ts';
import { recordFailedWrites } from '../settle/record-failed-writes.ts';
import { hold, holdOn, resolveHold } from '../hold/hold.ts';
import type { KeptInput } from '../input/kept-input.ts';
import { isDigestOf, keepInput } from '../input/kept-input.ts';
import { modeOf } from '../state/mode-of.ts';
import { recall } from '../settle/recall.ts';
import { overtaken } from '../settle/settle.ts';
import { importSpills, readWaiting } from '../state/spill.ts';
import { settleStranded } from '../settle/stranded.ts';
import type { Told } from '../state/told.ts';
import type { TurnState } from '../state/turn-state.ts';
import { notAccepted, unavailable } from '../settle/unavailable.ts';
import { answerByGrant } from '../grants/use-grant.ts';
import { rule, walk } from '../gates/walk.ts';
import { within } from '../../base/within.ts';

export type Manner = {
  readonly submitted: boolean;
  readonly takePlace: (() => Promise<() => void>) | undefined;
  /** What the runtime itself calls; otherwise the tool of that name. */
  readonly tool?: AnyTool | undefined;
};

/** Said where nothing is: the same object every time. */
export const noOptions: CallOptions = Object.freeze({});
const callOptionNames = ['attrs', 'principal', 'provenance', 'askedBy', 'signal', 'onProgress'] as const;

export const waitedFor: Manner = { submitted: false, takePlace: undefined };

/** Makes a call, or joins the one that is being made. */
export function makeCall(
  desk: Desk,
  turn: TurnState,
  request: ParsedToolCall,
  options: CallOptions,
  manner: Manner,
): CallInHand {
  const { engine } = desk;
  if (desk.closed)
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
  const key = keyOf({ sessionId: turn.sessionId, callId: request.id });
  const known = desk.inHand.get(key);
  if (known?.told !== undefined && isSame(known, request, requested)) return known;
  const hand = new CallInHand(engine, turn, request, requested, options, manner);
  if (known !== undefined) {
    hand.told = tellApart(known, hand, () => {
      const again = makeCall(desk, turn, request, options, manner);
      hand.onCancel = () => again.cancel(hand.cancelled ?? 'cancelled');
      return again.told;
    }).catch((error: unknown) => notAccepted(hand, error));
    return hand;
  }
  desk.inHand.set(key, hand);
  const { signal } = options;
  const giveUp = (): void => hand.cancel('the caller gave up');
  signal?.addEventListener('abort', giveUp, { once: true });
  if (signal?.aborted === true) giveUp();
  hand.told = live(desk, key, hand, () => {
    desk.inHand.delete(key);
    if (hand.isLeftOpen()) desk.stranded.set(key, hand);
    else if (hand.owned) desk.stranded.delete(key);
    // One signal may serve a thousand calls.
    signal?.removeEventListener('abort', giveUp);
  });
  return hand;
}

/** Before the call is in hand: what throws after that leaves it there, and nobody could make it any more. */
function checkCallOptions(options: CallOptions): void {
  checkKeys('turn.call', options, callOptionNames);
  const { signal, onProgress } = options;
  if (signal !== undefined && typeof signal?.addEventListener !== 'function')
    throw new QuittanceError('config.invalid', 'The signal of a call must be an AbortSignal.');
  if (onProgress !== undefined && typeof onProgress !== 'function')
    throw new QuittanceError('config.invalid', 'onProgress of a call must be a function.');
}

const isSame = (known: CallInHand, { name, input }: ParsedToolCall, { digest }: KeptInput): boolean =>
  known.request.name === name &&
  (known.requested.digest === digest || isDigestOf(known.requested.digest, rawOf(input), known.engine.seal));

const rawOf = (input: ParsedArguments): JsonValue => (input.ok ? input.arguments : input.raw);

/**
 * Another request under the id of a call in hand. It is told so once the ledger knows that call; where the ledger
 * knows this one instead, or neither, it is made as if it came now.
 */
async function tellApart(
  known: CallInHand,
  hand: CallInHand,
  makeAgain: () => Promise<Told> | undefined,
): Promise<Told> {
  const { request, engine, turn } = hand;
  await Promise.race([known.whenKept(), known.told]);
  const stored = await engine.ledger.journal.readCall(turn.sessionId, request.id);
  const call = stored && foldStored(stored);
  const isOther =
    call?.toolName !== request.name || !isDigestOf(call.requestDigest, rawOf(request.input), engine.seal);
  if (stored !== undefined && isOther) return recall(hand, stored);
  await known.told;
  return makeAgain() ?? unavailable(hand, 'another call with this id was not accepted either');
}

async function live(desk: Desk, key: string, hand: CallInHand, done: () => void): Promise<Told> {
  let told: Told | undefined;
  try {
    told = await proceed(desk, key, hand);
    if (hand.engine.failedWrites.isDue) await recordRefusals(desk, hand);
    return told;
  } catch (error) {
    if (hand.owned) noteFailedWrite(hand, error);
    return notAccepted(hand, error);
  } finally {
    if (hand.owned && hand.version > 0) hand.engine.failedWrites.forget(hand);
    if (told?.type === 'held') void told.rest.catch(() => undefined).finally(done);
    else done();
  }
}

/** An outcome that is stored is told, also where the records of other calls take longer. */
const recordingGraceMs = 250;

/** The ledger took this call: now it can also take the records of calls it refused before. */
async function recordRefusals(desk: Desk, hand: CallInHand): Promise<void> {
  if (hand.version === 0) return;
  if (hand.owned) hand.engine.failedWrites.forget(hand);
  await within(hand.engine, recordingGraceMs, recordFailedWrites(desk), undefined);
}

async function proceed(desk: Desk, key: string, hand: CallInHand): Promise<Told> {
  const { engine, request } = hand;
  if (engine.failedWrites.hasWaiting) await recordFailedWrites(desk);
  if (desk.stranded.size > 0) await settleStranded(desk);
  const stored = readKnown(hand);
  const known = isPromiseLike(stored) ? await stored : stored;
  if (known !== undefined) {
    const left = desk.stranded.get(key);
    return left?.version === known.version && isSame(left, request, hand.requested)
      ? resume(hand, left, known)
      : recall(hand, known);
  }
  if (engine.spill.waiting) {
    const told = await tellWaiting(hand);
    if (told !== undefined) return told;
  }
  hand.apply(toRequestCommand(hand));
  // What could not be stored of it before is stored with it now.
  for (const command of engine.failedWrites.commandsFor(hand)) hand.apply(command);
  if (hand.submitted && (await hand.flush()).status !== 'appended') return overtaken(hand);
  return goThroughGates(hand);
}

/** What the ledger has of the call. */
function readKnown(hand: CallInHand): Awaitable<StoredCall | undefined> {
  const fail = (error: unknown): never => {
    noteFailedWrite(hand, error);
    throw error;
  };
  try {
    const stored = hand.engine.ledger.journal.readCall(hand.turn.sessionId, hand.request.id);
    return isPromiseLike(stored) ? stored.then(undefined, fail) : stored;
  } catch (error) {
    return fail(error);
  }
}

/** A read needs no intent: if its end waits in the spill, the ledger does not know of it yet. */
async function tellWaiting(hand: CallInHand): Promise<Told | undefined> {
  const { engine, request } = hand;
  const waiting = await readWaiting(engine, hand, undefined);
  if (waiting?.toolName !== request.name) return undefined;
  if (!isDigestOf(waiting.requestDigest, rawOf(request.input), engine.seal)) return undefined;
  await importSpills(engine).catch(() => undefined);
  return waiting.settled?.outcome;
}

/** Goes on with a call of ours that stopped because the ledger did. */
async function resume(hand: CallInHand, left: CallInHand, known: StoredCall): Promise<Told> {
  if (left.unkept !== undefined) return left.unkept.told;
  const call = foldStored(known);
  if (call === undefined) return recall(hand, known);
  hand.takeOver(left, call, known.version);
  return goOnFrom(hand, call);
}

/** Goes on with a call whose body never began, from where its record stops. */
export async function goOnFrom(hand: CallInHand, { confirmation }: Call): Promise<Told> {
  if (confirmation === undefined) return goThroughGates(hand);
  hand.asks = confirmation.asks;
  return confirmation.status === 'pending' ? holdOn(hand) : resolveHold(hand);
}

/** The gates, then a person where one is wanted, then the body. */
export async function goThroughGates(hand: CallInHand): Promise<Told> {
  for (;;) {
    const walked = walk(hand, gates);
    const stop = isPromiseLike(walked) ? await walked : walked;
    if (stop !== undefined) {
      rule(hand, stop);
      return end(hand, stop);
    }
    askByMode(hand);
    if (hand.asks.length > 0 && (await answerByGrant(hand, hand.asks))) hand.asks = [];
    const told = await (hand.asks.length > 0 ? hold(hand) : execute(hand, false));
    if (told !== 'moved') return told;
    hand.lookAgain();
  }
}

export function toRequestCommand(hand: CallInHand): Command & { type: 'request' } {
  const { engine, tool, request, requested, facts, submitted } = hand;
  return {
    type: 'request',
    toolName: request.name,
    displayName: tool?.displayName ?? request.name,
    ...modeOf(hand),
    requestedInput: freezeJson(requested.kept),
    hidden: requested.hidden,
    requestDigest: requested.digest,
    principal: facts.kept.principal,
    provenance: facts.kept.provenance,
    attrs: facts.kept.attrs,
    submitted,
    schemaDigest: tool?.input.jsonSchema === undefined ? undefined : tool.schemaDigest,
    ...(facts.askedBy !== undefined && { askedBy: facts.askedBy }),
    ...(engine.separateDuties && { separateDuties: true as const }),
  };
}

/** Some kinds of effect want a person by themselves, unless the host says otherwise. */
export function askByMode(hand: CallInHand): void {
  const { mode, displayName, undo } = hand.knownTool;
  const treatment = hand.engine.treatments[mode];
  if (treatment === 'run' || (treatment === 'ask_unless_undo' && undo !== undefined)) return;
  hand.ask({
    by: { type: 'gate', name: 'mode' },
    description: `"${displayName}" is ${mode === 'external' ? 'an' : 'a'} ${mode} tool.`,
  });
}
