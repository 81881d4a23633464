/** Takes the content of another ledger into a store, in a transaction. */
import type { NewArtifact } from '../../ledger/artifacts.ts';
import type { Head } from '../../ledger/chain.ts';
import { chainHash, genesisHash } from '../../ledger/chain.ts';
import type { CopySource, CopyTotals } from '../../ledger/retention.ts';
import type { StoredEntry } from '../../ledger/stored-entry.ts';
import type { SqlDriver } from './driver.ts';
import type { SideStateDialect } from './side-state.ts';
import { takeSideRows } from './side-state.ts';
import { QuittanceError } from '../../base/error.ts';

export type CopyDialect = Pick<SideStateDialect, 'stored' | 'toText' | 'fromText' | 'takeSession'> & {
  /** The ends of the chains that the store has already. */
  readonly readHeads: (driver: SqlDriver) => Promise<readonly Head[]>;
  readonly putEntries: (driver: SqlDriver, entries: readonly StoredEntry[]) => Promise<void>;
  /** Empties the bodies of an entry that the store has already, and that was erased in the source. */
  readonly emptyEntry: (driver: SqlDriver, entry: StoredEntry) => Promise<void>;
  readonly artifacts: string;
  readonly putArtifact: (driver: SqlDriver, artifact: NewArtifact) => Promise<void>;
};

const entriesAtOnce = 500;
const charsAtOnce = 4_000_000;

/** Throws if the store has entries that the source does not have. */
export async function takeCopy(
  driver: SqlDriver,
  dialect: CopyDialect,
  source: CopySource,
  signal: AbortSignal,
): Promise<CopyTotals> {
  const missing = new MissingEntries(await dialect.readHeads(driver));
  let batch: StoredEntry[] = [];
  let chars = 0;
  const flush = async (): Promise<void> => {
    if (batch.length > 0) await dialect.putEntries(driver, batch);
    [batch, chars] = [[], 0];
  };
  for await (const entry of source.entries()) {
    signal.throwIfAborted();
    if (missing.isMissing(entry)) {
      batch.push(entry);
      chars += entry.text.length + (entry.bodies?.length ?? 0);
      if (batch.length >= entriesAtOnce || chars >= charsAtOnce) await flush();
    } else if (entry.bodies === undefined) await dialect.emptyEntry(driver, entry);
  }
  await flush();
  missing.requireWhole();
  await takeSideRows(driver, dialect, source);
  await driver.run(`DELETE FROM ${dialect.artifacts}`);
  let artifacts = 0;
  for await (const artifact of source.artifacts()) {
    signal.throwIfAborted();
    await dialect.putArtifact(driver, artifact);
    artifacts++;
  }
  return { entries: missing.taken, sessions: missing.sessions, artifacts };
}

/** Compares a source with the heads of a target, entry by entry, while it is copied. */

export class MissingEntries {
  readonly #target: ReadonlyMap<string, Head>;
  readonly #source = new Map<string, Pick<Head, 'sequence' | 'hash'>>();
  #taken = 0;

  constructor(target: Iterable<Head>) {
    this.#target = new Map([...target].map((head) => [head.sessionId, head]));
  }

  /** Number of entries that the target lacked. */
  get taken(): number {
    return this.#taken;
  }

  /** Number of sessions of the source. */
  get sessions(): number {
    return this.#source.size;
  }

  /**
   * Returns whether the target lacks the entry. Call it for every entry of the source, in order. Throws if the chain of the
   * source is broken, or if the target has another entry in this place.
   */
  isMissing({ sessionId, sequence, text, hash }: StoredEntry): boolean {
    const before = this.#source.get(sessionId) ?? { sequence: 0, hash: genesisHash(sessionId) };
    if (sequence !== before.sequence + 1 || chainHash(before.hash, sequence, text) !== hash)
      throw new QuittanceError(
        'ledger.damaged',
        `Entry ${sequence} of session ${JSON.stringify(sessionId)} does not continue its chain, so nothing was copied. ` +
          'Run `quittance verify` on the source.',
        { sessionId, sequence: String(sequence) },
      );
    this.#source.set(sessionId, { sequence, hash });
    const head = this.#target.get(sessionId);
    if (head === undefined || sequence > head.sequence) {
      this.#taken++;
      return true;
    }
    if (sequence === head.sequence && hash !== head.hash) throw otherError(sessionId);
    return false;
  }

  /** Throws if the target has entries that the source did not have. */
  requireWhole(): void {
    for (const { sessionId, sequence } of this.#target.values())
      if ((this.#source.get(sessionId)?.sequence ?? 0) < sequence) throw otherError(sessionId);
  }
}

const otherError = (sessionId: string): QuittanceError =>
  new QuittanceError(
    'config.invalid',
    `The target has entries of session ${JSON.stringify(sessionId)} that the source does not have, so nothing was ` +
      'copied. Copy to a new ledger, or to one that was copied from this source and not used since.',
    { sessionId },
  );

export const inUseByOthers = (): QuittanceError =>
  new QuittanceError(
    'config.invalid',
    'Another process has the target open, so nothing was copied. Stop the processes that use it.',
  );

export const otherKey = (): QuittanceError =>
  new QuittanceError(
    'config.invalid',
    'The target has another seal key than the source, so nothing was copied: sealed inputs and idempotency keys of ' +
      'the source would be lost. Copy to a new ledger.',
  );
