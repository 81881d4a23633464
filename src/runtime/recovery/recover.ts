/**
 * Recovery: calls whose owner is gone are ended, and never by running an effect twice.
 *
 * A process without the tool of a call that others could go on with leaves it to them; between two attempts for an hour,
 * then it ends with the failure it has. The order of a recovery is in `recovery-run.ts`, what becomes of one call in
 * `recover-call.ts`.
 */
import type { Call } from '../../call/call.ts';
import type { QuittanceEvent } from '../../call/event.ts';
import { isHandoff } from '../../call/handoff.ts';
import type { StoredCall } from '../../ledger/journal.ts';
import type { RuntimeState } from '../state/runtime-state.ts';
import { isDue } from '../handoff/handoff-due.ts';
import { hasLiveOwner, hasLostOwnersSince, readOpen } from './orphans.ts';
import { recoverCall } from './recover-call.ts';
import type { RecoveredCall, RecoveryProgress, RecoveryRun } from '../state/recovery.ts';
import { endsAtOnce, planRecovery } from './recovery-plan.ts';
import { joinRun } from './recovery-run.ts';
import { importSpills } from '../state/spill.ts';
import type { OrphanEnd } from '../state/call-services.ts';

/** Ends, or goes on with, every call whose owner is gone, and waits for those that are run again. */
export async function recover(
  state: RuntimeState,
  onProgress: (progress: RecoveryProgress) => void = () => undefined,
): Promise<readonly RecoveredCall[]> {
  const { run, isNew } = await joinRun(state);
  // A list that is read from now on has every owner that is gone by now.
  const isListed = !isNew && run.list.beganAt !== undefined;
  const joinedAt = isListed ? await state.engine.ledger.entries.lastPosition() : 0;
  const recovered = await follow(run, onProgress);
  if (!isListed || state.closed || !(await hasLostOwners(state, run, joinedAt))) return recovered;
  const next = await joinRun(state);
  return [...recovered, ...(await follow(next.run, onProgress))];
}

async function hasLostOwners(state: RuntimeState, { list }: RecoveryRun, joinedAt: number): Promise<boolean> {
  try {
    return await hasLostOwnersSince(state, list, joinedAt);
  } catch (error) {
    if (state.closed) return false;
    throw error;
  }
}

/** What the whole pass recovers, also before this caller came. A listener that throws fails this caller only. */
async function follow(
  { listeners, recovered, done }: RecoveryRun,
  onProgress: (progress: RecoveryProgress) => void,
): Promise<readonly RecoveredCall[]> {
  let thrown: { readonly error: unknown } | undefined;
  const listener = (progress: RecoveryProgress): void => {
    try {
      onProgress(progress);
    } catch (error) {
      thrown = { error };
      listeners.delete(listener);
    }
  };
  listeners.add(listener);
  await done.finally(() => listeners.delete(listener));
  if (thrown !== undefined) throw thrown.error;
  return recovered;
}

/**
 * Makes sure that no call of the session is in doubt unnoticed: the first time by looking at every open call, later only
 * when an owner has gone. The sweep of the whole ledger goes on in the background; only what belongs to the session is
 * waited for, so that a new session never waits for the crash of another.
 */
export async function sweep(state: RuntimeState, sessionId?: string): Promise<void> {
  const { ledger } = state.engine;
  if (state.swept && (await ledger.owners.findGone()).every((ownerId) => state.sweptOwners.has(ownerId)))
    return;
  const {
    run: { done },
  } = await joinRun(state);
  if (sessionId === undefined) return done;
  done.catch(() => undefined); // the next turn sweeps again
  await sweepSession(state, sessionId);
}

/** Settles what is in doubt in one session. What can go on is left to the sweep of the whole ledger. */
async function sweepSession(state: RuntimeState, sessionId: string): Promise<void> {
  const { ledger } = state.engine;
  const doubtful = [];
  for (const callId of openCallIds(await ledger.journal.readSession(sessionId))) {
    const found = await readOpen(state, { sessionId, callId });
    if (found === undefined || !endsAtOnce(planRecovery(state.engine, found.call))) continue;
    if (!(await hasLiveOwner(ledger, { sessionId, callId, ownerId: found.stored.ownerId }, 0)))
      doubtful.push(callId);
  }
  if (doubtful.length === 0) return;
  await importSpills(state.engine);
  for (const callId of doubtful) {
    const found = await readOpen(state, { sessionId, callId });
    if (found !== undefined) await recoverCall(state, found.stored, found.call);
  }
}

function openCallIds(events: readonly QuittanceEvent[]): readonly string[] {
  const open = new Set<string>();
  for (const event of events)
    if (event.type === 'tool.requested') open.add(event.callId);
    else if (event.type === 'tool.responded' && event.final) open.delete(event.callId);
  return [...open];
}

/** Ends a call that a caller asked for, if its owner is gone. Goes on holding one that waits for a person. */
export async function endOrphan(
  state: RuntimeState,
  stored: StoredCall,
  call: Call,
  askers: number,
): Promise<OrphanEnd> {
  const { ledger } = state.engine;
  const { sessionId, callId } = call;
  // A call that another process runs is due at a certain time, whether its owner lives or not.
  const isOwned = isHandoff(call)
    ? !isDue(state.engine, call)
    : await hasLiveOwner(ledger, { sessionId, callId, ownerId: stored.ownerId }, askers);
  if (isOwned) return { type: 'left' };
  if ((await importSpills(state.engine)) > 0) return { type: 'ended' };
  const { how, reply } = await recoverCall(state, stored, call);
  if (reply?.type === 'held') return reply;
  return { type: how === 'left' ? 'left' : 'ended' };
}
