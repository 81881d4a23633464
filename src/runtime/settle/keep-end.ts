/** Appends the end of a call: the outcome, its record, the budgets and the claim in one entry. */
import type { Awaitable } from '../../base/json.ts';
import { isPromiseLike } from '../../base/when-ready.ts';
import { countedEnd } from '../../call/counted-end.ts';
import { surelyReads } from '../../tool/mode.ts';
import type { Call } from '../../call/call.ts';
import type { RespondedDraft } from '../../call/command.ts';
import { endsInDoubt } from '../../call/decide.ts';
import type { EventDataOf } from '../../call/event-data.ts';
import { isUntaken } from '../../call/handoff.ts';
import { outcomeBlocksTool, outcomeIsError } from '../../call/outcome.ts';
import type { ToolOutcome } from '../../call/outcome.ts';
import { isTerminalResult } from '../../call/tool-result.ts';
import type { AppendResult } from '../../ledger/journal.ts';
import type { Judgement } from '../attempt/judgement.ts';
import { countEnd, returnsFor, settlementsFor } from '../host/budget.ts';
import { stoppedShares } from '../rules/contract-rules.ts';
import { keepEvidence } from '../rules/ask-workflows.ts';
import { undoneBy } from '../state/accepted-call.ts';
import type { EntryExtra } from '../state/call-journal.ts';
import { nothingMore } from '../state/call-journal.ts';
import type { EndedCall } from '../state/call-stages.ts';
import type { AttemptRecord } from '../state/unkept-end.ts';
import { noteUndone } from '../undo/note-undone.ts';
import { isGivenUp } from './lost-runs.ts';

/** False if another process has changed the call; then nothing is stored. Synchronous if the ledger is. */
export function keepEnd(live: EndedCall, judgement: Judgement, attempt: AttemptRecord): Awaitable<boolean> {
  const mark = live.journal.mark();
  const ran = live.journal.call !== undefined && live.journal.call.attempt > 0;
  const collects = ran && live.policy !== undefined && live.policy.workflows.length > 0;
  live.journal.observer?.note(settling);
  if (collects) return keepSlowly(live, judgement, attempt, { mark, ran, collects }, undefined);
  const answer = appendEnd(live, judgement, attempt, mark);
  return isPromiseLike(answer)
    ? keepLater(live, judgement, attempt, mark, ran, answer)
    : noteKept(live, judgement, attempt, mark, ran, answer);
}

const settling = { type: 'settling' } as const;

/** A function of its own: a function with closures allocates their variables even if it makes none. */
const keepLater = (
  live: EndedCall,
  judgement: Judgement,
  attempt: AttemptRecord,
  mark: number,
  ran: boolean,
  answer: PromiseLike<AppendResult>,
): PromiseLike<boolean> =>
  answer.then(
    (result) => noteKept(live, judgement, attempt, mark, ran, result),
    (error: unknown) => rewindAndThrow(live, mark, error),
  );

type Keeping = {
  /** The events before the end. */
  readonly mark: number;
  readonly ran: boolean;
  /** The end of the call is evidence for workflows. */
  readonly collects: boolean;
};

function noteKept(
  live: EndedCall,
  judgement: Judgement,
  attempt: AttemptRecord,
  mark: number,
  ran: boolean,
  answer: AppendResult,
): Awaitable<boolean> {
  if (answer.status !== 'appended' || undoneBy(live) !== undefined)
    return keepSlowly(live, judgement, attempt, { mark, ran, collects: false }, answer);
  remember(live, judgement.outcome, judgement.content, ran);
  return true;
}

/** `first`: the ledger's answer to the first try. */
async function keepSlowly(
  live: EndedCall,
  judgement: Judgement,
  attempt: AttemptRecord,
  { mark, ran, collects }: Keeping,
  first: AppendResult | undefined,
): Promise<boolean> {
  for (let answer = first; ; answer = undefined) {
    if (answer === undefined && collects)
      await keepEvidence(live, judgement.toolSuccess === true, judgement.outcome);
    const { status } = answer ?? (await appendAgain(live, judgement, attempt, mark));
    if (status === 'appended') {
      remember(live, judgement.outcome, judgement.content, ran);
      const undone = undoneBy(live);
      if (undone !== undefined && live.journal.call !== undefined && isSuccess(judgement.outcome))
        // If the ledger cannot store this, the next request to undo the same call records it.
        await noteUndone(live.engine, undone, live.journal.call).catch(() => undefined);
      return true;
    }
    live.journal.rewind(mark);
    if (status !== 'moved') return false;
    // A stopped call only marks its workflow, and another call has left a newer mark.
    if (!ran) live.journal.stay();
  }
}

async function appendAgain(
  live: EndedCall,
  judgement: Judgement,
  attempt: AttemptRecord,
  mark: number,
): Promise<AppendResult> {
  const answer = appendEnd(live, judgement, attempt, mark);
  return isPromiseLike(answer)
    ? answer.then(undefined, (error: unknown) => rewindAndThrow(live, mark, error))
    : answer;
}

/** A promise may reject: see `rewindAndThrow`. */
function appendEnd(
  live: EndedCall,
  judgement: Judgement,
  attempt: AttemptRecord,
  mark: number,
): Awaitable<AppendResult> {
  try {
    return live.journal.flush(respond(live, judgement, attempt));
  } catch (error) {
    return rewindAndThrow(live, mark, error);
  }
}

/** After a failed append the end has not happened: a call that waits must not take it for one. */
function rewindAndThrow({ journal }: EndedCall, mark: number, error: unknown): never {
  journal.rewind(mark);
  throw error;
}

const none: readonly never[] = Object.freeze([]);

/** Creates the final event and returns the changes that belong into the same append. */
export function respond(live: EndedCall, judgement: Judgement, attempt: AttemptRecord): EntryExtra {
  const { outcome } = judgement;
  // The end of a failed attempt has already settled its budgets.
  const settledBefore = live.journal.call?.failed !== undefined;
  const event = live.journal.apply(toResponseDraft(live, judgement, attempt, true));
  const inDoubt = event.type === 'tool.responded' && event.unsettledEffect;
  if (judgement.late !== undefined) live.journal.apply({ type: 'add_late', ...judgement.late });
  const started = live.journal.call?.started;
  const succeeded = isSuccess(outcome);
  // An undo or a later resolution needs the input that was used.
  const canUndo = started !== undefined && 'undo' in outcome && outcome.undo !== undefined;
  const isAltered = outcome.type === 'ToolFailure' && outcome.code === 'ledger.altered';
  const isUnbegun = live.journal.call !== undefined && isUntaken(live.journal.call);
  const end = isUnbegun ? undefined : countedEnd(outcome, judgement.toolSuccess);
  const charged = settledBefore
    ? none
    : started === undefined
      ? stoppedShares(live)
      : isUnbegun
        ? returnsFor(started.reserved)
        : settlementsFor(started.reserved, attempt.costMicros);
  const counted = started === undefined || end === undefined ? none : countEnd(started.reserved, end);
  // A call that never started holds no claim: its key may be claimed by another call.
  const releaseClaim = succeeded || inDoubt || started === undefined ? undefined : live.claimKey;
  // Altered data stays in place for an investigation.
  const dropSealed = (live.journal.sealed && !canUndo && !inDoubt && !isAltered) || undefined;
  if (charged.length + counted.length > 0)
    return { settle: [...charged, ...counted], releaseClaim, dropSealed };
  return releaseClaim === undefined && dropSealed === undefined ? nothingMore : { releaseClaim, dropSealed };
}

const isSurelyRead = ({ toolName: name, mode, modeOrigin }: Call): boolean =>
  surelyReads({ name, mode, modeOrigin });

/** A body that ended every process that ran it is not run again, even if its tool allows reruns. */
function mayStillRerun({ tool, journal: { call } }: EndedCall, outcome: ToolOutcome): boolean {
  const isUnknown = outcome.type === 'ToolFailure' && outcome.code === 'tool.indeterminate';
  if (isUnknown && call !== undefined && !isSurelyRead(call) && isGivenUp(call)) return false;
  return tool?.mayRerun ?? call?.started?.mayRerun ?? true;
}

/** The end of an attempt or of the call. The final one includes the cost of all attempts. */
export function toResponseDraft(
  live: EndedCall,
  judgement: Judgement,
  attempt: AttemptRecord,
  final: boolean,
): RespondedDraft {
  const { outcome, content, toolSuccess, repeatIsSafe } = judgement;
  const { call } = live.journal;
  const charged = final && call?.failed !== undefined ? 0 : attempt.costMicros;
  return {
    id: '',
    type: 'tool.responded',
    sessionId: '',
    turnId: '',
    callId: '',
    at: 0,
    cause: undefined,
    attempt: 0,
    final,
    outcome,
    content,
    toolSuccess,
    error: errorOf(outcome),
    payloadExtras: outcomeIsError(outcome) ? outcome.payloadExtras : attempt.payloadExtras,
    costMicros: final ? charged + (call?.spentMicros ?? 0) : charged,
    reached: attempt.reached,
    log: !final || live.journal.asides.length === 0 ? attempt.log : [...attempt.log, ...live.journal.asides],
    unsettledEffect:
      !isSuccess(outcome) && endsInDoubt({ outcome, mayRerun: mayStillRerun(live, outcome), repeatIsSafe }),
    rules: judgement.rules,
  };
}

const isSuccess = ({ type }: ToolOutcome): boolean =>
  type === 'ToolExecutionResult' || type === 'ToolArtifactReference';

const errorOf = (outcome: ToolOutcome): EventDataOf<'tool.responded'>['error'] => {
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

/** Updates the state of the turn. */
export function remember(live: EndedCall, outcome: ToolOutcome, content: string, ran: boolean): void {
  const { turn, tool, input } = live;
  if (outcomeBlocksTool(outcome)) turn.blocked.set(live.request.name, live.callId);
  if (tool !== undefined && input !== undefined) {
    if (ran && !tool.surelyReads) turn.recent.noteWrite(live.resourceKeys);
    const { digest } = input.effective;
    turn.recent.noteSettled(tool, live.callId, digest, outcome, content, live.resourceKeys);
  }
  if ('toolResult' in outcome && outcome.toolResult !== undefined && isTerminalResult(outcome.toolResult))
    turn.endBy('terminal_result');
}
