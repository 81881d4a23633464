/** A ledger in PostgreSQL, for any number of processes and hosts. */
import { createIds } from '../../base/ids.ts';
import { QuittanceError } from '../../base/error.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Spill } from '../../ledger/spill.ts';
import type { OwnFile } from '../../policy/own-files/own-file.ts';
import { createSalts } from '../files/salts.ts';
import { SpillFile } from '../files/spill-file.ts';
import { AppendLane } from './append-lane.ts';
import { Changes } from './changes.ts';
import { EffectGuesses } from './effect-guesses.ts';
import type { LedgerRow } from './migrate.ts';
import type { PgPool } from './pg-pool.ts';
import { PostgresArtifacts } from './postgres-artifacts.ts';
import { PostgresClaims } from './postgres-claims.ts';
import { PostgresCursors } from './postgres-cursors.ts';
import { PostgresDocuments } from './postgres-documents.ts';
import { PostgresEntries } from './postgres-entries.ts';
import { PostgresIntegrity } from './postgres-integrity.ts';
import { PostgresJournal } from './postgres-journal.ts';
import type { PostgresLedgerOptions } from './postgres-ledger-options.ts';
import { defaultSpillFolder, postgresOwnFiles } from './postgres-own-files.ts';
import { PostgresOwners } from './postgres-owners.ts';
import { PostgresQueries } from './postgres-queries.ts';
import { PostgresRetention } from './postgres-retention.ts';

export type OpenedRow = LedgerRow & {
  /** False for a role that may only decide: see `roles.ts`. */
  readonly mayAppend: boolean;
};

export class PostgresLedger implements Ledger {
  readonly journal: PostgresJournal;
  readonly claims: PostgresClaims;
  readonly artifacts: PostgresArtifacts;
  readonly owners: PostgresOwners;
  readonly spill: Spill;
  readonly queries: PostgresQueries;
  readonly entries: PostgresEntries;
  readonly cursors: PostgresCursors;
  readonly integrity: PostgresIntegrity;
  readonly retention: PostgresRetention;
  readonly documents: PostgresDocuments;
  readonly ownFiles: readonly OwnFile[];
  readonly now: () => number;
  readonly readSealKey: (() => Uint8Array) | undefined;
  readonly #options: PostgresLedgerOptions;
  readonly #close: () => Promise<void>;

  constructor(pool: PgPool, { ledgerId, mayAppend }: OpenedRow, options: PostgresLedgerOptions) {
    this.#options = options;
    this.readSealKey = options.readSealKey;
    this.ownFiles = postgresOwnFiles(options);
    const now = (this.now = () => options.clock?.now() ?? owners.now());
    const salt = createSalts();
    const entries: PostgresEntries = new PostgresEntries(pool, () => changes);
    const changes = new Changes({ pool, lastPosition: () => entries.readLast() });
    const owners = new PostgresOwners({
      pool,
      // A role that may only decide owns no call.
      readOnly: options.readOnly === true || !mayAppend,
      channel: changes.channel,
      onNotification: () => changes.look(),
      onListening: (isListening) => {
        changes.isListening = isListening;
      },
      onForget: (gone) => spillFile?.forget(gone),
    });
    const { ownerId } = owners;
    const spillFile = openSpill(options, ownerId, ledgerId, salt);
    const queries = new PostgresQueries(pool);
    const onCommit = (position: number): void => {
      entries.noteOwn(position);
      changes.noteOwnCommit();
      queries.noteAppend(lanes.some(({ isBusy }) => isBusy));
    };
    const lanes: readonly AppendLane[] =
      options.readOnly === true
        ? []
        : Array.from(
            { length: pool.settings.writers },
            (_, n) =>
              new AppendLane(pool, `${ownerId}/${n}`, onCommit, mayAppend ? 'append_v2' : 'append_decisions'),
          );
    const guesses = new EffectGuesses();
    this.journal = new PostgresJournal({
      pool,
      guesses,
      changes,
      ownerId,
      salt,
      append: lanes.length === 0 ? undefined : (item) => laneFor(lanes, item.session).append(item),
    });
    this.claims = new PostgresClaims(pool, guesses);
    this.artifacts = new PostgresArtifacts(pool);
    this.owners = owners;
    this.spill = createSpill(spillFile, owners);
    this.queries = queries;
    this.entries = entries;
    this.cursors = new PostgresCursors(pool, ownerId);
    this.documents = new PostgresDocuments(pool);
    this.integrity = new PostgresIntegrity(pool, queries, now);
    const fill = (): Promise<void> => queries.fill();
    this.retention = new PostgresRetention({ pool, ownerId, ids: createIds(), salt, now, fill, onCommit });
    this.#close = async () => {
      await Promise.all(lanes.map((lane) => lane.close()));
      await changes.close();
      await queries.close();
      await owners.end();
      spillFile?.close();
      await pool.close();
    };
  }

  get sealKey(): Uint8Array {
    const { sealKey } = this.#options;
    if (sealKey !== undefined) return sealKey;
    throw new QuittanceError(
      'config.invalid',
      'A PostgreSQL ledger stores no seal key, and this process has none. Set QUITTANCE_SEAL_KEY_FILE, ' +
        'QUITTANCE_SEAL_KEY or QUITTANCE_SEAL_KEY_COMMAND, or pass the option sealKey.',
    );
  }

  close(): Promise<void> {
    return this.#close();
  }
}

/** A session always uses the same connection, so that its entries share batches and never wait for each other. */
const laneFor = (lanes: readonly AppendLane[], session: string): AppendLane => {
  let sum = 0;
  for (let index = 0; index < session.length; index++) sum = (sum * 31 + session.charCodeAt(index)) | 0;
  return lanes[Math.abs(sum) % lanes.length] as AppendLane; // there is at least one
};

function openSpill(
  { readOnly, spillFolder, spillBytes }: PostgresLedgerOptions,
  ownerId: string,
  ledgerId: string,
  salt: () => string,
): SpillFile | undefined {
  if (readOnly === true) return undefined;
  return new SpillFile(
    { folder: spillFolder ?? defaultSpillFolder, ownerId, ledgerId },
    spillBytes ?? 1_048_576,
    salt,
  );
}

/** Spills of other hosts are on their disks: only those of this host are read. */
const createSpill = (file: SpillFile | undefined, owners: PostgresOwners): Spill => ({
  write: (entry) => file?.add(entry) ?? false,
  canWrite: () => file?.isReady ?? false,
  async read() {
    if (file === undefined) return [];
    const spilled = file.read(() => true);
    const found = await Promise.all(
      spilled.map(async (one) => ({
        one,
        isOurs: one.ownerId === owners.ownerId || (await owners.statusOf(one.ownerId)) === 'gone',
      })),
    );
    return found.filter(({ isOurs }) => isOurs).map(({ one }) => one);
  },
  drop: (ownerId, lastEntryId) => file?.drop(ownerId, lastEntryId) ?? false,
});
