/** The port of a store, part by part: what a ledger on another database implements. */
export type * from './ledger/artifacts.ts';
export type * from './ledger/claims.ts';
export type * from './ledger/cursors.ts';
export type * from './ledger/ledger.ts';
export type * from './ledger/store-finding.ts';
export type * from './ledger/stored-entry.ts';
export type * from './ledger/side-row.ts';
export type * from './ledger/journal.ts';
export type { ConfirmationQuery, ConfirmationSummary, OpenCall, OpenCallQuery } from './ledger/call-query.ts';
export type * from './ledger/retention.ts';
