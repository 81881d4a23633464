/**
 * Calls of dead owners that wait for a person or a worker while no caller here waits for them. There may be
 * very many, and they may wait for days, so only their names are stored.
 *
 * 1. One reader of the ledger serves all of them: an entry about a call in the room wakes that call.
 * 2. An expired question, a reminder and a hand-off that is due wake their call by the ledger's clock.
 * 3. A woken call is read again, and recovered like any other unless another owner has it by now.
 * 4. The room never keeps the process alive: the wake-up events are on record for the next process too.
 */
import { isQuittanceError } from '../../base/error.ts';
import type { Call, Confirmation } from '../../call/call.ts';
import { dueAt, isHandoff } from '../../call/handoff.ts';
import { nextDue } from '../../call/reminder.ts';
import { readEntry } from '../../ledger/formats/v1/read-entry.ts';
import type { StoredCall } from '../../ledger/journal.ts';
import type { StoredEntry } from '../../ledger/stored-entry.ts';
import type { Engine } from '../state/engine.ts';
import { foldStored } from '../../ledger/fold-stored.ts';
import { LedgerTrouble } from '../host/ledger-trouble.ts';
import { readRecorded } from '../state/read-recorded.ts';
import type { WaitingCalls } from '../state/recovery.ts';
import { endsAtOnce, planRecovery } from './recovery-plan.ts';

type Waiting = {
  readonly sessionId: string;
  readonly callId: string;
  readonly ownerId: string;
  /** When its wait ends, by the ledger's clock. */
  readonly until: number | undefined;
};

/** The parts of the runtime that the room needs. */
export type RoomServices = {
  readonly engine: Engine;
  /** Is the call active here, for a caller or a recovery? */
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
    if (call.status === 'held' && !(await readRecorded(engine, call)).ok) return false;
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
      const now = await engine.ledger.journal.readCall(sessionId, callId);
      if (now?.version !== stored.version) await this.#wake([key]);
    }
    return true;
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
        // Nothing is lost by trying again: the position has not moved.
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
      if (listening) await ledger.entries.whenAppended(this.#position, signal);
      else await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
    } finally {
      timer?.stop();
    }
  }

  #nextDue(): number | undefined {
    if (this.#nextDueAt === Number.POSITIVE_INFINITY) return undefined;
    return Math.min(Math.max(0, this.#nextDueAt - this.#services.engine.ledger.now()), lookEveryMs);
  }

  /** Scans all calls only when one may be due: there are many, and entries are frequent. */
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
    for (const end = await ledger.entries.lastPosition(); this.#position < end;) {
      const until = Math.min(end, this.#position + batchSize);
      const entries = await ledger.entries.read({
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
      for (const key of waiting) await this.#look(key);
    };
    await Promise.all(Array.from({ length: Math.min(mostAtOnce, keys.length) }, run));
  }

  async #look(key: string): Promise<void> {
    const waiting = this.#take(key);
    if (waiting === undefined || this.#services.isActive(waiting)) return;
    const { engine } = this.#services;
    const { sessionId, callId, ownerId } = waiting;
    let stored: StoredCall | undefined;
    try {
      const readAt = await engine.ledger.entries.lastPosition();
      stored = await engine.ledger.journal.readCall(sessionId, callId);
      const call = stored && foldStored(stored);
      // Ended, or taken by another owner. If that owner dies too, its calls are found again.
      if (stored?.ownerId !== ownerId || call === undefined || call.settled !== undefined) return;
      const plan = planRecovery(engine, call);
      if (plan === 'wait' && isReminderDue(call, engine.ledger.now())) {
        await this.#services.remind(call.confirmation.confirmationId);
        this.#put(waiting);
        return await this.#look(key);
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

/** Only a decision, a lease and a report change how long a call waits. No other entry is even decoded. */
const wakingTexts = ['"confirmation.', '"tool.reported"'] as const;

const mayWake = ({ text }: StoredEntry): boolean => wakingTexts.some((waking) => text.includes(waking));

const keyOf = ({ sessionId, callId }: Pick<Waiting, 'sessionId' | 'callId'>): string =>
  `${sessionId.length}:${sessionId}${callId}`;

const isClosed = (error: unknown): boolean => {
  const cause = error instanceof LedgerTrouble ? error.cause : error;
  return isQuittanceError(cause, 'ledger.closed');
};
