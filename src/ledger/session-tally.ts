/** The summary of a session, updated as its calls change. */
import type { CallSummary, SessionSummary } from './call-query.ts';

/** A summary that its one owner may update in place. Before the first event `firstAt` is later than any time. */
export type SessionTally = { -readonly [Key in keyof SessionSummary]: SessionSummary[Key] };

export const newSessionTally = (sessionId: string): SessionTally => ({
  sessionId,
  calls: 0,
  openCalls: 0,
  failures: 0,
  denials: 0,
  unresolved: 0,
  firstAt: Number.MAX_SAFE_INTEGER,
  lastAt: 0,
});

/** Adds a call, or subtracts its old form before the new one is added. */
export function countCall(
  tally: SessionTally,
  call: Pick<CallSummary, 'status' | 'outcome' | 'unresolved'>,
  by: 1 | -1 = 1,
): void {
  tally.calls += by;
  if (call.status !== 'settled') tally.openCalls += by;
  if (call.outcome === 'ToolFailure' || call.outcome === 'ToolTimeout') tally.failures += by;
  if (call.outcome === 'ToolDenied') tally.denials += by;
  if (call.unresolved) tally.unresolved += by;
}

/** Records that something happened in the session. */
export function countEvent(tally: SessionTally, at: number): void {
  if (at < tally.firstAt) tally.firstAt = at;
  if (at > tally.lastAt) tally.lastAt = at;
}
