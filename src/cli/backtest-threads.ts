/** Runs a backtest in threads. Sessions are independent, so each thread takes a batch of them at a time. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Ledger } from '../ledger/ledger.ts';
import { sessionsOf } from '../replay/backtest.ts';
import type { BacktestReport } from '../replay/backtest-report.ts';
import { BacktestTally } from '../replay/backtest-tally.ts';
import type { BacktestThreadAnswer, BacktestThreadData, BacktestThreadOrder } from './backtest-thread.ts';

export type ThreadsOptions = BacktestThreadData & {
  readonly policyVersion: string;
  readonly threads: number;
  readonly signal: AbortSignal;
  readonly onProgress: (calls: number) => void;
};

/** Calls per batch: large enough to justify a message, small enough for an even load. */
const callsAtOnce = 2_000;
const sessionsAtOnce = 500;

export async function backtestInThreads(
  ledger: Pick<Ledger, 'queries'>,
  options: ThreadsOptions,
): Promise<BacktestReport> {
  const { policyVersion, threads, signal, onProgress, ...data } = options;
  const tally = new BacktestTally(policyVersion, data.samples);
  const batches = batchesOf(ledger, options);
  let isComplete = true;

  const run = async (): Promise<void> => {
    const worker = startThread(data);
    const stop = (): void => worker.postMessage('stop' satisfies BacktestThreadOrder);
    signal.addEventListener('abort', stop, { once: true });
    try {
      for (;;) {
        // A generator answers the threads one after the other, in order.
        const batch = signal.aborted ? undefined : await batches.next();
        if (batch === undefined || batch.done === true) break;
        const answered = once(worker, 'message') as Promise<[BacktestThreadAnswer]>;
        worker.postMessage(batch.value.sessionIds satisfies BacktestThreadOrder);
        const [report] = await answered;
        tally.merge(report);
        isComplete &&= report.complete;
        onProgress(batch.value.calls);
      }
    } finally {
      signal.removeEventListener('abort', stop);
      await end(worker);
    }
  };

  await Promise.all(Array.from({ length: threads }, run));
  return tally.toReport(isComplete && !signal.aborted);
}

/** Lets the thread end by itself: terminating it inside a database call crashes the whole process. */
async function end(worker: Worker): Promise<void> {
  if (worker.threadId === -1) return; // already ended
  const ended = once(worker, 'exit');
  worker.postMessage('end' satisfies BacktestThreadOrder);
  await ended;
}

type Batch = { readonly sessionIds: readonly string[]; readonly calls: number };

async function* batchesOf(
  ledger: Pick<Ledger, 'queries'>,
  { slice }: ThreadsOptions,
): AsyncGenerator<Batch, void, undefined> {
  let sessionIds: string[] = [];
  let calls = 0;
  for await (const session of sessionsOf(ledger, slice)) {
    sessionIds.push(session.sessionId);
    calls += session.calls;
    if (calls < callsAtOnce && sessionIds.length < sessionsAtOnce) continue;
    yield { sessionIds, calls };
    [sessionIds, calls] = [[], 0];
  }
  if (sessionIds.length > 0) yield { sessionIds, calls };
}

function startThread(workerData: BacktestThreadData): Worker {
  // The built file is JavaScript next to this one; in the sources it is TypeScript.
  const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'));
  return new Worker(new URL(`./backtest-thread${extension}`, import.meta.url), {
    workerData,
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });
}
