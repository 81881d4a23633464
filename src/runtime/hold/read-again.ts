/** A held call may be changed by any process: reads what the others wrote. */
import type { AcceptedCall } from '../state/accepted-call.ts';
import { foldStored } from '../../ledger/fold-stored.ts';

/** Returns false if only a related state has moved, and the same append should be tried again. */
export async function flushOrReadAgain(live: AcceptedCall, mark: number): Promise<boolean> {
  const result = await live.journal.flush();
  if (result.status === 'appended') return true;
  live.journal.rewind(mark);
  if (result.status === 'moved') return false;
  await readAgain(live);
  return true;
}

/** Reads the events that other processes wrote about the call meanwhile. */
export async function readAgain(live: AcceptedCall): Promise<void> {
  const stored = await live.engine.ledger.journal.readCall(live.sessionId, live.callId);
  const call = stored && foldStored(stored);
  if (stored === undefined || call === undefined)
    throw new TypeError(`Call ${live.callId} is held, and the ledger does not know it.`);
  live.journal.inherit(call, stored.version);
}
