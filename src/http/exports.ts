/** Exports of the ledger, a few at a time, each in its own thread. */
import { Worker } from 'node:worker_threads';
import { QuittanceError } from '../base/error.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { exportLedger } from '../replay/export-ledger.ts';
import { fromSent } from './contract-work.ts';
import type { ExportThreadData, ExportThreadMessage } from './export-thread.ts';
import { HttpRefusal } from './problem.ts';

const mostAtOnce = 2;
/** The memory for one entry. Writing an entry takes several times its size. */
const largestEntryBytes = 8_388_608;
const memoryMb = 112;

type Options = {
  readonly ledger: Ledger;
  /** Without a URL the ledger is in memory and is read on this thread, in slices. */
  readonly ledgerUrl: string | undefined;
  readonly toolVersion: string;
};

export class Exports {
  readonly #options: Options;
  #running = 0;

  constructor(options: Options) {
    this.#options = options;
  }

  /** Starts an export. Throws 404, 413 or 429 if it cannot be written. */
  async start(sessionId: string | undefined, signal: AbortSignal): Promise<StartedExport> {
    if (this.#running >= mostAtOnce)
      throw new HttpRefusal(
        'http.too_many_requests',
        `${mostAtOnce} exports are being written already. Try again when one has ended.`,
        {},
        { 'retry-after': '10' },
      );
    this.#running++;
    const stop = new AbortController();
    let isOver = false;
    const end = (): void => {
      if (isOver) return;
      isOver = true;
      this.#running--;
      signal.removeEventListener('abort', end);
      stop.abort();
    };
    signal.addEventListener('abort', end, { once: true });
    try {
      const text = await this.#open(sessionId, stop.signal);
      return {
        end,
        pieces(over) {
          over.addEventListener('abort', end, { once: true });
          return text;
        },
      };
    } catch (error) {
      end();
      throw error;
    }
  }

  async #open(
    sessionId: string | undefined,
    signal: AbortSignal,
  ): Promise<AsyncGenerator<string, void, undefined>> {
    const { ledger, ledgerUrl, toolVersion } = this.#options;
    if (ledgerUrl !== undefined)
      return inThread({ ledgerUrl, sessionId, toolVersion, now: ledger.now() }, signal);
    const sessions = sessionId === undefined ? undefined : await ledger.integrity.readHeads(sessionId);
    if (sessions?.length === 0) throw unknownSession();
    return (await exportLedger(ledger, { sessions, toolVersion, signal })).text;
  }
}

export type StartedExport = {
  /** The text, until its end or until the signal is aborted. */
  readonly pieces: (over: AbortSignal) => AsyncGenerator<string, void, undefined>;
  /** Stops the export. */
  readonly end: () => void;
};

async function inThread(
  about: Omit<ExportThreadData, 'kind' | 'entryBytes'>,
  signal: AbortSignal,
): Promise<AsyncGenerator<string, void, undefined>> {
  // The package has the thread as JavaScript next to this file; the sources have it as TypeScript.
  const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'));
  const worker = new Worker(new URL(`./export-thread${extension}`, import.meta.url), {
    workerData: { kind: 'export', entryBytes: largestEntryBytes, ...about } satisfies ExportThreadData,
    execArgv: ['--disable-warning=ExperimentalWarning'],
    resourceLimits: { maxOldGenerationSizeMb: memoryMb, maxYoungGenerationSizeMb: 8 },
  });
  const received: ExportThreadMessage[] = [];
  let failure: unknown;
  let wake: (() => void) | undefined;
  worker.on('message', (message: ExportThreadMessage) => {
    received.push(message);
    wake?.();
  });
  worker.on('error', (error) => {
    failure = error;
    wake?.();
  });
  worker.on('exit', () => {
    failure ??= new Error('The thread of the export ended early.');
    wake?.();
  });
  // Never terminate the thread: during a database read, that would end the process.
  const stop = (): void => {
    worker.postMessage('stop');
    wake?.();
  };
  if (signal.aborted) stop();
  else signal.addEventListener('abort', stop, { once: true });
  const receive = async (): Promise<ExportThreadMessage> => {
    for (;;) {
      const message = received.shift();
      if (message !== undefined) return message;
      if (failure !== undefined) throw failure;
      await new Promise<void>((resolve) => (wake = resolve));
    }
  };
  const first = await receive();
  if (first.type !== 'ready') throw refusalOf(first);
  return (async function* pieces() {
    for (;;) {
      worker.postMessage('next');
      const message = await receive();
      if (message.type === 'end') return;
      if (message.type !== 'piece') throw refusalOf(message);
      yield message.text;
    }
  })();
}

function refusalOf(message: ExportThreadMessage): Error {
  switch (message.type) {
    case 'unknown':
      return unknownSession();
    case 'too_large':
      return new HttpRefusal(
        'http.too_large',
        `The entry at position ${message.position} has ${message.bytes} bytes, and entries of at most ${largestEntryBytes} are exported over HTTP. \`quittance export\` on the machine of the ledger has no such limit.`,
        { bytes: String(message.bytes), most: String(largestEntryBytes) },
      );
    case 'failed':
      return message.error === undefined ? new Error(message.message) : fromSent(message.error);
    case 'ready':
    case 'piece':
    case 'end':
      return new QuittanceError('ledger.unavailable', 'The export could not be written to its end.');
  }
}

const unknownSession = (): HttpRefusal =>
  new HttpRefusal('http.not_found', 'There is no such session. GET /v1/sessions lists them.');
