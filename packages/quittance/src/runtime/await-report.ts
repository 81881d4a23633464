/**
 * Waits for the end of a hand-off. The first of a report, the deadline, the end of a lease and a cancellation counts, by
 * compare-and-set. While the ledger fails, no end is returned: a report may be about to be stored.
 */
import { QuittanceError } from '../base/error.ts';
import type { Call } from '../call/call.ts';
import { isUnclaimed, claimedBy } from '../call/call.ts';
import type { ToolOutcome } from '../call/outcome.ts';
import { BodyContext } from './body-context.ts';
import type { ActiveCall } from './active-call.ts';
import type { AttemptRecord } from './call-journal.ts';
import { AttemptRemarks, fail } from './judgement.ts';
import { foldStored } from '../ledger/fold-stored.ts';
import { elapsedSince, endDue } from './claim-handoff.ts';
import { judgeEnd } from './judge.ts';
import type { Judgement } from './judgement.ts';
import { LedgerTrouble } from './ledger-trouble.ts';
import { keepEnd, remember, noAttempt, unjudged } from './settle.ts';
import { judgeUnknown, lostAttempt } from './take-over.ts';
import { untilDue } from './runtime-state.ts';
import { isChecked } from './active-call.ts';
import { CallObserver } from './call-observer.ts';
import type { RuntimeState } from './runtime-state.ts';
import { callKey } from './turn-state.ts';
import { whenCallChanged } from '../ledger/reads.ts';

/**
 * The outcome of a call that another process runs. Throws `call.pending` if this runtime stops waiting for
 * it.
 */
export async function awaitReport(active: ActiveCall): Promise<ToolOutcome> {
  let cancelling = false;
  const attempts = new ObservedAttempts();
  for (;;) {
    const call = callOf(active);
    attempts.note(active, call);
    if (call.settled !== undefined) return adopt(active, call.settled);
    try {
      switch (await firstReportSignal(active, call, cancelling)) {
        case 'changed':
          await readAgain(active);
          break;
        case 'due': {
          const outcome = await endDue(active);
          if (outcome !== undefined) return outcome;
          await readAgain(active);
          break;
        }
        case 'cancelled': {
          // A worker that has the call gets a grace period. An unclaimed call can be cancelled at once.
          if (!isUnclaimed(call) && !cancelling) {
            cancelling = true;
            break;
          }
          if (await keepEnd(active, await judgeCancelled(active), spent(active, call)))
            return callOf(active).settled?.outcome ?? adoptNothing(active);
          await readAgain(active);
          break;
        }
        case 'left':
          return adoptNothing(active);
      }
    } catch (error) {
      if (!(error instanceof LedgerTrouble)) throw error;
      if (active.engine.ledger.now() >= (call.started?.deadlineMs ?? 0)) return adoptNothing(active);
      await pause(active);
    }
  }
}

const spent = (active: ActiveCall, call: Call): AttemptRecord =>
  isUnclaimed(call) ? noAttempt : lostAttempt(active);

const callOf = (active: ActiveCall): Call => {
  if (active.journal.call === undefined)
    throw new TypeError(`Call ${active.callId} was handed over and never requested.`);
  return active.journal.call;
};

/** Applies an end that another process wrote to the turn of this process. */
function adopt(active: ActiveCall, { outcome, content }: NonNullable<Call['settled']>): ToolOutcome {
  active.journal.owned = false;
  remember(active, outcome, content, true);
  return outcome;
}

function adoptNothing(active: ActiveCall): never {
  active.journal.owned = false;
  throw new QuittanceError(
    'call.pending',
    `Call ${active.callId} is in the hands of another process, and this one stops waiting for it. Ask again with the same id to rejoin it.`,
    { callId: active.callId },
  );
}

async function readAgain(active: ActiveCall): Promise<void> {
  const stored = await active.engine.ledger.readCall(active.sessionId, active.callId);
  const call = stored && foldStored(stored);
  if (stored === undefined || call === undefined)
    throw new TypeError(`Call ${active.callId} is handed over but missing from the ledger.`);
  active.journal.inherit(call, stored.version);
}

type ReportSignal = 'changed' | 'due' | 'cancelled' | 'left';

/** `cancelling`: the worker has had its grace period. */
function firstReportSignal(active: ActiveCall, call: Call, cancelling: boolean): Promise<ReportSignal> {
  const { engine } = active;
  return new Promise((resolve, reject) => {
    let isOver = false;
    const stop = new AbortController();
    const due = untilDue(engine, call);
    const grace = cancelling
      ? engine.deadlines.watch(engine.cancelGraceMs, () => finish('cancelled'))
      : undefined;
    const finish = (signal: ReportSignal): void => {
      if (isOver) return;
      isOver = true;
      stop.abort();
      due.stop();
      grace?.stop();
      active.signals.onCancel = undefined;
      active.signals.onLeave = undefined;
      resolve(signal);
    };
    active.signals.onLeave = () => finish('left');
    if (!cancelling) active.signals.onCancel = () => finish('cancelled');
    if (active.signals.left) return finish('left');
    if (!cancelling && active.signals.cancelled !== undefined) return finish('cancelled');
    void due.promise.then(() => finish('due'));
    whenCallChanged(engine.ledger, active.sessionId, active.callId, active.journal.version, stop.signal).then(
      () => finish('changed'),
      (error: unknown) => {
        if (isOver) return;
        reject(error as Error);
        finish('changed');
      },
    );
  });
}

async function judgeCancelled(active: ActiveCall): Promise<Judgement> {
  const call = callOf(active);
  const reason = active.signals.cancelled ?? 'cancelled';
  const elapsedMs = elapsedSince(active.engine, call.started?.at);
  const untaken = {
    code: 'tool.cancelled',
    error: `The call was cancelled before a worker claimed it: ${reason}`,
    retryable: true,
  } as const;
  // The input of a call that was taken over is unknown here, and no code runs to get it.
  if (!isChecked(active)) {
    if (!isUnclaimed(call))
      return judgeUnknown(active, `The call was cancelled while another process had it (${reason})`);
    const named = { callId: call.callId, toolName: call.toolName };
    const outcome = Object.freeze({ type: 'ToolFailure', ...named, ...untaken, elapsedMs } as const);
    return { ...unjudged(outcome, false), repeatIsSafe: true };
  }
  const facts = {
    remarks: new AttemptRemarks(active.notes),
    context: new BodyContext(active, call.attempt, active.toolKey),
    elapsedMs,
    deadlineMs: call.started?.deadlineMs ?? 0,
  };
  return isUnclaimed(call)
    ? fail(active, { ...untaken, repeatIsSafe: true }, facts)
    : judgeEnd(active, { type: 'cancelled', reason }, facts);
}

const retryMs = 250;

const pause = ({ engine }: ActiveCall): Promise<void> =>
  new Promise((resolve) => void engine.deadlines.watch(retryMs, resolve));

/**
 * A report is judged and stored. If this process does not wait for the call, it adds a span to the trace of the call.
 * The process that waits counts the call.
 */
export async function observeReport(
  { callsInProgress }: RuntimeState,
  active: ActiveCall,
  call: Call,
  settle: () => Promise<ToolOutcome | undefined>,
): Promise<ToolOutcome | undefined> {
  const waiting = callsInProgress.get(callKey(call));
  if (waiting !== undefined) {
    waiting.active.journal.observer?.note({ type: 'settling' });
    return settle();
  }
  const observer = CallObserver.start(active, call.traceparent);
  active.journal.observer = observer;
  let outcome: ToolOutcome | undefined;
  try {
    observer?.noteCountedElsewhere();
    observer?.note({ type: 'settling' });
    outcome = await settle();
    return outcome;
  } finally {
    observer?.end(outcome);
  }
}

/** Reports the attempts of workers to telemetry, in the process that waits for the call. */
class ObservedAttempts {
  #last = 0;

  /** Call it with each version of the call that was read. */
  note({ journal, engine }: ActiveCall, call: Call): void {
    const { observer } = journal;
    if (observer?.isRecording !== true) return;
    const restored = claimedBy(call);
    if (restored !== undefined && call.attempt > this.#last) {
      this.#last = call.attempt;
      const startedMsAgo = Math.max(0, engine.ledger.now() - restored.at);
      observer.note({ type: 'attempt_started', attempt: call.attempt, startedMsAgo });
    }
    const { settled } = call;
    if (settled === undefined || this.#last === 0) return;
    const { outcome } = settled;
    observer.note({
      type: 'attempt_ended',
      code: 'code' in outcome ? outcome.code : undefined,
      isFinal: true,
    });
  }
}
