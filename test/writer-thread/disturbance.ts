import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What happens to commits of the writer thread: it dies before or after one, the flush is slow, or it fails. */
export type Disturbance = {
  readonly when: 'before' | 'after';
  readonly how: 'throw' | 'exit' | 'memory' | 'slow';
  /** Happens to every commit, as `slow` always does. */
  readonly isLasting?: boolean;
};

/** Node's options for a writer thread that can be disturbed. */
export const disturbed: readonly string[] = ['--import', new URL('disturb-thread.ts', import.meta.url).href];

export const disturbancePath = (ledgerPath: string): string => `${ledgerPath}.disturbance`;
export const pragmasPath = (ownerId: string): string => join(tmpdir(), `quittance-pragmas-${ownerId}`);

/** Disturbs the next commit of the writer thread. */
export const disturbNext = (ledgerPath: string, disturbance: Disturbance): void =>
  writeFileSync(disturbancePath(ledgerPath), JSON.stringify(disturbance));

export const disturbNoMore = (ledgerPath: string): void =>
  rmSync(disturbancePath(ledgerPath), { force: true });

/** The connection of the writer thread of this owner gets these settings before its next transactions. */
export const setPragmas = (ownerId: string, pragmas: readonly string[]): void =>
  writeFileSync(pragmasPath(ownerId), JSON.stringify(pragmas));
