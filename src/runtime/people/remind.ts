/** Records that an open question still waits at the times set for it, in any process that shares the ledger. */
import { isQuittanceError } from '../../base/error.ts';
import { decide } from '../../call/decide.ts';
import { describeMissing, missingOf } from '../../call/quorum.ts';
import type { DueReminder } from '../../call/reminder.ts';
import { nextDue } from '../../call/reminder.ts';
import type { Engine } from '../state/engine.ts';
import type { OpenQuestion } from './decide-confirmation.ts';
import { findOpenQuestion } from './decide-confirmation.ts';

/**
 * Records each time that has come: those of the rules that asked, and the last of the given ones. Returns the next time.
 * Undefined if the question is closed or nothing is left to record.
 */
export async function remindOf(
  engine: Engine,
  confirmationId: string,
  times: readonly number[],
): Promise<number | undefined> {
  for (;;) {
    const question = await readQuestion(engine, confirmationId);
    if (question === undefined) return undefined;
    const now = engine.ledger.now();
    const { askedAt } = question.confirmation;
    // After a long pause one reminder is enough.
    const last = Math.max(...times.filter((at) => at <= now && at > askedAt));
    const due = nextDue(
      question.confirmation,
      times.filter((at) => at > now || at === last),
    );
    if (due === undefined || due.dueAt > now) return due?.dueAt;
    await record(engine, question, due, now);
  }
}

async function readQuestion(engine: Engine, confirmationId: string): Promise<OpenQuestion | undefined> {
  try {
    const question = await findOpenQuestion(engine, confirmationId);
    return question.confirmation.status === 'pending' ? question : undefined;
  } catch (error) {
    if (isQuittanceError(error, 'confirmation.decided') || isQuittanceError(error, 'confirmation.expired'))
      return undefined;
    throw error;
  }
}

/** Another process may be faster. The caller reads the question again in any case. */
async function record(
  engine: Engine,
  { stored, call, confirmation }: OpenQuestion,
  due: DueReminder,
  at: number,
): Promise<void> {
  const { sessionId, callId, turnId } = call;
  const missing = missingOf(confirmation, confirmation.votes).map((each) => describeMissing([each]));
  const made = decide(
    call,
    { type: 'remind', confirmationId: confirmation.confirmationId, missing, ...due },
    { sessionId, turnId, callId, at, nextId: engine.nextEventId },
  );
  if (!made.ok) throw new TypeError(`Call ${callId}: ${made.refusal}`);
  await engine.ledger.journal.append({
    entryId: engine.ids.next('ent'),
    sessionId,
    callId,
    expectedVersion: stored.version,
    events: [made.event],
    depth: stored.depth,
  });
}
