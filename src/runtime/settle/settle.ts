/**
 * SETTLE: the outcome, its record, the budgets and the claim in one append. Only then does anybody hear of it.
 */
import type { Confirmation } from '../../call/call.ts';
import { countedAs } from '../../call/counted-end.ts';
import { surelyReads } from '../../tool/mode.ts';
import type { Command } from '../../call/command.ts';
import type { DataOf } from '../../call/event-data.ts';
import { isUntaken } from '../../call/handoff.ts';
import { outcomeToModelContent } from '../../call/model-content.ts';
import { outcomeBlocksTool, outcomeIsError } from '../../call/outcome.ts';
import type { ToolOutcome } from '../../call/outcome.ts';
import { isTerminalResult } from '../../call/tool-result.ts';
import { cutText } from '../../base/cut-text.ts';
import { countEnd, returnsFor, settlementsFor } from '../host/budget.ts';
import { stoppedShares } from '../rules/contract-rules.ts';
import { keepEvidence } from '../rules/follow-workflows.ts';
import type { BodyEnd } from '../attempt/attempt.ts';
import type { CallInHand, Unkept } from '../state/call-in-hand.ts';
import type { EntryExtra } from '../state/call-journal.ts';
import { clean } from '../input/clean.ts';
import { describeDenial } from '../host/confirm.ts';
import { foldStored } from '../../ledger/fold-stored.ts';
import type { Stop } from '../state/gate.ts';
import type { Judgement } from '../attempt/judgement.ts';
import { appendLate } from '../attempt/late.ts';
import { LedgerTrouble } from '../../ledger/ledger-trouble.ts';
import { isGivenUp } from './lost-attempts.ts';
import { keptBeside } from '../attempt/kept-beside.ts';
import { letGo } from '../preview/let-go.ts';
import { noteUndone } from '../undo/note-undone.ts';
import { follow } from './recall.ts';
import { notStored, removedEnd, unknownEnd } from './unavailable.ts';

export type Attempt = Unkept['attempt'];

const noAttempt: Attempt = { costMicros: 0, reached: [], log: [], payloadExtras: undefined };

/** Ends a call whose body never ran. */
export async function settleStopped(
  hand: CallInHand,
  stop: Exclude<Stop, { type: 'copy' }>,
): Promise<ToolOutcome> {
  const { request } = hand;
  if (stop.type === 'deny' && stop.developer !== undefined) hand.aside(stop.developer);
  const reasonGiven = stop.type === 'deny' ? stop.details : stop.error;
  if (hand.call?.preview !== undefined && !(await letGo(hand, reasonGiven))) return overtaken(hand);
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
          retryable: stop.retryable ?? stop.code === 'tool.cancelled',
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
  const mark = hand.mark();
  const ran = hand.call !== undefined && hand.call.attempt > 0;
  try {
    if (await keepEnd(hand, judgement, attempt)) return judgement.outcome;
  } catch (error) {
    if (!(error instanceof LedgerTrouble) || !ran) throw error;
    hand.rewind(mark);
    return spilled(hand, judgement, attempt, error.message);
  }
  const attemptNumber = hand.call?.attempt ?? 1;
  const outcome = await overtaken(hand);
  if (ran) keepAsLate(hand, judgement.outcome, attemptNumber);
  return outcome;
}

/** Appends the end of a call. False, and nothing is kept, where somebody else has moved the call. */
export async function keepEnd(hand: CallInHand, judgement: Judgement, attempt: Attempt): Promise<boolean> {
  const mark = hand.mark();
  const ran = hand.call !== undefined && hand.call.attempt > 0;
  for (;;) {
    if (ran && hand.policy !== undefined && hand.policy.workflows.length > 0)
      await keepEvidence(hand, judgement.toolSuccess === true, judgement.outcome);
    const { status } = await hand.flush(respond(hand, judgement, attempt)).catch((error: unknown) => {
      // What is not in the ledger has not happened: a waiting call must not take it for its end.
      hand.rewind(mark);
      throw error;
    });
    if (status === 'appended') {
      remember(hand, judgement.outcome, judgement.content, ran);
      if (hand.undoes !== undefined && hand.call !== undefined && isSuccess(judgement.outcome))
        // Where the ledger cannot take it, whoever wants the same undone again puts it on the record.
        await noteUndone(hand.engine, hand.undoes, hand.call).catch(() => undefined);
      return true;
    }
    hand.rewind(mark);
    if (status !== 'moved') return false;
    // What a call that was stopped leaves behind in a workflow is for show: another has just left something newer.
    if (!ran) hand.stay();
  }
}

/** Makes the final event, and says what goes with it into one append. */
function respond(hand: CallInHand, judgement: Judgement, attempt: Attempt): EntryExtra {
  const { outcome } = judgement;
  // What an attempt took from budgets was settled with its own end, where it had one.
  const settledBefore = hand.call?.failed !== undefined;
  const event = hand.apply(toRespondCommand(hand, judgement, attempt, true));
  const inDoubt = event.type === 'tool.responded' && event.unsettledEffect;
  if (judgement.late !== undefined) hand.apply({ type: 'add_late', ...judgement.late });
  const started = hand.call?.started;
  const succeeded = isSuccess(outcome);
  // What somebody may want undone, or find out about, needs the input it was done with.
  const canUndo = started !== undefined && 'undo' in outcome && outcome.undo !== undefined;
  const isAltered = outcome.type === 'ToolFailure' && outcome.code === 'ledger.altered';
  const isUnbegun = hand.call !== undefined && isUntaken(hand.call);
  const charged = settledBefore
    ? []
    : started === undefined
      ? stoppedShares(hand)
      : isUnbegun
        ? returnsFor(started.reserved)
        : settlementsFor(started.reserved, attempt.costMicros);
  const end = isUnbegun ? undefined : countedAs(outcome, judgement.toolSuccess);
  const toSettle = [
    ...charged,
    ...(started === undefined || end === undefined ? [] : countEnd(started.reserved, end)),
  ];
  return {
    settle: toSettle.length === 0 ? undefined : toSettle,
    // One that never began holds no claim: under its key stands the claim of another.
    releaseClaim: succeeded || inDoubt || hand.call?.started === undefined ? undefined : hand.claimKey,
    // What was changed where it is stored is left there for whoever looks into it.
    dropSealed: (hand.sealed && !canUndo && !inDoubt && !isAltered) || undefined,
  };
}

/** A body that ended every process that ran it is not run again, whatever its tool declares. */
function mayStillRerun({ tool, call }: CallInHand, outcome: ToolOutcome): boolean {
  const isUnknown = outcome.type === 'ToolFailure' && outcome.code === 'tool.indeterminate';
  if (isUnknown && call !== undefined && !surelyReads({ ...call, name: call.toolName }) && isGivenUp(call))
    return false;
  return tool?.mayRerun ?? call?.started?.mayRerun ?? true;
}

/** What is said of the end of an attempt, or of the call: the last one costs what all of them did. */
export function toRespondCommand(
  hand: CallInHand,
  judgement: Judgement,
  attempt: Attempt,
  final: boolean,
): Command & { type: 'respond' } {
  const { outcome, content, toolSuccess, authorSaysRetry } = judgement;
  const { call } = hand;
  const charged = final && call?.failed !== undefined ? 0 : attempt.costMicros;
  return {
    type: 'respond',
    final,
    outcome,
    content,
    toolSuccess,
    error: errorOf(outcome),
    payloadExtras: outcomeIsError(outcome) ? outcome.payloadExtras : attempt.payloadExtras,
    costMicros: final ? charged + (call?.spentMicros ?? 0) : charged,
    reached: attempt.reached,
    log: !final || hand.asides.length === 0 ? attempt.log : [...attempt.log, ...hand.asides],
    mayRerun: mayStillRerun(hand, outcome),
    authorSaysRetry,
    rules: hand.outputRules,
  };
}

/**
 * The body ran and the ledger cannot take its end. Kept in the spill it counts as kept, and the answer says so; where
 * that fails too nobody will be able to say how the call ended.
 */
async function spilled(
  hand: CallInHand,
  judgement: Judgement,
  attempt: Attempt,
  why: string,
): Promise<ToolOutcome> {
  const { engine } = hand;
  const mark = hand.mark();
  const { notes } = hand;
  const { outcome } = judgement;
  if (hand.unkept === undefined) hand.note(keptBeside);
  // What was told already stays as it was told.
  const noted = hand.unkept === undefined ? Object.freeze({ ...outcome, ...hand.modelNote() }) : outcome;
  hand.apply({
    type: 'fail_to_persist',
    boundary: 'settle',
    error: cutText(clean(hand, why), 500),
    keptIn: 'spill',
  });
  const kept = await hand.spill(respond(hand, { ...judgement, outcome: noted }, attempt)).catch(() => false);
  if (!kept) {
    hand.rewind(mark);
    hand.notes = notes;
    hand.unkept ??= toUnkept(hand, judgement, attempt, why);
    return hand.unkept.told;
  }
  engine.spill.waiting = true;
  remember(hand, noted, judgement.content, true);
  return noted;
}

/**
 * What is told must hold whatever is recorded later. A tool that may be run again gives an outcome then, so none is told
 * now. Of any other the record can only say that its end is unknown: that is told now, in the same words.
 */
function toUnkept(hand: CallInHand, judgement: Judgement, attempt: Attempt, error: string): Unkept {
  const why = cutText(clean(hand, error), 500);
  if (hand.call?.started?.mayRerun === true)
    return { told: notStored(hand, why), end: judgement, late: undefined, why, attempt };
  const told = unknownEnd(hand);
  const end = {
    outcome: told,
    content: outcomeToModelContent(told),
    toolSuccess: undefined,
    authorSaysRetry: false,
  };
  return { told, end, late: judgement.outcome, why, attempt };
}

/** An owner that was slow, not dead, finds its call ended by somebody else: what its body gave is kept as late. */
export function keepAsLate(hand: CallInHand, outcome: ToolOutcome, attempt: number): void {
  const end = bodyEndOf(outcome);
  if (end !== undefined) appendLate(hand, end, elapsedOf(outcome), attempt);
}

export const elapsedOf = (outcome: ToolOutcome): number => ('elapsedMs' in outcome ? outcome.elapsedMs : 0);

/** What a body gave, by the outcome that was made of it. */
export function bodyEndOf(outcome: ToolOutcome): BodyEnd | undefined {
  switch (outcome.type) {
    case 'ToolExecutionResult':
      return { type: 'returned', value: outcome.output };
    case 'ToolArtifactReference':
      return { type: 'returned', value: { artifactId: outcome.artifactId, summary: outcome.summary } };
    case 'ToolFailure':
      return { type: 'threw', error: new Error(outcome.error) };
    case 'ToolTimeout':
    case 'ToolDenied':
      return undefined;
  }
}

const isSuccess = ({ type }: ToolOutcome): boolean =>
  type === 'ToolExecutionResult' || type === 'ToolArtifactReference';

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

/** Another process was first with this call: its outcome counts. */
export async function overtaken(hand: CallInHand): Promise<ToolOutcome> {
  const stored = await hand.engine.ledger.journal.readCall(hand.turn.sessionId, hand.request.id);
  if (stored === undefined) return removedEnd(hand);
  const call = hand.owned && hand.version > 0 ? foldStored(stored) : undefined;
  // A denial does not take the call over: the process that holds it must end it.
  if (call?.status === 'held' && call.confirmation?.status === 'denied') {
    hand.inherit(call, stored.version);
    return settleDenied(hand, call.confirmation);
  }
  return follow(hand, stored);
}

/** Ends a call that a person denied. */
export const settleDenied = (
  hand: CallInHand,
  { by = { type: 'gate', name: 'confirm' }, reason }: Pick<Confirmation, 'by' | 'reason'>,
): Promise<ToolOutcome> =>
  settleStopped(hand, {
    type: 'deny',
    reason: 'write_denied',
    code: 'confirmation.rejected',
    details: clean(hand, describeDenial({ by, reason })),
  });

/** What the rest of the turn must know. */
export function remember(hand: CallInHand, outcome: ToolOutcome, content: string, ran: boolean): void {
  const { turn, tool, prepared } = hand;
  if (outcomeBlocksTool(outcome)) turn.blocked.set(hand.request.name, hand.request.id);
  if (tool !== undefined && prepared !== undefined) {
    if (ran && !tool.surelyReads) turn.recent.noteWrite(hand.resourceKeys);
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
