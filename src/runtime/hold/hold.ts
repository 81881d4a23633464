/**
 * A call that needs an approval. The hold is stored first. Then any person with the permission may decide,
 * here or in any process that shares the ledger. If a rule needs several people, the question stays open until
 * they have approved. The first of a decision, an expiry, a withdrawal and a cancellation counts. An approval
 * skips no check.
 */
import type { Call, Confirmation } from '../../call/call.ts';
import type { AcceptedCall } from '../state/accepted-call.ts';
import type { AskedCall, Findings, HeldHere, JudgedCall, Moved, Passage } from '../state/call-stages.ts';
import { moved, nothingFound, underPolicy } from '../state/call-stages.ts';
import type { Taken } from '../input/taken.ts';
import { recordRuling } from '../gates/record-ruling.ts';
import { clean } from '../input/clean.ts';
import { compareWithLast } from './compare-with-last.ts';
import type { Course } from '../execute/execute.ts';
import { end, execute } from '../execute/execute.ts';
import { expiryOf, isUsedTooLate, replyExpired, settleExpired } from '../settle/expiry.ts';
import { noteFailedWrite } from '../settle/note-failed-write.ts';
import type { HostAnswer } from './await-hold-signal.ts';
import type { Stop } from '../state/gate.ts';
import { gatesAfterApproval, gatesForOtherInput } from '../gates/gates.ts';
import { addQuietHours } from './add-quiet-hours.ts';
import { riskOf } from './risk.ts';
import { overtaken, settleDenied, settleStopped } from '../settle/settle.ts';
import { sealInput } from '../state/seal-input.ts';
import { takeApproved } from '../accept/take-approved.ts';
import type { CallReply } from '../state/call-reply.ts';
import { openQuestion } from '../state/call-reply.ts';
import { notAccepted } from '../settle/unavailable.ts';
import { answerByGrant } from '../grants/answer-by-grant.ts';
import { walk } from '../gates/walk.ts';
import { asksNow } from './asks-now.ts';
import { notAsked, settleEnded, untilDecided } from './until-decided.ts';

/** Holds the call until a person decides. */
export async function hold(live: JudgedCall): Promise<CallReply | HeldHere | Moved> {
  const { engine, asks, journal, input, tool } = live;
  const comparison = journal.call?.preview === undefined ? await compareWithLast(live) : undefined;
  const undecided = journal.mark();
  recordRuling(live, undefined);
  journal.apply({
    type: 'hold',
    confirmationId: engine.ids.secret('cnf'),
    description: asks.map(({ description }) => description).join(' '),
    asks: addQuietHours(asks, journal.call?.confirmation?.asks ?? [], engine.ledger.now(), engine.quietTimes),
    inputDigest: input.effective.digest,
    revision: journal.call?.preview?.revision,
    ...expiryOf(live, asks),
    risk: riskOf(live),
    schemaDigest: tool.schemaDigest,
    ...(comparison !== undefined && { comparison }),
  });
  const { status } = await journal.flush({ sealed: sealInput(live) });
  if (status === 'moved') {
    journal.rewind(undecided);
    return moved;
  }
  if (status !== 'appended') return overtaken(live);
  return holdOn(live, notAsked);
}

/** Waits for the decision about a held call. */
export function holdOn(live: AskedCall, asked: HostAnswer): HeldHere {
  const confirmation = questionOf(live);
  live.journal.observer?.note({ type: 'held' });
  const rest = resolveHold(live, asked)
    .then((reply) => (reply.type === 'held' ? reply.rest : reply))
    .catch((error: unknown) => {
      noteFailedWrite(live, error);
      return notAccepted(live, error);
    });
  return {
    type: 'held',
    ...(openQuestion(live.journal.call) ?? { confirmationId: confirmation.confirmationId }),
    rest,
    asked: live,
  };
}

function questionOf({ journal, callId }: AcceptedCall): Confirmation {
  const confirmation = journal.call?.confirmation;
  if (confirmation === undefined) throw new TypeError(`Call ${callId} has no open question.`);
  return confirmation;
}

/**
 * Continues from the recorded state of the question. Holds again if a new question comes up. `just`: the
 * recorded input, if it was just prepared.
 */
export async function resolveHold(live: AskedCall, asked: HostAnswer, just?: Taken): Promise<CallReply> {
  let host = asked;
  let taken = just;
  for (;;) {
    const { call } = live.journal;
    // Several processes may take the call over when its owner dies, and another one was faster.
    if (call?.status === 'running' || call?.status === 'settled') return overtaken(live);
    const confirmation = questionOf(live);
    if (confirmation.status !== 'pending')
      live.journal.observer?.note({ type: 'decided', decision: confirmation.status });
    switch (confirmation.status) {
      case 'pending': {
        taken = undefined; // a decision may take long
        const waited = await untilDecided(live, confirmation, host);
        if (waited.type === 'settled') return waited.outcome;
        ({ host } = waited);
        break;
      }
      case 'approved':
        return goOn(live, confirmation, taken);
      case 'denied':
        return settleDenied(live, confirmation);
      case 'answered':
        return settleStopped(live, {
          type: 'deny',
          reason: 'write_denied',
          code: 'confirmation.answered',
          details: clean(live, confirmation.response ?? ''),
        });
      case 'withdrawn':
        return settleEnded(live, confirmation.reason ?? 'The question was withdrawn.');
      case 'expired':
        return replyExpired(live);
    }
  }
}

/** After an approval every check runs again. A reason that was not approved asks again. */
async function goOn(
  asked: AskedCall,
  confirmation: Confirmation,
  just: Taken | undefined,
): Promise<CallReply> {
  const { engine, journal } = asked;
  // After the approval a check denied the call, and the process died before it ended the call: the denial
  // stays.
  if (journal.call?.ruling === 'deny') return settleStopped(asked, stoppedSince(journal.call));
  for (let taken = just; ; taken = undefined) {
    if (isUsedTooLate(confirmation, engine.ledger.now())) return settleExpired(asked, confirmation);
    const current = underPolicy(asked, engine.policyInForce());
    const approved = await takeApproved(current, confirmation, taken);
    if (approved.type === 'stop') return end({ ...current, ...knownOf(asked), ...entry }, approved.stop);
    const gates = approved.isNew ? gatesForOtherInput : gatesAfterApproval;
    const walked = await walk(approved.live, gates, knownOf(asked), { deadlineLifted: true });
    if (walked.type === 'stopped') return end(walked.live, walked.stop);
    const asks = asksNow(walked.live, confirmation, approved.differs);
    const granted = asks.added.length === 0 ? { asks: [] } : await answerByGrant(walked.live, asks.added);
    const reply = await (granted === undefined
      ? hold({ ...walked.live, asks: asks.all })
      : execute({ ...walked.live, ...granted }, approvedCourse));
    if (reply.type !== 'moved') return reply;
  }
}

const approvedCourse: Course<Moved> = { deadlineLifted: true, whenMoved: () => moved };

/** No gate has judged the call since the approval. */
const entry: Passage = { passages: [], lastGate: 'validate' };

/** Findings of the gates before the approval, which are not asked about again. */
const knownOf = ({ toolKey, claimKey, twins, supersedes, ruled }: AskedCall): Findings => ({
  ...nothingFound,
  toolKey,
  claimKey,
  twins,
  supersedes,
  ruled,
});

function stoppedSince({ decidedBy }: Call): Stop & { type: 'deny' } {
  const details = `After the approval it was stopped by ${decidedBy?.name ?? 'a check'}.`;
  if (decidedBy?.type === 'rule')
    return { type: 'deny', reason: 'contract', code: 'policy.contract', details };
  if (decidedBy?.type === 'hook') return { type: 'deny', reason: 'pre_hook', code: 'policy.hook', details };
  return { type: 'deny', reason: 'expired', code: 'confirmation.expired', details };
}
