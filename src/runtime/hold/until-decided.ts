/** Waits for the end of a question: a decision, an expiry, a withdrawal or a cancellation. */
import { QuittanceError } from '../../base/error.ts';
import type { Confirmation } from '../../call/call.ts';
import { describeMissing, missingOf } from '../../call/quorum.ts';
import { nextDue } from '../../call/reminder.ts';
import type { ToolOutcome } from '../../call/outcome.ts';
import type { AcceptedCall } from '../state/accepted-call.ts';
import type { AskedCall, EndedCall } from '../state/call-stages.ts';
import { endStopped } from '../execute/execute.ts';
import { allowedBy, isExpired, settleExpired } from '../settle/expiry.ts';
import type { HostAnswer } from './await-hold-signal.ts';
import { askHost, awaitHoldSignal } from './await-hold-signal.ts';
import { settleStopped } from '../settle/settle.ts';
import { cancelStop } from '../gates/wait-unless-ended.ts';
import { checkRights, keepAnswer } from './keep-answer.ts';
import { flushOrReadAgain, readAgain } from './read-again.ts';

/** The host's own decider has not been asked yet. */
export const notAsked: HostAnswer = Object.freeze({ confirmationId: undefined, answer: undefined });

export const settleEnded = (live: EndedCall, details: string): Promise<ToolOutcome> =>
  settleStopped(live, { type: 'deny', reason: 'ended', code: 'turn.ended', details });

type Waited =
  | { readonly type: 'settled'; readonly outcome: ToolOutcome }
  /** The record has changed. */
  | { readonly type: 'changed'; readonly host: HostAnswer };

/** Waits once. */
export async function untilDecided(
  live: AskedCall,
  confirmation: Confirmation,
  last: HostAnswer,
): Promise<Waited> {
  const { confirmationId } = confirmation;
  const { ledger, arriving } = live.engine;
  const now = ledger.now();
  if (isExpired(confirmation, now) && arriving.mayDeny(confirmation, now) === undefined)
    return expire(live, confirmation, last);
  const due = nextDue(confirmation);
  if (due !== undefined && due.dueAt <= now) {
    await remind(live, confirmation);
    return { type: 'changed', host: last };
  }
  let host = last;
  const ask = (): HostAnswer['answer'] => {
    host = askHost(live, confirmation, last);
    return host.answer;
  };
  const settled = async (outcome: Promise<ToolOutcome>): Promise<Waited> => ({
    type: 'settled',
    outcome: await outcome,
  });
  const heard = await awaitHoldSignal(live, confirmation, ask);
  switch (heard.type) {
    case 'changed':
      await readAgain(live);
      return { type: 'changed', host };
    case 'expired':
      return expire(live, confirmation, host);
    case 'cancelled':
      live.journal.apply({ type: 'withdraw', confirmationId, reason: heard.reason });
      return settled(endStopped(live, cancelStop(heard.reason)));
    case 'withdrawn':
      live.journal.apply({ type: 'withdraw', confirmationId, reason: heard.reason });
      return settled(settleEnded(live, heard.reason));
    case 'due':
      await remind(live, confirmation);
      return { type: 'changed', host };
    case 'answered': {
      const votes = confirmation.votes.length;
      await keepAnswer(live, confirmation, await checkRights(live, heard.answer));
      // The host may have further people to ask. It is not asked again after an answer that did not count.
      const counted = (live.journal.call?.confirmation?.votes.length ?? 0) > votes;
      return { type: 'changed', host: counted ? notAsked : host };
    }
    case 'left':
      return letGo(live, confirmation);
  }
}

/** Records that a time set by a rule has come. One process stores it; the others read that it did. */
async function remind(live: AskedCall, confirmation: Confirmation): Promise<void> {
  const due = nextDue(confirmation);
  if (due === undefined || due.dueAt > live.engine.ledger.now()) return;
  const mark = live.journal.mark();
  const missing = missingOf(confirmation, confirmation.votes).map((each) => describeMissing([each]));
  const { confirmationId } = confirmation;
  live.journal.apply({ type: 'remind', confirmationId, missing, ...due });
  await flushOrReadAgain(live, mark);
}

/** This runtime was closed. The call stays held for another process, and this runtime no longer owns it. */
function letGo(live: AcceptedCall, { confirmationId, description }: Confirmation): never {
  live.journal.owned = false;
  throw new QuittanceError(
    'call.pending',
    `Call ${live.callId} has not run: it still waits for a person, and this runtime was closed. ${description} Do not make it again.`,
    { callId: live.callId, confirmationId, waitsFor: description },
  );
}

/** The question expired: the rule that asked decides whether the call runs. */
async function expire(live: AskedCall, confirmation: Confirmation, host: HostAnswer): Promise<Waited> {
  if (confirmation.timeoutEffect === 'block')
    return { type: 'settled', outcome: await settleExpired(live, confirmation) };
  const { confirmationId } = confirmation;
  const mark = live.journal.mark();
  live.journal.apply({ type: 'expire', confirmationId, effect: 'allow', by: allowedBy(confirmation) });
  await flushOrReadAgain(live, mark);
  return { type: 'changed', host };
}
