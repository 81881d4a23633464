/** Long work: a request starts it, others follow or stop it. */
import type { Head } from 'quittance/internal/ledger/chain';
import type { BacktestReport } from 'quittance/internal/replay/backtest-report';
import type { Integer } from './scalar.ts';

/**
 * `POST /v1/verify` and `POST /v1/contracts/backtest` answer 202 with one. `GET /v1/jobs` lists them,
 * `GET /v1/jobs/{jobId}` reads one, `GET /v1/jobs/{jobId}/events` follows it (messages `event: job`, until it has
 * ended), `DELETE /v1/jobs/{jobId}` stops it.
 */
export type Job = {
  readonly jobId: string;
  readonly startedAt: number;
  readonly startedBy: string;
  readonly endedAt: number | undefined;
  readonly status: 'running' | 'done' | 'failed' | 'stopped';
  readonly progress: { readonly done: Integer; readonly total: Integer; readonly label: string };
  /** Why it failed. */
  readonly error: string | undefined;
} & (
  | { readonly kind: 'verify'; readonly result: Verification | undefined }
  | { readonly kind: 'backtest'; readonly result: BacktestReport | undefined }
);

/** A job in `GET /v1/jobs`: its result in numbers. `GET /v1/jobs/{jobId}` has the whole result. */
export type JobSummary = Omit<Job, 'kind' | 'result'> &
  (
    | { readonly kind: 'verify'; readonly result: Omit<Verification, 'findings'> | undefined }
    | {
        readonly kind: 'backtest';
        readonly result:
          | Pick<BacktestReport, 'policyVersion' | 'calls' | 'judged' | 'different' | 'complete'>
          | undefined;
      }
  );

/** The query of `GET /v1/jobs`. */
export type JobListQuery = {
  readonly kind?: Job['kind'];
  /** @minimum 1 @maximum 50 */
  readonly limit?: Integer;
};
/** `GET /v1/jobs`: newest first, as many as the server remembers. */
export type JobList = { readonly rows: readonly JobSummary[] };

/** `POST /v1/verify`. */
export type NewVerification = {
  /** The text of an anchor to compare the chains with. */
  readonly anchor?: string;
};
export type Verification = {
  /** Was the whole ledger read, and is it unchanged? Never true for a stopped verification. */
  readonly ok: boolean;
  readonly entries: Integer;
  readonly sessions: Integer;
  readonly calls: Integer;
  readonly problems: Integer;
  /** The first 100 problems. */
  readonly findings: readonly VerifyFinding[];
};
export type VerifyFinding = {
  readonly kind: string;
  readonly message: string;
  readonly sessionId?: string | undefined;
  readonly callId?: string | undefined;
  readonly sequence?: Integer | undefined;
  readonly position?: Integer | undefined;
};

/** `GET /v1/heads`: the heads of the chains, ordered by session id. */
export type HeadPage = {
  readonly rows: readonly Head[];
  readonly next: string | undefined;
  readonly sessions: Integer;
};

/** The query of `GET /v1/export`. */
export type ExportQuery = { readonly sessionId?: string };
