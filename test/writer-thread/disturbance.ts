import { writeFileSync } from 'node:fs';

/** What happens to a commit of the writer thread: it dies before or after it, or the flush is slow. */
export type Disturbance = {
  readonly when: 'before' | 'after';
  readonly how: 'throw' | 'exit' | 'memory' | 'slow';
};

export const disturbancePath = (ledgerPath: string): string => `${ledgerPath}.disturbance`;

/** Disturbs the next commit of the writer thread. */
export const disturbNext = (ledgerPath: string, disturbance: Disturbance): void =>
  writeFileSync(disturbancePath(ledgerPath), JSON.stringify(disturbance));
