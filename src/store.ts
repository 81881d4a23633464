/** The port of a store, part by part: what a ledger on another database implements. */
export type * from './ledger/artifacts.ts';
export type * from './ledger/claims.ts';
export type * from './ledger/cursors.ts';
export type * from './ledger/documents.ts';
export type * from './ledger/entries.ts';
export type * from './ledger/integrity.ts';
export type * from './ledger/journal.ts';
export type { Ledger } from './ledger/ledger.ts';
export type * from './ledger/owners.ts';
export type * from './ledger/queries.ts';
export type * from './ledger/retention.ts';
export type * from './ledger/spill.ts';
