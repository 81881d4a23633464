/** Verifies the ledger file of a backup or a restore. */
import type { Anchor } from 'quittance/internal/ledger/anchor';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import { verifyLedger } from 'quittance/internal/replay/verify-ledger';
import type { FileWork } from './digest-files.ts';

/** The number of problems and the first of them; undefined if there is none. Throws if it was stopped. */
export async function findCopyProblems(
  ledger: OpenLedger,
  anchor: Anchor,
  { signal, startProgress }: FileWork,
): Promise<{ readonly problems: number; readonly first: string } | undefined> {
  let first = '';
  const { problems, finished } = await verifyLedger(ledger, anchor, { signal, startProgress }, (finding) => {
    if (first === '') first = finding.message;
    return Promise.resolve();
  });
  if (!finished) signal.throwIfAborted();
  return problems === 0 ? undefined : { problems, first };
}
