/**
 * Writes one export in a thread with its own ledger handle, because a ledger may be large. It sends one piece for each
 * `next`, so memory holds only what the reader takes.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../base/clock.ts';
import { isQuittanceError } from '../base/error.ts';
import { exportLedger } from '../replay/export-ledger.ts';
import { readAllSizes } from '../replay/read-all-entries.ts';
import { openLedger } from '../store/open-ledger.ts';
import { behindServer, lowerPriority } from '../runtime/host/lower-priority.ts';
import type { SentError } from './contract-work.ts';
import { toSent } from './contract-work.ts';

export type ExportThreadData = {
  readonly kind: 'export';
  readonly ledgerUrl: string;
  readonly sessionId: string | undefined;
  readonly toolVersion: string;
  /** Time by the clock of the server's ledger. */
  readonly now: number;
  /** The largest entry that is exported. */
  readonly entryBytes: number;
};
export type ExportThreadMessage =
  /** The export can start: each `next` now gets a piece. */
  | { readonly type: 'ready' }
  | { readonly type: 'too_large'; readonly position: number; readonly bytes: number }
  | { readonly type: 'unknown' }
  | { readonly type: 'piece'; readonly text: string }
  | { readonly type: 'end' }
  | { readonly type: 'failed'; readonly error: SentError | undefined; readonly message: string };

const pieceChars = 65_536;

if (parentPort !== null && isExportData(workerData)) {
  const port = parentPort;
  const { ledgerUrl, sessionId, toolVersion, entryBytes, now } = workerData;
  lowerPriority(behindServer);
  const stop = new AbortController();
  const tell = (message: ExportThreadMessage): void => port.postMessage(message);
  let wake: (() => void) | undefined;
  port.on('message', (order: 'next' | 'stop') => {
    if (order === 'stop') stop.abort();
    wake?.();
  });
  /** Resolves once the reader wants more, or nothing more. */
  const wanted = (): Promise<void> =>
    new Promise((resolve) => {
      wake = resolve;
      if (stop.signal.aborted) resolve();
    });
  const ledger = await openLedger(ledgerUrl, { readOnly: true, clock: { ...systemClock, now: () => now } });
  const check = async (): Promise<ExportThreadMessage | undefined> => {
    for await (const { position, bytes } of readAllSizes(ledger, stop.signal, { sessionId }))
      if (bytes > entryBytes) return { type: 'too_large', position, bytes };
    return undefined;
  };
  try {
    const sessions = sessionId === undefined ? undefined : await ledger.integrity.readHeads(sessionId);
    const refusal = sessions?.length === 0 ? ({ type: 'unknown' } as const) : await check();
    if (refusal !== undefined) tell(refusal);
    else {
      const { text } = await exportLedger(ledger, { sessions, toolVersion, signal: stop.signal });
      const first = wanted();
      tell({ type: 'ready' });
      await first;
      for await (const line of text)
        for (let at = 0; at < line.length && !stop.signal.aborted; at += pieceChars) {
          const next = wanted();
          tell({ type: 'piece', text: line.slice(at, at + pieceChars) });
          await next;
        }
      tell({ type: 'end' });
    }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    tell({ type: 'failed', error: isQuittanceError(error) ? toSent(error) : undefined, message });
  } finally {
    await ledger.close();
    port.close();
  }
}

function isExportData(data: unknown): data is ExportThreadData {
  return typeof data === 'object' && data !== null && 'kind' in data && data.kind === 'export';
}
