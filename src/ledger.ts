export { openLedger } from './store/open-ledger.ts';
export type { OpenLedgerOptions } from './store/open-ledger.ts';
