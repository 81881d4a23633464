import type { OpenLedger } from 'quittance/store';
import { verifyLedger } from '../../packages/quittance/src/replay/verify-ledger.ts';

/** Every problem that verification finds, as sentences. */
export async function findProblems(ledger: OpenLedger): Promise<readonly string[]> {
  const problems: string[] = [];
  const startProgress = () => ({ step: () => undefined, done: () => undefined });
  const signal = new AbortController().signal;
  await verifyLedger(ledger, undefined, { signal, startProgress }, (finding) => {
    problems.push(finding.message);
    return Promise.resolve();
  });
  return problems;
}
