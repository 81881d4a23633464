/** Failures of the ledger: how they are recognized, and the writes that must be recorded later. */
import { QuittanceError, isQuittanceError } from '../base/error.ts';
import type { StoredCall } from '../ledger/journal.ts';
import type { OpenLedger } from '../ledger/ledger.ts';
import type { Clock } from '../base/deadlines.ts';
import type { SafeTelemetry } from './telemetry.ts';
import type { JsonValue } from '../base/json.ts';
import type { Call } from '../call/call.ts';
import type { Command } from '../call/decide.ts';
import type { CallNotAccepted, FailedWritesUnlisted } from '../call/events/refusal-event.ts';
import type { PersistenceBoundary } from '../call/persistence-boundary.ts';

/** The ledger could not be reached or could not write. It stored nothing of the request. */
export class LedgerTrouble extends Error {
  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.name = 'LedgerTrouble';
  }
}

/** Wraps a ledger so that its exceptions can be distinguished from our own mistakes. */
export function reportTrouble(ledger: OpenLedger, time?: CommitTime, gate?: AppendGate): OpenLedger {
  return wrapLedger(ledger, (member, call) => {
    // It returns an iterator, which reports its own errors.
    if (member === 'inspect') return call();
    return orRaise(member === 'append' ? () => append(call, time, gate) : call);
  });
}

async function append(
  call: () => unknown,
  time: CommitTime | undefined,
  gate: AppendGate | undefined,
): Promise<unknown> {
  // Awaited only if set, so that appends keep the order in which they were called.
  if (gate?.opening !== undefined) await gate.opening;
  if (time?.telemetry.isTimed !== true) return call();
  const sinceMs = time.clock.monotonicMs();
  const answer = await call();
  time.telemetry.noteTime('commit', time.clock.monotonicMs() - sinceMs);
  return answer;
}

/** Describes the problem if the stored entries of a call are not the appended ones. They are read again. */
export async function findAlteration(stored: StoredCall | undefined): Promise<string | undefined> {
  try {
    return await stored?.findAlteration?.();
  } catch (error) {
    throw new LedgerTrouble(error);
  }
}

/** A store may throw before it returns a promise. Not `async`: thousands of callers may wait for a change. */
function orRaise(call: () => unknown): Promise<unknown> {
  try {
    return Promise.resolve(call()).catch(raise);
  } catch (error) {
    return Promise.reject(new LedgerTrouble(error));
  }
}

const raise = (error: unknown): never => {
  throw new LedgerTrouble(error);
};

/** Runs a request of the host other than a call. A failure of the ledger becomes an error that states what to do. */
export async function orUnavailable<Result>(asked: Promise<Result>): Promise<Result> {
  try {
    return await asked;
  } catch (error) {
    if (!(error instanceof LedgerTrouble)) throw error;
    // An error of the ledger itself, e.g. that it was closed, is more specific.
    if (isQuittanceError(error.cause)) throw error.cause;
    throw new QuittanceError(
      'ledger.unavailable',
      `The ledger failed, so nothing was changed; retry: ${error.message}`,
      {},
      error,
    );
  }
}

/** Measures how long entries take to be stored. */
type CommitTime = { readonly telemetry: SafeTelemetry; readonly clock: Clock };

/**
 * Delays appends until the positions of new behaviors are stored. So a behavior gets every event stored after its
 * registration, even if the process is killed before the behavior has read anything.
 */
export class AppendGate {
  /** Resolves when appends may start. Undefined if they may start at once, as nearly always. */
  opening: Promise<unknown> | undefined;

  /** Appends wait until this is settled. */
  closeUntil(opened: Promise<void>): void {
    const opening = Promise.all([this.opening, opened]).finally(() => {
      if (this.opening === opening) this.opening = undefined;
    });
    this.opening = opening;
  }
}

type CallRef = Pick<Call, 'sessionId' | 'callId' | 'turnId'>;

export type FailedWrite = {
  readonly call: CallRef;
  readonly depth: number | undefined;
  readonly boundary: PersistenceBoundary;
  /** Redacted, because it is stored. */
  readonly error: string;
  /** The result that could not be stored, in its stored form. Undefined if nothing ran. */
  readonly result?: JsonValue | undefined;
  /** A late result that has to be stored as well. */
  readonly late?: (Command & { readonly type: 'add_late' }) | undefined;
};

/** A failed write of a call that the ledger never stored. */
export type RefusedWrite = Pick<FailedWrite, 'call' | 'depth'> & {
  /** The event for which a behavior made the call. */
  readonly cause: string | undefined;
  readonly refusal: Pick<
    CallNotAccepted,
    'toolName' | 'mode' | 'modeOrigin' | 'principal' | 'boundary' | 'error' | 'failedAt'
  >;
};

export type Unlisted = Pick<FailedWritesUnlisted, 'count' | 'firstAt' | 'lastAt' | 'error'>;

/** The limit of each kind: writes of stored calls, and of refused calls. */
const mostWaiting = 1_000;

/**
 * The writes that the ledger could not store, in the order they failed. They are recorded once it accepts writes again.
 *
 * 1. A failed write of a stored call is recorded as `persistence.failed` of that call. It does not change the call, so it
 *    is appended at any version.
 * 2. A call that the ledger never stored was refused. If the same id is used again first, that call is stored with the
 *    records of the earlier failures. Otherwise each failure is recorded as `call.not_accepted` of the session, which
 *    opens no call.
 * 3. Each failure is recorded once: it is removed before it is recorded, and put back if that fails.
 * 4. Memory is limited: the first failure per call and boundary, up to a total number. Further failures are counted.
 */
export class FailedWrites {
  readonly #waiting = new Map<string, FailedWrite>();
  /** Writes of calls that the ledger never stored, by call. */
  readonly #refused = new Map<string, readonly RefusedWrite[]>();
  readonly #now: () => number;
  #unlisted: Unlisted | undefined;
  /** True if a call was refused since the last try to record it. After a failed try, the timer retries. */
  isDue = false;
  /** Called when there is something to record. */
  onAdded: (() => void) | undefined;

  constructor(now: () => number) {
    this.#now = now;
  }

  get size(): number {
    return this.#waiting.size + this.#refused.size + (this.#unlisted === undefined ? 0 : 1);
  }

  /** True if there are failed writes of stored calls. */
  get hasWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  add(write: FailedWrite): void {
    const key = `${keyOf(write.call)} ${write.boundary}${write.late === undefined ? '' : ' late'}`;
    if (this.#waiting.has(key)) return;
    if (this.#waiting.size < mostWaiting) this.#waiting.set(key, write);
    else this.#count(write.error, this.#now());
    this.onAdded?.();
  }

  refuse(write: RefusedWrite): void {
    this.isDue = true;
    this.putBack(write);
  }

  /** Puts a write back for the next try. */
  putBack(write: RefusedWrite): void {
    const key = keyOf(write.call);
    const before = this.#refused.get(key) ?? [];
    const { boundary, failedAt, error } = write.refusal;
    if (before.some(({ refusal }) => refusal.boundary === boundary)) return;
    if (before.length > 0 || this.#refused.size < mostWaiting) this.#refused.set(key, [...before, write]);
    else this.#count(error, failedAt);
    this.onAdded?.();
  }

  /** Counts failed writes that are not listed one by one. */
  count(more: Unlisted): void {
    const before = this.#unlisted;
    this.#unlisted =
      before === undefined
        ? more
        : {
            count: before.count + more.count,
            firstAt: Math.min(before.firstAt, more.firstAt),
            lastAt: Math.max(before.lastAt, more.lastAt),
            error: before.error,
          };
  }

  #count(error: string, at: number): void {
    this.count({ count: 1, firstAt: at, lastAt: at, error });
  }

  /** Commands that are stored with a call that was refused before. */
  commandsFor(call: CallRef): readonly Command[] {
    if (this.#refused.size === 0) return [];
    return (this.#refused.get(keyOf(call)) ?? []).map(({ refusal: { boundary, error } }) =>
      toFailureCommand({ boundary, error }),
    );
  }

  /** The call and its earlier failures are stored. */
  forget(call: CallRef): void {
    if (this.#refused.size > 0) this.#refused.delete(keyOf(call));
  }

  entries(): readonly (readonly [key: string, write: FailedWrite])[] {
    return [...this.#waiting];
  }

  delete(key: string): void {
    this.#waiting.delete(key);
  }

  /** Takes out the writes to record now. Active calls are skipped: they may store theirs themselves. */
  takeRefused(isActive: (call: CallRef) => boolean): RefusedWrite[] {
    this.isDue = false;
    const taken: RefusedWrite[] = [];
    for (const [key, writes] of this.#refused) {
      if (writes.some(({ call }) => isActive(call))) continue;
      taken.push(...writes);
      this.#refused.delete(key);
    }
    return taken;
  }

  takeUnlisted(): Unlisted | undefined {
    const taken = this.#unlisted;
    this.#unlisted = undefined;
    return taken;
  }
}

export const toFailureCommand = ({
  boundary,
  error,
  result,
}: Pick<FailedWrite, 'boundary' | 'error' | 'result'>): Command => ({
  type: 'fail_to_persist',
  boundary,
  error,
  keptIn: 'nowhere',
  ...(result !== undefined && { result }),
});

const keyOf = ({ sessionId, callId }: CallRef): string => JSON.stringify([sessionId, callId]);

/**
 * Wraps a ledger generically, so that a new member needs no code here. Calls that a wrapper does not change reach the
 * ledger with the same arguments.
 */

/** Called instead of a method that reads or writes. `member` is its name, for example `append` or `spill.write`. `call` makes the original call. */
export type AroundCall = (member: string, call: () => unknown) => unknown;

/** The same ledger, with every call of a method passed through `around`. */
export const wrapLedger = (ledger: OpenLedger, around: AroundCall): OpenLedger => wrap(ledger, '', around);

/** Members that have methods of their own. */
const nested: ReadonlySet<string> = new Set(['spill', 'documents']);

/** Functions that neither read nor write entries. */
const direct: ReadonlySet<string> = new Set(['now', 'watchTrouble', 'readSealKey', 'close']);

/**
 * Members are read when they are used, because a ledger that is opened with its first use has some of them only then. A
 * function or an object is replaced once. The target is empty, so that a frozen object may be wrapped.
 */
function wrap<Whole extends object>(whole: Whole, prefix: string, around: AroundCall): Whole {
  const replaced = new Map<unknown, unknown>();
  const replace = (value: object, member: string): unknown => {
    if (typeof value === 'function')
      return (...input: unknown[]): unknown => {
        const call = (): unknown => Reflect.apply(value as () => unknown, whole, input);
        return direct.has(member) ? call() : around(prefix + member, call);
      };
    return nested.has(member) ? wrap(value, `${member}.`, around) : value;
  };
  const target = {} as Whole; // the proxy answers for every member
  return new Proxy(target, {
    has: (_target, member) => Reflect.has(whole, member),
    get(_target, member) {
      const value: unknown = Reflect.get(whole, member);
      if (typeof member === 'symbol' || value === null) return value;
      if (typeof value !== 'function' && typeof value !== 'object') return value;
      let replacement = replaced.get(value);
      if (replacement === undefined) {
        replacement = replace(value, member);
        replaced.set(value, replacement);
      }
      return replacement;
    },
  });
}
