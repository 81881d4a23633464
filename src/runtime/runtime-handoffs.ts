/** `runtime.handoffs`: calls whose body runs in a worker, which claims them and reports their end. */
import type { DirectIdentity } from '../call/event.ts';
import { orUnavailable } from './host/ledger-trouble.ts';
import type { HandoffChoice, HandoffClaim, HandoffTerms } from './handoff/claim-handoff.ts';
import { claimHandoff } from './handoff/claim-handoff.ts';
import type { HandoffNotes, HandoffReport } from './handoff/handoff-report.ts';
import type { HandoffQuery, HandoffView } from './handoff/list-handoffs.ts';
import { listHandoffs } from './handoff/list-handoffs.ts';
import type { BatchAnswer, BatchReport } from './handoff/report-handoff.ts';
import type { ReportedCall } from './handoff/answer-settled.ts';
import { reportAll, reportHandoff } from './handoff/report-handoff.ts';
import type { CallRef } from './state/gate.ts';
import type { RuntimeCore } from './runtime-core.ts';

/** Calls that workers run. */
export interface RuntimeHandoffs {
  /** Calls that a worker is to run, or is running, oldest first. */
  list(query?: HandoffQuery): Promise<readonly HandoffView[]>;
  /** Claims a call for a worker: the call that is named, or the one that waits longest for a tool. */
  claim(choice: CallRef, terms: HandoffTerms): Promise<HandoffClaim>;
  claim(choice: { readonly toolName: string }, terms: HandoffTerms): Promise<HandoffClaim | undefined>;
  /** Reports how a claimed call ended. The first report counts; the same report again gets what is on record. */
  report(
    token: string,
    report: HandoffReport,
    notes?: HandoffNotes,
    identity?: DirectIdentity,
  ): Promise<ReportedCall>;
  /** Reports several calls. Each report has its own answer: one that is refused does not affect the others. */
  reportAll(reports: readonly BatchReport[]): Promise<readonly BatchAnswer[]>;
}

export function createRuntimeHandoffs(state: RuntimeCore): RuntimeHandoffs {
  return {
    list: (query = {}) => orUnavailable(listHandoffs(state, query)),
    // A call named by its id is given or refused. Only a search by tool can end with nothing.
    claim: ((choice: HandoffChoice, terms: HandoffTerms) =>
      orUnavailable(claimHandoff(state, choice, terms))) as RuntimeHandoffs['claim'],
    report: (token, report, notes, identity) =>
      orUnavailable(reportHandoff(state, token, report, notes, identity)),
    reportAll: (reports) => reportAll(state, reports),
  };
}
