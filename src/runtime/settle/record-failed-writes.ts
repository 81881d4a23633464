/**
 * Records failed writes once the ledger accepts writes again: with the next call, by a timer, and on close.
 */
import { decide } from '../../call/decide.ts';
import type { CallEvent } from '../../call/event.ts';
import { evolve } from '../../call/evolve.ts';
import type { RuntimeState } from '../state/runtime-state.ts';
import type { FailedWrite } from '../host/failed-writes.ts';
import { toFailureCommand } from '../host/failed-writes.ts';
import { foldStored } from '../../ledger/fold-stored.ts';
import { LedgerTrouble } from '../host/ledger-trouble.ts';
import { recordRefused } from './record-refused.ts';
import { importSpills } from '../state/spill.ts';

/** Records earlier failures, as far as the ledger accepts them. One round at a time. */
export function recordFailedWrites(state: RuntimeState): Promise<void> {
  state.recording ??= recordAll(state).finally(() => {
    state.recording = undefined;
  });
  return state.recording;
}

async function recordAll(state: RuntimeState): Promise<void> {
  const { failedWrites } = state.engine;
  try {
    for (const [key, write] of failedWrites.entries())
      if (await record(state, write)) failedWrites.delete(key);
    await recordRefused(state);
  } catch (error) {
    // The ledger still fails: the next call or the timer tries again.
    if (!(error instanceof LedgerTrouble)) throw error;
  }
}

/** Returns false if the write has to wait. */
async function record({ engine }: RuntimeState, write: FailedWrite): Promise<boolean> {
  const { ledger, ids, nextEventId } = engine;
  const { sessionId, callId, turnId } = write.call;
  const stored = await ledger.journal.readCall(sessionId, callId);
  let call = stored && foldStored(stored);
  // It was removed with its session.
  if (call === undefined) return true;
  const subject = { sessionId, callId, turnId, at: ledger.now(), nextId: nextEventId };
  const events: CallEvent[] = [];
  for (const command of [toFailureCommand(write), ...(write.late === undefined ? [] : [write.late])]) {
    const made = decide(call, command, subject);
    // The call has moved on, and its state no longer allows this event.
    if (!made.ok) return true;
    call = evolve(call, made.event);
    events.push(made.event);
  }
  const { status } = await ledger.journal.append({
    entryId: ids.next('ent'),
    sessionId,
    callId,
    expectedVersion: 'any',
    events,
    depth: write.depth,
  });
  return status === 'appended';
}

const firstDelayMs = 1_000;
const longestDelayMs = 30_000;

/** Retries by a timer until everything is recorded. The timer does not keep the process alive. */
export function watchFailedWrites(
  state: RuntimeState,
  settlePending: (state: RuntimeState) => Promise<void>,
): void {
  const { engine } = state;
  let isWatching = false;
  const watch = (delayMs: number): void => {
    isWatching = true;
    engine.expiries.watch(delayMs, () => void round(delayMs));
  };
  const round = async (delayMs: number): Promise<void> => {
    isWatching = false;
    if (state.closed) return;
    try {
      await recordFailedWrites(state);
      await settlePending(state);
      if (engine.spill.waiting) await importSpills(engine);
    } catch {
      // The ledger still fails. The caller of the next call gets the error.
    }
    if (!state.closed && engine.failedWrites.size > 0 && !isWatching)
      watch(Math.min(delayMs * 2, longestDelayMs));
  };
  engine.failedWrites.onAdded = () => {
    if (!isWatching && !state.closed) watch(firstDelayMs);
  };
}
