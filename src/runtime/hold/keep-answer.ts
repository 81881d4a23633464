/** Stores the answer of the host's own decider. */
import { isQuittanceError } from '../../base/error.ts';
import type { Confirmation } from '../../call/call.ts';
import type { DecidedBy } from '../../call/event.ts';
import { selfAsserted } from '../../call/identity.ts';
import { hasPolicy } from '../../call/quorum.ts';
import { describeThrown } from '../../tool/describe-thrown.ts';
import type { Acting } from '../host/acting.ts';
import { personOf } from '../host/acting.ts';
import type { AcceptedCall } from '../state/accepted-call.ts';
import { aside } from '../state/aside.ts';
import { clean } from '../input/clean.ts';
import type { ReadAnswer } from '../host/confirm.ts';
import { denyFor } from '../host/confirm.ts';
import { keepApprovals } from '../rules/ask-workflows.ts';
import { keepDecision } from './keep-decision.ts';
import { foldStored } from '../../ledger/fold-stored.ts';
import { whyForbidden } from '../host/may-decide.ts';
import { flushOrReadAgain, readAgain } from './read-again.ts';

/**
 * The host's own decider has the same permissions as any person. An answer without the permission is a
 * denial.
 */
export async function checkRights(
  { engine, journal: { call } }: AcceptedCall,
  answer: ReadAnswer,
): Promise<ReadAnswer> {
  const { by, decision } = answer;
  if (call === undefined || by.type !== 'person') return answer;
  try {
    const why = await whyForbidden(engine, call, actingOf(by), decision);
    if (why === undefined) return answer;
    const forbidden = `${by.name} may not ${decision} this: ${why}.`;
    return denyFor(forbidden, forbidden);
  } catch (error) {
    return denyFor(`mayDecide threw: ${describeThrown(error)}`);
  }
}

const actingOf = ({ name, identity = selfAsserted }: DecidedBy): Acting => ({ by: name, identity });

/** Stores the answer of the host's own decider. Another person may have been faster. */
export async function keepAnswer(
  live: AcceptedCall,
  confirmation: Confirmation,
  answer: ReadAnswer,
): Promise<void> {
  const { confirmationId, inputDigest, revision } = confirmation;
  const { decision, reason, mistake } = answer;
  const {
    engine,
    journal: { call },
  } = live;
  if (mistake !== undefined) aside(live, mistake);
  const by =
    answer.by.type === 'person' && call !== undefined
      ? personOf(engine.redactor, call, actingOf(answer.by))
      : answer.by;
  const isShared = answer.by.type === 'person' && hasPolicy(confirmation.asks);
  if (isShared || decision === 'edit' || decision === 'respond') return keepOther(live, confirmation, answer);
  for (;;) {
    const mark = live.journal.mark();
    live.journal.apply({
      type: 'answer',
      confirmationId,
      decision,
      by,
      reason: reason && clean(live, reason),
      inputDigest,
      revision,
    });
    if (decision === 'approve') await keepApprovals(live, confirmation.asks, by);
    if (await flushOrReadAgain(live, mark)) return;
  }
}

/**
 * Edited arguments or an answer to the model are stored as if they came through
 * `runtime.confirmations.decide`.
 */
async function keepOther(
  live: AcceptedCall,
  { confirmationId, inputDigest, revision }: Confirmation,
  { by, reason, ...answer }: ReadAnswer,
): Promise<void> {
  const { engine, sessionId, callId } = live;
  for (;;) {
    const stored = await engine.ledger.journal.readCall(sessionId, callId);
    const call = stored && foldStored(stored);
    const confirmation = call?.confirmation;
    if (stored === undefined || call === undefined) return readAgain(live);
    // Another decision was faster.
    if (confirmation?.confirmationId !== confirmationId || confirmation.status !== 'pending')
      return readAgain(live);
    const who = { by: by.name, inputDigest, ...(reason !== undefined && { reason }) };
    const shown = revision === undefined ? who : { ...who, revision };
    try {
      if (await keepDecision(engine, stored, call, confirmation, { ...shown, ...answer }, actingOf(by)))
        return await readAgain(live);
    } catch (error) {
      // Another decision was faster, or this person counts already.
      if (isQuittanceError(error, 'confirmation.decided')) return await readAgain(live);
      // An edit that the tool does not accept is not an approval.
      if (!isQuittanceError(error, 'confirmation.mismatch') && !isQuittanceError(error, 'config.invalid'))
        throw error;
      return keepAnswer(
        live,
        confirmation,
        denyFor(
          `${by.name} gave other arguments. ${error.message}`,
          `${by.name} gave other arguments. The tool cannot take them.`,
        ),
      );
    }
  }
}
