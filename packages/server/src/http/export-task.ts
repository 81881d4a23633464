/**
 * Writes one export with its own ledger handle, because a ledger may be large. It gives one piece for each order, so
 * memory holds only what the reader takes.
 */
import { systemClock } from 'quittance/internal/base/deadlines';
import { exportLedger } from 'quittance/internal/replay/export-ledger';
import { readAllSizes } from 'quittance/internal/replay/read-all-entries';
import { openLedger } from 'quittance/internal/store/open-ledger';
import type { BeginTask } from 'quittance/internal/threads/work-thread';
import { readHeads } from 'quittance/internal/ledger/reads';

export type ExportData = {
  readonly ledgerUrl: string;
  readonly sessionId: string | undefined;
  readonly toolVersion: string;
  /** Time by the clock of the server's ledger. */
  readonly now: number;
  /** The largest entry that is exported. */
  readonly entryBytes: number;
};
/** `open` comes first. */
export type ExportOrder = 'open' | 'next';
export type ExportAnswer =
  /** The export can start: each `next` now gets a piece. */
  | { readonly type: 'ready' }
  | { readonly type: 'too_large'; readonly position: number; readonly bytes: number }
  | { readonly type: 'unknown' }
  | { readonly type: 'piece'; readonly text: string }
  | { readonly type: 'end' };

const pieceChars = 65_536;

export const begin: BeginTask<ExportData, ExportOrder, ExportAnswer> = async (data) => {
  const { ledgerUrl, sessionId, toolVersion, entryBytes, now } = data;
  const ledger = await openLedger(ledgerUrl, { readOnly: true, clock: { ...systemClock, now: () => now } });
  const over = new AbortController();
  let pieces: AsyncGenerator<string, void, undefined> | undefined;

  const open = async (signal: AbortSignal): Promise<ExportAnswer> => {
    const sessions = sessionId === undefined ? undefined : await readHeads(ledger, sessionId);
    if (sessions?.length === 0) return { type: 'unknown' };
    for await (const { position, bytes } of readAllSizes(ledger, signal, { sessionId }))
      if (bytes > entryBytes) return { type: 'too_large', position, bytes };
    const { text } = await exportLedger(ledger, { sessions, toolVersion, signal: over.signal });
    pieces = cut(text);
    return { type: 'ready' };
  };

  return {
    async work(order, { signal }) {
      if (order === 'open') return open(signal);
      const next = await pieces?.next();
      return next === undefined || next.done === true ? { type: 'end' } : { type: 'piece', text: next.value };
    },
    async end() {
      over.abort();
      await pieces?.return();
      await ledger.close();
    },
  };
};

async function* cut(lines: AsyncIterable<string>): AsyncGenerator<string, void, undefined> {
  for await (const line of lines)
    for (let at = 0; at < line.length; at += pieceChars) yield line.slice(at, at + pieceChars);
}
