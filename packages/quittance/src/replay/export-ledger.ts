/**
 * Exports a ledger while other processes append to it.
 *
 * 1. One position fixes the content: the chains at that position and the entries up to it. The export therefore
 *    verifies, whatever is appended meanwhile, and its memory does not grow with the number of sessions.
 * 2. It either writes its last line or throws. A stopped or truncated export has no last line, so it cannot pass as
 *    complete.
 */
import { QuittanceError } from '../base/error.ts';
import type { Head } from '../ledger/chain.ts';
import { writeExport, writePagedExport } from '../ledger/ledger-export.ts';
import { readEntry } from '../ledger/formats/v1/read-entry.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { StoredEntry } from '../ledger/stored-entry.ts';
import { isDamage } from './damage.ts';
import { readAllEntries } from './read-all-entries.ts';
import { lastPosition, findHeads } from '../ledger/reads.ts';

export type ExportOptions = {
  /** Only these sessions, which must exist. All sessions if left out. */
  readonly sessions?: readonly Head[] | undefined;
  /** Version of the program that writes the export. */
  readonly toolVersion: string;
  readonly signal: AbortSignal;
  /** Called for every written entry. */
  readonly onEntry?: () => void;
};

export type LedgerExport = {
  readonly sessions: number;
  readonly entries: number;
  /** In chunks that are not always lines. Throws `ledger.unavailable` if it cannot complete. */
  readonly text: AsyncGenerator<string, void, undefined>;
};

const headsAtOnce = 500;

export async function exportLedger(ledger: Ledger, options: ExportOptions): Promise<LedgerExport> {
  const { sessions: chosen, toolVersion, signal, onEntry } = options;
  const at = await lastPosition(ledger);
  const createdAt = ledger.now();
  const pages = (): AsyncIterable<readonly Head[]> =>
    chosen === undefined ? readHeadPages(ledger, at, signal) : readChosen(chosen);
  let sessions = 0;
  let entries = 0;
  for await (const heads of pages()) {
    sessions += heads.length;
    for (const { sequence } of heads) entries += sequence;
  }
  async function* wanted(): AsyncGenerator<StoredEntry, void, undefined> {
    for await (const entry of readAllEntries(ledger, signal, chosen)) {
      // The heads of chosen sessions mark their end.
      if (chosen === undefined && entry.position > at) break;
      yield entry;
      onEntry?.();
    }
    throwIfStopped(signal);
    await throwIfErased(ledger, at, signal);
  }
  const text =
    chosen === undefined
      ? writePagedExport(wanted(), { createdAt, toolVersion, sessions, entries }, pages())
      : writeExport(wanted(), { createdAt, toolVersion, heads: chosen });
  return { sessions, entries, text };
}

async function* readHeadPages(
  ledger: Ledger,
  at: number,
  signal: AbortSignal,
): AsyncGenerator<readonly Head[], void, undefined> {
  for (let after: string | undefined; ;) {
    throwIfStopped(signal);
    const heads = await findHeads(ledger, { after, limit: headsAtOnce, at });
    if (heads.length > 0) yield heads;
    if (heads.length < headsAtOnce) return;
    after = heads.at(-1)?.sessionId;
    // Reading is synchronous, so this yields to other work.
    await new Promise(setImmediate);
  }
}

async function* readChosen(heads: readonly Head[]): AsyncGenerator<readonly Head[], void, undefined> {
  yield heads;
}

/** An erasure or removal meanwhile may leave entries half exported, without the event that records it. */
async function throwIfErased(ledger: Ledger, at: number, signal: AbortSignal): Promise<void> {
  for (let after = at; ;) {
    const later = await ledger.readEntries({ after, limit: headsAtOnce });
    if (later.some(reportsErasure))
      throw unavailable(
        'Entries were erased or removed during the export, so it is incomplete. Export the ledger again.',
      );
    const last = later.at(-1);
    if (last === undefined) return;
    after = last.position;
    await new Promise(setImmediate);
    throwIfStopped(signal);
  }
}

function reportsErasure(entry: StoredEntry): boolean {
  if (!/body\.erased|session\.dropped/.test(entry.text)) return false;
  try {
    return readEntry(entry).events.some(({ type }) => type === 'body.erased' || type === 'session.dropped');
  } catch (error) {
    if (isDamage(error)) return false; // reported by verify
    throw error;
  }
}

function throwIfStopped(signal: AbortSignal): void {
  if (signal.aborted) throw unavailable('The export was stopped before its end.');
}

const unavailable = (message: string): QuittanceError => new QuittanceError('ledger.unavailable', message);
