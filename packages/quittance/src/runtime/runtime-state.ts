/** The state of a running runtime, its recoveries, and the wait for calls of other processes. */
import type { OpenLedger } from '../ledger/ledger.ts';
import type { ActiveCall, CallsInProgress, KeptCall } from './active-call.ts';
import type { CallServices, Engine, Asker } from './engine.ts';
import type { Call } from '../call/call.ts';
import type { StoredCall } from '../ledger/journal.ts';
import type { CallReply } from './call-reply.ts';
import type { DeadlineWatch } from '../base/deadlines.ts';
import { dueAt, isHandoff } from '../call/call.ts';
import { stayAwake } from './engine.ts';
import { QuittanceError } from '../base/error.ts';
import { whenCallChanged } from '../ledger/reads.ts';

/** A running runtime: its parts and its active calls. */
export interface RuntimeState extends CallServices {
  readonly engine: Engine;
  /** By session and call id. */
  readonly callsInProgress: CallsInProgress;
  /** Calls that the ledger knows, but whose end it could not store. By session and call id. */
  readonly pendingSettlements: Map<string, KeptCall>;
  /** Calls of dead owners that are being taken over here. By session and call id. */
  readonly recovering: Map<string, Promise<Recovery>>;
  /** Calls of dead owners that wait for a person or a worker. */
  readonly room: WaitingCalls;
  settling: Promise<void> | undefined;
  /** Pending while failed writes are recorded. */
  recording: Promise<void> | undefined;
  /** Set once every call of a dead owner with an unknown effect is settled. */
  swept: boolean;
  /** The current pass over the calls of dead owners. */
  run: RecoveryRun | undefined;
  /** Dead owners whose open calls this process has handled. */
  readonly sweptOwners: Set<string>;
  closed: boolean;
}

/** Number of runtimes on this handle that are making the call. */
export function countMakers({ runtimes }: Pick<OpenLedger, 'runtimes'>, key: string): number {
  let count = 0;
  for (const calls of runtimes) if (calls.has(key)) count++;
  return count;
}

/** Result of recovering a call. */
export type RecoveredCall = {
  readonly sessionId: string;
  readonly callId: string;
  readonly toolName: string;
  readonly how:
    | 'cancelled'
    | 'resumed'
    | 'rerun'
    | 'reconciled'
    | 'indeterminate'
    | 'failed'
    | 'timed_out'
    | 'left';
};

/** The result of a recovery, and the answer for callers of the call. */
export type Recovery = {
  readonly how: RecoveredCall['how'] | 'overtaken';
  readonly reply: CallReply | undefined;
};

/** Progress of a recovery, for hosts that show it. */
export type RecoveryProgress = { readonly done: number; readonly total: number };

/** The source of the list of open calls that a pass works through. */
export type RecoveryList = {
  /** The last position of the ledger when the pass started to read the list. Undefined before that. */
  beganAt: number | undefined;
  /** Owners with open calls in the list, and whether each was proven dead. */
  readonly owners: Map<string, 'gone' | 'spared'>;
};

/** One pass over the calls of dead owners. Concurrent callers share it. */
export type RecoveryRun = {
  /** The source of its list of open calls. */
  readonly list: RecoveryList;
  /** The calls recovered so far. */
  readonly recovered: readonly RecoveredCall[];
  readonly listeners: Set<(progress: RecoveryProgress) => void>;
  readonly done: Promise<void>;
};

/** Calls of dead owners that wait for a person or a worker: see `WaitingRoom`. */
export interface WaitingCalls {
  /**
   * Admits a call. Returns false if the call can never run as shown and must end now. `readAt`: the end of
   * the ledger before the call was read.
   */
  admit(stored: StoredCall, call: Call, readAt: number): Promise<boolean>;
  /** Reads the calls of a session again: one of their turns has ended with a final result. */
  wakeSession(sessionId: string): Promise<void>;
  close(): void;
}

/** Long enough for any roll-out of a new version, in which a process with the tool starts. */
const leftForMs = 3_600_000;

/**
 * Time until which a call between two attempts with a dead owner is left to processes that have its tool: an hour after its
 * next attempt was due. After that the caller should get the failure. Undefined for any other call.
 */
export const orphanDeadline = ({ status, failed, retry }: Call): number | undefined =>
  status === 'running' && failed !== undefined
    ? Math.max(failed.at, retry?.notBefore ?? 0) + leftForMs
    : undefined;

/** Pauses between two checks grow: hundreds of calls may wait, and each check queries the ledger. */
const firstPauseMs = 1_000;
const longestPauseMs = 8_000;

type OrphanWatch = { readonly promise: Promise<void>; stop(): void };

/**
 * Resolves when the owner of a call is gone. An owner that is gone at the start left a call that this runtime cannot
 * end now. Then it resolves after the longest pause.
 */
function untilOrphan(
  { engine: { deadlines }, services }: Pick<ActiveCall, 'engine' | 'services'>,
  stored: StoredCall,
  call: Call,
  asker: Asker,
): OrphanWatch {
  const { promise, resolve } = Promise.withResolvers<void>();
  let watch: DeadlineWatch | undefined;
  let isStopped = false;
  // While the ledger fails, no owner is proven dead.
  const isOrphan = (): Promise<boolean> => services.isOrphan(stored, call, asker).catch(() => false);
  const comeBack = (pauseMs: number): void => {
    if (!isStopped) watch = deadlines.watch(pauseMs, () => void check(pauseMs));
  };
  const check = async (pausedMs: number): Promise<void> => {
    if (await isOrphan()) resolve();
    else comeBack(Math.min(2 * pausedMs, longestPauseMs));
  };
  void isOrphan().then((isAlready) => comeBack(isAlready ? longestPauseMs : firstPauseMs));
  return {
    promise,
    stop() {
      isStopped = true;
      watch?.stop();
    },
  };
}

/**
 * Resolves when another process changes the call, or when the signal is aborted. A hand-off also resolves
 * when it is due. A call between two attempts also resolves when no process is expected to continue it.
 */
export async function whenChanged(
  engine: Engine,
  call: Call,
  version: number,
  signal?: AbortSignal,
): Promise<void> {
  const { ledger } = engine;
  const at = isHandoff(call) ? dueAt(call) : orphanDeadline(call);
  if (at === undefined)
    return stayAwake(engine, whenCallChanged(ledger, call.sessionId, call.callId, version, signal));
  // Polling an overdue call would otherwise accumulate listeners that no longer wait.
  const stop = new AbortController();
  const either = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]);
  const changed = whenCallChanged(ledger, call.sessionId, call.callId, version, either);
  // An overdue call is polled at intervals, so that its waiters do not spin.
  const now = ledger.now();
  const due = until(engine, at > now ? at : now + lookAgainMs);
  try {
    await Promise.race([changed, due.promise]);
  } finally {
    due.stop();
    stop.abort();
  }
}

const lookAgainMs = 5_000;

type Due = { readonly promise: Promise<void>; stop(): void };

export const untilDue = (engine: Engine, call: Call): Due => until(engine, dueAt(call));

/**
 * Timers use the runtime's clock, leases use the ledger's, which may jump. The wait therefore checks it every
 * second.
 */
function until({ deadlines, ledger }: Engine, at: number): Due {
  const { promise, resolve } = Promise.withResolvers<void>();
  const left = (): number => Math.min(at - ledger.now(), longestSleepMs);
  let watch: DeadlineWatch | undefined;
  const check = (): void => {
    if (ledger.now() >= at) resolve();
    else watch = deadlines.watch(Math.max(1, left()), check);
  };
  check();
  return { promise, stop: () => watch?.stop() };
}

const longestSleepMs = 1_000;

/**
 * Waits until another process changes the call, or is gone: this call, or one with the same idempotency key. That
 * process may never answer, so a closed runtime stops waiting. It then throws `call.pending`, and the
 * call stays open. It also throws if the call has ended meanwhile, e.g. by its deadline; no caller sees that
 * error.
 */
export async function awaitOtherProcess(
  active: ActiveCall,
  call: Call,
  stored: StoredCall,
  asker: Asker,
): Promise<void> {
  const stop = new AbortController();
  const over = new AbortController();
  const leave = (): void => stop.abort();
  active.signals.onLeave = leave;
  active.signals.abandon = leave;
  if (active.signals.left) leave();
  const orphan = untilOrphan(active, stored, call, asker);
  const either = AbortSignal.any([stop.signal, over.signal]);
  try {
    await Promise.race([whenChanged(active.engine, call, stored.version, either), orphan.promise]);
  } finally {
    orphan.stop();
    over.abort();
    if (active.signals.onLeave === leave) active.signals.onLeave = undefined;
    if (active.signals.abandon === leave) active.signals.abandon = undefined;
  }
  if (!stop.signal.aborted) return;
  // The next runtime on the ledger may continue it.
  if (active.signals.left) active.journal.owned = false;
  const isOther = call.callId !== active.callId || call.sessionId !== active.sessionId;
  throw new QuittanceError(
    'call.pending',
    (isOther
      ? `Call ${active.callId} waits for call ${call.callId}, which has the same idempotency key, and this runtime was closed. `
      : `Another process makes call ${active.callId}, and this runtime was closed. `) +
      'Ask again with the same id in another runtime on the same ledger.',
    { callId: active.callId },
  );
}
