/**
 * Settles a call: the outcome, its record, the budgets and the claim in one append. Only then does the caller get the
 * outcome. Also the ends of denied, expired and copied calls, and of calls that ended too many processes.
 */
import { cutText } from '../base/cut-text.ts';
import type { Confirmation, Call } from '../call/call.ts';
import type { EventDataOf } from '../call/event-data.ts';
import { outcomeToModelContent } from '../call/model-content.ts';
import type { ToolOutcome } from '../call/outcome.ts';
import { foldStored } from '../ledger/fold-stored.ts';
import { LedgerTrouble } from './ledger-trouble.ts';
import type { Judgement } from './judgement.ts';
import { spillNotice, withNote } from './judgement.ts';
import { readLate, bodyEndOf, elapsedOf, keepAsLate } from './judge.ts';
import { describeDenial } from './views.ts';
import { clean } from './call-input.ts';
import { releasePreview } from './preview.ts';
import { logProblem, modelNote } from './active-call.ts';
import type { ActiveCall, Stop, CallRef } from './active-call.ts';
import type { AttemptRecord, UnkeptEnd, EntryExtra } from './call-journal.ts';
import { follow, notStored, removedEnd, unknownEnd } from './recall.ts';
import { countedEnd, decide } from '../call/decide.ts';
import { surelyReads } from '../tool/mode.ts';
import type { Command } from '../call/decide.ts';
import { isUnclaimed, isHandoff } from '../call/call.ts';
import { outcomeBlocksTool, outcomeIsError, isTerminalResult } from '../call/outcome.ts';
import { countEnd, returnsFor, settlementsFor } from './budget.ts';
import { stoppedShares, keepEvidence } from './contract-rules.ts';
import type { Ask } from '../call/events/confirmation-event.ts';
import type { DecidedBy } from '../call/events/gate-event.ts';
import type { Engine } from './engine.ts';
import { readUndoAttrs } from './undo-tool.ts';
import { readWholeArtifact } from '../ledger/reads.ts';

export const noAttempt: AttemptRecord = { costMicros: 0, reached: [], log: [], payloadExtras: undefined };

/** The judgement of a body that never ran, or whose end was not checked. */
export const unjudged = (outcome: ToolOutcome, toolSuccess?: boolean): Judgement => ({
  outcome,
  content: outcomeToModelContent(outcome),
  toolSuccess,
  repeatIsSafe: false,
  rules: [],
});

/** Ends a call whose body never ran. */
export async function settleStopped(
  active: ActiveCall,
  stop: Exclude<Stop, { type: 'copy' }>,
): Promise<ToolOutcome> {
  const { request } = active;
  if (stop.type === 'deny' && stop.developer !== undefined) logProblem(active, stop.developer);
  const reasonGiven = stop.type === 'deny' ? stop.details : stop.error;
  if (active.journal.call?.preview !== undefined && !(await releasePreview(active, reasonGiven)))
    return overtaken(active);
  const named = { callId: request.id, toolName: request.name };
  const outcome: ToolOutcome = Object.freeze(
    stop.type === 'deny'
      ? {
          type: 'ToolDenied',
          ...named,
          code: stop.code,
          reason: stop.reason,
          details: stop.details,
          ...modelNote(active.notes),
        }
      : {
          type: 'ToolFailure',
          ...named,
          code: stop.code,
          error: stop.error,
          retryable: stop.retryable ?? stop.code === 'tool.cancelled',
          elapsedMs: 0,
          ...modelNote(active.notes),
        },
  );
  return settle(active, unjudged(outcome), noAttempt);
}

export async function settle(
  active: ActiveCall,
  judgement: Judgement,
  attempt: AttemptRecord,
): Promise<ToolOutcome> {
  const { journal } = active;
  const mark = journal.mark();
  const ran = journal.call !== undefined && journal.call.attempt > 0;
  try {
    if (await keepEnd(active, judgement, attempt)) return judgement.outcome;
  } catch (error) {
    if (!(error instanceof LedgerTrouble) || !ran) throw error;
    journal.rewind(mark);
    return spilled(active, judgement, attempt, error.message);
  }
  // Another process has ended the call, so the result of this one is late.
  const attemptNumber = journal.call?.attempt ?? 1;
  const stored = await overtaken(active);
  if (ran) keepAsLate(active, judgement.outcome, attemptNumber);
  return stored;
}

/**
 * Writes the end of a body to the spill file if the ledger cannot store it. It then counts as stored, with a note in the
 * answer. If this fails too, the end is kept in memory only.
 */
async function spilled(
  active: ActiveCall,
  judgement: Judgement,
  attempt: AttemptRecord,
  why: string,
): Promise<ToolOutcome> {
  const { engine, journal } = active;
  const mark = journal.mark();
  const { outcome } = judgement;
  // An outcome that was returned before stays unchanged.
  const noted = journal.unkept === undefined ? withNote(outcome, spillNotice) : outcome;
  journal.apply({
    type: 'fail_to_persist',
    boundary: 'settle',
    error: cutText(clean(active, why), 500),
    keptIn: 'spill',
  });
  const kept = await journal
    .spill(respond(active, { ...judgement, outcome: noted }, attempt))
    .catch(() => false);
  if (!kept) {
    journal.rewind(mark);
    journal.unkept ??= toUnkept(active, judgement, attempt, why);
    return journal.unkept.reply;
  }
  engine.spill.waiting = true;
  remember(active, noted, judgement.content, true);
  return noted;
}

/**
 * The answer if no store took the end. It must agree with the later record. A tool that may run again produces an outcome
 * then, so the same id may ask again. For any other tool the record will state an unknown end, so the answer does too, in
 * the same words.
 */
function toUnkept(
  active: ActiveCall,
  judgement: Judgement,
  attempt: AttemptRecord,
  error: string,
): UnkeptEnd {
  const why = cutText(clean(active, error), 500);
  const { outcome } = judgement;
  if (active.journal.call?.started?.mayRerun === true)
    return {
      reply: notStored(active, why),
      settle: () => settleUnkept(active, { judgement, late: undefined, attempt, why }),
    };
  const reply = unknownEnd(active);
  const unknown = { ...unjudged(reply), rules: judgement.rules };
  return { reply, settle: () => settleUnkept(active, { judgement: unknown, late: outcome, attempt, why }) };
}

type Unsettled = {
  readonly judgement: Judgement;
  /** The result of the body, if the outcome must say something else. It is stored as late. */
  readonly late: ToolOutcome | undefined;
  readonly attempt: AttemptRecord;
  readonly why: string;
};

async function settleUnkept(
  active: ActiveCall,
  { judgement, late: given, attempt, why }: Unsettled,
): Promise<void> {
  const { journal } = active;
  const attemptNumber = journal.call?.attempt ?? 1;
  const late = given && (await toLate(active, given, attemptNumber));
  const mark = journal.mark();
  journal.apply({ type: 'fail_to_persist', boundary: 'settle', error: why, keptIn: 'nowhere' });
  try {
    // One entry holds the failed write, the end and the body's result: none is stored without the others.
    await settle(active, { ...judgement, ...(late !== undefined && { late }) }, attempt);
  } catch (error) {
    // The ledger still fails: the next call tries again.
    if (!(error instanceof LedgerTrouble)) throw error;
  }
  if (journal.call?.status !== 'settled') journal.rewind(mark);
  else if (given !== undefined && journal.call.late.length === 0) keepAsLate(active, given, attemptNumber);
}

async function toLate(
  active: ActiveCall,
  outcome: ToolOutcome,
  attempt: number,
): Promise<EventDataOf<'tool.late'> | undefined> {
  const end = bodyEndOf(outcome);
  if (end === undefined) return undefined;
  return { attempt, elapsedMs: Math.round(elapsedOf(outcome)), result: await readLate(active, end) };
}

/** The outcome of a call that another process has changed. */
export async function overtaken(active: ActiveCall): Promise<ToolOutcome> {
  const { engine, journal, sessionId, callId } = active;
  const stored = await engine.ledger.readCall(sessionId, callId);
  if (stored === undefined) return removedEnd(active);
  const call = journal.owned && journal.version > 0 ? foldStored(stored) : undefined;
  // A denial does not change the owner: the process that holds the call must end it.
  if (call?.status === 'held' && call.confirmation?.status === 'denied') {
    journal.inherit(call, stored.version);
    return settleDenied(active, call.confirmation);
  }
  return follow(active, stored);
}

/** Ends a call that a person denied. */
export const settleDenied = (
  active: ActiveCall,
  { by = { type: 'gate', name: 'confirm' }, reason }: Pick<Confirmation, 'by' | 'reason'>,
): Promise<ToolOutcome> =>
  settleStopped(active, {
    type: 'deny',
    reason: 'write_denied',
    code: 'confirmation.rejected',
    details: clean(active, describeDenial({ by, reason })),
  });

/**
 * Appends the end of a call: the outcome, its record, the budgets and the claim in one entry. Returns false and stores
 * nothing if another process has changed the call.
 */
export async function keepEnd(
  active: ActiveCall,
  judgement: Judgement,
  attempt: AttemptRecord,
): Promise<boolean> {
  const { journal, engine, undoes } = active;
  const { outcome, content } = judgement;
  const mark = journal.mark();
  const ran = journal.call !== undefined && journal.call.attempt > 0;
  journal.observer?.note({ type: 'settling' });
  for (;;) {
    try {
      // The end of the call is evidence for workflows.
      if (ran) await keepEvidence(active, judgement.toolSuccess === true, outcome);
      const { status } = await journal.flush(respond(active, judgement, attempt));
      if (status === 'appended') break;
      journal.rewind(mark);
      if (status !== 'moved') return false;
    } catch (error) {
      // After a failed append the call has no end, so callers that wait must not see one.
      journal.rewind(mark);
      throw error;
    }
    // A stopped call only marks its workflow, and another call has stored a newer mark.
    if (!ran) journal.dropMoves();
  }
  remember(active, outcome, content, ran);
  if (undoes !== undefined && journal.call !== undefined && isSuccess(outcome))
    // If the ledger cannot store this, the next request to undo the same call records it.
    await noteUndone(engine, undoes, journal.call).catch(() => undefined);
  return true;
}

const none: readonly never[] = Object.freeze([]);

/** Creates the final event and returns the other parts of its append. */
function respond(active: ActiveCall, judgement: Judgement, attempt: AttemptRecord): EntryExtra {
  const { outcome } = judgement;
  // The end of a failed attempt has already settled its budgets.
  const settledBefore = active.journal.call?.failed !== undefined;
  const event = active.journal.apply(responseCommand(active, judgement, attempt, true));
  const inDoubt = event.type === 'tool.responded' && event.unsettledEffect;
  if (judgement.late !== undefined) active.journal.apply({ type: 'add_late', ...judgement.late });
  const started = active.journal.call?.started;
  const succeeded = isSuccess(outcome);
  // An undo or a later resolution needs the input that was used.
  const canUndo = started !== undefined && 'undo' in outcome && outcome.undo !== undefined;
  const isAltered = outcome.type === 'ToolFailure' && outcome.code === 'ledger.altered';
  const isUnbegun = active.journal.call !== undefined && isUnclaimed(active.journal.call);
  const end = isUnbegun ? undefined : countedEnd(outcome, judgement.toolSuccess);
  const charged = settledBefore
    ? none
    : started === undefined
      ? stoppedShares(active)
      : isUnbegun
        ? returnsFor(started.reserved)
        : settlementsFor(started.reserved, attempt.costMicros);
  const counted = started === undefined || end === undefined ? none : countEnd(started.reserved, end);
  // A call that never started holds no claim: its key may be claimed by another call.
  const releaseClaim = succeeded || inDoubt || started === undefined ? undefined : active.claimKey;
  // Altered data is kept for an investigation.
  const dropSealed = active.journal.sealed && !canUndo && !inDoubt && !isAltered;
  const settled = [...charged, ...counted];
  return {
    ...(settled.length > 0 && { settle: settled }),
    ...(releaseClaim !== undefined && { releaseClaim }),
    ...(dropSealed && { dropSealed }),
  };
}

/** Does the record of a call say that its tool certainly reads only? */
export const isSurelyRead = ({ toolName: name, mode, modeOrigin }: Call): boolean =>
  surelyReads({ name, mode, modeOrigin });

/** A body that ended every process that ran it is not run again, even if its tool allows reruns. */
function mayStillRerun({ tool, journal: { call } }: ActiveCall, outcome: ToolOutcome): boolean {
  const isUnknown = outcome.type === 'ToolFailure' && outcome.code === 'tool.indeterminate';
  if (isUnknown && call !== undefined && !isSurelyRead(call) && isGivenUp(call)) return false;
  return tool?.mayRerun ?? call?.started?.mayRerun ?? true;
}

/** The end of an attempt or of the call. The final one includes the cost of all attempts. */
export function responseCommand(
  active: ActiveCall,
  judgement: Judgement,
  attempt: AttemptRecord,
  final: boolean,
): Command {
  const { outcome, content, toolSuccess, repeatIsSafe, rules } = judgement;
  const { call, problems } = active.journal;
  const costMicros = final && call?.failed !== undefined ? 0 : attempt.costMicros;
  return {
    type: 'respond',
    final,
    outcome,
    content,
    toolSuccess,
    error: errorOf(outcome),
    payloadExtras: outcomeIsError(outcome) ? outcome.payloadExtras : attempt.payloadExtras,
    costMicros: final ? costMicros + (call?.spentMicros ?? 0) : costMicros,
    reached: attempt.reached,
    log: final ? [...attempt.log, ...problems] : attempt.log,
    mayRerun: mayStillRerun(active, outcome),
    repeatIsSafe,
    rules,
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
export function remember(active: ActiveCall, outcome: ToolOutcome, content: string, ran: boolean): void {
  const { turn, tool, input } = active;
  if (outcomeBlocksTool(outcome)) (turn.blocked ??= new Map()).set(active.request.name, active.callId);
  if (tool !== undefined && input !== undefined) {
    if (ran && !tool.surelyReads) turn.recent.noteWrite(active.resourceKeys);
    const { digest } = input.effective;
    turn.recent.noteSettled(tool, active.callId, digest, outcome, content, active.resourceKeys);
  }
  if ('toolResult' in outcome && outcome.toolResult !== undefined && isTerminalResult(outcome.toolResult))
    turn.endBy('terminal_result');
}

/** The expiry of a question, and its effect. One time limit covers the decision and its use. */
type Expiry = {
  readonly expiresAt: number | undefined;
  readonly timeoutEffect: 'block' | 'allow';
};

/**
 * The earliest expiry of all asks and of the preview; those without an expiry do not extend it. Quiet hours extend the
 * time for people, not the life of a preview. After the expiry the call runs only if every ask says `allow`.
 */
export function expiryOf(active: ActiveCall, asks: readonly Ask[]): Expiry {
  const now = active.engine.ledger.now();
  const preview = active.journal.call?.preview?.expiresAt;
  const { holdTimeoutMs, quietTimes } = active.engine;
  const limits = asks.flatMap(({ timeoutSeconds }) => {
    const afterMs = timeoutSeconds === undefined ? holdTimeoutMs : timeoutSeconds * 1_000;
    return afterMs === undefined ? [] : [quietTimes.addWakingTime(now, afterMs)];
  });
  if (preview !== undefined) limits.push(preview);
  return {
    expiresAt: limits.length === 0 ? undefined : Math.min(...limits),
    // An expired preview must not be carried out: it may be wrong by then.
    timeoutEffect:
      preview === undefined && asks.every(({ timeoutEffect }) => timeoutEffect === 'allow')
        ? 'allow'
        : 'block',
  };
}

const dayMs = 24 * 60 * 60 * 1_000;

/** Time limit of a question if no rule or hook sets one. Undefined means none. */
export const readHoldTimeout = (given: number | 'none' = dayMs): number | undefined =>
  given === 'none' ? undefined : given;

/** True if the question, or the approval, has expired. */
export const isExpired = ({ expiresAt }: Pick<Confirmation, 'expiresAt'>, now: number): boolean =>
  expiresAt !== undefined && now >= expiresAt;

/** True if an approval by a person has expired. A call that a rule allowed after the expiry stays allowed. */
export const isUsedTooLate = (
  confirmation: Pick<Confirmation, 'expiresAt' | 'status' | 'decision'>,
  now: number,
): boolean =>
  confirmation.status === 'approved' && confirmation.decision !== undefined && isExpired(confirmation, now);

/** True if the question expired and its rule lets the call run then. */
export const isAllowedByExpiry = (asked: Pick<Confirmation, 'status' | 'decision'> | undefined): boolean =>
  asked?.status === 'approved' && asked.decision === undefined;

/** The rule that lets a call run after its question expired. */
export const allowedBy = ({ asks }: Confirmation): DecidedBy | undefined =>
  asks.find(({ timeoutEffect }) => timeoutEffect === 'allow')?.by;

/** Ends a call whose question expired. The outcome differs from a person's denial. */
export function settleExpired(active: ActiveCall, { confirmationId }: Confirmation): Promise<ToolOutcome> {
  active.journal.apply({ type: 'expire', confirmationId, effect: 'block', by: undefined });
  return replyExpired(active);
}

export function replyExpired(active: ActiveCall): Promise<ToolOutcome> {
  const asked = active.journal.call?.confirmation;
  const what = asked?.decision === undefined ? 'No person decided' : 'The approval was not used';
  const waitedFor = asked === undefined ? '' : ` It waited for a person: ${asked.description}`;
  return settleStopped(active, {
    type: 'deny',
    reason: 'expired',
    code: 'confirmation.expired',
    details: `${what} before the time was up.${waitedFor}`,
  });
}

/** Answers a call with the outcome of another call that has the same key. Only the call id changes. */
export async function copyOutcome(active: ActiveCall, from: CallRef): Promise<ToolOutcome> {
  const { ledger } = active.engine;
  const stored = await ledger.readCall(from.sessionId, from.callId);
  const settled = stored && foldStored(stored)?.settled;
  if (settled === undefined) throw new TypeError(`Call ${from.callId} was settled and is no longer stored.`);
  const outcome: ToolOutcome = Object.freeze({ ...settled.outcome, callId: active.request.id });
  if (from.sessionId !== active.turn.sessionId) await bringArtifacts(active, from, outcome);
  active.journal.apply({
    type: 'recall',
    how: 'cached',
    fromCallId: from.callId,
    details: 'Answered by a call with the same idempotency key.',
  });
  // The claim on the key stays with the other call.
  return settle({ ...active, claimKey: undefined }, unjudged(outcome, true), noAttempt);
}

/** Artifacts can be read only within their session, so a call in another session needs its own copy. */
async function bringArtifacts(active: ActiveCall, from: CallRef, outcome: ToolOutcome): Promise<void> {
  const { ledger } = active.engine;
  const ids = 'files' in outcome ? (outcome.files ?? []).map(({ artifactId }) => artifactId) : [];
  if (outcome.type === 'ToolArtifactReference') ids.push(outcome.artifactId);
  for (const artifactId of ids) {
    const artifact = await readWholeArtifact(ledger, from.sessionId, artifactId);
    if (artifact !== undefined)
      await ledger.putArtifact({
        ...artifact,
        sessionId: active.turn.sessionId,
        callId: active.request.id,
      });
  }
}

/**
 * After so many lost processes a call is given up, and no more code runs for it. Code of a tool or of its host may end the
 * process that runs it, and recovery would end one process after the other.
 */
const mostLostRuns = 3;

/**
 * Number of processes that ended while they worked on the call since its last progress. A takeover is recorded before
 * recovery runs any code for the call: as `tool.taken_over`, or as the intent of the next attempt.
 */
export const lostRuns = (call: Call): number => call.takeovers + lostAttempts(call);

/** Attempts without an end. A hand-off does not end with this process, and a failed attempt has an end. */
const lostAttempts = (call: Call): number =>
  call.status === 'running' && call.failed === undefined && !isHandoff(call) ? call.attemptsWithoutEnd : 0;

/** True if a process ended while it recovered the call. It is recovered alone, so that no other call loses an attempt. */
export const isSuspect = (call: Call): boolean =>
  !isGivenUp(call) && (call.takeovers > 0 || lostAttempts(call) > 1);

export const isGivenUp = (call: Call): boolean => lostRuns(call) >= mostLostRuns;

/**
 * Records that another call has undone this one, and drops the sealed input that was stored for the undo.
 * Repeated requests change nothing.
 */
export async function noteUndone(engine: Engine, callId: string, undoing: Call): Promise<void> {
  const { sessionId, attrs, askedBy: identity } = undoing;
  const { by, reason } = readUndoAttrs(attrs);
  for (;;) {
    const stored = await engine.ledger.readCall(sessionId, callId);
    const call = stored && foldStored(stored);
    if (stored === undefined || call === undefined) return;
    const made = decide(
      call,
      {
        type: 'undo',
        undoCallId: undoing.callId,
        by: { type: 'person', name: by, ...(identity && { identity }) },
        reason,
      },
      { sessionId, turnId: undoing.turnId, callId, at: engine.ledger.now(), nextId: engine.nextEventId },
    );
    if (!made.ok) return;
    const result = await engine.ledger.append({
      entryId: engine.ids.next('ent'),
      sessionId,
      callId,
      expectedVersion: stored.version,
      events: [Object.freeze(made.event)],
      dropSealed: true,
      depth: stored.depth,
    });
    if (result.status === 'appended') return;
  }
}
