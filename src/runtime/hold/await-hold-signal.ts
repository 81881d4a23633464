/**
 * Waits for the next signal while a call is held: a changed record, the expiry, a withdrawal, a cancellation,
 * the answer of the host's own decider, or the end of this runtime's wait. The caller reads the record before
 * it acts on the signal.
 */
import type { JsonObject } from '../../base/json.ts';
import { freezeJson } from '../../base/json.ts';
import type { Call, Confirmation } from '../../call/call.ts';
import { acceptedInputOf } from '../../call/call.ts';
import { missingOf } from '../../call/quorum.ts';
import { nextDue } from '../../call/reminder.ts';
import { describeThrown } from '../../tool/describe-thrown.ts';
import { longestArrivalMs } from '../host/arriving-decisions.ts';
import type { AcceptedCall } from '../state/accepted-call.ts';
import type { ConfirmationRequest, OnConfirm, ReadAnswer } from '../host/confirm.ts';
import { denyFor, readConfirmationAnswer } from '../host/confirm.ts';

export type HoldSignal =
  | { readonly type: 'answered'; readonly answer: ReadAnswer }
  | { readonly type: 'withdrawn' | 'cancelled'; readonly reason: string }
  | { readonly type: 'changed' | 'expired' | 'left' | 'due' };

/** The question that the host's own decider was asked, and its answer. */
export type HostAnswer = {
  readonly confirmationId: string | undefined;
  readonly answer: Promise<ReadAnswer> | undefined;
};

/** Resolves with the first signal. Earlier signals resolve it at once. `ask` asks the host. */
export function awaitHoldSignal(
  live: AcceptedCall,
  confirmation: Confirmation,
  ask: () => Promise<ReadAnswer> | undefined,
): Promise<HoldSignal> {
  const { engine, signals } = live;
  return new Promise((resolve, reject) => {
    let isOver = false;
    const stop = new AbortController();
    const end = (): void => {
      isOver = true;
      stop.abort();
      watch?.stop();
      due?.stop();
      signals.withdraw = undefined;
      signals.onCancel = undefined;
      signals.onLeave = undefined;
    };
    const tell = (heard: HoldSignal): void => {
      if (isOver) return;
      end();
      resolve(heard);
    };
    signals.onLeave = () => tell({ type: 'left' });
    signals.withdraw = (reason) => tell({ type: 'withdrawn', reason });
    signals.onCancel = () => tell({ type: 'cancelled', reason: signals.cancelled ?? 'cancelled' });
    const watch = watchExpiry(live, confirmation, () => tell({ type: 'expired' }));
    const due = watchDue(live, confirmation, () => tell({ type: 'due' }));
    // A decision that arrived while the hold was being stored counts before anyone is asked.
    if (signals.cancelled !== undefined) return signals.onCancel();
    if (live.turn.withdrawn !== undefined) return signals.withdraw(live.turn.withdrawn);
    if (signals.left) return signals.onLeave();
    engine.ledger.journal.whenChanged(live.sessionId, live.callId, live.journal.version, stop.signal).then(
      () => tell({ type: 'changed' }),
      (error: unknown) => {
        if (isOver) return;
        end();
        reject(error as Error);
      },
    );
    void ask()?.then((answer) => tell({ type: 'answered', answer }));
  });
}

/** Asks the host's own decider once for each question, even if the record changes meanwhile. */
export function askHost(live: AcceptedCall, confirmation: Confirmation, last: HostAnswer): HostAnswer {
  const {
    engine: { onConfirm },
    journal: { call },
  } = live;
  const { confirmationId } = confirmation;
  if (onConfirm === undefined || call === undefined || last.confirmationId === confirmationId) return last;
  return { confirmationId, answer: askPerson(onConfirm, toRequest(live, call, confirmation)) };
}

/**
 * Timers use the runtime's clock, expiry uses the ledger's, which may jump. The wait therefore checks it
 * every second.
 */
function watchExpiry(
  { engine }: AcceptedCall,
  confirmation: Confirmation,
  tell: () => void,
): { stop(): void } | undefined {
  const { expiresAt } = confirmation;
  if (expiresAt === undefined) return undefined;
  let isOver = false;
  const left = (): number => Math.min(Math.max(0, expiresAt - engine.ledger.now()), longestSleepMs);
  const look = (): void => {
    if (isOver) return;
    watch.stop();
    const now = engine.ledger.now();
    if (now < expiresAt) {
      watch = engine.expiries.watch(Math.max(1, left()), look);
      return;
    }
    // A denial that began to arrive in time counts. It shows up as a change of the record.
    const arriving = engine.arriving.mayDeny(confirmation, now);
    if (arriving === undefined) {
      tell();
      return;
    }
    watch = engine.expiries.watch(Math.max(1, expiresAt + longestArrivalMs - now), look);
    void arriving.then(look);
  };
  let watch = engine.expiries.watch(left(), look);
  return {
    stop() {
      isOver = true;
      watch.stop();
    },
  };
}

const longestSleepMs = 1_000;

/** Waits for the next reminder or escalation, by the ledger's clock. */
function watchDue(
  { engine }: AcceptedCall,
  confirmation: Confirmation,
  tell: () => void,
): { stop(): void } | undefined {
  const due = nextDue(confirmation);
  if (due === undefined) return undefined;
  const left = (): number => Math.min(Math.max(1, due.dueAt - engine.ledger.now()), longestSleepMs);
  const look = (): void => {
    watch.stop();
    if (engine.ledger.now() >= due.dueAt) tell();
    else watch = engine.expiries.watch(left(), look);
  };
  let watch = engine.expiries.watch(left(), look);
  return { stop: () => watch.stop() };
}

async function askPerson(onConfirm: OnConfirm, request: ConfirmationRequest): Promise<ReadAnswer> {
  try {
    return readConfirmationAnswer(await onConfirm(request));
  } catch (error) {
    return denyFor(`onConfirm threw: ${describeThrown(error)}`);
  }
}

/** The request to the host's own decider, built from the record. */
function toRequest({ facts }: AcceptedCall, call: Call, confirmation: Confirmation): ConfirmationRequest {
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
