/**
 * SETTLE: the outcome, its record, the budgets and the claim in one append. Only then does anybody hear of it.
 */
import type { DataOf } from '../call/event-data.ts';
import { outcomeToModelContent } from '../call/model-content.ts';
import { outcomeBlocksTool } from '../call/outcome.ts';
import type { ToolOutcome } from '../call/outcome.ts';
import { isTerminalResult } from '../call/tool-result.ts';
import { settlementsFor } from './budget.ts';
import type { CallInHand, Unkept } from './call-in-hand.ts';
import type { Stop } from './gates/gate.ts';
import type { Judgement } from './judgement.ts';
import { LedgerTrouble } from './ledger-trouble.ts';
import { follow } from './recall.ts';
import { unkept } from './unavailable.ts';

type Attempt = Unkept['attempt'];

const noAttempt: Attempt = { costMicros: 0, reached: [], log: [], payloadExtras: undefined };

/** Ends a call whose body never ran. */
export async function settleStopped(
  hand: CallInHand,
  stop: Exclude<Stop, { type: 'copy' }>,
): Promise<ToolOutcome> {
  const { request } = hand;
  const named = { callId: request.id, toolName: request.name };
  const outcome: ToolOutcome = Object.freeze(
    stop.type === 'deny'
      ? {
          type: 'ToolDenied',
          ...named,
          code: stop.code,
          reason: stop.reason,
          details: stop.details,
          ...hand.modelNote(),
        }
      : {
          type: 'ToolFailure',
          ...named,
          code: stop.code,
          error: stop.error,
          retryable: stop.code === 'tool.cancelled',
          elapsedMs: 0,
          ...hand.modelNote(),
        },
  );
  return settle(
    hand,
    { outcome, content: outcomeToModelContent(outcome), toolSuccess: undefined, authorSaysRetry: false },
    noAttempt,
  );
}

export async function settle(hand: CallInHand, judgement: Judgement, attempt: Attempt): Promise<ToolOutcome> {
  const { outcome, content, toolSuccess, authorSaysRetry } = judgement;
  const mayRerun = hand.tool?.mayRerun ?? true;
  const mark = hand.mark();
  const event = hand.apply({
    type: 'respond',
    final: true,
    outcome,
    content,
    toolSuccess,
    error: errorOf(outcome),
    payloadExtras: outcome.type === 'ToolFailure' ? outcome.payloadExtras : attempt.payloadExtras,
    costMicros: attempt.costMicros,
    reached: attempt.reached,
    log: attempt.log,
    mayRerun,
    authorSaysRetry,
  });
  const inDoubt = event.type === 'tool.responded' && event.unsettledEffect;
  const succeeded = outcome.type === 'ToolExecutionResult' || outcome.type === 'ToolArtifactReference';
  const ran = hand.call !== undefined && hand.call.attempt > 0;
  let result;
  try {
    result = await hand.flush({
      ...(ran && hand.shares.length > 0 && { settle: settlementsFor(hand.shares, attempt.costMicros) }),
      ...(hand.claimKey !== undefined && !succeeded && !inDoubt && { releaseClaim: hand.claimKey }),
      ...(hand.sealed && { dropSealed: true }),
    });
  } catch (error) {
    if (!(error instanceof LedgerTrouble) || !ran) throw error;
    hand.rewind(mark);
    const elapsedMs = 'elapsedMs' in outcome ? outcome.elapsedMs : 0;
    hand.unkept ??= { outcome: unkept(hand, error.message, elapsedMs), attempt };
    return hand.unkept.outcome;
  }
  if (result.status !== 'appended') {
    hand.rewind(mark);
    return overtaken(hand);
  }
  remember(hand, outcome, content, ran);
  return outcome;
}

const errorOf = (outcome: ToolOutcome): DataOf<'tool.responded'>['error'] => {
  switch (outcome.type) {
    case 'ToolExecutionResult':
    case 'ToolArtifactReference':
      return undefined;
    case 'ToolTimeout':
      return { reason: outcome.code, message: 'The tool exceeded its deadline.' };
    case 'ToolFailure':
      return { reason: outcome.code, message: outcome.error };
    case 'ToolDenied':
      return { reason: outcome.code, message: outcome.details };
  }
};

/** Somebody else was first with this call: theirs is the outcome. */
export async function overtaken(hand: CallInHand): Promise<ToolOutcome> {
  const stored = await hand.engine.ledger.readCall(hand.turn.sessionId, hand.request.id);
  if (stored === undefined)
    throw new TypeError(`Call ${hand.request.id} changed under our hands and is gone.`);
  return follow(hand, stored);
}

/** What the rest of the turn must know. */
function remember(hand: CallInHand, outcome: ToolOutcome, content: string, ran: boolean): void {
  const { turn, tool, prepared } = hand;
  if (outcomeBlocksTool(outcome)) turn.blocked.set(hand.request.name, hand.request.id);
  if (tool !== undefined && prepared !== undefined) {
    if (ran && tool.mode !== 'read') turn.recent.noteWrite(hand.resourceKeys);
    turn.recent.noteSettled({
      callId: hand.request.id,
      toolName: tool.name,
      inputDigest: prepared.effective.digest,
      outcome,
      content,
      idempotent: tool.idempotent,
      resourceKeys: hand.resourceKeys,
    });
  }
  if ('toolResult' in outcome && outcome.toolResult !== undefined && isTerminalResult(outcome.toolResult))
    turn.endBy('terminal_result');
}
