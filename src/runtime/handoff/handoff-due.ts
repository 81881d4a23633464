/**
 * What becomes of a call another process was to run when nobody has reported in time. Anybody may see to it, by
 * compare-and-set: whoever waits for the call, whoever asks for it again, whoever looks for work.
 *
 * 1. Past its deadline it timed out. Where nobody had taken it nothing ran, and nothing is in doubt.
 * 2. A lease that ran out before: the worker may have done it. Only a tool that may run again is given to another;
 *    else the tool is asked what happened; else nobody knows.
 */
import { freezeJson } from '../../base/json.ts';
import type { Call } from '../../call/call.ts';
import { dueAt, isHandedOver, isUntaken, takenBy } from '../../call/handoff.ts';
import { outcomeToModelContent } from '../../call/model-content.ts';
import type { ToolFailure, ToolOutcome } from '../../call/outcome.ts';
import { inputExtra } from '../input/input-extra.ts';
import type { CallInHand } from '../state/call-in-hand.ts';
import { inDoubt, repeatOf } from '../gates/doubt.ts';
import type { Engine } from '../state/engine.ts';
import type { Judgement } from '../attempt/judgement.ts';
import type { Attempt } from '../settle/settle.ts';
import { keepEnd } from '../settle/settle.ts';
import { prepareInput, recordTakeover } from '../take-over/take-over.ts';
import { askTool, judgeUnseen, lostAttempt } from '../take-over/unseen-end.ts';

/** Whether somebody must see to the call now. */
export const isDue = ({ ledger }: Engine, call: Call): boolean =>
  isHandedOver(call) && ledger.now() >= dueAt(call);

/** Ends a call that is due. Undefined, and nothing is kept, where somebody else has moved it. */
export async function endDue(hand: CallInHand): Promise<ToolOutcome | undefined> {
  const { call, engine } = hand;
  if (call === undefined || !isDue(engine, call)) return undefined;
  const timedOut = engine.ledger.now() >= (call.started?.deadlineMs ?? 0);
  if (!timedOut && asksTool(hand) && !(await recordTakeover(hand))) return undefined;
  const judgement = timedOut ? judgeTimeout(hand, call) : await judgeSilence(hand, call);
  const kept = await keepEnd(hand, judgement, isUntaken(call) ? nothingSpent : lostAttempt(hand));
  return kept ? judgement.outcome : undefined;
}

const asksTool = ({ tool, givenUp }: CallInHand): boolean => tool?.reconcile !== undefined && !givenUp;

export const nothingSpent: Attempt = { costMicros: 0, reached: [], log: [], payloadExtras: undefined };

function judgeTimeout(hand: CallInHand, call: Call): Judgement {
  const { request, tool, engine } = hand;
  const started = call.started;
  if (isUntaken(call)) hand.note('Nobody took the call in time, so it did not run.');
  const outcome: ToolOutcome = Object.freeze({
    type: 'ToolTimeout',
    callId: request.id,
    toolName: request.name,
    code: 'tool.timeout',
    deadlineMs: started?.deadlineMs ?? 0,
    ...repeatOfHandoff(hand, call, tool?.retryOnTimeout ?? true),
    elapsedMs: elapsedSince(engine, started?.at),
    payloadExtras: freezeJson(inputExtra(hand)),
    ...hand.modelNote(),
  });
  return { outcome, content: outcomeToModelContent(outcome), toolSuccess: false, authorSaysRetry: false };
}

/** By the record where this process does not have the tool. */
function repeatOfHandoff(
  { tool }: CallInHand,
  call: Call,
  retryable: boolean,
): Pick<ToolFailure, 'retryable' | 'inDoubt' | 'blocksTool'> {
  if (isUntaken(call) || call.started?.mayRerun === true) return { retryable };
  return tool === undefined ? inDoubt(retryable) : repeatOf(tool, { code: 'tool.timeout', retryable });
}

/** The time since an event, for an outcome. The ledger's clock may be set back. */
export const elapsedSince = ({ ledger }: Engine, at: number | undefined): number =>
  Math.max(0, Math.round(ledger.now() - (at ?? ledger.now())));

async function judgeSilence(hand: CallInHand, call: Call): Promise<Judgement> {
  const ready = asksTool(hand) && (hand.prepared !== undefined || (await prepareInput(hand)));
  const found = ready ? await askTool(hand, call) : { status: 'unknown' as const };
  const worker = takenBy(call)?.worker ?? 'nobody';
  return judgeUnseen(hand, found, `The time of the worker ${worker} was up before it reported`);
}
