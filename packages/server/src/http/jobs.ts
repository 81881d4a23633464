/** Starts, follows and stops jobs. A few run at a time, and the last ones are remembered. */
import { randomBytes } from 'node:crypto';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import type { Job, JobSummary } from './api/job.ts';
import { behindServer } from 'quittance/internal/threads/priority';
import { TaskThread, taskModule } from 'quittance/internal/threads/task-thread';
import type { JobData } from './job-task.ts';
import { throttle } from './job-task.ts';
import type { JobOrder, JobProgress, JobResult } from './job-work.ts';
import { runJobWork } from './job-work.ts';
import { HttpRefusal } from './problem.ts';

const mostRunning = 2;
const mostRemembered = 50;

type Running = {
  job: Job;
  readonly stop: AbortController;
  /** Callbacks for the next change. */
  waiters: (() => void)[];
};

export class Jobs {
  readonly #ledger: OpenLedger;
  readonly #ledgerUrl: string | undefined;
  readonly #jobs = new Map<string, Running>();

  /** With a URL the work runs in a thread with its own handle; without one, on this thread in slices. */
  constructor(ledger: OpenLedger, ledgerUrl: string | undefined) {
    this.#ledger = ledger;
    this.#ledgerUrl = ledgerUrl;
  }

  get running(): number {
    return [...this.#jobs.values()].filter(({ job }) => job.status === 'running').length;
  }

  /** Throws 429 while the maximum number of jobs run. */
  refuseMore(): void {
    if (this.running < mostRunning) return;
    throw new HttpRefusal(
      'http.too_many_requests',
      `${mostRunning} jobs are running already. Wait for one to end, or stop one: DELETE /v1/jobs/{jobId}.`,
      {},
      { 'retry-after': '5' },
    );
  }

  start(order: JobOrder, startedBy: string): Job {
    this.refuseMore();
    const job: Job = {
      jobId: `job_${randomBytes(9).toString('base64url')}`,
      kind: order.kind,
      startedAt: this.#ledger.now(),
      startedBy,
      endedAt: undefined,
      status: 'running',
      progress: { done: 0, total: 0, label: 'starting' },
      error: undefined,
      result: undefined,
    };
    const running: Running = { job, stop: new AbortController(), waiters: [] };
    this.#jobs.set(job.jobId, running);
    for (const [jobId, { job: old }] of this.#jobs) {
      if (this.#jobs.size <= mostRemembered) break;
      if (old.status !== 'running') this.#jobs.delete(jobId);
    }
    void this.#run(running, order);
    return job;
  }

  /** Newest first. */
  list(kind: Job['kind'] | undefined, limit: number): readonly JobSummary[] {
    return [...this.#jobs.values()]
      .map(({ job }) => job)
      .filter((job) => kind === undefined || job.kind === kind)
      .reverse()
      .slice(0, limit)
      .map(summarize);
  }

  get(jobId: string): Job {
    return this.#find(jobId).job;
  }

  /** Stops the job. Its result is what it found so far. */
  stop(jobId: string): Job {
    const running = this.#find(jobId);
    running.stop.abort();
    return running.job;
  }

  /** The job now and after each change, until it ends. */
  async *follow(jobId: string, signal: AbortSignal): AsyncGenerator<Job, void, undefined> {
    const running = this.#find(jobId);
    for (let last: Job | undefined; !signal.aborted;) {
      if (running.job === last)
        await new Promise<void>((resolve) => {
          const wake = (): void => {
            signal.removeEventListener('abort', wake);
            resolve();
          };
          running.waiters.push(wake);
          signal.addEventListener('abort', wake, { once: true });
        });
      else {
        last = running.job;
        yield last;
        if (last.status !== 'running') return;
      }
    }
  }

  /** Stops all jobs and waits for their ends. */
  async close(): Promise<void> {
    const all = [...this.#jobs.values()];
    for (const { stop } of all) stop.abort();
    const patience = AbortSignal.timeout(closingMs);
    for (const { job } of all) for await (const _ of this.follow(job.jobId, patience));
  }

  #find(jobId: string): Running {
    const found = this.#jobs.get(jobId);
    if (found !== undefined) return found;
    throw new HttpRefusal(
      'http.not_found',
      'There is no such job. Jobs are remembered until the server ends, the last fifty of them. Start another.',
    );
  }

  async #run(running: Running, order: JobOrder): Promise<void> {
    const change = (
      fields: Partial<Pick<Job, 'progress' | 'status' | 'error' | 'endedAt' | 'result'>>,
    ): void => {
      // Store a result only in the job that it belongs to.
      running.job = { ...running.job, ...fields } as Job;
      const { waiters } = running;
      running.waiters = [];
      for (const wake of waiters) wake();
    };
    const tell = (progress: JobProgress): void => change({ progress });
    const { signal } = running.stop;
    try {
      const { result } =
        this.#ledgerUrl === undefined
          ? await runJobWork(this.#ledger, order, signal, throttle(tell))
          : await inThread(this.#ledgerUrl, order, signal, tell);
      change({ result, status: signal.aborted ? 'stopped' : 'done', endedAt: this.#ledger.now() });
    } catch (error) {
      change({
        status: signal.aborted ? 'stopped' : 'failed',
        error: error instanceof Error ? error.message : String(error),
        endedAt: this.#ledger.now(),
      });
    }
  }
}

/**
 * How long to wait for a thread that should stop. After that it ends by itself. Never terminate it: during a database
 * operation, that would end the process.
 */
const stoppingMs = 4_000;
const closingMs = 5_000;
/** A job that needs more memory fails, and the server continues. */
const jobMemoryMb = 512;

function summarize({ result, kind, ...job }: Job): JobSummary {
  if (result === undefined) return { ...job, kind, result };
  if ('findings' in result) {
    const { findings: _, ...numbers } = result;
    return { ...job, kind: 'verify', result: numbers };
  }
  const { policyVersion, calls, judged, different, complete } = result;
  return { ...job, kind: 'backtest', result: { policyVersion, calls, judged, different, complete } };
}

async function inThread(
  ledgerUrl: string,
  order: JobOrder,
  signal: AbortSignal,
  onProgress: (progress: JobProgress) => void,
): Promise<JobResult> {
  const thread = new TaskThread<JobOrder, JobResult, JobProgress>({
    module: taskModule('job-task', import.meta.url),
    data: { ledgerUrl } satisfies JobData,
    niceness: behindServer,
    memory: { maxOldGenerationSizeMb: jobMemoryMb },
  });
  const late = Promise.withResolvers<never>();
  let patience: NodeJS.Timeout | undefined;
  const stop = (): void => {
    patience = setTimeout(
      () => late.reject(new Error('The thread of the job should stop, and has not yet.')),
      stoppingMs,
    ).unref();
  };
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await Promise.race([thread.order(order, { signal, onProgress }), late.promise]);
  } finally {
    signal.removeEventListener('abort', stop);
    clearTimeout(patience);
    void thread.end();
  }
}
