/** Waits for the end of a question: a decision, an expiry, a withdrawal or a cancellation. Asks `onConfirm` once for each question. */
import { QuittanceError } from '../base/error.ts';
import type { Confirmation, Call } from '../call/call.ts';
import { describeMissing, missingOf } from '../call/quorum.ts';
import { nextDue } from '../call/reminder.ts';
import type { ToolOutcome } from '../call/outcome.ts';
import type { ActiveCall, CallContext, KeptCall, OpenQuestion } from './active-call.ts';
import { nothingFound, recallNotes } from './active-call.ts';
import { readRequest } from './recorded-input.ts';
import { foldStored } from '../ledger/fold-stored.ts';
import type { CallerFacts } from './call-input.ts';
import type { DeadlineWatch } from '../base/deadlines.ts';
import { allowedBy, isExpired, settleExpired, settleStopped } from './settle.ts';
import { cancelStop } from './gates.ts';
import { checkRights, keepAnswer, flushOrReadAgain } from './keep-decision.ts';
import type { JsonObject } from '../base/json.ts';
import { freezeJson } from '../base/json.ts';
import { acceptedInputOf } from '../call/call.ts';
import { describeThrown } from '../tool/describe-thrown.ts';
import { longestArrivalMs, denyFor, readConfirmationAnswer } from './views.ts';
import type { ConfirmationRequest, OnConfirm, ReadAnswer } from './views.ts';
import { whenCallChanged } from '../ledger/reads.ts';

/** `onConfirm` has not been asked yet. */
export const notAsked: HostAnswer = Object.freeze({ confirmationId: undefined, answer: undefined });

export const settleEnded = (active: ActiveCall, details: string): Promise<ToolOutcome> =>
  settleStopped(active, { type: 'deny', reason: 'ended', code: 'turn.ended', details });

/**
 * A held call and its open question. Thousands of calls may wait for days, so it keeps nothing that is on record. It ends
 * with the first signal: a changed record, the expiry, a reminder, a withdrawal, a cancellation, an answer of `onConfirm`,
 * or a closed runtime.
 */
export class HeldCall implements KeptCall, OpenQuestion {
  readonly context: CallContext;
  readonly toolKey: string | undefined;
  readonly claimKey: string | undefined;
  readonly ruled: boolean;
  readonly confirmationId: string;
  readonly waitsFor: string;
  readonly expiresAt: number | undefined;
  readonly #dueAt: number | undefined;
  host: HostAnswer;
  signal: HoldSignal | undefined;
  readonly #stop = new AbortController();
  #watch: DeadlineWatch | undefined;

  /** Asks `onConfirm`, and drops the record of the call from memory. `host`: what `onConfirm` was asked before. */
  constructor(active: ActiveCall, confirmation: Confirmation, host: HostAnswer) {
    const { context, journal, signals, preview } = active;
    this.context = context;
    this.toolKey = active.toolKey;
    this.claimKey = active.claimKey;
    this.ruled = active.ruled;
    this.confirmationId = confirmation.confirmationId;
    this.waitsFor = confirmation.description;
    this.expiresAt = confirmation.expiresAt;
    this.#dueAt = nextDue(confirmation)?.dueAt;
    this.host = host;
    signals.held = this;
    this.onDeadline();
    // A decision that arrived while the hold was being stored counts before anyone is asked.
    this.checkSignals();
    if (this.signal === undefined) this.#askHost(active, confirmation);
    journal.dropRecord();
    preview.snapshot = undefined;
  }

  /** Resolves with the first signal. Then the record must be read again. */
  signalled(): Promise<void> {
    const { engine, sessionId, callId, journal } = this.context;
    return this.signal === undefined
      ? whenCallChanged(engine.ledger, sessionId, callId, journal.version, this.#stop.signal)
      : Promise.resolve();
  }

  /** Only the first signal counts. */
  end(signal: HoldSignal): void {
    if (this.signal !== undefined) return;
    this.signal = signal;
    this.context.signals.held = undefined;
    this.#watch?.stop();
    this.#stop.abort();
  }

  checkSignals(): void {
    const { signals, turn } = this.context;
    const withdrawn = turn.withdrawn ?? signals.withdrawn;
    if (signals.cancelled !== undefined) this.end({ type: 'cancelled', reason: signals.cancelled });
    else if (withdrawn !== undefined) this.end({ type: 'withdrawn', reason: withdrawn });
    else if (signals.left) this.end({ type: 'left' });
  }

  /** Timers use the runtime's clock, times of a question the ledger's, which may jump. So it is checked every second. */
  onDeadline(): void {
    if (this.signal !== undefined) return;
    const { ledger, arriving, expiries } = this.context.engine;
    const now = ledger.now();
    const times: number[] = [];
    if (this.expiresAt !== undefined) {
      // A denial that began to arrive in time counts. It changes the record.
      const late = isExpired(this, now) ? arriving.mayDeny(this, now) : undefined;
      if (isExpired(this, now) && late === undefined) return this.end({ type: 'expired' });
      void late?.then(() => this.onDeadline());
      times.push(this.expiresAt + (late === undefined ? 0 : longestArrivalMs));
    }
    if (this.#dueAt !== undefined) {
      if (this.#dueAt <= now) return this.end({ type: 'due' });
      times.push(this.#dueAt);
    }
    if (times.length === 0) return;
    this.#watch?.stop();
    this.#watch = expiries.watch(Math.max(1, Math.min(...times, now + longestSleepMs) - now), this);
  }

  /** Asks `onConfirm` once for each question, even if the record changes meanwhile. */
  #askHost(
    { engine: { onConfirm }, facts, journal: { call } }: ActiveCall,
    confirmation: Confirmation,
  ): void {
    if (onConfirm === undefined || call === undefined) return;
    if (this.host.confirmationId !== this.confirmationId) {
      const answer = askPerson(onConfirm, toRequest(facts, call, confirmation));
      this.host = { confirmationId: this.confirmationId, answer };
    }
    void this.host.answer?.then((answer) => this.end({ type: 'answered', answer }));
  }
}

const longestSleepMs = 1_000;

/** A held call of this process, as it is on record now. */
export async function readHeld({ context, toolKey, claimKey, ruled }: KeptCall): Promise<ActiveCall> {
  const { engine, sessionId, callId, journal } = context;
  const stored = await engine.ledger.readCall(sessionId, callId);
  const call = stored && foldStored(stored);
  if (stored === undefined || call === undefined)
    throw new TypeError(`Call ${callId} is held but missing from the ledger.`);
  journal.inherit(call, stored.version);
  return {
    ...nothingFound,
    ...context,
    context,
    ...(await readRequest(engine, call)),
    policy: engine.policyInForce(),
    notes: recallNotes(stored, call),
    toolKey,
    claimKey,
    ruled,
  };
}

/**
 * Acts on the signal of a held call whose record was just read. Returns the outcome if that ends the call, and otherwise what
 * `onConfirm` was asked.
 */
export async function actOnSignal(
  active: ActiveCall,
  { confirmationId, signal, host }: HeldCall,
): Promise<ToolOutcome | HostAnswer> {
  const confirmation = active.journal.call?.confirmation;
  // A decision was first.
  if (confirmation?.confirmationId !== confirmationId || confirmation.status !== 'pending') return host;
  switch (signal?.type) {
    case 'expired':
      return (await expire(active, confirmation)) ?? host;
    case 'cancelled':
      active.journal.apply({ type: 'withdraw', confirmationId, reason: signal.reason });
      return settleStopped(active, cancelStop(signal.reason));
    case 'withdrawn':
      active.journal.apply({ type: 'withdraw', confirmationId, reason: signal.reason });
      return settleEnded(active, signal.reason);
    case 'due':
      await remind(active, confirmation);
      return host;
    case 'answered': {
      const votes = confirmation.votes.length;
      await keepAnswer(active, confirmation, await checkRights(active, signal.answer));
      // `onConfirm` may ask further people after a vote that counted. It is not asked again after an answer that did not count.
      const counted = (active.journal.call?.confirmation?.votes.length ?? 0) > votes;
      return counted ? notAsked : host;
    }
    case 'left':
    case 'changed':
    case undefined:
      return host;
  }
}

/** Records that a time set by a rule has come. One process stores it; the others read that it did. */
async function remind(active: ActiveCall, confirmation: Confirmation): Promise<void> {
  const due = nextDue(confirmation);
  if (due === undefined || due.dueAt > active.engine.ledger.now()) return;
  const mark = active.journal.mark();
  const missing = missingOf(confirmation, confirmation.votes).map((each) => describeMissing([each]));
  const { confirmationId } = confirmation;
  active.journal.apply({ type: 'remind', confirmationId, missing, ...due });
  await flushOrReadAgain(active, mark);
}

/** This runtime was closed. The call stays held for another process, and this runtime no longer owns it. */
export function throwPending({ context, confirmationId, waitsFor }: HeldCall): never {
  const { callId, journal } = context;
  journal.owned = false;
  throw new QuittanceError(
    'call.pending',
    `Call ${callId} has not run: it still waits for a person, and this runtime was closed. ${waitsFor} Do not make it again.`,
    { callId, confirmationId, waitsFor },
  );
}

/** The question expired: the rule that asked decides whether the call runs. */
async function expire(active: ActiveCall, confirmation: Confirmation): Promise<ToolOutcome | undefined> {
  if (confirmation.timeoutEffect === 'block') return settleExpired(active, confirmation);
  const { confirmationId } = confirmation;
  const mark = active.journal.mark();
  active.journal.apply({ type: 'expire', confirmationId, effect: 'allow', by: allowedBy(confirmation) });
  await flushOrReadAgain(active, mark);
  return undefined;
}

type HoldSignal =
  | { readonly type: 'answered'; readonly answer: ReadAnswer }
  | { readonly type: 'withdrawn' | 'cancelled'; readonly reason: string }
  | { readonly type: 'changed' | 'expired' | 'left' | 'due' };

/** The question that `onConfirm` was asked, and its answer. */
export type HostAnswer = {
  readonly confirmationId: string | undefined;
  readonly answer: Promise<ReadAnswer> | undefined;
};

async function askPerson(onConfirm: OnConfirm, request: ConfirmationRequest): Promise<ReadAnswer> {
  try {
    return readConfirmationAnswer(await onConfirm(request));
  } catch (error) {
    return denyFor(`onConfirm threw: ${describeThrown(error)}`);
  }
}

/** The request to `onConfirm`, built from the record. */
function toRequest(facts: CallerFacts, call: Call, confirmation: Confirmation): ConfirmationRequest {
  const { confirmationId, inputDigest, description, asks, revision, votes } = confirmation;
  const { sessionId, turnId, callId, toolName, displayName, mode, artifacts } = call;
  return Object.freeze({
    confirmationId,
    inputDigest,
    description,
    revision,
    sessionId,
    turnId,
    callId,
    toolName,
    displayName,
    mode,
    // Frozen, because the ledger holds the same object. The input of a held call is an object.
    arguments: freezeJson(call.effectiveInput ?? call.requestedInput) as JsonObject,
    inputForm: call.inputForm ?? 'json',
    accepted: freezeJson(acceptedInputOf(call)) as JsonObject,
    artifacts,
    asks: Object.freeze(asks.map((ask) => Object.freeze({ ...ask, by: Object.freeze({ ...ask.by }) }))),
    votes,
    missing: missingOf(confirmation, votes),
    principal: facts.kept.principal,
  });
}
