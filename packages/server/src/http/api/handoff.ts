/** Calls that other processes run. */
import type { HandoffClaim, HandoffView } from 'quittance/internal/runtime/claim-handoff';
import type { HandoffNotes, HandoffReport, ReportedCall } from 'quittance/internal/runtime/report-handoff';
import type { LargeCallRef } from './confirmation.ts';
import type { Integer, PositiveInteger, RequestId, WorkerName } from './scalar.ts';

/** The query of `GET /v1/handoffs`. */
export type HandoffListQuery = {
  readonly toolName?: string;
  /** @minimum 1 @maximum limits.pageRows */
  readonly limit?: Integer;
};
/** `GET /v1/handoffs`: oldest first. `large` lists open calls that are too large to read. */
export type HandoffList = { readonly rows: readonly HandoffView[]; readonly large?: readonly LargeCallRef[] };

/** `POST /v1/handoffs/claim`: claims this call, or the call that has waited longest for a tool. */
export type NewClaim = (
  | { readonly sessionId: string; readonly callId: string }
  | { readonly toolName: string }
) & {
  readonly worker?: WorkerName;
  readonly leaseMs?: PositiveInteger;
  /** @minimum 0 @maximum 60000 */
  readonly waitMs?: Integer;
  /** Send a new one with each claim. It lets the worker claim the call again if the answer is lost. */
  readonly requestId?: RequestId;
  /**
   * The `requestId`s of earlier claims whose answers were lost. The worker has not run the call.
   * @maxItems limits.reclaimed
   */
  readonly reclaim?: readonly RequestId[];
};
/** `claim` is null if no call of the tool waits. */
export type ClaimAnswer = { readonly claim: HandoffClaim | null };

/** `POST /v1/handoffs/report`. The same report again gets the same answer, with `status: replayed`. */
export type NewReport = {
  readonly token: string;
  readonly report: HandoffReport;
  readonly notes?: HandoffNotes;
};
export type ReportAnswer = ReportedCall & {
  /** The content for the model, byte for byte. */
  readonly content: string;
};
