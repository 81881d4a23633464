/** Work that takes a while: started by a request, followed or stopped by others. */
import type { Head } from '../../ledger/chain.ts';
import type { BacktestReport } from '../../replay/backtest-report.ts';

/**
 * `POST /v1/verify` and `POST /v1/contracts/backtest` answer 202 with one. `GET /v1/jobs` lists them,
 * `GET /v1/jobs/{jobId}` reads one, `GET /v1/jobs/{jobId}/events` follows it (messages `event: job`, until it is not
 * running any more), `DELETE /v1/jobs/{jobId}` stops it.
 */
export type Job = {
  readonly jobId: string;
  readonly startedAt: number;
  readonly startedBy: string;
  readonly endedAt: number | undefined;
  readonly status: 'running' | 'done' | 'failed' | 'stopped';
  readonly progress: { readonly done: number; readonly total: number; readonly label: string };
  /** Why it failed. */
  readonly error: string | undefined;
} & (
  | { readonly kind: 'verify'; readonly result: Verification | undefined }
  | { readonly kind: 'backtest'; readonly result: BacktestReport | undefined }
);

/** One of `GET /v1/jobs`: what came of it in numbers. `GET /v1/jobs/{jobId}` has all of it. */
export type JobSummary = Omit<Job, 'kind' | 'result'> &
  (
    | { readonly kind: 'verify'; readonly result: Omit<Verification, 'findings'> | undefined }
    | {
        readonly kind: 'backtest';
        readonly result:
          Pick<BacktestReport, 'policyVersion' | 'calls' | 'judged' | 'different' | 'complete'> | undefined;
      }
  );

/** `GET /v1/jobs`: newest first, as many as the server remembers. */
export type JobList = { readonly rows: readonly JobSummary[] };

/** `POST /v1/verify`. */
export type NewVerification = {
  /** The text of an anchor to hold the chains against. */
  readonly anchor?: string;
};
export type Verification = {
  /** Whether all of it was read and is as it was written: never of one that was stopped. */
  readonly ok: boolean;
  readonly entries: number;
  readonly sessions: number;
  readonly calls: number;
  readonly problems: number;
  /** The first hundred. */
  readonly findings: readonly VerifyFinding[];
};
export type VerifyFinding = {
  readonly kind: string;
  readonly message: string;
  readonly sessionId?: string | undefined;
  readonly callId?: string | undefined;
  readonly sequence?: number | undefined;
  readonly position?: number | undefined;
};

/** `GET /v1/heads`: where the chains stand, in the order of session ids. */
export type HeadPage = {
  readonly rows: readonly Head[];
  readonly next: string | undefined;
  readonly sessions: number;
};
