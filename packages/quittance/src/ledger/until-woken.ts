/**
 * A caller that waits for a change of a store. Thousands may wait for days, so a waiter is one object: it hears the abort of
 * its signal itself.
 */
export class Waiter<Awaited = undefined> {
  readonly awaited: Awaited;
  readonly #among: Waiters<Awaited>;
  readonly #signal: AbortSignal | undefined;
  readonly #resolve: () => void;
  readonly #reject: (error: unknown) => void;

  constructor(
    among: Waiters<Awaited>,
    awaited: Awaited,
    signal: AbortSignal | undefined,
    resolve: () => void,
    reject: (error: unknown) => void,
  ) {
    this.awaited = awaited;
    this.#among = among;
    this.#signal = signal;
    this.#resolve = resolve;
    this.#reject = reject;
    among.add(this);
    signal?.addEventListener('abort', this, { once: true });
  }

  resolve(): void {
    this.#signal?.removeEventListener('abort', this);
    this.#resolve();
  }

  reject(error: unknown): void {
    this.#signal?.removeEventListener('abort', this);
    this.#reject(error);
  }

  /** The signal aborts. */
  handleEvent(): void {
    this.#among.delete(this);
    this.#resolve();
  }
}

/** The waiters of a store. A `Set` is one. */
export interface Waiters<Awaited> {
  add(waiter: Waiter<Awaited>): unknown;
  delete(waiter: Waiter<Awaited>): unknown;
}

/**
 * Waits until a store wakes the waiter, or until the signal aborts. Then the waiter is removed. Otherwise a server with many
 * short-lived clients would keep one waiter for each of them until the next change.
 */
export const untilWoken = <Awaited>(
  among: Waiters<Awaited>,
  awaited: Awaited,
  signal?: AbortSignal,
): Promise<void> =>
  signal?.aborted === true
    ? Promise.resolve()
    : new Promise((resolve, reject) => void new Waiter(among, awaited, signal, resolve, reject));

type AwaitedCall = { readonly sessionId: string; readonly callId: string; readonly version: number };

/** Callers that wait for another version of a call, or for an entry after a position. */
export class ChangeWaiters {
  /** By call: most calls have one waiter. */
  readonly #calls = new Map<string, readonly Waiter<AwaitedCall>[]>();
  readonly #ends = new Set<Waiter<number>>();

  get isEmpty(): boolean {
    return this.#calls.size === 0 && this.#ends.size === 0;
  }

  get hasEnds(): boolean {
    return this.#ends.size > 0;
  }

  /** The waiters of each call, as they are now. */
  get calls(): readonly (readonly Waiter<AwaitedCall>[])[] {
    return [...this.#calls.values()];
  }

  untilCall(awaited: AwaitedCall, signal?: AbortSignal): Promise<void> {
    return untilWoken(this, awaited, signal);
  }

  untilAfter(position: number, signal?: AbortSignal): Promise<void> {
    return untilWoken(this.#ends, position, signal);
  }

  add(waiter: Waiter<AwaitedCall>): void {
    const key = keyOf(waiter.awaited);
    this.#calls.set(key, [...(this.#calls.get(key) ?? []), waiter]);
  }

  delete(waiter: Waiter<AwaitedCall>): void {
    this.#keep(waiter.awaited, (other) => other !== waiter);
  }

  /** The call has this version now. */
  tellCall(call: AwaitedCall): void {
    this.tell(this.#calls.get(keyOf(call)) ?? [], call.version);
  }

  /** Some waiters of one call: it had this version after they began to wait; 0 if there is no such call. */
  tell(waiters: readonly Waiter<AwaitedCall>[], version: number): void {
    const [first] = waiters;
    if (first === undefined) return;
    const woken = new Set(waiters.filter(({ awaited }) => version === 0 || awaited.version !== version));
    if (woken.size > 0) this.#keep(first.awaited, (waiter) => !woken.has(waiter));
    for (const waiter of woken) waiter.resolve();
  }

  /** The last entry is at this position now. */
  tellEnd(position: number): void {
    for (const waiter of this.#ends) {
      if (position <= waiter.awaited) continue;
      this.#ends.delete(waiter);
      waiter.resolve();
    }
  }

  rejectAll(error: unknown): void {
    const waiters = [...[...this.#calls.values()].flat(), ...this.#ends];
    this.#calls.clear();
    this.#ends.clear();
    for (const waiter of waiters) waiter.reject(error);
  }

  #keep(call: AwaitedCall, isKept: (waiter: Waiter<AwaitedCall>) => boolean): void {
    const key = keyOf(call);
    const waiters = this.#calls.get(key)?.filter(isKept) ?? [];
    if (waiters.length === 0) this.#calls.delete(key);
    else this.#calls.set(key, waiters);
  }
}

const keyOf = ({ sessionId, callId }: AwaitedCall): string => `${sessionId.length}:${sessionId}${callId}`;
