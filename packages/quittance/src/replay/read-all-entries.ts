import type { Head } from '../ledger/chain.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { EntrySize, StoredEntry } from '../ledger/stored-entry.ts';
import { measureEntries } from '../ledger/reads.ts';

const entriesAtOnce = 500;
/** Bytes in memory at once; a larger entry is read alone. */
const bytesAtOnce = 1_048_576;

/** A session, from a position on. */
type SessionPart = Pick<Head, 'sessionId'> & { readonly after?: number };

/** Every entry of the ledger, or of these sessions in turn, until the signal aborts. */
export async function* readAllEntries(
  ledger: Ledger,
  signal: AbortSignal,
  sessions?: readonly SessionPart[],
): AsyncGenerator<StoredEntry, void, undefined> {
  const parts: readonly Partial<SessionPart>[] = sessions ?? [{}];
  for (const { sessionId, after: start = 0 } of parts)
    for (let after = start; !signal.aborted;) {
      const of = sessionId !== undefined && { sessionId };
      const sizes = await measureEntries(ledger, { after, limit: entriesAtOnce, ...of });
      const limit = countWithin(sizes, bytesAtOnce);
      const entries = limit === 0 ? [] : await ledger.readEntries({ after, limit, ...of });
      const last = entries.at(-1);
      if (last === undefined) break;
      yield* entries;
      after = last.position;
      // Reading is synchronous, so this yields to signals and the terminal.
      await new Promise(setImmediate);
    }
}

/** The size of every entry after a position, of one session or of all. */
export async function* readAllSizes(
  ledger: Pick<Ledger, 'readEntries' | 'query'>,
  signal: AbortSignal,
  { sessionId, after: start = 0 }: { readonly sessionId?: string | undefined; readonly after?: number } = {},
): AsyncGenerator<EntrySize, void, undefined> {
  for (let after = start; !signal.aborted;) {
    const sizes = await measureEntries(ledger, {
      after,
      limit: entriesAtOnce,
      ...(sessionId !== undefined && { sessionId }),
    });
    const last = sizes.at(-1);
    if (last === undefined) return;
    yield* sizes;
    after = last.position;
    await new Promise(setImmediate);
  }
}

/** How many of the first entries fit into this many bytes; at least one, if there is one. */
function countWithin(sizes: readonly EntrySize[], most: number): number {
  let bytes = 0;
  const at = sizes.findIndex((size) => (bytes += size.bytes) > most);
  return at === -1 ? sizes.length : Math.max(1, at);
}
