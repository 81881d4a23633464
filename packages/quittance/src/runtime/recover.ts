/**
 * Recovery: ends calls whose owner is gone, never by running an effect twice.
 *
 * A process without the tool leaves a call to processes that could continue it. Between two attempts it waits an hour,
 * then ends the call with its last failure. `recover-call.ts` recovers one call.
 */
import type { Call } from '../call/call.ts';
import type { QuittanceEvent } from '../call/event.ts';
import { isHandoff } from '../call/call.ts';
import type { StoredCall } from '../ledger/journal.ts';
import type {
  RuntimeState,
  RecoveredCall,
  RecoveryProgress,
  RecoveryRun,
  RecoveryList,
} from './runtime-state.ts';
import { isDue } from './claim-handoff.ts';
import {
  hasLiveOwner,
  hasLostOwnersSince,
  readOpen,
  endsAtOnce,
  planRecovery,
  findOrphans,
  readOrphan,
  shareTexts,
  findRecoveryTool,
  createStartBarrier,
} from './orphans.ts';
import { recoverCall } from './recover-call.ts';
import { importSpills } from './recall.ts';
import type { OrphanEnd } from './engine.ts';
import type { OpenCall } from '../ledger/call-query.ts';
import { isSuspect } from './settle.ts';
import type { Orphan, RecoveryPlan, StartBarrier } from './orphans.ts';
import type { Clock } from '../base/deadlines.ts';
import { lastPosition, findGoneOwners } from '../ledger/reads.ts';

/** Ends or continues every call whose owner is gone, and waits for those that run again. */
export async function recover(
  state: RuntimeState,
  onProgress: (progress: RecoveryProgress) => void = () => undefined,
): Promise<readonly RecoveredCall[]> {
  const { run, isNew } = await joinRun(state);
  // A list read from now on includes every owner that is already gone.
  const isListed = !isNew && run.list.beganAt !== undefined;
  const joinedAt = isListed ? await lastPosition(state.engine.ledger) : 0;
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
export async function sweep(state: RuntimeState, sessionId?: string): Promise<void> {
  if (!state.swept) return sweepAll(state, sessionId);
  const gone = await findGoneOwners(state.engine.ledger);
  if (!gone.every((ownerId) => state.sweptOwners.has(ownerId))) await sweepAll(state, sessionId);
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
  for (const callId of openCallIds(await ledger.readSession(sessionId))) {
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

/** True if the owner of the call is gone. A hand-off has no owner: it ends at a fixed time. */
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

/**
 * One pass over the open calls of dead owners.
 *
 * 1. Spilled entries of a dead owner are appended before its calls are judged: they may hold their outcomes.
 * 2. Calls that end without code come first, suspects come last and alone: see `planRecovery`. If the code for one call
 *    ends this process, as few others as possible are affected. A body that was running when its process ended may end
 *    this one too, so calls that never ran come before it.
 * 3. Each call is read when its phase begins and dropped when it is done. Calls of later phases are stored as names only.
 *    Calls that wait for a person or a worker are in the `WaitingRoom`.
 * 4. The number of concurrent calls is limited, so that they share commits and other work gets a turn in between.
 */
const phases = ['now', 'ask', 'go_on', 'rerun', 'suspects'] as const;
type Phase = (typeof phases)[number];

/** Maximum number of concurrent calls. The actual number depends on their speed: see `createRecoveryWidth`. */
const mostAtOnce: { readonly [Name in Phase]: number } = {
  now: 256,
  ask: 64,
  // These bodies must not run twice. If one of them ends the process, the effects of the others are unknown.
  go_on: 64,
  rerun: 128,
  suspects: 1,
};
/** The current pass, or a new one. The current pass may have started before some owners died. */
async function joinRun(state: RuntimeState): Promise<{ readonly run: RecoveryRun; readonly isNew: boolean }> {
  if (state.run !== undefined) return { run: state.run, isNew: false };
  const gone = new Set(await findGoneOwners(state.engine.ledger));
  // Another caller may have started one meanwhile.
  if (state.run !== undefined) return { run: state.run, isNew: false };
  const run = beginRun(state, gone);
  state.run = run;
  return { run, isNew: true };
}

function beginRun(state: RuntimeState, gone: ReadonlySet<string>): RecoveryRun {
  const recovered: RecoveredCall[] = [];
  const listeners: RecoveryRun['listeners'] = new Set();
  const list: RecoveryList = { beganAt: undefined, owners: new Map() };
  const done = recoverOrphans(state, gone, list, {
    onProgress(progress) {
      for (const listener of listeners) listener(progress);
    },
    onRecovered: (call) => recovered.push(call),
    // The remaining calls continue and may take any time: calls of other sessions do not depend on them.
    onDoubtsSettled() {
      state.swept = true;
      for (const ownerId of gone) state.sweptOwners.add(ownerId);
    },
  }).catch((error: unknown) => {
    state.swept = false;
    // The host may close the ledger after the runtime. The next process continues the recovery.
    if (!state.closed) throw error;
  });
  const run: RecoveryRun = { list, recovered, listeners, done };
  const leave = (): void => {
    state.run = undefined;
  };
  done.then(leave, leave);
  return run;
}

type Listener = {
  readonly onProgress: (progress: RecoveryProgress) => void;
  readonly onRecovered: (call: RecoveredCall) => void;
  /** Called once every call of a dead owner with an unknown effect is settled. The other calls continue. */
  readonly onDoubtsSettled: () => void;
};

async function recoverOrphans(
  state: RuntimeState,
  gone: ReadonlySet<string>,
  list: RecoveryList,
  { onProgress, onRecovered, onDoubtsSettled }: Listener,
): Promise<void> {
  const { engine, room } = state;
  const { ledger } = engine;
  const forgettable = new Set(gone);
  const waiting: { readonly [Name in Phase]: Orphan[] } = {
    now: [],
    ask: [],
    go_on: [],
    rerun: [],
    suspects: [],
  };
  const share = shareTexts();
  let total = 0;
  for await (const { sessionId, callId, ownerId, ...facts } of findOrphans(state, list)) {
    waiting[firstPhase(facts)].push({ sessionId, callId, ownerId });
    total++;
  }
  // Runs after the owners were found dead: an owner may spill an outcome just before it dies.
  await importSpills(engine);
  let doubtfulSuspects = 0;
  let done = 0;
  const pause = createPauses(engine.clock, () => onProgress({ done, total }));
  const recoverOne = async (
    phase: Phase,
    orphan: Orphan,
    awaitStart?: StartBarrier['awaitStart'],
  ): Promise<void> => {
    while (pause.rest !== undefined) await pause.rest;
    if (state.closed) return;
    const readAt = await lastPosition(ledger);
    const found = await readOrphan(state, orphan);
    if (found !== undefined) {
      const { stored, call } = found;
      const plan = planRecovery(engine, call);
      if (!endsAtOnce(plan)) forgettable.delete(orphan.ownerId);
      const due = phaseOf(state, plan, call);
      if (phases.indexOf(due) > phases.indexOf(phase)) {
        waiting[due].push(orphan);
        if (due === 'suspects' && plan === 'ask') doubtfulSuspects++;
        pause.count();
        return;
      }
      // A held call that can never run as shown ends now.
      const how =
        plan === 'wait' && (await room.admit(stored, call, readAt))
          ? 'resumed'
          : (await recoverCall(state, stored, call, awaitStart)).how;
      if (how !== 'overtaken') {
        const { sessionId, callId } = orphan;
        onRecovered({ sessionId, callId, toolName: share(call.toolName), how });
      }
    }
    done++;
    pause.count();
  };
  const width = createRecoveryWidth(engine.clock);
  for (const phase of phases) {
    const most = mostAtOnce[phase];
    if (phase === 'go_on') {
      if (!state.closed && doubtfulSuspects === 0) onDoubtsSettled();
      await inBatches(state, waiting[phase], most, (orphan, awaitStart) =>
        recoverOne(phase, orphan, awaitStart),
      );
    } else await eachOf(state, waiting[phase], most, (orphan) => recoverOne(phase, orphan), width);
    waiting[phase].length = 0;
  }
  if (state.closed) return;
  if (doubtfulSuspects > 0) onDoubtsSettled();
  if (total > 0) onProgress({ done: total, total });
  for (const ownerId of forgettable) await ledger.forgetOwner(ownerId);
}

/**
 * The phase in which a call is read first, by the store's list. If the list is outdated, the phase is
 * corrected on reading. A call with a possibly unknown effect is always read first.
 */
const firstPhase = ({ status, mode }: Pick<OpenCall, 'status' | 'mode'>): Phase =>
  status === 'approved' ? 'go_on' : status === 'running' && mode === 'read' ? 'rerun' : 'now';

function phaseOf({ engine }: RuntimeState, plan: RecoveryPlan, call: Call): Phase {
  if (plan === 'settle' || plan === 'wait') return 'now';
  if (isSuspect(call)) return 'suspects';
  // A tool that may rerun may have run already, unrecorded, and may have ended its process.
  return plan === 'go_on' && findRecoveryTool(engine, call)?.mayRerun === true ? 'rerun' : plan;
}

/** Processes the calls in batches. No body of a batch starts before all checks of its batch are done. */
async function inBatches(
  state: RuntimeState,
  orphans: readonly Orphan[],
  size: number,
  work: (orphan: Orphan, awaitStart: StartBarrier['awaitStart'] | undefined) => Promise<void>,
): Promise<void> {
  for (let from = 0; from < orphans.length; from += size) {
    const batch = orphans.slice(from, from + size);
    const barrier = createStartBarrier(batch.length, state.engine.deadlines);
    await eachOf(state, [...batch.entries()], size, async ([index, orphan]) => {
      const slot = barrier[index];
      await work(orphan, slot?.awaitStart).finally(() => slot?.leave());
    });
  }
}

/**
 * Processes the items with limited concurrency. After a failure it starts no more items and fails with that
 * error. Once the runtime is closed it stops without an error.
 */
async function eachOf<Item>(
  state: RuntimeState,
  items: readonly Item[],
  workers: number,
  work: (item: Item) => Promise<void>,
  width?: RecoveryWidth,
): Promise<void> {
  const waiting = items.values();
  let failed = false;
  const run = async (): Promise<void> => {
    for (const item of waiting) {
      if (failed || state.closed) return;
      await width?.enter();
      try {
        if (!failed && !state.closed) await work(item);
      } catch (error) {
        if (state.closed) return; // the error only says that the runtime stopped waiting
        failed = true;
        throw error;
      } finally {
        width?.leave();
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(workers, items.length) }, run));
}

const start = 32;
const fewest = 16;
const most = 256;
/** A call starts after about four turns, and must start within 100 ms. */
const longTurnMs = 20;
const shortTurnMs = 12;
const growth = 8;
const shrinkage = 0.8;

interface RecoveryWidth {
  /** Resolves when one more call may start. Undefined if it may start at once. */
  enter(): Promise<void> | undefined;
  leave(): void;
}

/**
 * Limits how many calls a recovery processes at a time. Calls that end together share a commit, so a high number is fast.
 * They also share a turn of the event loop, and other calls wait for several turns before they start. So the number
 * shrinks when turns are long and grows when they are short. It starts small, because the first calls run code that is not
 * compiled yet.
 */
export function createRecoveryWidth(clock: Clock): RecoveryWidth {
  const waiting: (() => void)[] = [];
  let width = start;
  let working = 0;
  let turnBeganMs: number | undefined;

  const startWaiting = (): void => {
    while (working < width) {
      const next = waiting.shift();
      if (next === undefined) return;
      working++;
      next();
    }
  };

  /** Measures the current turn once, up to the start of the next one. */
  const measureTurn = (): void => {
    if (turnBeganMs !== undefined) return;
    const beganMs = clock.monotonicMs();
    turnBeganMs = beganMs;
    setImmediate(() => {
      const turnMs = clock.monotonicMs() - beganMs;
      turnBeganMs = undefined;
      if (turnMs > longTurnMs) width = Math.max(fewest, Math.floor(width * shrinkage));
      else if (turnMs < shortTurnMs) width = Math.min(most, width + growth);
      startWaiting();
      // Bodies may take long, so the width grows without waiting until one of them ends.
      if (waiting.length > 0 && width < most) measureTurn();
    });
  };

  return {
    enter() {
      if (working < width) {
        working++;
        return undefined;
      }
      measureTurn();
      return new Promise((resolve) => waiting.push(resolve));
    },
    leave() {
      working--;
      measureTurn();
      startWaiting();
    },
  };
}

/** Number of calls between two reports of progress. */
const reportEvery = 64;
/** Other work gets a turn after this many calls, or sooner if they took long. Checked every few calls. */
const yieldEvery = 256;
const longestSliceMs = 8;
const lookEvery = 16;

/** Yields to other work after some calls, and reports progress. */
function createPauses(
  clock: Clock,
  report: () => void,
): { readonly rest: Promise<void> | undefined; count(): void } {
  let looked = 0;
  let rest: Promise<void> | undefined;
  let sliceBeganMs = clock.monotonicMs();
  return {
    get rest() {
      return rest;
    },
    count() {
      if (++looked % reportEvery === 0) report();
      if (looked % lookEvery !== 0 || rest !== undefined) return;
      if (looked % yieldEvery !== 0 && clock.monotonicMs() - sliceBeganMs < longestSliceMs) return;
      rest = new Promise<void>((resolve) => {
        setImmediate(() => {
          rest = undefined;
          sliceBeganMs = clock.monotonicMs();
          resolve();
        });
      });
    },
  };
}
