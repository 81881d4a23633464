/**
 * The caller's wait for a hand-off. Only the clock and a cancellation act here, by compare-and-set: the first
 * of a report, the deadline, the end of a lease and a cancellation counts. While the ledger fails, nothing is
 * said about the end, since a report may be about to be stored.
 */
import { QuittanceError } from '../../base/error.ts';
import type { Call } from '../../call/call.ts';
import { isUntaken } from '../../call/handoff.ts';
import type { ToolOutcome } from '../../call/outcome.ts';
import { BodyContext } from '../attempt/body-context.ts';
import type { AcceptedCall } from '../state/accepted-call.ts';
import type { AttemptRecord } from '../state/unkept-end.ts';
import { AttemptRemarks } from '../attempt/attempt-remarks.ts';
import { foldStored } from '../../ledger/fold-stored.ts';
import type { HandedCall } from './handoff-due.ts';
import { elapsedSince, endDue, isBound } from './handoff-due.ts';
import { judgeEnd } from '../attempt/judge.ts';
import type { Judgement } from '../attempt/judgement.ts';
import { fail } from '../attempt/judgement.ts';
import { LedgerTrouble } from '../host/ledger-trouble.ts';
import { ObservedAttempts } from './observed-attempts.ts';
import { keepEnd, remember } from '../settle/keep-end.ts';
import { noAttempt, unjudged } from '../settle/settle.ts';
import { judgeUnknown, lostAttempt } from '../take-over/lost-attempt.ts';
import { untilDue } from '../state/when-changed.ts';

/**
 * The outcome of a call that another process runs. Throws `call.pending` if this runtime stops waiting for
 * it.
 */
export async function awaitReport(live: HandedCall): Promise<ToolOutcome> {
  let cancelling = false;
  const attempts = new ObservedAttempts();
  for (;;) {
    const call = callOf(live);
    attempts.note(live, call);
    if (call.settled !== undefined) return adopt(live, call.settled);
    try {
      switch (await firstReportSignal(live, call, cancelling)) {
        case 'changed':
          await readAgain(live);
          break;
        case 'due': {
          const outcome = await endDue(live);
          if (outcome !== undefined) return outcome;
          await readAgain(live);
          break;
        }
        case 'cancelled': {
          // A worker that has the call gets a grace period. An unclaimed call can be cancelled at once.
          if (!isUntaken(call) && !cancelling) {
            cancelling = true;
            break;
          }
          if (await keepEnd(live, await judgeCancelled(live), spent(live, call)))
            return callOf(live).settled?.outcome ?? adoptNothing(live);
          await readAgain(live);
          break;
        }
        case 'left':
          return adoptNothing(live);
      }
    } catch (error) {
      if (!(error instanceof LedgerTrouble)) throw error;
      if (live.engine.ledger.now() >= (call.started?.deadlineMs ?? 0)) return adoptNothing(live);
      await pause(live);
    }
  }
}

const spent = (live: HandedCall, call: Call): AttemptRecord =>
  isUntaken(call) ? noAttempt : lostAttempt(live);

const callOf = (live: AcceptedCall): Call => {
  if (live.journal.call === undefined)
    throw new TypeError(`Call ${live.callId} was handed over and never requested.`);
  return live.journal.call;
};

/** Another process wrote the end. This process made the call, so its turn must reflect the outcome. */
function adopt(live: HandedCall, { outcome, content }: NonNullable<Call['settled']>): ToolOutcome {
  live.journal.owned = false;
  remember(live, outcome, content, true);
  return outcome;
}

function adoptNothing(live: AcceptedCall): never {
  live.journal.owned = false;
  throw new QuittanceError(
    'call.pending',
    `Call ${live.callId} is in the hands of another process, and this one stops waiting for it. Ask again with the same id to rejoin it.`,
    { callId: live.callId },
  );
}

async function readAgain(live: AcceptedCall): Promise<void> {
  const stored = await live.engine.ledger.journal.readCall(live.sessionId, live.callId);
  const call = stored && foldStored(stored);
  if (stored === undefined || call === undefined)
    throw new TypeError(`Call ${live.callId} was handed over, and the ledger does not know it.`);
  live.journal.inherit(call, stored.version);
}

type ReportSignal = 'changed' | 'due' | 'cancelled' | 'left';

/** `cancelling`: the worker has had its grace period. */
function firstReportSignal(live: AcceptedCall, call: Call, cancelling: boolean): Promise<ReportSignal> {
  const { engine } = live;
  return new Promise((resolve, reject) => {
    let isOver = false;
    const stop = new AbortController();
    const due = untilDue(engine, call);
    const grace = cancelling
      ? engine.deadlines.watch(engine.cancelGraceMs, () => tell('cancelled'))
      : undefined;
    const tell = (heard: ReportSignal): void => {
      if (isOver) return;
      isOver = true;
      stop.abort();
      due.stop();
      grace?.stop();
      live.signals.onCancel = undefined;
      live.signals.onLeave = undefined;
      resolve(heard);
    };
    live.signals.onLeave = () => tell('left');
    if (!cancelling) live.signals.onCancel = () => tell('cancelled');
    if (live.signals.left) return tell('left');
    if (!cancelling && live.signals.cancelled !== undefined) return tell('cancelled');
    void due.promise.then(() => tell('due'));
    engine.ledger.journal.whenChanged(live.sessionId, live.callId, live.journal.version, stop.signal).then(
      () => tell('changed'),
      (error: unknown) => {
        if (isOver) return;
        reject(error as Error);
        tell('changed');
      },
    );
  });
}

async function judgeCancelled(live: HandedCall): Promise<Judgement> {
  const call = callOf(live);
  const reason = live.signals.cancelled ?? 'cancelled';
  const elapsedMs = elapsedSince(live.engine, call.started?.at);
  const untaken = {
    code: 'tool.cancelled',
    error: `The call was cancelled before a worker claimed it: ${reason}`,
    retryable: true,
  } as const;
  // The input of a call that was taken over is unknown here, and no code runs to get it.
  if (!isBound(live)) {
    if (!isUntaken(call))
      return judgeUnknown(live, `The call was cancelled while another process had it (${reason})`);
    const named = { callId: call.callId, toolName: call.toolName };
    const outcome = Object.freeze({ type: 'ToolFailure', ...named, ...untaken, elapsedMs } as const);
    return { ...unjudged(outcome, false), repeatIsSafe: true };
  }
  const facts = {
    remarks: new AttemptRemarks(live.notes),
    context: new BodyContext(live, call.attempt, live.toolKey),
    elapsedMs,
    deadlineMs: call.started?.deadlineMs ?? 0,
  };
  return isUntaken(call)
    ? fail(live, { ...untaken, repeatIsSafe: true }, facts)
    : judgeEnd(live, { type: 'cancelled', reason }, facts);
}

const retryMs = 250;

const pause = ({ engine }: AcceptedCall): Promise<void> =>
  new Promise((resolve) => void engine.deadlines.watch(retryMs, resolve));
