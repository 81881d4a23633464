import type { StoreFinding } from '../../ledger/store-finding.ts';

/** A problem with a table. */
export type TableFinding = Omit<StoreFinding, 'level'>;

export const adviseRebuild = 'Run `quittance rebuild` to rebuild them from the entries.';
