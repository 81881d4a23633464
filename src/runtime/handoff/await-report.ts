/**
 * The wait of whoever handed a call to another process. Nothing is decided here but what the clock and a cancellation
 * decide, and that by compare-and-set: the first of a report, the deadline, the end of a lease and a cancellation counts.
 * Where the ledger cannot be used nothing is said about the end, since a report may be on its way into it.
 */
import { QuittanceError } from '../../base/error.ts';
import type { Call } from '../../call/call.ts';
import { isUntaken } from '../../call/handoff.ts';
import type { ToolOutcome } from '../../call/outcome.ts';
import { BodyContext } from '../attempt/body-context.ts';
import type { CallInHand } from '../state/call-in-hand.ts';
import { foldStored } from '../../ledger/fold-stored.ts';
import { elapsedSince, endDue, nothingSpent } from './handoff-due.ts';
import { judgeEnd } from '../attempt/judge.ts';
import type { Judgement } from '../attempt/judgement.ts';
import { fail } from '../attempt/judgement.ts';
import { LedgerTrouble } from '../../ledger/ledger-trouble.ts';
import { keepEnd, remember } from '../settle/settle.ts';
import { lostAttempt } from '../take-over/unseen-end.ts';
import { untilDue } from '../state/when-changed.ts';

/** The outcome of a call that another process runs. Throws `call.pending` where this runtime stops waiting for it. */
export async function untilReported(hand: CallInHand): Promise<ToolOutcome> {
  let cancelling = false;
  for (;;) {
    const call = callOf(hand);
    if (call.settled !== undefined) return adopt(hand, call.settled);
    try {
      switch (await firstNews(hand, call, cancelling)) {
        case 'changed':
          await readAgain(hand);
          break;
        case 'due': {
          const outcome = await endDue(hand);
          if (outcome !== undefined) return outcome;
          await readAgain(hand);
          break;
        }
        case 'cancelled': {
          // A worker that has it may be done in a moment; one that nobody took can be had back at once.
          if (!isUntaken(call) && !cancelling) {
            cancelling = true;
            break;
          }
          if (await keepEnd(hand, await judgeCancelled(hand), spent(hand, call)))
            return callOf(hand).settled?.outcome ?? adoptNothing(hand);
          await readAgain(hand);
          break;
        }
        case 'left':
          return adoptNothing(hand);
      }
    } catch (error) {
      if (!(error instanceof LedgerTrouble)) throw error;
      if (hand.engine.ledger.now() >= (call.started?.deadlineMs ?? 0)) return adoptNothing(hand);
      await pause(hand);
    }
  }
}

const spent = (hand: CallInHand, call: Call): ReturnType<typeof lostAttempt> =>
  isUntaken(call) ? nothingSpent : lostAttempt(hand);

const callOf = (hand: CallInHand): Call => {
  if (hand.call === undefined)
    throw new TypeError(`Call ${hand.callId} was handed over and never requested.`);
  return hand.call;
};

/** Somebody else wrote the end: this process is the one that was asked, so its turn goes by it. */
function adopt(hand: CallInHand, { outcome, content }: NonNullable<Call['settled']>): ToolOutcome {
  hand.owned = false;
  remember(hand, outcome, content, true);
  return outcome;
}

function adoptNothing(hand: CallInHand): never {
  hand.owned = false;
  throw new QuittanceError(
    'call.pending',
    `Call ${hand.callId} is in the hands of another process, and this one stops waiting for it. Ask again with the same id to rejoin it.`,
    { callId: hand.callId },
  );
}

async function readAgain(hand: CallInHand): Promise<void> {
  const stored = await hand.engine.ledger.journal.readCall(hand.sessionId, hand.callId);
  const call = stored && foldStored(stored);
  if (stored === undefined || call === undefined)
    throw new TypeError(`Call ${hand.callId} was handed over, and the ledger does not know it.`);
  hand.inherit(call, stored.version);
}

type News = 'changed' | 'due' | 'cancelled' | 'left';

/** `cancelling`: the worker has been given its grace. */
function firstNews(hand: CallInHand, call: Call, cancelling: boolean): Promise<News> {
  const { engine } = hand;
  return new Promise((resolve, reject) => {
    let isOver = false;
    const stop = new AbortController();
    const due = untilDue(engine, call);
    const grace = cancelling
      ? engine.deadlines.watch(engine.cancelGraceMs, () => tell('cancelled'))
      : undefined;
    const tell = (news: News): void => {
      if (isOver) return;
      isOver = true;
      stop.abort();
      due.stop();
      grace?.stop();
      hand.onCancel = undefined;
      hand.onLeave = undefined;
      resolve(news);
    };
    hand.onLeave = () => tell('left');
    if (!cancelling) hand.onCancel = () => tell('cancelled');
    if (hand.left) return tell('left');
    if (!cancelling && hand.cancelled !== undefined) return tell('cancelled');
    void due.promise.then(() => tell('due'));
    engine.ledger.journal.whenChanged(hand.sessionId, hand.callId, hand.version, stop.signal).then(
      () => tell('changed'),
      (error: unknown) => {
        if (isOver) return;
        reject(error as Error);
        tell('changed');
      },
    );
  });
}

function judgeCancelled(hand: CallInHand): Promise<Judgement> | Judgement {
  const call = callOf(hand);
  const reason = hand.cancelled ?? 'cancelled';
  const facts = {
    context: new BodyContext(hand, call.attempt, hand.toolKey),
    elapsedMs: elapsedSince(hand.engine, call.started?.at),
    deadlineMs: call.started?.deadlineMs ?? 0,
  };
  if (!isUntaken(call)) return judgeEnd(hand, { type: 'cancelled', reason }, facts);
  return fail(
    hand,
    {
      code: 'tool.cancelled',
      error: `The call was cancelled before anybody took it: ${reason}`,
      retryable: true,
      authorSaysRetry: true,
    },
    facts,
  );
}

const retryMs = 250;

const pause = ({ engine }: CallInHand): Promise<void> =>
  new Promise((resolve) => void engine.deadlines.watch(retryMs, resolve));
