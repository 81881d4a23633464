/**
 * Ends a hand-off without a report in time. Any process may do it, by compare-and-set: one that waits for the
 * call, repeats it, or looks for work.
 *
 * 1. Past its deadline the call timed out. If no worker had claimed it, nothing ran and no effect is unknown.
 * 2. If the lease ended earlier, the worker may have run the call. Only a tool that may run again goes to
 *    another worker. Otherwise the tool is asked; failing that, the effect is unknown.
 */
import { freezeJson } from '../../base/json.ts';
import type { Call } from '../../call/call.ts';
import { dueAt, isHandoff, isUntaken, takenBy } from '../../call/handoff.ts';
import type { ToolFailure, ToolOutcome } from '../../call/outcome.ts';
import { inputExtra } from '../input/input-extra.ts';
import type { AcceptedCall } from '../state/accepted-call.ts';
import type { BoundKey, EndedCall, ReadyCall } from '../state/call-stages.ts';
import { isReady, modelNote } from '../state/call-stages.ts';
import type { AnyTool } from '../../tool/define-tool.ts';
import { inDoubt, repeatOf } from '../gates/doubt.ts';
import type { Engine } from '../state/engine.ts';
import type { Judgement } from '../attempt/judgement.ts';
import { keepEnd } from '../settle/keep-end.ts';
import { noAttempt, unjudged } from '../settle/settle.ts';
import type { TakenOverCall } from '../take-over/take-over.ts';
import { prepareInput, recordTakeover } from '../take-over/take-over.ts';
import { askTool, judgeFound, judgeUnknown, lostAttempt } from '../take-over/lost-attempt.ts';

/** Is the call due? */
export const isDue = ({ ledger }: Engine, call: Call): boolean =>
  isHandoff(call) && ledger.now() >= dueAt(call);

/** Ends a call that is due. Undefined, and nothing is stored, if another process has changed it. */
export async function endDue(live: HandedCall): Promise<ToolOutcome | undefined> {
  const {
    engine,
    journal: { call },
  } = live;
  if (call === undefined || !isDue(engine, call)) return undefined;
  const timedOut = engine.ledger.now() >= (call.started?.deadlineMs ?? 0);
  if (!timedOut && asksTool(live) && !(await recordTakeover(live))) return undefined;
  const judgement = timedOut ? judgeTimeout(live, call) : await judgeSilence(live, call);
  const kept = await keepEnd(live, judgement, isUntaken(call) ? noAttempt : lostAttempt(live));
  return kept ? judgement.outcome : undefined;
}

/** A call that another process runs: one that was started here, or one that was taken over. */
export type HandedCall = EndedCall & TakenOverCall;

const asksTool = ({ tool, manner }: AcceptedCall): boolean =>
  tool?.reconcile !== undefined && manner.takenOver?.givenUp !== true;

function judgeTimeout(live: HandedCall, call: Call): Judgement {
  const { request, tool, engine, notes = [], journal } = live;
  const started = call.started;
  const untaken = 'No worker claimed the call in time, so it did not run.';
  const outcome: ToolOutcome = Object.freeze({
    type: 'ToolTimeout',
    callId: request.id,
    toolName: request.name,
    code: 'tool.timeout',
    deadlineMs: started?.deadlineMs ?? 0,
    ...repeatOfHandoff(tool, call, tool?.retryOnTimeout ?? true),
    elapsedMs: elapsedSince(engine, started?.at),
    payloadExtras: freezeJson(inputExtra(journal)),
    ...modelNote(isUntaken(call) ? [...notes, untaken] : notes),
  });
  return unjudged(outcome, false);
}

/** Uses the record if this process does not have the tool. */
function repeatOfHandoff(
  tool: AnyTool | undefined,
  call: Call,
  retryable: boolean,
): Pick<ToolFailure, 'retryable' | 'inDoubt' | 'blocksTool'> {
  if (isUntaken(call) || call.started?.mayRerun === true) return { retryable };
  return tool === undefined ? inDoubt(retryable) : repeatOf(tool, { code: 'tool.timeout', retryable });
}

/** The time since an event, for an outcome. The ledger's clock may be set back. */
export const elapsedSince = ({ ledger }: Engine, at: number | undefined): number =>
  Math.max(0, Math.round(ledger.now() - (at ?? ledger.now())));

async function judgeSilence(live: HandedCall, call: Call): Promise<Judgement> {
  const worker = takenBy(call)?.worker ?? 'nobody';
  const why = `The time of the worker ${worker} was up before it reported`;
  const ready = asksTool(live) ? await readyToAsk(live) : undefined;
  const found = ready && (await askTool(ready, call));
  return ready === undefined || found === undefined || found.status === 'unknown'
    ? judgeUnknown(live, why)
    : judgeFound(ready, found, why);
}

/** The call with its input, or undefined if the input is unavailable. */
async function readyToAsk(live: HandedCall): Promise<(ReadyCall & BoundKey) | undefined> {
  if (isBound(live)) return live;
  const prepared = await prepareInput(live);
  return prepared.type === 'ready' ? prepared.live : undefined;
}

export const isBound = (live: AcceptedCall): live is ReadyCall & BoundKey =>
  isReady(live) && 'toolKey' in live;
