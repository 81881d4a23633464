/**
 * Exports a ledger while others append to it.
 *
 * 1. What is exported is fixed by one position: the chains as they stood there, and the entries up to it. So it
 *    verifies, whatever comes meanwhile, and what it takes does not grow with the number of sessions.
 * 2. It comes to its last line, or it throws: what was stopped or cut has no end that anybody could take for one.
 */
import { QuittanceError } from '../base/error.ts';
import type { Head } from '../ledger/chain.ts';
import { writeExport, writePagedExport } from '../ledger/ledger-export.ts';
import { readEntry } from '../ledger/formats/v1/read-entry.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { StoredEntry } from '../ledger/stored-entry.ts';
import { isDamage } from './damage.ts';
import { readAllEntries } from './read-all-entries.ts';

export type ExportOptions = {
  /** These sessions alone, which must be there. All of them where left out. */
  readonly sessions?: readonly Head[] | undefined;
  /** The version of the program that writes it. */
  readonly toolVersion: string;
  readonly signal: AbortSignal;
  /** Told of every entry that is written. */
  readonly onEntry?: () => void;
};

export type LedgerExport = {
  readonly sessions: number;
  readonly entries: number;
  /** In pieces that are not always lines. Throws `ledger.unavailable` where it cannot come to its end. */
  readonly text: AsyncGenerator<string, void, undefined>;
};

const headsAtOnce = 500;

export async function exportLedger(ledger: Ledger, options: ExportOptions): Promise<LedgerExport> {
  const { sessions: chosen, toolVersion, signal, onEntry } = options;
  const at = await ledger.entries.lastPosition();
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
      // The heads of those that were chosen say where they end.
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
    const heads = await ledger.integrity.findHeads({ after, limit: headsAtOnce, at });
    if (heads.length > 0) yield heads;
    if (heads.length < headsAtOnce) return;
    after = heads.at(-1)?.sessionId;
    // Reading never waits for anything, so others get their turn here.
    await new Promise(setImmediate);
  }
}

async function* readChosen(heads: readonly Head[]): AsyncGenerator<readonly Head[], void, undefined> {
  yield heads;
}

/** What was erased or removed meanwhile was written before by halves, and what says so is not in the export. */
async function throwIfErased(ledger: Ledger, at: number, signal: AbortSignal): Promise<void> {
  for (let after = at; ;) {
    const later = await ledger.entries.read({ after, limit: headsAtOnce });
    if (later.some(reportsErasure))
      throw unavailable(
        'Something was erased or removed while the ledger was exported, so this is no whole export. Export it again.',
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
    if (isDamage(error)) return false; // found by whoever verifies
    throw error;
  }
}

function throwIfStopped(signal: AbortSignal): void {
  if (signal.aborted) throw unavailable('The export was stopped before its end.');
}

const unavailable = (message: string): QuittanceError => new QuittanceError('ledger.unavailable', message);
