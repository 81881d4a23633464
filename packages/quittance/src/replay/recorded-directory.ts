import { readEntry } from '../ledger/formats/v1/read-entry.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { ledgerSessionId } from '../ledger/ledger.ts';
import type { Contracts } from '../policy/judge/contracts.ts';

/** The folder for relative paths when contracts were last loaded. Undefined if it was not recorded. */
export async function recordedDirectory(
  ledger: Pick<Ledger, 'readEntries' | 'query'>,
): Promise<string | undefined> {
  let found: string | undefined;
  for (let after = 0; ;) {
    const entries = await ledger.readEntries({ sessionId: ledgerSessionId, after, limit: 500 });
    for (const entry of entries)
      for (const event of readEntry(entry).events)
        if (event.type === 'contracts.loaded' && 'workingDirectory' in event)
          found = event.workingDirectory as string; // an event of that type, according to its table
    const last = entries.at(-1);
    if (last === undefined || entries.length < 500) return found;
    after = last.position;
  }
}

/** The contracts as they applied to the ledger's calls: their own folder, else the recorded one. */
export async function inRecordedDirectory(
  ledger: Pick<Ledger, 'readEntries' | 'query'>,
  contracts: Contracts,
): Promise<Contracts> {
  if (contracts.workflowHost.workingDirectory !== undefined || contracts.inDirectory === undefined)
    return contracts;
  const directory = await recordedDirectory(ledger);
  return directory === undefined ? contracts : contracts.inDirectory(directory);
}
