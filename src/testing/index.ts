export { createManualClock } from './manual-clock.ts';
export type { ManualClock } from './manual-clock.ts';
export { ledgerContract } from './ledger-contract.ts';
export type { LedgerCheck, LedgerSubject } from './ledger-contract.ts';
