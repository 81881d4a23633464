import type { StoreFinding } from '../../ledger/store-finding.ts';

/** Something that is wrong with a table. */
export type TableFinding = Omit<StoreFinding, 'level'>;

export const adviseRebuild = 'Run `quittance rebuild` to make them again from the entries.';
