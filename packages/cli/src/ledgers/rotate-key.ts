/**
 * Replaces the seal key of a ledger.
 *
 * 1. The new key is added to the old ones before it seals anything. So every sealed input can be opened at every
 *    moment. If the run is stopped or killed, the next one goes on.
 * 2. Inputs are sealed again one by one. A row that changed meanwhile is read again in the next pass.
 * 3. The old keys are removed only when nothing needs them: no row, no spilled entry, and no process that seals with
 *    them.
 */
import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, renameSync, writeFileSync, existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { QuittanceError } from 'quittance/internal/base/error';
import type { KeyRing, Seal } from 'quittance/internal/ledger/seal';
import {
  createKeyRing,
  formatKeyRing,
  keyBytes,
  parseKeyRing,
  checkOfKeys,
  createSeal,
} from 'quittance/internal/ledger/seal';
import { sealContext } from 'quittance/internal/runtime/recorded-input';
import { removeIfPossible, syncFolder, writeAll } from 'quittance/internal/store/files/write-all';
import { ownerPattern } from 'quittance/internal/store/files/owner-id';
import { readSpillLines } from 'quittance/internal/store/files/spill-file';
import { parseLedgerUrl } from 'quittance/internal/store/ledger-url';
import { findGivenSealKey, findSealKey } from 'quittance/internal/store/seal-key';
import { whenFree } from 'quittance/internal/store/sqlite/backoff';
import type { Database } from 'quittance/internal/store/sqlite/database';
import { fromSqlText, prepareRow, prepareValue } from 'quittance/internal/store/sqlite/database';
import { storeKeyCheck } from 'quittance/internal/store/sqlite/key-check';
import { openLedgerFile } from 'quittance/internal/store/sqlite/open-file';
import { listOwners, readOwnerStatus } from 'quittance/internal/store/sqlite/owner-lock';
import { readSealKeyFile } from 'quittance/internal/store/sqlite/seal-key-file';

export type RotateOptions = {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  readonly startProgress: (label: string, total: number) => { step(count?: number): void; done(): void };
  /** The key is lost: begins with a new one, and removes what cannot be opened any more. */
  readonly lost: boolean;
  /** Writes the old keys to this new file before they are removed: earlier backups need them. */
  readonly saveOld: string | undefined;
  /** Returns the keys to keep, for keys that come from a variable or a command. */
  readonly printKeys: boolean;
};

export type Rotation = {
  /** `waiting`: the old keys stay until the reasons in `waitingFor` are gone. */
  readonly state: 'done' | 'waiting';
  readonly waitingFor: readonly string[];
  /** Did this run create a new key, or continue an earlier rotation? */
  readonly began: boolean;
  readonly resealed: number;
  /** Sealed inputs that no key opens. With `lost`, they were removed. */
  readonly unopened: number;
  /** The keys to keep, if they were asked for. */
  readonly keys?: string;
};

export async function rotateKey(url: string, options: RotateOptions): Promise<Rotation> {
  const store = await openKeyStore(url, options.env, options.lost);
  try {
    return options.lost ? await replaceLost(store) : await rotate(store, options);
  } finally {
    await store.close();
  }
}

async function rotate(store: OpenKeyStore, options: RotateOptions): Promise<Rotation> {
  const found = parseKeyRing(store.readKey());
  const began = found.older.length === 0;
  const ring: KeyRing = began
    ? { current: new Uint8Array(randomBytes(keyBytes)), older: [found.current], digestKey: found.digestKey }
    : found;
  if (began) writeKeys(store, ring);
  // Also after a rotation that was stopped before it did, and for keys that a person gave to every process.
  await store.noteRing(formatKeyRing(ring));
  const { resealed, unopened } = await sealAgain(store.rows, ring, options);
  const waitingFor = [...(await store.findUsers())];
  if (options.signal.aborted) waitingFor.push('the rotation was stopped');
  if (unopened > 0) waitingFor.push(`${unopened} sealed inputs that no key opens: see quittance verify`);
  if (waitingFor.length > 0) return { state: 'waiting', waitingFor, began, resealed, unopened };
  const kept = { ...ring, older: [] };
  if (store.keyFile === undefined)
    return options.printKeys
      ? {
          state: 'done',
          waitingFor,
          began,
          resealed,
          unopened,
          keys: Buffer.from(formatKeyRing(kept)).toString(),
        }
      : { state: 'waiting', waitingFor: [printHint], began, resealed, unopened };
  saveOld(options.saveOld, ring);
  writeKeys(store, kept);
  return { state: 'done', waitingFor: [], began, resealed, unopened };
}

const printHint =
  'the variable or the command that gives the keys: store there what quittance rotate-key --print-keys prints';

/** What the lost key sealed is removed: the calls that need it can then only end, never run with masked values. */
async function replaceLost(store: OpenKeyStore): Promise<Rotation> {
  const users = await store.findUsers();
  if (users.length > 0)
    throw new QuittanceError(
      'config.invalid',
      `A lost key can be replaced only while nothing uses the ledger. Stop first: ${users.join('; ')}.`,
    );
  const ring = createKeyRing([new Uint8Array(randomBytes(keyBytes))]);
  let unopened = 0;
  for await (const row of store.rows.list()) {
    await store.rows.drop(row);
    unopened++;
  }
  writeKeys(store, ring);
  await store.noteRing(formatKeyRing(ring));
  return { state: 'done', waitingFor: [], began: true, resealed: 0, unopened };
}

async function sealAgain(
  rows: SealedRows,
  ring: KeyRing,
  { signal, startProgress }: RotateOptions,
): Promise<{ readonly resealed: number; readonly unopened: number }> {
  const [all, current] = [createSeal(formatKeyRing(ring)), createSeal(ring.current)];
  const progress = startProgress('seal', await rows.count());
  let [resealed, unopened] = [0, 0];
  try {
    for await (const row of rows.list()) {
      if (signal.aborted) break;
      const context = sealContext(row.sessionId, row.callId);
      progress.step();
      if (tryOpen(current, row.text, context) !== undefined) continue;
      const plain = tryOpen(all, row.text, context);
      if (plain === undefined) unopened++;
      else if (await rows.replace(row, current.seal(plain, context))) resealed++;
    }
  } finally {
    progress.done();
  }
  return { resealed, unopened };
}

function tryOpen(seal: Seal, text: string, context: string): string | undefined {
  try {
    return seal.open(text, context);
  } catch {
    return undefined;
  }
}

/** The new content is complete on disk before it gets the name. */
function writeKeys({ keyFile }: OpenKeyStore, ring: KeyRing): void {
  if (keyFile === undefined)
    throw new QuittanceError(
      'config.invalid',
      'The seal key comes from a variable or a command, so this command cannot change it. Give the new key first and the ' +
        'old one after it, with a comma between them: NEW,OLD. Restart every process with both, then run this again. See ' +
        'docs/operations.md.',
    );
  const draft = `${keyFile}.${randomBytes(6).toString('hex')}`;
  const file = openSync(draft, 'wx', 0o600);
  try {
    writeAll(file, formatKeyRing(ring), 0);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  try {
    renameSync(draft, keyFile);
  } catch (error) {
    removeIfPossible(draft); // as private as the keys themselves
    throw error;
  }
  syncFolder(dirname(keyFile));
}

function saveOld(path: string | undefined, { older, digestKey }: KeyRing): void {
  const [current, ...more] = older;
  if (path === undefined || current === undefined) return;
  writeFileSync(path, formatKeyRing({ current, older: more, digestKey }), {
    mode: 0o600,
    flag: 'wx',
    flush: true,
  });
}

/** What a rotation of the seal key needs to know about a ledger: its keys, its sealed inputs, and who uses it. */

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
      return openDatabase(address.url, env, mayLack);
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
    close: () => Promise.resolve(database.close()),
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
  const { readSettings, withPgEnvironment } = await import('@quittance/postgres/internal/settings');
  const { PgPool } = await import('@quittance/postgres/internal/pg-pool');
  const { readLedgerRow, requireFormat } = await import('@quittance/postgres/internal/migrate');
  const { sealedRowsOfDatabase } = await import('@quittance/postgres/internal/sealed-rows');
  const pool = new PgPool(readSettings(withPgEnvironment(url, env), {}));
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

/** The sealed inputs of a ledger, row by row. Other processes may use the ledger meanwhile. */
type SealedRow = { readonly sessionId: string; readonly callId: string; readonly text: string };

interface SealedRows {
  count(): Promise<number>;
  /** Every row, in a fixed order. A row that is removed meanwhile may be missing. */
  list(): AsyncIterable<SealedRow>;
  /** False if the row was changed or removed since it was read. */
  replace(row: SealedRow, text: string): Promise<boolean>;
  drop(row: SealedRow): Promise<void>;
}

const rowsAtOnce = 200;

type FileRow = { session: number; call: string; name: string; text: string };

function sealedRowsOfFile(database: Database): SealedRows {
  const page = prepareRow<FileRow>(
    database,
    `SELECT session, call, name, text FROM sealed JOIN sessions USING (session)
     WHERE (session, call) > (?, ?) ORDER BY session, call LIMIT ${rowsAtOnce}`,
  );
  const update = prepareRow<never>(
    database,
    'UPDATE sealed SET text = ? WHERE session = ? AND call = ? AND text = ?',
  );
  const remove = prepareRow<never>(
    database,
    'DELETE FROM sealed WHERE session = ? AND call = ? AND text = ?',
  );
  const places = new WeakMap<SealedRow, FileRow>();
  return {
    count: () =>
      Promise.resolve(prepareRow<{ n: number }>(database, 'SELECT count(*) AS n FROM sealed').get()?.n ?? 0),
    async *list() {
      for (let last: FileRow | undefined; ;) {
        const rows = page.all(last?.session ?? -1, last?.call ?? '');
        for (const row of rows) {
          const found = {
            sessionId: fromSqlText(row.name),
            callId: fromSqlText(row.call),
            text: fromSqlText(row.text),
          };
          places.set(found, row);
          yield found;
        }
        if (rows.length < rowsAtOnce) return;
        last = rows.at(-1);
        await new Promise(setImmediate);
      }
    },
    async replace(row, text) {
      const place = places.get(row);
      if (place === undefined) return false;
      const { changes } = await whenFree(() => update.run(text, place.session, place.call, place.text));
      return changes > 0;
    },
    async drop(row) {
      const place = places.get(row);
      if (place !== undefined) await whenFree(() => remove.run(place.session, place.call, place.text));
    },
  };
}
