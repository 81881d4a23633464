/**
 * Reads the ledger for requests.
 *
 * 1. Small reads run on this thread at once, within an allowance per caller.
 * 2. Everything else is read in a thread of lower priority, a few readings at a time, callers taking turns.
 * 3. Counts that many callers ask for are made once and shared for a moment.
 *
 * A thread cannot read a ledger in memory. All its reads run on this thread, in slices.
 */
import { Worker } from 'node:worker_threads';
import { QuittanceError } from '../base/error.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Actor } from './actor.ts';
import { Allowance } from './allowance.ts';
import type { Answered } from './answered.ts';
import { toResponse } from './answered.ts';
import type { ReadLimits } from './bounded-reads.ts';
import { BoundedReads } from './bounded-reads.ts';
import { FairQueue } from './fair-queue.ts';
import { HttpRefusal } from './problem.ts';
import type { ReaderThreadAnswer, ReaderThreadData, ReaderThreadOrder } from './reader-thread.ts';
import { answerReading } from './reader-thread.ts';
import type { AnswerOf, InputOf, ReadingName } from './readings.ts';
import { Remembered } from './remembered.ts';

export type Asker = {
  readonly actor: Pick<Actor, 'name'>;
  readonly headers: Headers;
  readonly signal: AbortSignal;
};

export type ReadingOptions = {
  /** Estimated milliseconds on this thread. Without it, the reading never runs here. */
  readonly costOf?: number | undefined;
  /** May the answer be a moment old? */
  readonly isRemembered?: boolean;
};

export type ReaderOptions = {
  readonly ledger: Ledger;
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

type Waiting = {
  readonly resolve: (answer: ReaderThreadAnswer) => void;
  readonly reject: (error: unknown) => void;
};

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
  readonly #waiting = new Map<number, Waiting>();
  #worker: Promise<Worker> | undefined;
  #lastId = 0;
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
    const worker = await this.#worker?.catch(() => undefined);
    if (worker === undefined) return;
    worker.ref();
    const ended = new Promise((resolve) => worker.once('exit', resolve));
    worker.postMessage('end');
    let timer: NodeJS.Timeout | undefined;
    await Promise.race([ended, new Promise((resolve) => (timer = setTimeout(resolve, endingMs)))]);
    clearTimeout(timer);
    worker.unref();
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
  ): Promise<ReaderThreadAnswer> {
    if (this.#isClosed) throw new HttpRefusal('http.not_available', 'The server is closing.');
    this.#worker ??= this.#start(ledgerUrl);
    const worker = await this.#worker;
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      worker.ref();
      worker.postMessage({ id, name, input, now: this.#options.ledger.now() } satisfies ReaderThreadOrder);
    });
  }

  async #start(ledgerUrl: string): Promise<Worker> {
    const { ledger, limits, answerBytes } = this.#options;
    // Creates the read tables if they do not exist: the thread may not do that.
    await ledger.queries.findCalls({ limit: 1 });
    // The package has the thread as JavaScript next to this file; the sources have it as TypeScript.
    const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'));
    const worker = new Worker(new URL(`./reader-thread${extension}`, import.meta.url), {
      workerData: { ledgerUrl, limits, answerBytes } satisfies ReaderThreadData,
      execArgv: ['--disable-warning=ExperimentalWarning'],
      resourceLimits: { maxOldGenerationSizeMb: memoryMb, maxYoungGenerationSizeMb: 16 },
    });
    worker.on('message', (answer: ReaderThreadAnswer) => {
      const waiting = this.#waiting.get(answer.id);
      this.#waiting.delete(answer.id);
      if (this.#waiting.size === 0 && !this.#isClosed) worker.unref();
      waiting?.resolve(answer);
    });
    worker.on('error', (error) => this.#lose(error));
    worker.on('exit', () => this.#lose(new Error('The thread that reads the ledger ended.')));
    return worker;
  }

  /** Refuses the requests that the thread worked for. The next request gets another thread. */
  #lose(error: unknown): void {
    const lost = [...this.#waiting.values()];
    this.#worker = undefined;
    this.#waiting.clear();
    const isMemory = error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
    for (const { reject } of lost)
      reject(
        isMemory
          ? new HttpRefusal(
              'http.too_large',
              `Reading this takes more than ${memoryMb} MB of memory. Ask for less.`,
            )
          : error,
      );
  }

  #note(failure: string | undefined): void {
    if (failure !== undefined) this.#options.onError(new Error(failure));
  }
}
