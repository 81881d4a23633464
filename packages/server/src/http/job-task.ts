/** Runs one job with its own ledger handle, so that requests do not wait for it. */
import { openLedger } from 'quittance/internal/store/open-ledger';
import type { BeginTask } from 'quittance/internal/threads/work-thread';
import type { JobOrder, JobProgress, JobResult } from './job-work.ts';
import { runJobWork } from './job-work.ts';

export type JobData = { readonly ledgerUrl: string };

export const begin: BeginTask<JobData, JobOrder, JobResult, JobProgress> = async ({ ledgerUrl }) => {
  const ledger = await openLedger(ledgerUrl, { readOnly: true });
  return {
    work: (order, { signal, tell }) => runJobWork(ledger, order, signal, throttle(tell)),
    end: () => ledger.close(),
  };
};

const tellEveryMs = 100;

/** The last progress is always told. */
export function throttle(tell: (progress: JobProgress) => void): (progress: JobProgress) => void {
  let sentAt = 0;
  return (progress) => {
    const now = performance.now();
    if (now - sentAt < tellEveryMs && progress.done < progress.total) return;
    sentAt = now;
    tell(progress);
  };
}
