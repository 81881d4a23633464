/**
 * Records calls that the ledger refused and that were not repeated, as an event of their session that opens
 * no call. A write that fails is put back and retried later.
 */
import { isQuittanceError } from '../../base/error.ts';
import type { CallNotAccepted, FailedWritesUnlisted } from '../../call/event.ts';
import type { Entry } from '../../ledger/journal.ts';
import { ledgerSessionId } from '../../ledger/ledger.ts';
import type { RuntimeState } from '../state/runtime-state.ts';
import { callKey } from '../state/call-key.ts';
import type { Engine } from '../state/engine.ts';
import type { RefusedWrite, Unlisted } from '../host/failed-writes.ts';
import { LedgerTrouble } from '../host/ledger-trouble.ts';

/**
 * Concurrent appends, which stores commit together. The first append runs alone to see whether the ledger
 * works.
 */
const mostAtOnce = 50;

export async function recordRefused({ engine, activeCalls }: RuntimeState): Promise<void> {
  const { failedWrites } = engine;
  const writes = failedWrites.takeRefused((call) => activeCalls.has(callKey(call)));
  const failed: RefusedWrite[] = [];
  try {
    for (let atOnce = 1; writes.length > 0; atOnce = mostAtOnce) {
      const slice = writes.slice(0, atOnce);
      const recorded = await Promise.all(slice.map((write) => recordOne(engine, write)));
      writes.splice(0, slice.length);
      failed.push(...slice.filter((_, index) => recorded[index] !== true));
      if (!recorded.includes(true)) return;
    }
    const unlisted = failedWrites.takeUnlisted();
    if (unlisted !== undefined && !(await recordUnlisted(engine, unlisted))) failedWrites.count(unlisted);
  } finally {
    // Failed writes go to the end: one failing session must not delay the others.
    for (const write of [...writes, ...failed]) failedWrites.putBack(write);
  }
}

/** Returns false if it has to be retried. */
async function recordOne(engine: Engine, { call, depth, cause, refusal }: RefusedWrite): Promise<boolean> {
  const { ledger, nextEventId, failedWrites } = engine;
  const { sessionId, callId, turnId } = call;
  const event: CallNotAccepted = {
    id: nextEventId(),
    type: 'call.not_accepted',
    sessionId,
    turnId,
    at: ledger.now(),
    cause,
    refusedCallId: callId,
    ...refusal,
  };
  const recorded = await append(engine, { sessionId, events: [event], depth });
  if (recorded !== 'never') return recorded === 'now';
  const { failedAt, error } = refusal;
  failedWrites.count({ count: 1, firstAt: failedAt, lastAt: failedAt, error });
  return true;
}

async function recordUnlisted(engine: Engine, unlisted: Unlisted): Promise<boolean> {
  const event: FailedWritesUnlisted = {
    id: engine.nextEventId(),
    type: 'persistence.unlisted',
    sessionId: ledgerSessionId,
    turnId: '',
    at: engine.ledger.now(),
    cause: undefined,
    ...unlisted,
  };
  return (await append(engine, { sessionId: ledgerSessionId, events: [event] })) === 'now';
}

/** `never`: the ledger accepts no entries for this session id. */
async function append(
  { ledger, ids }: Engine,
  entry: Pick<Entry, 'sessionId' | 'events' | 'depth'>,
): Promise<'now' | 'later' | 'never'> {
  try {
    const { status } = await ledger.journal.append({
      entryId: ids.next('ent'),
      callId: undefined,
      expectedVersion: 0,
      ...entry,
    });
    return status === 'appended' ? 'now' : 'later';
  } catch (error) {
    if (!(error instanceof LedgerTrouble)) throw error;
    return isQuittanceError(error.cause, 'config.invalid') ? 'never' : 'later';
  }
}
