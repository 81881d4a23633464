/**
 * Open calls whose owner is gone: finds and reads them, plans their recovery, and holds those that wait for a person or a
 * worker.
 */
import type { Call, Confirmation } from '../call/call.ts';
import { readEntry } from '../ledger/formats/v1/read-entry.ts';
import type { StoredCall } from '../ledger/journal.ts';
import type { OpenLedger } from '../ledger/ledger.ts';
import type { OpenCall } from '../ledger/call-query.ts';
import type { StoredEntry } from '../ledger/stored-entry.ts';
import type { RuntimeState, RecoveryList, WaitingCalls } from './runtime-state.ts';
import { callKey } from './turn-state.ts';
import { countMakers, orphanDeadline } from './runtime-state.ts';
import { foldStored } from '../ledger/fold-stored.ts';
import type { CallRef } from './active-call.ts';
import { readOpenCalls, isDue } from './claim-handoff.ts';
import type { Deadlines } from '../base/deadlines.ts';
import { isQuittanceError } from '../base/error.ts';
import { dueAt, isHandoff } from '../call/call.ts';
import { nextDue } from '../call/reminder.ts';
import type { Engine } from './engine.ts';
import { LedgerTrouble } from './ledger-trouble.ts';
import { readEnd } from './end-turn.ts';
import { readRecorded } from './recorded-input.ts';
import type { AnyTool } from '../tool/define-tool.ts';
import { isSameSchema } from '../tool/define-tool.ts';
import { isExpired, isUsedTooLate, isGivenUp } from './settle.ts';
import { lastPosition, statusOfOwner, whenAppended } from '../ledger/reads.ts';

export type Orphan = Pick<OpenCall, 'sessionId' | 'callId' | 'ownerId'>;

export type FoundCall = { readonly stored: StoredCall; readonly call: Call };

/** Reads an open call. Undefined if it has ended. */
export async function readOpen(
  { engine }: RuntimeState,
  { sessionId, callId }: CallRef,
): Promise<FoundCall | undefined> {
  const stored = await engine.ledger.readCall(sessionId, callId);
  const call = stored && foldStored(stored);
  return stored === undefined || call === undefined || call.settled !== undefined
    ? undefined
    : { stored, call };
}

/** Reads an open call of a dead owner. Undefined if it has ended or has another owner. */
export async function readOrphan(state: RuntimeState, orphan: Orphan): Promise<FoundCall | undefined> {
  const found = await readOpen(state, orphan);
  return found?.stored.ownerId === orphan.ownerId ? found : undefined;
}

/**
 * Every open call whose owner is proven dead, oldest first. Checks each owner once, and notes it in the list.
 */
export async function* findOrphans(
  { engine: { ledger } }: RuntimeState,
  list: RecoveryList,
): AsyncGenerator<Orphan & OpenCall, void> {
  const share = shareTexts();
  list.beganAt = await lastPosition(ledger);
  for await (const open of readOpenCalls(ledger)) {
    const orphan = { ...open, ownerId: share(open.ownerId), sessionId: share(open.sessionId) };
    const { ownerId } = orphan;
    if (ownerId !== ledger.ownerId && !list.owners.has(ownerId))
      list.owners.set(ownerId, (await statusOfOwner(ledger, ownerId)) === 'gone' ? 'gone' : 'spared');
    const isOrphan =
      ownerId === ledger.ownerId
        ? !(await hasLiveOwner(ledger, orphan, 0))
        : list.owners.get(ownerId) === 'gone';
    if (isOrphan) yield orphan;
  }
}

/** Returns one shared string for equal strings: many calls have the same owner, session and tool. */
export function shareTexts(): (text: string) => string {
  const known = new Map<string, string>();
  return (text) => {
    const shared = known.get(text);
    if (shared !== undefined) return shared;
    known.set(text, text);
    return text;
  };
}

/**
 * True if an owner may have died with open calls after the list was read and before the ledger reached `until`. Such an
 * owner was alive in the list, or has written since. Reading the list again would cost far more: the store would first
 * process everything that the recovery itself has written.
 */
export async function hasLostOwnersSince(
  { engine: { ledger } }: RuntimeState,
  { beganAt, owners }: RecoveryList,
  until: number,
): Promise<boolean> {
  const asked = new Set([ledger.ownerId]);
  const isGone = async (ownerId: string): Promise<boolean> => {
    if (asked.has(ownerId)) return false;
    asked.add(ownerId);
    return (await statusOfOwner(ledger, ownerId)) === 'gone';
  };
  for (const [ownerId, status] of owners) if (status === 'spared' && (await isGone(ownerId))) return true;
  for (let after = beganAt ?? until; after < until;) {
    const entries = await ledger.readEntries({ after, limit: pageSize });
    for (const entry of entries)
      // Most entries are from this owner, and are recognized without decoding.
      if (!entry.text.includes(ledger.ownerId) && (await isGone(ownerOf(entry)))) return true;
    if (entries.length < pageSize) return false;
    after = entries.at(-1)?.position ?? until;
    await new Promise(setImmediate);
  }
  return false;
}

const pageSize = 256;

/** The owner of an entry. An unreadable entry counts as one of an unknown owner, which only causes another check. */
function ownerOf(entry: StoredEntry): string {
  try {
    return readEntry(entry).ownerId;
  } catch {
    return '';
  }
}

/**
 * True if another owner may still end the call, i.e. unless that owner is proven dead. On this handle, true if more
 * runtimes hold the call than the `askers` that merely ask about it.
 */
export const hasLiveOwner = async (
  ledger: OpenLedger,
  { ownerId, sessionId, callId }: Orphan,
  askers: number,
): Promise<boolean> =>
  ownerId === ledger.ownerId
    ? countMakers(ledger, callKey({ sessionId, callId })) > askers
    : (await statusOfOwner(ledger, ownerId)) !== 'gone';

/**
 * Recovered calls wait here before their intent until the others of their batch arrive or end. The checks before a body are
 * code of the host and of tools, which may have ended the last process. So no body that may run only once runs
 * concurrently with these checks.
 */
export type StartBarrier = {
  /** Waits for the others. */
  readonly awaitStart: () => Promise<() => void>;
  /** Removes a call that will not arrive. Does nothing for one that has arrived. */
  leave(): void;
};

/**
 * One barrier slot for each call of a batch. No call waits longer than `longestWaitMs`, since a check may wait for another
 * call.
 */
export function createStartBarrier(
  count: number,
  deadlines: Deadlines,
  longestWaitMs = 10_000,
): StartBarrier[] {
  const open = Promise.withResolvers<void>();
  const watch = deadlines.watch(longestWaitMs, () => open.resolve());
  let missing = count;
  const arrive = (): void => {
    if (--missing > 0) return;
    watch.stop();
    open.resolve();
  };
  return Array.from({ length: count }, () => {
    let hasArrived = false;
    const arriveOnce = (): void => {
      if (hasArrived) return;
      hasArrived = true;
      arrive();
    };
    return {
      awaitStart: async () => {
        arriveOnce();
        await open.promise;
        return () => undefined;
      },
      leave: arriveOnce,
    };
  });
}

/**
 * Calls of dead owners that wait for a person or a worker while no caller here waits for them. There may be
 * very many, and they may wait for days, so only their names are kept in memory.
 *
 * 1. One reader of the ledger serves all of them: an entry about a call in the room wakes that call.
 * 2. An expired question, a reminder and a hand-off that is due wake their call by the ledger's clock.
 * 3. A woken call is read again, and recovered like any other unless another owner has it by now.
 * 4. The room never keeps the process alive: the wake-up events are on record for the next process too.
 */
type Waiting = {
  readonly sessionId: string;
  readonly callId: string;
  readonly ownerId: string;
  /** When its wait ends, by the ledger's clock. */
  readonly until: number | undefined;
};

/** The parts of the runtime that the room needs. */
type RoomServices = {
  readonly engine: Engine;
  /** True if the call is active here, for a caller or a recovery. */
  isActive(call: Pick<Waiting, 'sessionId' | 'callId'>): boolean;
  recover(stored: StoredCall, call: Call): Promise<unknown>;
  /** Records the reminders and escalations of a question that are due. */
  remind(confirmationId: string): Promise<unknown>;
};

const batchSize = 1_024;
const mostAtOnce = 64;
/** The ledger's clock may jump, so it is checked this often. */
const lookEveryMs = 1_000;

export class WaitingRoom implements WaitingCalls {
  readonly #services: RoomServices;
  readonly #calls = new Map<string, Waiting>();
  /** How many calls of each session wait: most entries are about other sessions. */
  readonly #sessions = new Map<string, number>();
  readonly #closing = new AbortController();
  #position = 0;
  #isListening = false;
  /** The earliest due time of all calls. */
  #nextDueAt = Number.POSITIVE_INFINITY;

  constructor(state: RoomServices) {
    this.#services = state;
  }

  /** How many calls wait. */
  get size(): number {
    return this.#calls.size;
  }

  async admit(stored: StoredCall, call: Call, readAt: number): Promise<boolean> {
    const { engine } = this.#services;
    if (call.status === 'held' && !(await mayRun(engine, call))) return false;
    const { sessionId, callId } = call;
    const { ownerId } = stored;
    const until = isHandoff(call) ? dueAt(call) : nextTimeOf(call);
    const key = this.#put({ sessionId, callId, ownerId, until });
    if (!this.#isListening) {
      this.#isListening = true;
      this.#position = readAt;
      void this.#listen();
    }
    // Entries between the two positions were read before the call was here.
    else if (this.#position > readAt) {
      const now = await engine.ledger.readCall(sessionId, callId);
      if (now?.version !== stored.version) await this.#wake([key]);
    }
    return true;
  }

  async wakeSession(sessionId: string): Promise<void> {
    if (!this.#sessions.has(sessionId)) return;
    await this.#wake(
      [...this.#calls].flatMap(([key, waiting]) => (waiting.sessionId === sessionId ? [key] : [])),
    );
  }

  close(): void {
    this.#closing.abort();
    this.#calls.clear();
    this.#sessions.clear();
  }

  #put(waiting: Waiting): string {
    const key = keyOf(waiting);
    if (!this.#calls.has(key))
      this.#sessions.set(waiting.sessionId, (this.#sessions.get(waiting.sessionId) ?? 0) + 1);
    this.#calls.set(key, waiting);
    this.#nextDueAt = Math.min(this.#nextDueAt, waiting.until ?? Number.POSITIVE_INFINITY);
    return key;
  }

  #take(key: string): Waiting | undefined {
    const waiting = this.#calls.get(key);
    if (waiting === undefined) return undefined;
    this.#calls.delete(key);
    const others = (this.#sessions.get(waiting.sessionId) ?? 1) - 1;
    if (others === 0) this.#sessions.delete(waiting.sessionId);
    else this.#sessions.set(waiting.sessionId, others);
    return waiting;
  }

  async #listen(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted && this.#calls.size > 0)
      try {
        await this.#onEntry(this.#nextDue());
        if (signal.aborted) break;
        await this.#wake(this.#findDue());
        await this.#readOn();
      } catch (error) {
        if (isClosed(error)) break;
        // The position is unchanged, so a retry loses nothing.
        await this.#onEntry(lookEveryMs, false);
      }
    this.#isListening = false;
  }

  /** Resolves when something is appended, or after a number of milliseconds. */
  async #onEntry(withinMs: number | undefined, listening = true): Promise<void> {
    const { clock, ledger } = this.#services.engine;
    const over = new AbortController();
    const signal = AbortSignal.any([over.signal, this.#closing.signal]);
    const timer = withinMs === undefined ? undefined : clock.startTimer(() => over.abort(), withinMs);
    timer?.keepAlive(false);
    try {
      if (listening) await whenAppended(ledger, this.#position, signal);
      else await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
    } finally {
      timer?.stop();
    }
  }

  #nextDue(): number | undefined {
    if (this.#nextDueAt === Number.POSITIVE_INFINITY) return undefined;
    return Math.min(Math.max(0, this.#nextDueAt - this.#services.engine.ledger.now()), lookEveryMs);
  }

  /** Scans all calls only when one may be due, because there are many and entries are frequent. */
  #findDue(): readonly string[] {
    const now = this.#services.engine.ledger.now();
    if (this.#nextDueAt > now) return [];
    const due: string[] = [];
    this.#nextDueAt = Number.POSITIVE_INFINITY;
    for (const [key, { until = Number.POSITIVE_INFINITY }] of this.#calls)
      if (until <= now) due.push(key);
      else this.#nextDueAt = Math.min(this.#nextDueAt, until);
    return due;
  }

  async #readOn(): Promise<void> {
    const { ledger } = this.#services.engine;
    for (const end = await lastPosition(ledger); this.#position < end;) {
      const until = Math.min(end, this.#position + batchSize);
      const entries = await ledger.readEntries({
        after: this.#position,
        limit: batchSize,
        about: { until, texts: wakingTexts },
      });
      await this.#wake(entries.flatMap((entry) => this.#keyOfEntry(entry)));
      this.#position = Math.max(until, entries.at(-1)?.position ?? 0);
      if (this.#closing.signal.aborted) return;
      if (this.#position < end) await new Promise(setImmediate);
    }
  }

  #keyOfEntry(entry: StoredEntry): string | readonly [] {
    const { sessionId } = entry;
    if (!this.#sessions.has(sessionId) || !mayWake(entry)) return [];
    try {
      const { callId } = readEntry(entry);
      const key = callId === undefined ? undefined : keyOf({ sessionId, callId });
      return key !== undefined && this.#calls.has(key) ? key : [];
    } catch {
      return []; // damaged: `verify` names it
    }
  }

  /** Processes the calls with limited concurrency. Waits for those that end at once. */
  async #wake(keys: readonly string[]): Promise<void> {
    const waiting = keys.values();
    const run = async (): Promise<void> => {
      for (const key of waiting) await this.#recheck(key);
    };
    await Promise.all(Array.from({ length: Math.min(mostAtOnce, keys.length) }, run));
  }

  async #recheck(key: string): Promise<void> {
    const waiting = this.#take(key);
    if (waiting === undefined || this.#services.isActive(waiting)) return;
    const { engine } = this.#services;
    const { sessionId, callId, ownerId } = waiting;
    let stored: StoredCall | undefined;
    try {
      const readAt = await lastPosition(engine.ledger);
      stored = await engine.ledger.readCall(sessionId, callId);
      const call = stored && foldStored(stored);
      // The call has ended or has another owner. If that owner dies too, its calls are found again.
      if (stored?.ownerId !== ownerId || call === undefined || call.settled !== undefined) return;
      const plan = planRecovery(engine, call);
      if (plan === 'wait' && isReminderDue(call, engine.ledger.now())) {
        await this.#services.remind(call.confirmation.confirmationId);
        this.#put(waiting);
        return await this.#recheck(key);
      }
      if (plan === 'wait' && (await this.admit(stored, call, readAt))) return;
      const recovering = this.#services.recover(stored, call).catch(() => undefined);
      if (endsAtOnce(plan)) await recovering;
      else void recovering.finally(() => engine.stragglers.delete(recovering));
      if (!endsAtOnce(plan)) engine.stragglers.add(recovering);
    } catch (error) {
      this.#put(waiting);
      throw error;
    }
  }
}

/** False if the input cannot be read, or the turn has ended with the final result of another tool. */
const mayRun = async (engine: Engine, call: Call): Promise<boolean> =>
  (await readRecorded(engine, call)).ok && (await readEnd(engine, call)) !== 'terminal_result';

/** When an open question expires or needs a reminder, whichever comes first. */
function nextTimeOf({ confirmation }: Call): number | undefined {
  if (confirmation === undefined) return undefined;
  const { expiresAt = Number.POSITIVE_INFINITY } = confirmation;
  const next = Math.min(expiresAt, nextDue(confirmation)?.dueAt ?? Number.POSITIVE_INFINITY);
  return next === Number.POSITIVE_INFINITY ? undefined : next;
}

const isReminderDue = (call: Call, now: number): call is Call & { readonly confirmation: Confirmation } =>
  call.confirmation?.status === 'pending' &&
  (nextDue(call.confirmation)?.dueAt ?? Number.POSITIVE_INFINITY) <= now;

/** True for entries that change how long a call waits: a decision, a lease, a report. Others are not decoded. */
const wakingTexts = ['"confirmation.', '"tool.reported"'] as const;

const mayWake = ({ text }: StoredEntry): boolean => wakingTexts.some((waking) => text.includes(waking));

const keyOf = ({ sessionId, callId }: Pick<Waiting, 'sessionId' | 'callId'>): string =>
  `${sessionId.length}:${sessionId}${callId}`;

const isClosed = (error: unknown): boolean => {
  const cause = error instanceof LedgerTrouble ? error.cause : error;
  return isQuittanceError(cause, 'ledger.closed');
};

/**
 * The recovery of a call by the code of the host or the tool that it needs. That code may have ended the owner, so recovery
 * starts with calls that need none.
 */
export type RecoveryPlan =
  /** Ends the call or leaves it to another process. Runs no code. */
  | 'settle'
  /** Nothing to do until a person decides or a worker reports. */
  | 'wait'
  /** Asks the tool about an attempt, or tells it to release a preview. */
  | 'ask'
  /** Passes the gates, asks the host, runs the body. By the record, the body has not started. */
  | 'go_on'
  /** Runs the body again. */
  | 'rerun';

export function planRecovery(engine: Engine, call: Call): RecoveryPlan {
  const tool = findRecoveryTool(engine, call);
  if (isForOthers(engine, tool, call)) return 'settle';
  const withoutCode = isGivenUp(call);
  const end = cancelsPreview(tool, call) && !withoutCode ? 'ask' : 'settle';
  switch (call.status) {
    case 'requested':
      return call.submitted && tool !== undefined && !withoutCode ? 'go_on' : end;
    case 'held':
    case 'approved':
      if (isOver(call, engine.ledger.now())) return end;
      if (isPending(call, engine.ledger.now()))
        return engine.onConfirm === undefined || withoutCode ? 'wait' : 'go_on';
      return withoutCode ? 'settle' : 'go_on';
    case 'running':
      if (isHandoff(call) && !isDue(engine, call)) return 'wait';
      if (withoutCode || tool === undefined) return 'settle';
      if (call.failed !== undefined) return 'rerun';
      if (call.started?.mayRerun === true && !isHandoff(call)) return 'rerun';
      return tool.reconcile === undefined ? 'settle' : 'ask';
    case 'settled':
      return 'settle';
  }
}

/** The tool of the call in this runtime. */
export function findRecoveryTool(engine: Engine, { toolName }: Call): AnyTool | undefined {
  const policy = engine.policyInForce();
  return engine.undoToolFor(toolName, policy) ?? engine.toolFor(toolName, policy);
}

const cancelsPreview = (tool: AnyTool | undefined, { preview }: Call): boolean =>
  preview !== undefined && tool?.cancel !== undefined;

/** True if a question is open and not expired. */
const isPending = ({ confirmation }: Call, now: number): boolean =>
  confirmation?.status === 'pending' && !isExpired(confirmation, now);

/** True if the only remaining step is to record that the call did not run. */
export function isOver({ confirmation }: Call, now: number): boolean {
  if (confirmation === undefined) return false;
  switch (confirmation.status) {
    case 'pending':
      return isExpired(confirmation, now) && confirmation.timeoutEffect === 'block';
    case 'approved':
      return isUsedTooLate(confirmation, now);
    case 'denied':
    case 'answered':
    case 'withdrawn':
    case 'expired':
      return true;
  }
}

/** True if only a process with the same tool can continue or end the call. */
export function isForOthers(engine: Engine, tool: AnyTool | undefined, call: Call): boolean {
  switch (call.status) {
    case 'held':
    case 'approved':
      return !isOver(call, engine.ledger.now()) && !isSameTool(tool, call);
    case 'running': {
      // Between two attempts no effect is unknown. The call can end with its last failure once no process is
      // expected to continue it.
      const until = orphanDeadline(call);
      if (until !== undefined) return tool === undefined && engine.ledger.now() < until;
      // A call that was never safe to rerun does not depend on which process has the tool.
      return tool === undefined && call.started?.mayRerun === true && !isHandoff(call);
    }
    case 'requested':
    case 'settled':
      return false;
  }
}

/** Another version of the tool may interpret the approved input differently. */
const isSameTool = (tool: AnyTool | undefined, { confirmation }: Call): boolean =>
  tool !== undefined && isSameSchema(tool, confirmation?.schemaDigest);

/** True if the recovery needs neither a person nor a wait. */
export const endsAtOnce = (plan: RecoveryPlan): boolean => plan === 'settle' || plan === 'ask';
