/**
 * One pass over the open calls of dead owners.
 *
 * 1. Spilled entries of a dead owner are appended before its calls are judged: they may hold their outcomes.
 * 2. Calls that end without code come first, suspects come last and alone: see `recovery-plan.ts`. If the
 *    code for one call ends this process, as few others as possible are affected.
 * 3. Each call is read when its phase begins and dropped when it is done. Calls of later phases are stored as
 *    names only. Calls that wait for a person or a worker are in the waiting room: see `waiting-room.ts`.
 * 4. The number of concurrent calls is limited, so that they share commits and other work gets a turn in
 *    between.
 */
import type { Call } from '../../call/call.ts';
import type { OpenCall } from '../../ledger/queries.ts';
import type { RuntimeState } from '../state/runtime-state.ts';
import { isSuspect } from '../settle/lost-runs.ts';
import type { Orphan } from './orphans.ts';
import { findOrphans, readOrphan, shareTexts } from './orphans.ts';
import { recoverCall } from './recover-call.ts';
import type { RecoveredCall, RecoveryList, RecoveryProgress, RecoveryRun } from '../state/recovery.ts';
import { createPauses } from './recovery-pauses.ts';
import type { RecoveryPlan } from './recovery-plan.ts';
import { endsAtOnce, planRecovery, findRecoveryTool } from './recovery-plan.ts';
import { importSpills } from '../state/spill.ts';
import type { RecoveryWidth } from './recovery-width.ts';
import { createRecoveryWidth } from './recovery-width.ts';
import type { StartLine } from './start-line.ts';
import { drawStartLine } from './start-line.ts';

/**
 * In this order. A body that was running when its process ended may end this one too. A call that never ran
 * must not be in its only attempt then.
 */
const phases = ['now', 'ask', 'go_on', 'rerun', 'suspects'] as const;
type Phase = (typeof phases)[number];

/** The most calls that share a commit. The actual number depends on their speed: see `recovery-width.ts`. */
const mostAtOnce: { readonly [Name in Phase]: number } = {
  now: 256,
  ask: 64,
  // Each of these bodies runs at most once: if one of them ends the process, the effects of the others are
  // unknown.
  go_on: 64,
  rerun: 128,
  suspects: 1,
};
/** The current pass, or a new one. The current pass may have started before some owners died. */
export async function joinRun(
  state: RuntimeState,
): Promise<{ readonly run: RecoveryRun; readonly isNew: boolean }> {
  if (state.run !== undefined) return { run: state.run, isNew: false };
  const gone = new Set(await state.engine.ledger.owners.findGone());
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
  /** From now on every call of a dead owner with an unknown effect is settled. The rest continues. */
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
  const look = async (phase: Phase, orphan: Orphan, awaitStart?: StartLine['awaitStart']): Promise<void> => {
    while (pause.rest !== undefined) await pause.rest;
    if (state.closed) return;
    const readAt = await ledger.entries.lastPosition();
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
      await inBatches(state, waiting[phase], most, (orphan, awaitStart) => look(phase, orphan, awaitStart));
    } else await eachOf(state, waiting[phase], most, (orphan) => look(phase, orphan), width);
    waiting[phase].length = 0;
  }
  if (state.closed) return;
  if (doubtfulSuspects > 0) onDoubtsSettled();
  if (total > 0) onProgress({ done: total, total });
  for (const ownerId of forgettable) await ledger.owners.forget(ownerId);
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

/** Works batch by batch. No body of a batch starts before all checks of its batch are done. */
async function inBatches(
  state: RuntimeState,
  orphans: readonly Orphan[],
  size: number,
  work: (orphan: Orphan, awaitStart: StartLine['awaitStart'] | undefined) => Promise<void>,
): Promise<void> {
  for (let from = 0; from < orphans.length; from += size) {
    const batch = orphans.slice(from, from + size);
    const places = drawStartLine(batch.length, state.engine.deadlines);
    await eachOf(state, [...batch.entries()], size, async ([index, orphan]) => {
      const place = places[index];
      await work(orphan, place?.awaitStart).finally(() => place?.leave());
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
        if (state.closed) return; // it stopped waiting for another process
        failed = true;
        throw error;
      } finally {
        width?.leave();
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(workers, items.length) }, run));
}
