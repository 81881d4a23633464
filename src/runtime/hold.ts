/**
 * A call that needs a person. It is held in the ledger first, then somebody is asked; the first of an answer, a
 * withdrawal and a cancellation counts, and an approval skips no check.
 */
import type { JsonObject } from '../base/json.ts';
import { freezeJson } from '../base/json.ts';
import type { Confirmation } from '../call/call.ts';
import type { Ask } from '../call/event.ts';
import type { ToolOutcome } from '../call/outcome.ts';
import { describeThrown } from '../tool/describe-thrown.ts';
import type { CallInHand, HeldCall, Told } from './call-in-hand.ts';
import type { ConfirmationRequest, OnConfirm, ReadAnswer } from './confirm.ts';
import { denyFor, describeDenial, nobodyToAsk, readConfirmationAnswer } from './confirm.ts';
import type { Moved } from './execute.ts';
import { end, execute } from './execute.ts';
import { keepApprovals } from './follow-workflows.ts';
import { gatesAfterApproval } from './gates/gates.ts';
import { overtaken, settleStopped } from './settle.ts';
import { sealInput } from './seal-input.ts';
import { notAccepted } from './unavailable.ts';
import { cancelStop } from './unless-over.ts';
import { rule, walk } from './walk.ts';

/** Holds the call for a person; denies it where there is nobody to ask. */
export async function hold(hand: CallInHand): Promise<Told | Moved> {
  const { engine } = hand;
  const undecided = hand.mark();
  const description = hand.asks.map(({ description: why }) => why).join(' ');
  if (engine.onConfirm === undefined) {
    const code = hand.asks.find((ask) => ask.code !== undefined)?.code ?? 'confirmation.rejected';
    const details = nobodyToAsk(hand.asks, hand.knownTool.mode);
    rule(hand, { type: 'deny', reason: 'write_denied', code, details });
    return settleStopped(hand, { type: 'deny', reason: 'write_denied', code, details });
  }
  const confirmationId = engine.ids.secret('cnf');
  const inputDigest = hand.input.effective.digest;
  rule(hand, undefined);
  hand.apply({ type: 'hold', confirmationId, description, asks: hand.asks, inputDigest });
  const result = await hand.flush(sealInput(hand));
  if (result.status === 'moved') {
    hand.rewind(undecided);
    return result.status;
  }
  if (result.status !== 'appended') return overtaken(hand);
  return askAndGoOn(hand, engine.onConfirm, confirmationId, description);
}

/** Asks again about a call that is held already, because its answer could not be kept. */
export function holdOn(hand: CallInHand, { confirmationId, description, asks }: Confirmation): Told {
  const { onConfirm } = hand.engine;
  if (onConfirm === undefined)
    throw new TypeError(`Call ${hand.request.id} is held and nobody can be asked.`);
  hand.asks = asks;
  return askAndGoOn(hand, onConfirm, confirmationId, description);
}

function askAndGoOn(
  hand: CallInHand,
  onConfirm: OnConfirm,
  confirmationId: string,
  description: string,
): HeldCall {
  const rest = resolveHold(hand, onConfirm, confirmationId, description).catch((error: unknown) =>
    notAccepted(hand, error),
  );
  return { type: 'held', confirmationId, rest };
}

type Answer =
  | { readonly type: 'answered'; readonly answer: ReadAnswer }
  | { readonly type: 'withdrawn' | 'cancelled'; readonly reason: string };

async function resolveHold(
  hand: CallInHand,
  onConfirm: OnConfirm,
  confirmationId: string,
  description: string,
): Promise<ToolOutcome> {
  const approvedAsks = hand.asks;
  const inputDigest = hand.input.effective.digest;
  const said = await firstAnswer(hand, onConfirm, { confirmationId, inputDigest, description });
  const mark = hand.mark();
  if (said.type !== 'answered') {
    hand.apply({ type: 'withdraw', confirmationId, reason: said.reason });
    return said.type === 'cancelled'
      ? end(hand, cancelStop(said.reason))
      : settleStopped(hand, { type: 'deny', reason: 'ended', code: 'turn.ended', details: said.reason });
  }
  const { decision, by, reason } = said.answer;
  for (;;) {
    hand.apply({
      type: 'answer',
      confirmationId,
      decision,
      by,
      reason: reason && hand.clean(reason),
      inputDigest,
    });
    if (decision === 'approve') await keepApprovals(hand, by.name);
    const result = await hand.flush();
    if (result.status === 'appended') break;
    hand.rewind(mark);
    if (result.status !== 'moved') return overtaken(hand);
  }
  return decision === 'deny' ? settleDenied(hand, said.answer) : goOn(hand, approvedAsks);
}

/** Ends a call a person said no to. */
export const settleDenied = (
  hand: CallInHand,
  answer: Pick<ReadAnswer, 'by' | 'reason'>,
): Promise<ToolOutcome> =>
  settleStopped(hand, {
    type: 'deny',
    reason: 'write_denied',
    code: 'confirmation.rejected',
    details: hand.clean(describeDenial(answer)),
  });

/** After an approval: every check once more; another wish for a person than the ones approved asks again. */
export async function goOn(hand: CallInHand, approved: readonly Ask[]): Promise<ToolOutcome> {
  for (;;) {
    hand.asks = [];
    hand.policy = hand.engine.policyInForce();
    const stop = await walk(hand, gatesAfterApproval, true);
    if (stop !== undefined) {
      rule(hand, stop);
      return end(hand, stop);
    }
    const news = hand.asks.filter((ask) => !approved.some((known) => sameAsk(known, ask)));
    if (news.length === 0) {
      hand.asks = [];
      const outcome = await execute(hand, true);
      if (outcome !== 'moved') return outcome;
      continue;
    }
    const told = await hold(hand);
    if (told !== 'moved') return told.type === 'held' ? told.rest : told;
  }
}

/** A rule asks the same while it says the same; anything else while it gives the same reason. */
const sameAsk = (left: Ask, right: Ask): boolean =>
  left.by.type === right.by.type &&
  left.by.name === right.by.name &&
  left.digest === right.digest &&
  (left.digest !== undefined || left.description === right.description);

function firstAnswer(
  hand: CallInHand,
  onConfirm: OnConfirm,
  held: Pick<ConfirmationRequest, 'confirmationId' | 'inputDigest' | 'description'>,
): Promise<Answer> {
  return new Promise((resolve) => {
    const settleWith = (answer: Answer): void => {
      hand.withdraw = undefined;
      hand.onCancel = undefined;
      resolve(answer);
    };
    hand.withdraw = (reason) => settleWith({ type: 'withdrawn', reason });
    hand.onCancel = () => settleWith({ type: 'cancelled', reason: hand.cancelled ?? 'cancelled' });
    // What was decided while the hold was being kept counts before anybody is asked.
    if (hand.cancelled !== undefined) return hand.onCancel();
    if (hand.turn.withdrawn !== undefined) return hand.withdraw(hand.turn.withdrawn);
    void askPerson(onConfirm, toRequest(hand, held)).then((answer) =>
      settleWith({ type: 'answered', answer }),
    );
  });
}

async function askPerson(onConfirm: OnConfirm, request: ConfirmationRequest): Promise<ReadAnswer> {
  try {
    return readConfirmationAnswer(await onConfirm(request));
  } catch (error) {
    return denyFor(`onConfirm threw: ${describeThrown(error)}`);
  }
}

const toRequest = (
  { turn, request, knownTool: tool, asks, facts, input }: CallInHand,
  held: Pick<ConfirmationRequest, 'confirmationId' | 'inputDigest' | 'description'>,
): ConfirmationRequest =>
  Object.freeze({
    ...held,
    sessionId: turn.sessionId,
    turnId: turn.turnId,
    callId: request.id,
    toolName: tool.name,
    displayName: tool.displayName,
    mode: tool.mode,
    // Frozen: it is also what the ledger holds. Redacting an object gives an object.
    arguments: freezeJson(input.effective.kept) as JsonObject,
    asks: Object.freeze(asks.map((ask) => Object.freeze({ ...ask, by: Object.freeze({ ...ask.by }) }))),
    principal: facts.kept.principal,
  });
