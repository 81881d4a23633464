/** What is said about a session, counted up as its calls change. */
import type { CallSummary, SessionSummary } from './call-query.ts';

/** A summary its one owner may count up in place. Before the first event `firstAt` is later than any time. */
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

/** Counts a call in, or out again before it is counted in as it is now. */
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

/** Notes that something happened in the session. */
export function countEvent(tally: SessionTally, at: number): void {
  if (at < tally.firstAt) tally.firstAt = at;
  if (at > tally.lastAt) tally.lastAt = at;
}
