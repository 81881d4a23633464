/**
 * Stores in the ledger's own chain which rules came into force, with their text. A decision names only their
 * version.
 */
import type { Ids } from '../../base/ids.ts';
import type { ContractsLoaded } from '../../call/event.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { ledgerSessionId } from '../../ledger/ledger.ts';
import type { Policy } from '../../policy/judge/compile-policy.ts';
import type { Contracts } from '../../policy/judge/contracts.ts';

/**
 * Returns the rules in force. Rules that are new to the ledger are appended to it. This append is submitted
 * before any decision under these rules, so it is written before or with that decision.
 */
export function followContracts(
  contracts: Contracts | undefined,
  ledger: Ledger,
  ids: Ids,
  stragglers: Set<Promise<unknown>>,
): () => Policy | undefined {
  if (contracts === undefined) return () => undefined;
  let noted: string | undefined;
  return () => {
    const { policy } = contracts;
    if (policy.version !== noted) {
      noted = policy.version;
      const kept: Promise<unknown> = note(contracts, policy.version, ledger, ids)
        // Another runtime or the next start tries again.
        .catch(() => undefined)
        .finally(() => stragglers.delete(kept));
      stragglers.add(kept);
    }
    return policy;
  };
}

async function note(
  { documents, workflowHost: { workingDirectory } }: Contracts,
  policyVersion: string,
  ledger: Ledger,
  ids: Ids,
): Promise<void> {
  const known = await ledger.journal.readSession(ledgerSessionId);
  const last = known.findLast(
    (event) => event.type === 'contracts.loaded' && event.policyVersion === policyVersion,
  );
  if (last?.type === 'contracts.loaded' && last.workingDirectory === workingDirectory) return;
  const event: ContractsLoaded = {
    id: ids.next('evt'),
    type: 'contracts.loaded',
    sessionId: ledgerSessionId,
    turnId: '',
    at: ledger.now(),
    cause: undefined,
    policyVersion,
    documents,
    ...(workingDirectory !== undefined && { workingDirectory }),
  };
  await ledger.journal.append({
    entryId: ids.next('ent'),
    sessionId: ledgerSessionId,
    callId: undefined,
    expectedVersion: 0,
    events: [event],
  });
}
