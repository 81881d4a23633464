/** Runs one job in its own thread with its own ledger handle, so that requests do not wait for it. */
import { parentPort, workerData } from 'node:worker_threads';
import { openLedger } from '../store/open-ledger.ts';
import type { JobOrder, JobProgress, JobResult } from './job-work.ts';
import { runJobWork } from './job-work.ts';
import { behindServer, lowerPriority } from '../runtime/host/lower-priority.ts';

export type JobThreadData = { readonly ledgerUrl: string; readonly order: JobOrder };
export type JobThreadMessage =
  | { readonly type: 'progress'; readonly progress: JobProgress }
  | { readonly type: 'result'; readonly result: JobResult };

const tellEveryMs = 100;

if (parentPort !== null) {
  const port = parentPort;
  lowerPriority(behindServer);
  const { ledgerUrl, order } = workerData as JobThreadData;
  const stop = new AbortController();
  port.once('message', () => stop.abort());
  const ledger = await openLedger(ledgerUrl, { readOnly: true });
  let sentAt = 0;
  try {
    const result = await runJobWork(ledger, order, stop.signal, (progress) => {
      const now = performance.now();
      if (now - sentAt < tellEveryMs && progress.done < progress.total) return;
      sentAt = now;
      port.postMessage({ type: 'progress', progress } satisfies JobThreadMessage);
    });
    port.postMessage({ type: 'result', result } satisfies JobThreadMessage);
  } finally {
    await ledger.close();
    port.close();
  }
}
