/**
 * Reads the ledger for requests.
 *
 * 1. Small reads run on this thread at once, within an allowance per caller.
 * 2. Everything else is read in a thread of lower priority, a few readings at a time, callers taking turns.
 * 3. Counts that many callers ask for are made once and shared for a moment.
 *
 * A thread cannot read a ledger in memory. All its reads run on this thread, in slices.
 */
import { QuittanceError } from 'quittance/internal/base/error';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import type { Actor } from './actor.ts';
import { Allowance } from './allowance.ts';
import type { Answered } from './answered.ts';
import { toResponse } from './answered.ts';
import type { ReadLimits } from './bounded-reads.ts';
import { BoundedReads } from './bounded-reads.ts';
import { FairQueue } from './fair-queue.ts';
import { HttpRefusal } from './problem.ts';
import { behindServer } from 'quittance/internal/threads/priority';
import { TaskThread, isOutOfMemory, taskModule } from 'quittance/internal/threads/task-thread';
import type { ReaderAnswer, ReaderData, ReaderOrder } from './reader-task.ts';
import { answerReading } from './reader-task.ts';
import type { AnswerOf, InputOf, ReadingName } from './readings.ts';
import { findCalls } from 'quittance/internal/ledger/reads';

export type Asker = {
  readonly actor: Pick<Actor, 'name'>;
  readonly headers: Headers;
  readonly signal: AbortSignal;
};

type ReadingOptions = {
  /** Estimated milliseconds on this thread. Without it, the reading never runs here. */
  readonly costOf?: number | undefined;
  /** May the answer be a moment old? */
  readonly isRemembered?: boolean;
};

type ReaderOptions = {
  readonly ledger: OpenLedger;
  readonly ledgerUrl: string | undefined;
  readonly limits: ReadLimits;
  readonly answerBytes: number;
  readonly onError: (error: unknown) => void;
};

/** Limits for readings on this thread. */
const limitsHere: ReadLimits = { callBytes: 65_536, totalBytes: 262_144, timeMs: 1_000 };
const answerBytesHere = 1_048_576;
/** In estimated milliseconds of this thread, per caller. */
const allowanceHere = { perSecond: 100, burst: 200 };
const memoryMb = 256;
const mostRememberedBytes = 262_144;
const endingMs = 5_000;

type ReaderThread = TaskThread<ReaderOrder, ReaderAnswer>;

export class Reader {
  readonly #options: ReaderOptions;
  readonly #allowance = new Allowance(allowanceHere);
  readonly #queue = new FairQueue('much to be read', {
    running: 4,
    waiting: 512,
    waitingPerCaller: 64,
    restAfterMs: 50,
    restTimes: 2,
  });
  readonly #remembered = new Remembered<Answered>({
    freshMs: 1_000,
    staleMs: 3_000,
    most: 100,
    mostPerCaller: 10,
  });
  #thread: Promise<ReaderThread> | undefined;
  #isClosed = false;

  constructor(options: ReaderOptions) {
    this.#options = options;
  }

  /** How many readings wait for their turn. */
  get waiting(): number {
    return this.#queue.waiting;
  }

  /** The answer to a request. */
  async answer<Name extends ReadingName>(
    name: Name,
    input: InputOf<Name>,
    asker: Asker,
    options: ReadingOptions = {},
  ): Promise<Response> {
    return toResponse(await this.#read(name, input, asker, options), asker.headers);
  }

  /** The answer as a value, for further processing. Throws its refusal. */
  async value<Name extends ReadingName>(
    name: Name,
    input: InputOf<Name>,
    asker: Asker,
    options: ReadingOptions = {},
  ): Promise<AnswerOf<Name>> {
    const { status, bytes, headers } = await this.#read(name, input, asker, options);
    const text = new TextDecoder().decode(bytes);
    if (status === 200) return JSON.parse(text) as AnswerOf<Name>; // written by the reading of this name
    const { code, detail } = JSON.parse(text) as { code: string; detail: string };
    throw code.startsWith('http.')
      ? new HttpRefusal(code as HttpRefusal['code'], detail, {}, headers)
      : new QuittanceError(code as QuittanceError['code'], detail);
  }

  /** Waits until the thread has ended by itself. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const thread = await this.#thread?.catch(() => undefined);
    if (thread === undefined) return;
    let timer: NodeJS.Timeout | undefined;
    await Promise.race([thread.end(), new Promise((resolve) => (timer = setTimeout(resolve, endingMs)))]);
    clearTimeout(timer);
  }

  async #read<Name extends ReadingName>(
    name: Name,
    input: InputOf<Name>,
    asker: Asker,
    { costOf, isRemembered = false }: ReadingOptions,
  ): Promise<Answered> {
    const { actor, signal } = asker;
    if (!isRemembered)
      return (
        (costOf === undefined ? undefined : await this.#readHere(name, input, actor.name, costOf)) ??
        this.#readThere(name, input, actor.name, signal)
      );
    const key = JSON.stringify([name, input]);
    // Others may wait for the same answer, so it continues when this caller is gone.
    const make = (): Promise<Answered> => this.#readThere(name, input, actor.name, undefined);
    return this.#remembered.get(
      key,
      actor.name,
      make,
      ({ status, bytes }) => status === 200 && bytes.byteLength <= mostRememberedBytes,
    );
  }

  /** Undefined if it is too much to read here. */
  async #readHere<Name extends ReadingName>(
    name: Name,
    input: InputOf<Name>,
    caller: string,
    costOf: number,
  ): Promise<Answered | undefined> {
    if (this.#options.ledgerUrl === undefined || !this.#allowance.take(caller, costOf)) return undefined;
    const reads = new BoundedReads(this.#options.ledger, limitsHere);
    const { answered, failure } = await answerReading(reads, { name, input }, answerBytesHere);
    if (answered.status === 413) return undefined;
    this.#note(failure);
    return answered;
  }

  #readThere<Name extends ReadingName>(
    name: Name,
    input: InputOf<Name>,
    caller: string,
    signal: AbortSignal | undefined,
  ): Promise<Answered> {
    const { ledger, ledgerUrl, limits, answerBytes } = this.#options;
    return this.#queue.run(caller, signal, async () => {
      const { answered, failure } =
        ledgerUrl === undefined
          ? await answerReading(new BoundedReads(ledger, limits), { name, input }, answerBytes)
          : await this.#order(ledgerUrl, name, input);
      this.#note(failure);
      return answered;
    });
  }

  async #order<Name extends ReadingName>(
    ledgerUrl: string,
    name: Name,
    input: InputOf<Name>,
  ): Promise<ReaderAnswer> {
    if (this.#isClosed) throw new HttpRefusal('http.not_available', 'The server is closing.');
    const thread = await this.#liveThread(ledgerUrl);
    try {
      return await thread.order({ name, input, now: this.#options.ledger.now() });
    } catch (error) {
      throw isOutOfMemory(error)
        ? new HttpRefusal(
            'http.too_large',
            `Reading this takes more than ${memoryMb} MB of memory. Ask for less.`,
          )
        : error;
    }
  }

  /** A thread that was lost is replaced by the next reading. */
  async #liveThread(ledgerUrl: string): Promise<ReaderThread> {
    const known = this.#thread;
    const thread = await known?.catch(() => undefined);
    if (thread?.isAlive !== true && this.#thread === known) this.#thread = this.#start(ledgerUrl);
    return this.#thread as Promise<ReaderThread>; // just started, by this reading or another
  }

  async #start(ledgerUrl: string): Promise<ReaderThread> {
    const { ledger, limits, answerBytes } = this.#options;
    // Creates the read tables if they do not exist: the thread may not do that.
    await findCalls(ledger, { limit: 1 });
    return new TaskThread({
      module: taskModule('reader-task', import.meta.url),
      data: { ledgerUrl, limits, answerBytes } satisfies ReaderData,
      niceness: behindServer,
      memory: { maxOldGenerationSizeMb: memoryMb, maxYoungGenerationSizeMb: 16 },
    });
  }

  #note(failure: string | undefined): void {
    if (failure !== undefined) this.#options.onError(new Error(failure));
  }
}

/**
 * A cache for expensive answers that may be a moment old. Callers share them. A slightly older answer is served once more
 * while the next one is made, so that no caller waits.
 */
type Kept<Answer> = {
  readonly atMs: number;
  readonly owner: string;
  answer: Promise<Answer>;
  isDue: boolean;
};

type RememberedLimits = {
  readonly freshMs: number;
  readonly staleMs: number;
  readonly most: number;
  /** Per caller: a caller with a thousand different requests evicts only its own answers. */
  readonly mostPerCaller: number;
};

export class Remembered<Answer> {
  readonly #limits: RememberedLimits;
  readonly #kept = new Map<string, Kept<Answer>>();

  constructor(limits: RememberedLimits) {
    this.#limits = limits;
  }

  /** `mayKeep`: is an answer small enough for the cache? */
  get(
    key: string,
    owner: string,
    make: () => Promise<Answer>,
    mayKeep: (answer: Answer) => boolean,
  ): Promise<Answer> {
    const known = this.#kept.get(key);
    const ageMs = known === undefined ? Number.POSITIVE_INFINITY : performance.now() - known.atMs;
    if (known !== undefined && ageMs < this.#limits.freshMs) return known.answer;
    if (known !== undefined && ageMs < this.#limits.staleMs) {
      if (known.isDue) return known.answer;
      known.isDue = true;
      this.#keep(key, owner, make(), mayKeep, known);
      return known.answer;
    }
    const answer = make();
    this.#keep(key, owner, answer, mayKeep, undefined);
    return answer;
  }

  /** An older answer stays until the next one is ready. */
  #keep(
    key: string,
    owner: string,
    answer: Promise<Answer>,
    mayKeep: (answer: Answer) => boolean,
    older: Kept<Answer> | undefined,
  ): void {
    const kept = { atMs: performance.now(), owner, answer, isDue: false };
    const put = (): void => {
      this.#kept.delete(key);
      this.#kept.set(key, kept);
      this.#forget(owner);
    };
    if (older === undefined) put();
    answer.then(
      (given) => {
        if (!mayKeep(given)) this.#drop(key, older ?? kept);
        else if (older !== undefined && this.#kept.get(key) === older) put();
      },
      () => this.#drop(key, older ?? kept),
    );
  }

  #drop(key: string, kept: Kept<Answer>): void {
    if (this.#kept.get(key) === kept) this.#kept.delete(key);
  }

  #forget(owner: string): void {
    const own = [...this.#kept].filter(([, each]) => each.owner === owner).map(([key]) => key);
    for (const key of own.slice(0, Math.max(0, own.length - this.#limits.mostPerCaller)))
      this.#kept.delete(key);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= this.#limits.most) return;
      this.#kept.delete(oldest);
    }
  }
}
