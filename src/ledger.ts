export { openLedger } from './store/open-ledger.ts';
export type { OpenLedgerOptions } from './store/open-ledger.ts';
export { buildTrace } from './ledger/trace.ts';
export type { AttemptNode, CallNode, EventNode, SessionNode, TraceNode, TurnNode } from './ledger/trace.ts';
export { summariseErrors } from './ledger/summarise-errors.ts';
export type { ErrorCode, ErrorGroup, ErrorQuery } from './ledger/summarise-errors.ts';
