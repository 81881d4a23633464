/** Exports of the ledger, a few at a time, each in its own thread. */
import { QuittanceError } from 'quittance/internal/base/error';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import { exportLedger } from 'quittance/internal/replay/export-ledger';
import { behindServer } from 'quittance/internal/threads/priority';
import { TaskThread, taskModule } from 'quittance/internal/threads/task-thread';
import type { ExportAnswer, ExportData, ExportOrder } from './export-task.ts';
import { HttpRefusal } from './problem.ts';
import { readHeads } from 'quittance/internal/ledger/reads';

const mostAtOnce = 2;
/** The memory for one entry. Writing an entry takes several times its size. */
const largestEntryBytes = 8_388_608;
const memoryMb = 112;

type Options = {
  readonly ledger: OpenLedger;
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
    const sessions = sessionId === undefined ? undefined : await readHeads(ledger, sessionId);
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
  about: Omit<ExportData, 'entryBytes'>,
  signal: AbortSignal,
): Promise<AsyncGenerator<string, void, undefined>> {
  const thread = new TaskThread<ExportOrder, ExportAnswer>({
    module: taskModule('export-task', import.meta.url),
    data: { entryBytes: largestEntryBytes, ...about } satisfies ExportData,
    niceness: behindServer,
    memory: { maxOldGenerationSizeMb: memoryMb, maxYoungGenerationSizeMb: 8 },
  });
  const end = (): void => void thread.end();
  if (signal.aborted) end();
  else signal.addEventListener('abort', end, { once: true });
  const first = await thread.order('open', { signal });
  if (first.type !== 'ready') throw refusalOf(first);
  return (async function* pieces() {
    for (;;) {
      const answer = await thread.order('next', { signal });
      if (answer.type === 'end') return;
      if (answer.type !== 'piece') throw refusalOf(answer);
      yield answer.text;
    }
  })();
}

function refusalOf(message: ExportAnswer): Error {
  switch (message.type) {
    case 'unknown':
      return unknownSession();
    case 'too_large':
      return new HttpRefusal(
        'http.too_large',
        `The entry at position ${message.position} has ${message.bytes} bytes, and entries of at most ${largestEntryBytes} are exported over HTTP. \`quittance export\` on the machine of the ledger has no such limit.`,
        { bytes: String(message.bytes), most: String(largestEntryBytes) },
      );
    case 'ready':
    case 'piece':
    case 'end':
      return new QuittanceError('ledger.unavailable', 'The export could not be written to its end.');
  }
}

const unknownSession = (): HttpRefusal =>
  new HttpRefusal('http.not_found', 'There is no such session. GET /v1/sessions lists them.');
