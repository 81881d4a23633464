/** Calls that other processes run. */
import type { HandoffClaim } from '../../runtime/handoff/claim-handoff.ts';
import type { HandoffNotes, HandoffReport } from '../../runtime/handoff/handoff-report.ts';
import type { HandoffView } from '../../runtime/handoff/list-handoffs.ts';
import type { ReportedCall } from '../../runtime/handoff/report-handoff.ts';
import type { LargeCallRef } from './confirmation.ts';

/** `GET /v1/handoffs`: oldest first. `large`: open calls that are too large to be read, whatever they wait for. */
export type HandoffList = { readonly rows: readonly HandoffView[]; readonly large?: readonly LargeCallRef[] };

/** `POST /v1/handoffs/claim`: this call, or the one that waits longest for a tool. */
export type NewClaim = (
  { readonly sessionId: string; readonly callId: string } | { readonly toolName: string }
) & {
  readonly worker?: string;
  readonly leaseMs?: number;
  readonly waitMs?: number;
  /** What the worker calls this claim, another text for each. Needed to claim the call again if the answer is lost. */
  readonly requestId?: string;
  /** The `requestId`s of earlier claims whose answers were lost. The worker has not run the call. */
  readonly reclaim?: readonly string[];
};
/** `claim` is null where no call of the tool waits. */
export type ClaimAnswer = { readonly claim: HandoffClaim | null };

/** `POST /v1/handoffs/report`. The same report again gets the same answer, with `status: replayed`. */
export type NewReport = {
  readonly token: string;
  readonly report: HandoffReport;
  readonly notes?: HandoffNotes;
};
export type ReportAnswer = ReportedCall & {
  /** What the model is told, byte for byte. */
  readonly content: string;
};
