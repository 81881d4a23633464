/**
 * Copies a ledger file with its artifacts as they are at one moment, while other processes write.
 *
 * 1. A read transaction stays open for the whole copy. In WAL mode it shows one moment and blocks no writer. The log
 *    cannot be merged meanwhile, so it grows.
 * 2. Spilled entries are copied before the moment and again after it. An entry leaves its spill only when it is in the
 *    ledger. So each one is in the copy of the spill or of the ledger.
 * 3. An artifact that was erased since the moment is gone. The copy is then made again, without it.
 */
import { createHash } from 'node:crypto';
import {
  chmodSync,
  createReadStream,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { QuittanceError } from '../../base/error.ts';
import { ownerPattern } from '../files/owner-id.ts';
import { readSpillLines } from '../files/spill-file.ts';
import type { Database } from './database.ts';
import { prepareValue } from './database.ts';
import { openLedgerFile } from './open-file.ts';

export type SqliteBackup = {
  /** When the moment was: milliseconds since 1970. */
  readonly at: number;
  readonly ledgerId: string;
  readonly artifacts: number;
  readonly spills: number;
};

export type SqliteBackupOptions = {
  readonly signal: AbortSignal;
  readonly startProgress: (label: string, total: number) => { step(count?: number): void; done(): void };
};

const mostTries = 5;
const pagesAtOnce = 1_024;

/** Copies the ledger at `path` to `target`, whose folder exists and is empty. */
export async function backupSqlite(
  path: string,
  target: string,
  options: SqliteBackupOptions,
): Promise<SqliteBackup> {
  const ledgerId = await readLedgerId(path);
  copySpills(path, target, ledgerId);
  for (let tries = 1; ; tries++) {
    const copied = await copyMoment(path, target, options);
    if (copied !== undefined) return { ...copied, ledgerId, spills: copySpills(path, target, ledgerId) };
    if (tries === mostTries)
      throw new QuittanceError(
        'ledger.unavailable',
        'Artifacts were erased during each attempt to copy the ledger. Take the backup when nothing is being erased.',
      );
    rmSync(target);
  }
}

async function readLedgerId(path: string): Promise<string> {
  const database = await openLedgerFile(path, true);
  try {
    return prepareValue<string>(database, 'SELECT ledger_id FROM ledger').get() as string; // every ledger has one
  } finally {
    database.close();
  }
}

/** The moment and the number of artifacts; undefined if one of them was erased meanwhile. */
async function copyMoment(
  path: string,
  target: string,
  { signal, startProgress }: SqliteBackupOptions,
): Promise<Pick<SqliteBackup, 'at' | 'artifacts'> | undefined> {
  const database = await openLedgerFile(path, true);
  try {
    database.exec('BEGIN');
    // The first read fixes the moment.
    const hashes = prepareValue<string>(database, 'SELECT DISTINCT hash FROM artifacts').all();
    const at = Date.now();
    await copyPages(database, target, { signal, startProgress });
    const progress = startProgress('artifacts', hashes.length);
    try {
      for (const hash of hashes) {
        signal.throwIfAborted();
        if (!(await copyArtifact(`${path}.artifacts`, `${target}.artifacts`, hash))) return undefined;
        progress.step();
      }
    } finally {
      progress.done();
    }
    return { at, artifacts: hashes.length };
  } finally {
    if (database.inTransaction) database.exec('ROLLBACK');
    database.close();
  }
}

async function copyPages(
  database: Database,
  target: string,
  { signal, startProgress }: SqliteBackupOptions,
): Promise<void> {
  let progress: ReturnType<SqliteBackupOptions['startProgress']> | undefined;
  let done = 0;
  try {
    await database.backup(target, {
      rate: pagesAtOnce,
      progress: ({ totalPages, remainingPages }) => {
        signal.throwIfAborted();
        progress ??= startProgress('copy', totalPages);
        progress.step(totalPages - remainingPages - done);
        done = totalPages - remainingPages;
      },
    });
    chmodSync(target, 0o600);
  } finally {
    progress?.done();
  }
}

/** False if it is gone. A content that does not match its name is damage, which a backup must not hide. */
async function copyArtifact(from: string, to: string, hash: string): Promise<boolean> {
  const [source, target] = [join(from, hash.slice(0, 2), hash), join(to, hash.slice(0, 2), hash)];
  if (existsSync(target)) return true;
  mkdirSync(join(to, hash.slice(0, 2)), { recursive: true, mode: 0o700 });
  try {
    await copyFile(source, target);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
  const found = createHash('sha256');
  for await (const piece of createReadStream(target)) found.update(piece as Uint8Array);
  if (found.digest('hex') === hash) return true;
  throw new QuittanceError(
    'ledger.altered',
    `The file of the artifact ${source} was changed after it was written. Run \`quittance verify\` to see which call it belongs to.`,
  );
}

/** The number of spilled entries. A later copy never has fewer entries than an earlier one. */
function copySpills(path: string, target: string, ledgerId: string): number {
  const [from, to] = [`${path}.spill`, `${target}.spill`];
  let count = 0;
  for (const owner of existsSync(from) ? readdirSync(from).filter((name) => ownerPattern.test(name)) : []) {
    const [source, copy] = [join(from, owner), join(to, owner)];
    const now = readSpillLines(source, ledgerId).entries.length;
    const before = existsSync(copy) ? readSpillLines(copy, ledgerId).entries.length : 0;
    if (now > before) {
      mkdirSync(to, { recursive: true, mode: 0o700 });
      writeFileSync(copy, readFileSync(source), { mode: 0o600 });
    }
    count += Math.max(now, before);
  }
  return count;
}
