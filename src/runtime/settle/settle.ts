/**
 * Settles a call: the outcome, its record, the budgets and the claim in one append. Only then does the caller
 * get the outcome.
 */
import type { Awaitable } from '../../base/json.ts';
import { isPromiseLike } from '../../base/when-ready.ts';
import { cutText } from '../../base/cut-text.ts';
import type { Confirmation } from '../../call/call.ts';
import type { EventDataOf } from '../../call/event-data.ts';
import { outcomeToModelContent } from '../../call/model-content.ts';
import type { ToolOutcome } from '../../call/outcome.ts';
import { foldStored } from '../../ledger/fold-stored.ts';
import { LedgerTrouble } from '../host/ledger-trouble.ts';
import type { Judgement } from '../attempt/judgement.ts';
import { spillNotice, withNote } from '../attempt/spill-notice.ts';
import { readLate } from '../attempt/late.ts';
import { describeDenial } from '../host/confirm.ts';
import { clean } from '../input/clean.ts';
import { releasePreview } from '../preview/release-preview.ts';
import { aside } from '../state/aside.ts';
import type { EndedCall } from '../state/call-stages.ts';
import { modelNote } from '../state/call-stages.ts';
import type { Stop } from '../state/gate.ts';
import type { AttemptRecord, UnkeptEnd } from '../state/unkept-end.ts';
import { keepEnd, remember, respond } from './keep-end.ts';
import { bodyEndOf, elapsedOf, keepAsLate } from './keep-as-late.ts';
import { follow } from './recall.ts';
import { notStored, removedEnd, unknownEnd } from './unavailable.ts';

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
  live: EndedCall,
  stop: Exclude<Stop, { type: 'copy' }>,
): Promise<ToolOutcome> {
  const { request } = live;
  if (stop.type === 'deny' && stop.developer !== undefined) aside(live, stop.developer);
  const reasonGiven = stop.type === 'deny' ? stop.details : stop.error;
  if (live.journal.call?.preview !== undefined && !(await releasePreview(live, reasonGiven)))
    return overtaken(live);
  const named = { callId: request.id, toolName: request.name };
  const outcome: ToolOutcome = Object.freeze(
    stop.type === 'deny'
      ? {
          type: 'ToolDenied',
          ...named,
          code: stop.code,
          reason: stop.reason,
          details: stop.details,
          ...modelNote(live.notes),
        }
      : {
          type: 'ToolFailure',
          ...named,
          code: stop.code,
          error: stop.error,
          retryable: stop.retryable ?? stop.code === 'tool.cancelled',
          elapsedMs: 0,
          ...modelNote(live.notes),
        },
  );
  return settle(live, unjudged(outcome), noAttempt);
}

/** Synchronous if the ledger is. */
export function settle(
  live: EndedCall,
  judgement: Judgement,
  attempt: AttemptRecord,
): Awaitable<ToolOutcome> {
  const mark = live.journal.mark();
  const ran = live.journal.call !== undefined && live.journal.call.attempt > 0;
  try {
    const kept = keepEnd(live, judgement, attempt);
    if (isPromiseLike(kept)) return settleLater(live, judgement, attempt, { mark, ran, kept });
    return kept ? judgement.outcome : endAsOvertaken(live, judgement, ran);
  } catch (error) {
    return spillOrThrow(live, judgement, attempt, { mark, ran, error });
  }
}

type Settling = { readonly mark: number; readonly ran: boolean; readonly kept: PromiseLike<boolean> };

const settleLater = (
  live: EndedCall,
  judgement: Judgement,
  attempt: AttemptRecord,
  { mark, ran, kept }: Settling,
): PromiseLike<ToolOutcome> =>
  kept.then(
    (isKept) => (isKept ? judgement.outcome : endAsOvertaken(live, judgement, ran)),
    (error: unknown) => spillOrThrow(live, judgement, attempt, { mark, ran, error }),
  );

/** The result of this process becomes late: another process has ended the call. */
async function endAsOvertaken(live: EndedCall, { outcome }: Judgement, ran: boolean): Promise<ToolOutcome> {
  const attemptNumber = live.journal.call?.attempt ?? 1;
  const stored = await overtaken(live);
  if (ran) keepAsLate(live, outcome, attemptNumber);
  return stored;
}

type FailedSettling = { readonly mark: number; readonly ran: boolean; readonly error: unknown };

async function spillOrThrow(
  live: EndedCall,
  judgement: Judgement,
  attempt: AttemptRecord,
  { mark, ran, error }: FailedSettling,
): Promise<ToolOutcome> {
  if (!(error instanceof LedgerTrouble) || !ran) throw error;
  live.journal.rewind(mark);
  return spilled(live, judgement, attempt, error.message);
}

/**
 * The body ran and the ledger cannot store its end. An end in the spill file counts as stored, and the answer
 * says so. If the spill fails too, no process will know how the call ended.
 */
async function spilled(
  live: EndedCall,
  judgement: Judgement,
  attempt: AttemptRecord,
  why: string,
): Promise<ToolOutcome> {
  const { engine, journal } = live;
  const mark = journal.mark();
  const { outcome } = judgement;
  // An outcome that was returned before stays unchanged.
  const noted = journal.unkept === undefined ? withNote(outcome, spillNotice) : outcome;
  journal.apply({
    type: 'fail_to_persist',
    boundary: 'settle',
    error: cutText(clean(live, why), 500),
    keptIn: 'spill',
  });
  const kept = await journal
    .spill(respond(live, { ...judgement, outcome: noted }, attempt))
    .catch(() => false);
  if (!kept) {
    journal.rewind(mark);
    journal.unkept ??= toUnkept(live, judgement, attempt, why);
    return journal.unkept.reply;
  }
  engine.spill.waiting = true;
  remember(live, noted, judgement.content, true);
  return noted;
}

/**
 * The answer must agree with what is recorded later. A tool that may run again produces an outcome then, so
 * none is returned now. For any other tool the record will say that its end is unknown, so the answer says
 * this now, in the same words.
 */
function toUnkept(live: EndedCall, judgement: Judgement, attempt: AttemptRecord, error: string): UnkeptEnd {
  const why = cutText(clean(live, error), 500);
  const { outcome } = judgement;
  if (live.journal.call?.started?.mayRerun === true)
    return {
      reply: notStored(live, why),
      settle: () => settleUnkept(live, { judgement, late: undefined, attempt, why }),
    };
  const reply = unknownEnd(live);
  const unknown = { ...unjudged(reply), rules: judgement.rules };
  return { reply, settle: () => settleUnkept(live, { judgement: unknown, late: outcome, attempt, why }) };
}

type Unsettled = {
  readonly judgement: Judgement;
  /** The result of the body, if the outcome must say something else. It is stored as late. */
  readonly late: ToolOutcome | undefined;
  readonly attempt: AttemptRecord;
  readonly why: string;
};

async function settleUnkept(
  live: EndedCall,
  { judgement, late: given, attempt, why }: Unsettled,
): Promise<void> {
  const { journal } = live;
  const attemptNumber = journal.call?.attempt ?? 1;
  const late = given && (await toLate(live, given, attemptNumber));
  const mark = journal.mark();
  journal.apply({ type: 'fail_to_persist', boundary: 'settle', error: why, keptIn: 'nowhere' });
  try {
    // One entry holds the failed write, the end and the body's result: none is stored without the others.
    await settle(live, { ...judgement, ...(late !== undefined && { late }) }, attempt);
  } catch (error) {
    // The ledger still fails: the next call tries again.
    if (!(error instanceof LedgerTrouble)) throw error;
  }
  if (journal.call?.status !== 'settled') journal.rewind(mark);
  else if (given !== undefined && journal.call.late.length === 0) keepAsLate(live, given, attemptNumber);
}

async function toLate(
  live: EndedCall,
  outcome: ToolOutcome,
  attempt: number,
): Promise<EventDataOf<'tool.late'> | undefined> {
  const end = bodyEndOf(outcome);
  if (end === undefined) return undefined;
  return { attempt, elapsedMs: Math.round(elapsedOf(outcome)), result: await readLate(live, end) };
}

/** Another process settled this call first, so its outcome counts. */
export async function overtaken(live: EndedCall): Promise<ToolOutcome> {
  const { engine, journal, sessionId, callId } = live;
  const stored = await engine.ledger.journal.readCall(sessionId, callId);
  if (stored === undefined) return removedEnd(live);
  const call = journal.owned && journal.version > 0 ? foldStored(stored) : undefined;
  // A denial does not take the call over: the process that holds it must end it.
  if (call?.status === 'held' && call.confirmation?.status === 'denied') {
    journal.inherit(call, stored.version);
    return settleDenied(live, call.confirmation);
  }
  return follow(live, stored);
}

/** Ends a call that a person denied. */
export const settleDenied = (
  live: EndedCall,
  { by = { type: 'gate', name: 'confirm' }, reason }: Pick<Confirmation, 'by' | 'reason'>,
): Promise<ToolOutcome> =>
  settleStopped(live, {
    type: 'deny',
    reason: 'write_denied',
    code: 'confirmation.rejected',
    details: clean(live, describeDenial({ by, reason })),
  });
