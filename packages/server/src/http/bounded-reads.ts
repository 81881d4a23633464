/**
 * The reads of one request, within limits: bytes per call, bytes in total, and time. Other requests run in between.
 */
import { QuittanceError } from 'quittance/internal/base/error';
import type { StoredCall } from 'quittance/internal/ledger/journal';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import { HttpRefusal } from './problem.ts';
import { startThreadClock } from 'quittance/internal/threads/thread-clock';
import { measureStoredCall } from 'quittance/internal/ledger/reads';

export type ReadLimits = {
  readonly callBytes: number;
  readonly totalBytes: number;
  /** Of work: see thread-time.ts. */
  readonly timeMs: number;
};

/** After reading this much, other requests run. */
const sliceBytes = 131_072;
const sliceReads = 20;
/** Calls that are measured together. */
const callsAtOnce = 100;

export type CallRef = { readonly sessionId: string; readonly callId: string };
export type LargeCall = CallRef & { readonly bytes: number };

export class BoundedReads {
  readonly ledger: OpenLedger;
  readonly limits: ReadLimits;
  readonly #takenMs = startThreadClock();
  #bytes = 0;
  #slice = 0;
  #reads = 0;
  #pauses = 0;

  constructor(ledger: OpenLedger, limits: ReadLimits) {
    this.ledger = ledger;
    this.limits = limits;
  }

  /** Has this request read as much as it may? Then the page ends. */
  get isSpent(): boolean {
    return this.#bytes >= this.limits.totalBytes;
  }

  /** How often other requests could run. */
  get pauses(): number {
    return this.#pauses;
  }

  /** One call, or `large` if it is larger than a request may read. */
  async call({ sessionId, callId }: CallRef): Promise<StoredCall | 'large' | undefined> {
    const bytes = await measureStoredCall(this.ledger, sessionId, callId);
    if (bytes > this.limits.callBytes) return 'large';
    await this.spend(bytes);
    return this.ledger.readCall(sessionId, callId);
  }

  /** Several calls, in the order of the references. A store that can read them together needs one round trip. */
  async calls(refs: readonly CallRef[]): Promise<readonly (StoredCall | 'large' | undefined)[]> {
    const { ledger } = this;
    const found: (StoredCall | 'large' | undefined)[] = [];
    for (let start = 0; start < refs.length; start += callsAtOnce) {
      const some = refs.slice(start, start + callsAtOnce);
      const sizes = await Promise.all(
        some.map(async ({ sessionId, callId }) => measureStoredCall(ledger, sessionId, callId)),
      );
      for (let from = 0; from < some.length;) {
        // As many as fit into a slice, and at least one.
        let [to, bytes] = [from, 0];
        while (to < some.length && (to === from || bytes + this.#readable(sizes[to]) <= sliceBytes))
          bytes += this.#readable(sizes[to++]);
        await this.spend(bytes);
        const read = some.slice(from, to).map(async ({ sessionId, callId }, index) => {
          const isLarge = (sizes[from + index] ?? 0) > this.limits.callBytes;
          return isLarge ? ('large' as const) : ledger.readCall(sessionId, callId);
        });
        found.push(...(await Promise.all(read)));
        from = to;
      }
    }
    return found;
  }

  /** A large call is not read. */
  #readable(bytes = 0): number {
    return bytes > this.limits.callBytes ? 0 : bytes;
  }

  /** Throws if the call does not exist or is too large to read over HTTP. */
  async needCall(ref: CallRef): Promise<StoredCall> {
    const stored = await this.call(ref);
    if (stored === 'large') throw tooLarge(await this.sizeOf(ref), this.limits.callBytes);
    if (stored !== undefined) return stored;
    throw new QuittanceError(
      'call.unknown',
      `The session ${JSON.stringify(ref.sessionId.slice(0, 200))} has no call ${JSON.stringify(ref.callId.slice(0, 200))}.`,
      ref,
    );
  }

  async sizeOf(ref: CallRef): Promise<LargeCall> {
    return { ...ref, bytes: await measureStoredCall(this.ledger, ref.sessionId, ref.callId) };
  }

  /** Counts bytes that are about to be read. */
  async spend(bytes: number): Promise<void> {
    this.#bytes += bytes;
    this.#slice += bytes;
    if (++this.#reads % sliceReads === 0 || this.#slice > sliceBytes) await this.pause();
  }

  /** Lets other requests run. Throws if the time is up. */
  async pause(): Promise<void> {
    this.#slice = 0;
    this.#pauses++;
    const { timeMs } = this.limits;
    if (this.#takenMs() > timeMs)
      throw new HttpRefusal(
        'http.too_large',
        `Reading this takes longer than ${timeMs} ms. Ask for less: a shorter span of time, a smaller limit or other filters.`,
      );
    await new Promise(setImmediate);
  }
}

const tooLarge = ({ callId, bytes }: LargeCall, most: number): HttpRefusal =>
  new HttpRefusal(
    'http.too_large',
    `Call ${JSON.stringify(callId.slice(0, 200))} has ${bytes} bytes in the ledger, and at most ${most} are answered over HTTP. \`quittance show\` shows all of it on the machine of the ledger.`,
    { bytes: String(bytes), most: String(most) },
  );
