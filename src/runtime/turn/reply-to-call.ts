/** The end of a call in this process: its reply, and what it leaves behind. */
import type { Awaitable } from '../../base/json.ts';
import type { AcceptedCall } from '../state/accepted-call.ts';
import type { AskedCall, HeldHere } from '../state/call-stages.ts';
import type { RuntimeState } from '../state/runtime-state.ts';
import { noteFailedWrite } from '../settle/note-failed-write.ts';
import { recordFailedWrites } from '../settle/record-failed-writes.ts';
import type { CallReply } from '../state/call-reply.ts';
import { notAccepted } from '../settle/unavailable.ts';
import { within } from '../../base/within.ts';

/** The call is no longer made here. `asked`: the question to a person, if one is open. */
function leave(state: RuntimeState, key: string, live: AcceptedCall, asked: AskedCall | undefined): void {
  state.activeCalls.delete(key);
  if (live.journal.isLeftOpen()) state.pendingSettlements.set(key, { live, asked });
  else if (live.journal.owned && state.pendingSettlements.size > 0) state.pendingSettlements.delete(key);
  if (state.closed) unlist(state);
}

/** A closed runtime that makes no call any more is not counted among those that might. */
export function unlist({ activeCalls, engine }: RuntimeState): void {
  if (activeCalls.size === 0) engine.ledger.owners.runtimes.delete(activeCalls);
}

export function replyToCall(
  state: RuntimeState,
  key: string,
  live: AcceptedCall,
  found: CallReply | HeldHere,
): Awaitable<CallReply> {
  if (live.engine.failedWrites.isDue) return recordAndReply(state, key, live, found);
  finish(state, key, live, found);
  return found;
}

async function recordAndReply(
  state: RuntimeState,
  key: string,
  live: AcceptedCall,
  found: CallReply | HeldHere,
): Promise<CallReply> {
  try {
    await recordRefusals(state, live);
  } catch (error) {
    return replyWithError(state, key, live, error, found);
  }
  finish(state, key, live, found);
  return found;
}

export function replyWithError(
  state: RuntimeState,
  key: string,
  live: AcceptedCall,
  error: unknown,
  found?: CallReply | HeldHere,
): CallReply {
  let answer: CallReply | undefined;
  try {
    if (live.journal.owned) noteFailedWrite(live, error);
    return (answer = notAccepted(live, error));
  } finally {
    finish(state, key, live, found ?? answer);
  }
}

/** The call is no longer made here, or it is held and leaves when it ends. */
function finish(
  state: RuntimeState,
  key: string,
  live: AcceptedCall,
  found: CallReply | HeldHere | undefined,
): void {
  const { journal, engine } = live;
  if (journal.owned && journal.version > 0) engine.failedWrites.forget(journal);
  if (found?.type !== 'held') {
    journal.observer?.end(found);
    return leave(state, key, live, undefined);
  }
  const asked = 'asked' in found ? found.asked : undefined;
  void found.rest
    .catch(() => undefined)
    .then((outcome) => {
      journal.observer?.end(outcome);
      leave(state, key, live, asked);
    });
}

/** Longest time that a stored outcome waits for the records of other calls. */
const recordingGraceMs = 250;

/** The ledger stored this call, so it can now store the records of calls that it refused before. */
async function recordRefusals(state: RuntimeState, live: AcceptedCall): Promise<void> {
  if (live.journal.version === 0) return;
  if (live.journal.owned) live.engine.failedWrites.forget(live.journal);
  await within(live.engine, recordingGraceMs, recordFailedWrites(state), undefined);
}
