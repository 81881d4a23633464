/**
 * Recovery: calls whose owner is gone are ended, and never by running an effect twice.
 *
 * 1. What a dead owner spilled is appended before its calls are judged: it may hold their outcomes.
 * 2. A process without the tool of a call that others could go on with leaves it to them; between two attempts for an
 *    hour, then it ends with the failure it has.
 * 3. Calls that end without running any code come first, suspects come last and alone: see `recovery-plan.ts`. The code
 *    run for one call may end this process, and then as few others as possible lose by it.
 * 4. The number of calls in hand at a time is bounded, and other work has its turn. What waits for a person or a worker
 *    is not in hand at all: see `waiting-room.ts`.
 *
 * What becomes of one call is in `recover-call.ts`.
 */
import type { Call } from '../call/call.ts';
import type { QuittanceEvent } from '../call/event.ts';
import { isHandedOver } from '../call/handoff.ts';
import type { Ledger, OpenCall, StoredCall } from '../ledger/ledger.ts';
import type { Desk } from './desk.ts';
import { keyOf } from './desk.ts';
import type { CallRef } from './gates/gate.ts';
import { foldStored } from './fold-stored.ts';
import { isDue } from './handoff-due.ts';
import { isSuspect } from './lost-attempts.ts';
import { readOpenCalls } from './open-calls.ts';
import { recoverCall, reportRecovery } from './recover-call.ts';
import type { RecoveredCall } from './recovery.ts';
import type { RecoveryPlan } from './recovery-plan.ts';
import { endsAtOnce, planRecovery, toolOf } from './recovery-plan.ts';
import { importSpills } from './spill.ts';
import type { StartLine } from './start-line.ts';
import { drawStartLine } from './start-line.ts';
import type { HeldCall } from './told.ts';

/** How far a recovery has come, for a host that shows it. */
export type RecoveryProgress = { readonly done: number; readonly total: number };

/** Ends, or goes on with, every call whose owner is gone, and waits for those that are run again. */
export async function recover(
  desk: Desk,
  onProgress: (progress: RecoveryProgress) => void = () => undefined,
): Promise<readonly RecoveredCall[]> {
  const recovered: RecoveredCall[] = [];
  await recoverOrphans(desk, {
    onProgress,
    onRecovered: (call) => recovered.push(call),
    onDoubtsSettled: () => undefined,
  });
  return recovered;
}

/**
 * Makes sure that no call of the session is in doubt unnoticed: the first time by looking at every open call, later only
 * when an owner has gone. The sweep of the whole ledger goes on in the background; only what belongs to the session is
 * waited for, so that a new session never waits for the crash of another.
 */
export async function sweep(desk: Desk, sessionId?: string): Promise<void> {
  const { ledger } = desk.engine;
  if (desk.swept && (await ledger.findGoneOwners()).every((ownerId) => desk.sweptOwners.has(ownerId))) return;
  desk.sweeping ??= sweepAll(desk).finally(() => {
    desk.sweeping = undefined;
  });
  if (sessionId === undefined) return desk.sweeping;
  desk.sweeping.catch(() => undefined); // the next turn sweeps again
  await sweepSession(desk, sessionId);
}

async function sweepAll(desk: Desk): Promise<void> {
  const gone = await desk.engine.ledger.findGoneOwners();
  try {
    await recoverOrphans(desk, {
      onProgress: () => undefined,
      onRecovered: () => undefined,
      // What is left goes on, and may take as long as it likes: no call of another session needs to look for it.
      onDoubtsSettled() {
        desk.swept = true;
        for (const ownerId of gone) desk.sweptOwners.add(ownerId);
      },
    });
  } catch (error) {
    desk.swept = false;
    throw error;
  }
}

/** Settles what is in doubt in one session. What can go on is left to the sweep of the whole ledger. */
async function sweepSession(desk: Desk, sessionId: string): Promise<void> {
  const { ledger } = desk.engine;
  const doubtful = [];
  for (const callId of openCallIds(await ledger.readSession(sessionId))) {
    const found = await readOpen(desk, { sessionId, callId });
    if (found === undefined || !endsAtOnce(planRecovery(desk.engine, found.call))) continue;
    if (!(await hasLiveOwner(ledger, { sessionId, callId, ownerId: found.stored.ownerId }, 0)))
      doubtful.push(callId);
  }
  if (doubtful.length === 0) return;
  await importSpills(desk.engine);
  for (const callId of doubtful) {
    const found = await readOpen(desk, { sessionId, callId });
    if (found !== undefined) await recoverCall(desk, found.stored, found.call);
  }
}

function openCallIds(events: readonly QuittanceEvent[]): readonly string[] {
  const open = new Set<string>();
  for (const event of events)
    if (event.type === 'tool.requested') open.add(event.callId);
    else if (event.type === 'tool.responded' && event.final) open.delete(event.callId);
  return [...open];
}

type Found = { readonly stored: StoredCall; readonly call: Call };

/** Undefined for a call that has ended meanwhile. */
async function readOpen({ engine }: Desk, { sessionId, callId }: CallRef): Promise<Found | undefined> {
  const stored = await engine.ledger.readCall(sessionId, callId);
  const call = stored && foldStored(stored);
  return stored === undefined || call === undefined || call.settled !== undefined
    ? undefined
    : { stored, call };
}

/** Undefined where the call has ended meanwhile, or another owner has taken it. */
async function readOrphan(desk: Desk, orphan: Orphan): Promise<Found | undefined> {
  const found = await readOpen(desk, orphan);
  return found?.stored.ownerId === orphan.ownerId ? found : undefined;
}

/** Measured: so many share a commit, and a body that is run again takes at most so much of the process. */
const mostAtOnce = 64;
/** How many calls are looked at before other work has its turn. */
const yieldEvery = 32;

type Listener = {
  readonly onProgress: (progress: RecoveryProgress) => void;
  readonly onRecovered: (call: RecoveredCall) => void;
  /** From now on no call of a gone owner is in doubt: what is left goes on. */
  readonly onDoubtsSettled: () => void;
};

type Orphan = Pick<OpenCall, 'sessionId' | 'callId' | 'ownerId'>;
/** What is left after the calls that need no code, in the order in which it is done. */
type Later = { readonly [Plan in Exclude<RecoveryPlan, 'settle' | 'wait'>]: Orphan[] } & {
  readonly suspects: Orphan[];
};

async function recoverOrphans(
  desk: Desk,
  { onProgress, onRecovered, onDoubtsSettled }: Listener,
): Promise<void> {
  const { engine, room } = desk;
  const { ledger } = engine;
  const gone = new Set(await ledger.findGoneOwners());
  const orphans = await findOrphans(desk);
  // After the owners were found to be gone: an owner may spill an outcome just before it dies.
  await importSpills(engine);
  const later: Later = { ask: [], go_on: [], rerun: [], suspects: [] };
  let doubtfulSuspects = 0;
  let done = 0;
  let looked = 0;
  const giveWay = async (): Promise<void> => {
    if (++looked % yieldEvery !== 0) return;
    onProgress({ done, total: orphans.length });
    await new Promise(setImmediate);
  };
  const progress = (): Promise<void> => {
    done++;
    return giveWay();
  };
  const recoverNow = async (orphan: Orphan, takePlace?: StartLine['takePlace']): Promise<void> => {
    const found = await readOrphan(desk, orphan);
    const recovered = found && (await reportRecovery(desk, found.stored, found.call, takePlace));
    if (recovered !== undefined) onRecovered(recovered);
    await progress();
  };
  await eachOf(desk, orphans, mostAtOnce, async (orphan) => {
    const readAt = await ledger.lastPosition();
    const found = await readOrphan(desk, orphan);
    if (found === undefined) return progress();
    const { stored, call } = found;
    const plan = planRecovery(engine, call);
    if (!endsAtOnce(plan)) gone.delete(orphan.ownerId);
    if (plan !== 'settle' && plan !== 'wait') {
      // What may run again may have run already, unrecorded, and may be what ended its process.
      const mayHaveRun = plan === 'go_on' && toolOf(engine, call)?.mayRerun === true;
      if (!isSuspect(call)) later[mayHaveRun ? 'rerun' : plan].push(orphan);
      else {
        later.suspects.push(orphan);
        if (plan === 'ask') doubtfulSuspects++;
      }
      return giveWay();
    }
    // What waits but can never run as it was shown ends now.
    const recovered =
      plan === 'wait' && (await room.admit(stored, call, readAt))
        ? waitsOn(call)
        : await reportRecovery(desk, stored, call);
    if (recovered !== undefined) onRecovered(recovered);
    await progress();
  });
  await eachOf(desk, later.ask, mostAtOnce, (orphan) => recoverNow(orphan));
  if (!desk.closed && doubtfulSuspects === 0) onDoubtsSettled();
  // In this order: a body that was running when its process ended may end this one too, and what never ran must not
  // be in the middle of its only attempt then.
  for (let from = 0; from < later.go_on.length; from += mostAtOnce) {
    const batch = later.go_on.slice(from, from + mostAtOnce);
    const places = drawStartLine(batch.length, engine.deadlines);
    await eachOf(desk, [...batch.entries()], mostAtOnce, async ([index, orphan]) => {
      const place = places[index];
      await recoverNow(orphan, place?.takePlace).finally(() => place?.leave());
    });
  }
  await eachOf(desk, later.rerun, mostAtOnce, (orphan) => recoverNow(orphan));
  await eachOf(desk, later.suspects, 1, (orphan) => recoverNow(orphan));
  if (desk.closed) return;
  if (doubtfulSuspects > 0) onDoubtsSettled();
  if (orphans.length > 0) onProgress({ done: orphans.length, total: orphans.length });
  for (const ownerId of gone) await ledger.forgetOwner(ownerId);
}

const waitsOn = ({ sessionId, callId, toolName }: Call): RecoveredCall => ({
  sessionId,
  callId,
  toolName,
  how: 'resumed',
});

/** Every open call whose owner is proven dead. Each owner is asked after once. */
async function findOrphans({ engine: { ledger } }: Desk): Promise<readonly Orphan[]> {
  const owners = new Map<string, { readonly ownerId: string; readonly isAlive: boolean }>();
  const orphans: Orphan[] = [];
  for await (const { sessionId, callId, ownerId: id } of readOpenCalls(ledger)) {
    let owner = owners.get(id);
    if (owner === undefined && id !== ledger.ownerId) {
      owner = { ownerId: id, isAlive: (await ledger.ownerStatus(id)) !== 'gone' };
      owners.set(id, owner);
    }
    // Many calls have one owner: they share its name in memory too.
    const orphan = { sessionId, callId, ownerId: owner?.ownerId ?? id };
    if (!(owner?.isAlive ?? (await hasLiveOwner(ledger, orphan, 0)))) orphans.push(orphan);
  }
  return orphans;
}

/** Does the work for every item, so many at a time. Begins no more once one has failed, and fails like it. */
async function eachOf<Item>(
  desk: Desk,
  items: readonly Item[],
  workers: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const waiting = items.values();
  let failed = false;
  const run = async (): Promise<void> => {
    for (const item of waiting) {
      if (failed || desk.closed) return;
      try {
        await work(item);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(workers, items.length) }, run));
}

/**
 * May another owner still end the call? True unless that owner is proven dead. On this handle, true if more runtimes
 * hold the call than the `askers` that only ask about it.
 */
const hasLiveOwner = async (
  ledger: Ledger,
  { ownerId, ...call }: Orphan,
  askers: number,
): Promise<boolean> =>
  ownerId === ledger.ownerId
    ? (ledger.inHand.get(keyOf(call)) ?? 0) > askers
    : (await ledger.ownerStatus(ownerId)) !== 'gone';

/** Ends a call somebody asked for, if no owner is at it; goes on holding one that waits for a person. */
export async function endOrphan(
  desk: Desk,
  stored: StoredCall,
  call: Call,
  askers: number,
): Promise<boolean | HeldCall> {
  const { ledger } = desk.engine;
  const { sessionId, callId } = call;
  // Whose turn it is with a call that another process runs is a matter of time, not of who lives.
  const somebodyIs = isHandedOver(call)
    ? !isDue(desk.engine, call)
    : await hasLiveOwner(ledger, { sessionId, callId, ownerId: stored.ownerId }, askers);
  if (somebodyIs) return false;
  if ((await importSpills(desk.engine)) > 0) return true;
  const { how, told } = await recoverCall(desk, stored, call);
  return told?.type === 'held' ? told : how !== 'left';
}
