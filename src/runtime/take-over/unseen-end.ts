/** An attempt whose end nobody saw: what the tool itself finds out about it, and what is said where nobody can. */
import type { Call } from '../../call/call.ts';
import type { ToolOutcome } from '../../call/outcome.ts';
import { outcomeToModelContent } from '../../call/model-content.ts';
import { describeThrown } from '../../tool/describe-thrown.ts';
import type { Reconciliation } from '../../tool/tool-spec.ts';
import { BodyContext } from '../attempt/body-context.ts';
import type { CallInHand } from '../state/call-in-hand.ts';
import { judgeEnd } from '../attempt/judge.ts';
import type { AttemptFacts, Judgement } from '../attempt/judgement.ts';
import { fail } from '../attempt/judgement.ts';
import type { Attempt } from '../settle/settle.ts';
import { endNotRecorded, unknownEnd } from '../settle/unavailable.ts';

/** What the tool itself finds out. Whatever is no clear answer is none. */
export async function askTool(hand: CallInHand, call: Call): Promise<Reconciliation> {
  const { knownTool: tool } = hand;
  if (tool.reconcile === undefined) return { status: 'unknown' };
  try {
    const found: unknown = await tool.reconcile({
      args: hand.handOut(),
      sessionId: call.sessionId,
      callId: call.callId,
      attempt: call.attempt,
      idempotencyKey: new BodyContext(hand, call.attempt, hand.toolKey).idempotencyKey,
      startedAt: call.started?.at ?? call.requestedAt,
    });
    return readReconciliation(found);
  } catch (error) {
    hand.aside(`reconcile of the tool threw: ${describeThrown(error)}`);
    return { status: 'unknown' };
  }
}

function readReconciliation(found: unknown): Reconciliation {
  const { status, output, reason } = (found ?? {}) as Partial<Record<string, unknown>>;
  if (status === 'succeeded') return { status, output };
  if (status === 'failed') return { status, ...(typeof reason === 'string' && { reason }) };
  return { status: 'unknown' };
}

/** The end of such an attempt, as far as it is known. `why`: what kept anybody from seeing it. */
export async function judgeUnseen(
  hand: CallInHand,
  found: Reconciliation,
  why: string = endNotRecorded,
): Promise<Judgement> {
  const facts = unseenFacts(hand);
  switch (found.status) {
    case 'succeeded':
      return judgeEnd(hand, { type: 'returned', value: found.output }, facts);
    case 'failed':
      return fail(
        hand,
        {
          code: 'tool.execution_error',
          error: `${why}. The tool reports that it did not take effect${found.reason === undefined ? '.' : `: ${found.reason}`}`,
          retryable: true,
          // The tool knows that nothing happened: asking again is safe.
          authorSaysRetry: true,
        },
        facts,
      );
    case 'unknown': {
      const outcome = unknownEnd(hand, hand.modelNote(), why);
      return {
        outcome,
        content: outcomeToModelContent(outcome),
        toolSuccess: undefined,
        authorSaysRetry: false,
      };
    }
  }
}

/** The end of a read that ended every process that worked on it. Repeating it is pointless. No rule is asked about it. */
export function judgePoison(hand: CallInHand, error: string): Judgement {
  const { request } = hand;
  const outcome: ToolOutcome = Object.freeze({
    type: 'ToolFailure',
    callId: request.id,
    toolName: request.name,
    code: 'tool.execution_error',
    error,
    retryable: false,
    elapsedMs: 0,
    ...hand.modelNote(),
  });
  return { outcome, content: outcomeToModelContent(outcome), toolSuccess: false, authorSaysRetry: false };
}

const unseenFacts = (hand: CallInHand): AttemptFacts => ({
  context: new BodyContext(hand, hand.call?.attempt ?? 1, hand.toolKey),
  elapsedMs: 0,
  deadlineMs: hand.call?.started?.deadlineMs ?? 0,
});

/** What an attempt cost whose end nobody saw: what it had reserved. */
export const lostAttempt = (hand: CallInHand): Attempt => ({
  costMicros: hand.call?.started?.reserved.find(({ metric }) => metric === 'cost_micros')?.amount ?? 0,
  reached: [],
  log: [],
  payloadExtras: undefined,
});
