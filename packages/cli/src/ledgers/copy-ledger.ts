/** Copies a ledger to another store, entry by entry as they are stored, so that every hash and every anchor holds. */
import { resolve } from 'node:path';
import { isQuittanceError, QuittanceError } from 'quittance/internal/base/error';
import type { NewArtifact } from 'quittance/internal/ledger/artifacts';
import type { CopySource, CopyTotals, SealedInput, TakeCopy } from 'quittance/internal/ledger/retention';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import type { StoredEntry } from 'quittance/internal/ledger/stored-entry';
import { readAllEntries } from 'quittance/internal/replay/read-all-entries';
import type { LedgerAddress } from 'quittance/internal/store/ledger-url';
import { parseLedgerUrl } from 'quittance/internal/store/ledger-url';
import { openLedger } from 'quittance/internal/store/open-ledger';
import { takeSqliteCopy } from 'quittance/internal/store/sqlite/sqlite-copy';
import {
  lastPosition,
  readHeads,
  readSideRows,
  readSealed,
  readWholeArtifact,
} from 'quittance/internal/ledger/reads';

export type CopyOptions = {
  readonly signal: AbortSignal;
  /** Called with the number of entries to read, and for each entry. */
  readonly onStart?: (entries: number) => void;
  readonly onEntry?: () => void;
};

/** `hasKey` is false if the seal key of the source was not found. */
export type Copied = CopyTotals & { readonly hasKey: boolean };

/**
 * Copies everything that is in the source when this is called. The target is new, or an earlier copy that was not used
 * since: then only what it lacks is added. All or nothing.
 */
export async function copyLedger(fromUrl: string, toUrl: string, options: CopyOptions): Promise<Copied> {
  const [from, to] = [parseLedgerUrl(fromUrl), parseLedgerUrl(toUrl)];
  if (from.kind === 'memory' || to.kind === 'memory')
    throw invalid('A ledger in memory ends with its process, so it cannot be copied.');
  if (await isSame(from, to)) throw invalid('The source and the target are the same ledger.');
  const ledger = await openLedger(fromUrl, { readOnly: true });
  try {
    const source = await openSource(ledger, options);
    const target = await openTarget(to);
    try {
      const totals = await target.take(source, options.signal);
      return { ...totals, hasKey: source.sealKey !== undefined };
    } finally {
      await target.close();
    }
  } finally {
    await ledger.close();
  }
}

async function isSame(from: LedgerAddress, to: LedgerAddress): Promise<boolean> {
  if (from.kind === 'sqlite' && to.kind === 'sqlite') return resolve(from.path) === resolve(to.path);
  if (from.kind !== 'postgres' || to.kind !== 'postgres') return false;
  const { readSettings } = await import('@quittance/postgres/internal/settings');
  const [a, b] = [readSettings(from.url, {}), readSettings(to.url, {})];
  return a.schema === b.schema && a.urls.some((url) => b.urls.includes(url));
}

type Target = { readonly take: TakeCopy; readonly close: () => Promise<void> };

async function openTarget(to: Exclude<LedgerAddress, { readonly kind: 'memory' }>): Promise<Target> {
  if (to.kind === 'sqlite') return { take: takeSqliteCopy(to.path), close: () => Promise.resolve() };
  const { readSettings, withPgEnvironment } = await import('@quittance/postgres/internal/settings');
  const { PgPool } = await import('@quittance/postgres/internal/pg-pool');
  const { takePostgresCopy } = await import('@quittance/postgres/internal/postgres-copy');
  const pool = new PgPool(readSettings(withPgEnvironment(to.url, process.env), {}));
  return { take: takePostgresCopy(pool), close: () => pool.close() };
}

/** Reads a ledger that is open. `signal` stops it. */
export async function openSource(
  ledger: OpenLedger,
  { signal, onStart, onEntry }: CopyOptions,
): Promise<CopySource> {
  const last = await lastPosition(ledger);
  const heads = await readHeads(ledger);
  onStart?.(heads.reduce((sum, { sequence }) => sum + sequence, 0));
  return {
    async *entries(): AsyncGenerator<StoredEntry> {
      for await (const entry of readAllEntries(ledger, signal)) {
        if (entry.position > last) return;
        onEntry?.();
        yield entry;
      }
    },
    async *sideRows() {
      for await (const row of readSideRows(ledger))
        if (row.kind === 'claim' || row.kind === 'counter' || row.kind === 'state') yield row;
    },
    async *sealed(): AsyncGenerator<SealedInput> {
      for await (const row of readSideRows(ledger)) {
        if (row.kind !== 'sealed' || row.sessionId === undefined) continue;
        const { sessionId, callId } = row;
        const text = await readSealed(ledger, sessionId, callId);
        if (text !== undefined) yield { sessionId, callId, text };
      }
    },
    async *artifacts(): AsyncGenerator<NewArtifact> {
      for await (const row of readSideRows(ledger)) {
        if (row.kind !== 'artifact' || row.sessionId === undefined) continue;
        const { sessionId, callId, artifactId } = row;
        const found = await readWholeArtifact(ledger, sessionId, artifactId);
        if (found !== undefined)
          yield { sessionId, callId, artifactId, mimeType: found.mimeType, content: found.content };
      }
    },
    sealKey: findKey(ledger),
  };
}

function findKey(ledger: OpenLedger): Uint8Array | undefined {
  try {
    return ledger.sealKey;
  } catch (error) {
    if (isQuittanceError(error, 'config.invalid')) return undefined;
    throw error;
  }
}

const invalid = (message: string): QuittanceError => new QuittanceError('config.invalid', message);
