/** What a rotation of the seal key needs to know about a ledger: its keys, its sealed inputs, and who uses it. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { QuittanceError } from '../base/error.ts';
import { checkOfKeys } from '../ledger/key-ring.ts';
import { ownerPattern } from './files/owner-id.ts';
import { readSpillLines } from './files/spill-lines.ts';
import { parseLedgerUrl } from './ledger-url.ts';
import { readLedgerRow, requireFormat } from './postgres/migrate.ts';
import { withPgEnvironment } from './postgres/pg-environment.ts';
import { PgPool } from './postgres/pg-pool.ts';
import { readSettings } from './postgres/settings.ts';
import { findGivenSealKey, findSealKey } from './seal-key.ts';
import type { SealedRows } from './sealed-rows.ts';
import { sealedRowsOfDatabase, sealedRowsOfFile } from './sealed-rows.ts';
import { whenFree } from './sqlite/backoff.ts';
import { prepareValue } from './sqlite/database.ts';
import { storeKeyCheck } from './sqlite/key-check.ts';
import { openLedgerFile } from './sqlite/open-file.ts';
import { listOwners, readOwnerStatus } from './sqlite/owner-lock.ts';
import { readSealKeyFile } from './sqlite/seal-key-file.ts';

export type OpenKeyStore = {
  readonly rows: SealedRows;
  readonly readKey: () => Uint8Array;
  /** The file to write the keys to; undefined if they come from a variable or a command. */
  readonly keyFile: string | undefined;
  /** Tells the ledger which keys its processes must have. */
  readonly noteRing: (keys: Uint8Array) => Promise<void>;
  /** Why the old keys are still needed, one sentence part each. */
  readonly findUsers: () => Promise<readonly string[]>;
  readonly close: () => Promise<void>;
};

type Environment = Readonly<Record<string, string | undefined>>;

/** With `mayLack`, the key may be missing. */
export async function openKeyStore(url: string, env: Environment, mayLack: boolean): Promise<OpenKeyStore> {
  const address = parseLedgerUrl(url);
  switch (address.kind) {
    case 'memory':
      throw new QuittanceError('config.invalid', 'A ledger in memory has no stored key.');
    case 'sqlite':
      return openFile(address.path, env);
    case 'postgres':
      return openDatabase(withPgEnvironment(address.url, env), env, mayLack);
  }
}

async function openFile(path: string, env: Environment): Promise<OpenKeyStore> {
  // A key file next to the ledger is its key, as when it is opened.
  const given = existsSync(`${path}.key`) ? undefined : findGivenSealKey(env, {});
  const database = await openLedgerFile(path, false);
  const ledgerId = prepareValue<string>(database, 'SELECT ledger_id FROM ledger').get() ?? '';
  return {
    rows: sealedRowsOfFile(database),
    readKey: () => given?.readSealKey?.() ?? given?.sealKey ?? readSealKeyFile(`${path}.key`, 'read only'),
    keyFile: given === undefined ? `${path}.key` : given.sealKeyFile,
    async noteRing(keys) {
      await whenFree(() => storeKeyCheck(database, keys));
    },
    findUsers() {
      const owners = listOwners(`${path}.owners`).filter(
        (owner) => readOwnerStatus(`${path}.owners`, owner) !== 'gone',
      );
      const spills = countSpills(`${path}.spill`, ledgerId);
      return Promise.resolve([
        ...(owners.length > 0 ? [describeOwners(owners.length)] : []),
        ...(spills > 0 ? [`${spills} spilled results, which the next process imports`] : []),
      ]);
    },
    close: () => Promise.resolve(void database.close()),
  };
}

function countSpills(folder: string, ledgerId: string): number {
  if (!existsSync(folder)) return 0;
  return readdirSync(folder)
    .filter((name) => ownerPattern.test(name))
    .reduce((sum, name) => sum + readSpillLines(join(folder, name), ledgerId).entries.length, 0);
}

async function openDatabase(url: string, env: Environment, mayLack: boolean): Promise<OpenKeyStore> {
  const found = findSealKey(env, {});
  if (found === undefined && !mayLack)
    throw new QuittanceError(
      'config.invalid',
      'This process has no seal key. Set QUITTANCE_SEAL_KEY_FILE to the key of the ledger. If it is lost, use --lost.',
    );
  const pool = new PgPool(readSettings(url, {}));
  try {
    const { ledgerId } = requireFormat(await readLedgerRow(pool), pool.settings);
    return {
      rows: sealedRowsOfDatabase(pool),
      readKey: () => found?.readSealKey?.() ?? (found?.sealKey as Uint8Array), // checked above
      keyFile:
        found?.sealKeyFile ??
        (found === undefined ? (env['QUITTANCE_SEAL_KEY_FILE'] ?? '.quittance/seal.key') : undefined),
      async noteRing(keys) {
        await pool.query('UPDATE @ledger SET key_check = $1', [checkOfKeys(keys, ledgerId)]);
      },
      async findUsers() {
        const [row] = await pool.query<{ n: number }>(
          `SELECT count(*)::integer AS n FROM @owners
           WHERE NOT ended AND renewed_at + lease_ms * interval '1 millisecond' > clock_timestamp()`,
        );
        const owners = row?.n ?? 0;
        return owners > 0 ? [describeOwners(owners)] : [];
      },
      close: () => pool.close(),
    };
  } catch (error) {
    await pool.close();
    throw error;
  }
}

const describeOwners = (count: number): string =>
  count === 1 ? '1 process that has the ledger open' : `${count} processes that have the ledger open`;
