/**
 * What is heard while a call waits for a person: that its record has changed, that the time is up, a withdrawal, a
 * cancellation, the answer of the host's own decider, or that this runtime stops waiting. Whoever hears it reads the
 * record before acting on it.
 */
import type { JsonObject } from '../../base/json.ts';
import { freezeJson } from '../../base/json.ts';
import type { Confirmation } from '../../call/call.ts';
import { acceptedInputOf } from '../../call/call.ts';
import { describeThrown } from '../../tool/describe-thrown.ts';
import { longestArrivalMs } from '../host/arriving-decisions.ts';
import type { CallInHand } from '../state/call-in-hand.ts';
import type { ConfirmationRequest, OnConfirm, ReadAnswer } from '../host/confirm.ts';
import { denyFor, readConfirmationAnswer } from '../host/confirm.ts';

export type News =
  | { readonly type: 'answered'; readonly answer: ReadAnswer }
  | { readonly type: 'withdrawn' | 'cancelled'; readonly reason: string }
  | { readonly type: 'changed' | 'expired' | 'left' };

/** The first thing that is heard. What was said before is heard at once. */
export function firstNews(hand: CallInHand, confirmation: Confirmation): Promise<News> {
  const { engine } = hand;
  return new Promise((resolve, reject) => {
    let isOver = false;
    const stop = new AbortController();
    const end = (): void => {
      isOver = true;
      stop.abort();
      watch?.stop();
      hand.withdraw = undefined;
      hand.onCancel = undefined;
      hand.onLeave = undefined;
    };
    const tell = (news: News): void => {
      if (isOver) return;
      end();
      resolve(news);
    };
    hand.onLeave = () => tell({ type: 'left' });
    hand.withdraw = (reason) => tell({ type: 'withdrawn', reason });
    hand.onCancel = () => tell({ type: 'cancelled', reason: hand.cancelled ?? 'cancelled' });
    const watch = watchExpiry(hand, confirmation, () => tell({ type: 'expired' }));
    // What was decided while the hold was being kept counts before anybody is asked.
    if (hand.cancelled !== undefined) return hand.onCancel();
    if (hand.turn.withdrawn !== undefined) return hand.withdraw(hand.turn.withdrawn);
    if (hand.left) return hand.onLeave();
    engine.ledger.journal.whenChanged(hand.sessionId, hand.callId, hand.version, stop.signal).then(
      () => tell({ type: 'changed' }),
      (error: unknown) => {
        if (isOver) return;
        end();
        reject(error as Error);
      },
    );
    if (engine.onConfirm !== undefined && hand.askedOf !== confirmation.confirmationId) {
      // Once for each question, however often the record changes meanwhile.
      hand.askedOf = confirmation.confirmationId;
      hand.answering = askPerson(engine.onConfirm, toRequest(hand, confirmation));
    }
    void hand.answering?.then((answer) => tell({ type: 'answered', answer }));
  });
}

/** Timers go by the runtime's clock, expiry by the ledger's, which may jump: the wait looks at it every second. */
function watchExpiry(
  { engine }: CallInHand,
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
    // A denial that began to arrive in time counts: it is heard as a change of the record.
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

async function askPerson(onConfirm: OnConfirm, request: ConfirmationRequest): Promise<ReadAnswer> {
  try {
    return readConfirmationAnswer(await onConfirm(request));
  } catch (error) {
    return denyFor(`onConfirm threw: ${describeThrown(error)}`);
  }
}

const toRequest = (
  { turn, request, knownTool: tool, facts, input, call }: CallInHand,
  { confirmationId, inputDigest, description, asks, revision }: Confirmation,
): ConfirmationRequest =>
  Object.freeze({
    confirmationId,
    inputDigest,
    description,
    revision,
    sessionId: turn.sessionId,
    turnId: turn.turnId,
    callId: request.id,
    toolName: tool.name,
    displayName: tool.displayName,
    mode: tool.mode,
    // Frozen: it is also what the ledger holds. Redacting an object gives an object.
    arguments: freezeJson(input.effective.kept) as JsonObject,
    inputForm: input.form,
    accepted: freezeJson(call === undefined ? input.effective.kept : acceptedInputOf(call)) as JsonObject,
    artifacts: input.artifacts,
    asks: Object.freeze(asks.map((ask) => Object.freeze({ ...ask, by: Object.freeze({ ...ask.by }) }))),
    principal: facts.kept.principal,
  });
