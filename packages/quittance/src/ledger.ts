/** Ledgers that come with the package, and ways to read one. */
export { createMemoryLedger } from './store/memory/memory-ledger.ts';
export type { MemoryLedgerOptions } from './store/memory/memory-ledger.ts';
export { openLedger } from './store/open-ledger.ts';
export type { OpenLedgerOptions } from './store/open-ledger.ts';
export { buildTrace } from './ledger/trace.ts';
export type { AttemptNode, CallNode, EventNode, SessionNode, TraceNode, TurnNode } from './ledger/trace.ts';
export {
  countSessions,
  findCalls,
  findConfirmation,
  findConfirmations,
  findOpenCalls,
  findSessions,
  lastPosition,
  readCallCounts,
  readDenials,
  readHeads,
  readTallies,
  readWholeArtifact,
} from './ledger/reads.ts';
export { summarizeErrors } from './ledger/summarize-errors.ts';
export type { ErrorSummary } from './ledger/summarize-errors.ts';
