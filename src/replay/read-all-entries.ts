import type { Head } from '../ledger/chain.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { StoredEntry } from '../ledger/stored-entry.ts';

const entriesAtOnce = 500;

/** Every entry, of the whole ledger or of these sessions one after the other, until somebody says stop. */
export async function* readAllEntries(
  ledger: Ledger,
  signal: AbortSignal,
  sessions?: readonly Pick<Head, 'sessionId'>[],
): AsyncGenerator<StoredEntry, void, undefined> {
  for (const { sessionId } of sessions ?? [{ sessionId: undefined }])
    for (let after = 0; !signal.aborted;) {
      const entries = await ledger.readEntries({
        after,
        limit: entriesAtOnce,
        ...(sessionId !== undefined && { sessionId }),
      });
      const last = entries.at(-1);
      if (last === undefined) break;
      yield* entries;
      after = last.position;
      // Reading never waits for anything, so signals and screens get their turn here.
      await new Promise(setImmediate);
    }
}
