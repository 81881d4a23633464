/**
 * Recovery: ends calls whose owner is gone, never by running an effect twice.
 *
 * A process without the tool leaves a call to processes that could continue it. Between two attempts it waits
 * an hour, then ends the call with its last failure. `recovery-run.ts` has the order of a recovery,
 * `recover-call.ts` what happens to one call.
 */
import type { Awaitable } from '../../base/json.ts';
import { whenReady } from '../../base/when-ready.ts';
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

/** Ends or continues every call whose owner is gone, and waits for those that run again. */
export async function recover(
  state: RuntimeState,
  onProgress: (progress: RecoveryProgress) => void = () => undefined,
): Promise<readonly RecoveredCall[]> {
  const { run, isNew } = await joinRun(state);
  // A list that is read from now on includes every owner that is gone by now.
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

/**
 * Reports the progress of the whole pass, including work before this caller joined. A listener that throws
 * fails only this caller.
 */
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
 * Finds lost calls of the session before they can be repeated. The first time it reads every open call, later
 * only after an owner has died. The sweep of the whole ledger continues in the background. Only the session's
 * own calls are awaited, so a new session never waits for the crash of another.
 */
export function sweep(state: RuntimeState, sessionId?: string): Awaitable<void> {
  if (!state.swept) return sweepAll(state, sessionId);
  return whenReady(state.engine.ledger.owners.findGone(), (gone) =>
    gone.every((ownerId) => state.sweptOwners.has(ownerId)) ? undefined : sweepAll(state, sessionId),
  );
}

async function sweepAll(state: RuntimeState, sessionId: string | undefined): Promise<void> {
  const {
    run: { done },
  } = await joinRun(state);
  if (sessionId === undefined) return done;
  done.catch(() => undefined); // the next turn sweeps again
  await sweepSession(state, sessionId);
}

/**
 * Settles the calls with an unknown effect in one session. Calls that can continue are left to the sweep of
 * the whole ledger.
 */
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

/** Is the owner of the call gone? A hand-off has none: it is due at a fixed time. */
export async function isOrphan(
  { engine }: RuntimeState,
  { ownerId }: StoredCall,
  call: Call,
  askers: number,
): Promise<boolean> {
  const { sessionId, callId } = call;
  if (isHandoff(call)) return isDue(engine, call);
  return !(await hasLiveOwner(engine.ledger, { sessionId, callId, ownerId }, askers));
}

/** Ends a repeated call if its owner is gone. If it waits for a person, this process holds it from now on. */
export async function endOrphan(
  state: RuntimeState,
  stored: StoredCall,
  call: Call,
  askers: number,
): Promise<OrphanEnd> {
  if (!(await isOrphan(state, stored, call, askers))) return { type: 'left' };
  if ((await importSpills(state.engine)) > 0) return { type: 'ended' };
  const { how, reply } = await recoverCall(state, stored, call);
  if (reply?.type === 'held') return reply;
  return { type: how === 'left' ? 'left' : 'ended' };
}
