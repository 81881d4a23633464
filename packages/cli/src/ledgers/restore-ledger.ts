/**
 * Restores a backup as a new ledger.
 *
 * 1. Nothing is overwritten. The ledger is made under another name, and gets its own when it is complete and verified.
 * 2. The digests of all files, the chains and the anchor are checked before anything else.
 * 3. The original may have continued after the backup. Calls that were open then end in the restored ledger, so that none
 *    runs a second time: see `end-restored.ts`.
 */
import { randomBytes } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { QuittanceError } from 'quittance/internal/base/error';
import type { Anchor } from 'quittance/internal/ledger/anchor';
import { parseAnchor } from 'quittance/internal/ledger/anchor';
import { openSealedInputs } from 'quittance/internal/replay/open-sealed-inputs';
import { createRuntimeOn } from 'quittance/internal/runtime/create-runtime';
import type { RecoveredCall } from 'quittance/internal/runtime/runtime-state';
import type { FileWork } from './digest-files.ts';
import { digestFiles } from './digest-files.ts';
import { companionFiles } from './backup-ledger.ts';
import type { BackupManifest } from './backup-manifest.ts';
import { anchorName, ledgerName, manifestName, parseManifest } from './backup-manifest.ts';
import { copyLedger } from './copy-ledger.ts';
import { syncFolder } from 'quittance/internal/store/files/write-all';
import { parseLedgerUrl } from 'quittance/internal/store/ledger-url';
import { openLedger } from 'quittance/internal/store/open-ledger';
import { storeKeyCheck } from 'quittance/internal/store/sqlite/key-check';
import { openLedgerFile } from 'quittance/internal/store/sqlite/open-file';
import { lastEntryPath } from 'quittance/internal/store/sqlite/last-entry';
import { openSqliteLedger } from 'quittance/internal/store/sqlite/open-sqlite-ledger';
import { sealKeyBytes } from 'quittance/internal/store/sqlite/seal-key-file';
import { findCopyProblems } from './copy-problems.ts';

export type RestoreOptions = FileWork & {
  /** The key of the ledger; undefined if the backup contains it, or if it is lost. */
  readonly sealKey: Uint8Array | undefined;
  /** Restores without the key: sealed inputs cannot be opened any more. */
  readonly withoutKey: boolean;
  /** Also restores tokens. A token that was revoked after the backup is valid again. */
  readonly tokens: boolean;
};

export type Restored = {
  readonly manifest: BackupManifest;
  /** The calls that were open in the backup, and how each ended. */
  readonly ended: readonly RecoveredCall[];
};

/** Reads the manifest of a backup and checks every file against it. */
export async function checkBackup(
  from: string,
  { signal, startProgress }: FileWork,
): Promise<{ readonly manifest: BackupManifest; readonly anchor: Anchor }> {
  const path = join(from, manifestName);
  if (!existsSync(path))
    throw new QuittanceError(
      'config.invalid',
      `${from} is not a complete backup: it has no ${manifestName}. A folder whose name contains ".partial-" is what a stopped backup left; remove it.`,
    );
  const manifest = parseManifest(readFileSync(path, 'utf8'));
  const missing = manifest.files.filter((file) => !existsSync(join(from, file.path)));
  if (missing.length > 0) throw changed(`${missing[0]?.path} is missing`);
  const found = await digestFiles(
    from,
    manifest.files.map((file) => file.path),
    { signal, startProgress },
  );
  for (const [index, { path: name, sha256 }] of manifest.files.entries())
    if (found[index]?.sha256 !== sha256) throw changed(`${name} is not what the backup wrote`);
  const anchor = parseAnchor(readFileSync(join(from, anchorName), 'utf8'));
  if (anchor.digest !== manifest.anchor) throw changed(`${anchorName} is not the anchor of this backup`);
  return { manifest, anchor };
}

export async function restoreLedger(from: string, to: string, options: RestoreOptions): Promise<Restored> {
  const target = parseLedgerUrl(to);
  if (target.kind === 'memory')
    throw new QuittanceError('config.invalid', 'A backup cannot be restored into a ledger in memory.');
  const path = target.kind === 'sqlite' ? resolve(target.path) : undefined;
  if (path !== undefined) refuseExisting(path);
  const { manifest, anchor } = await checkBackup(from, options);
  const parent = path === undefined ? tmpdir() : dirname(path);
  mkdirSync(parent, { recursive: true, mode: 0o700 });
  const draft = join(parent, `.restoring-${randomBytes(4).toString('hex')}`);
  mkdirSync(draft, { mode: 0o700 });
  const file = join(draft, ledgerName);
  try {
    copyBackup(from, draft, manifest, options);
    await verifyWith(file, anchor, options);
    const sealKey = await needKey(file, manifest, options);
    if (!options.withoutKey) await refuseOtherKey(file);
    const ended = await endOpenCalls(file, manifest.at, sealKey);
    options.signal.throwIfAborted();
    if (path === undefined) await copyLedger(file, to, { signal: options.signal });
    else putInPlace(file, path);
    return { manifest, ended };
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

const parts = ['.artifacts', '.spill', '.key', ...companionFiles] as const;

/** A restored ledger must not continue with the log or the sign-ins of another one. */
const foreignParts = ['-wal', '-journal', '.sign-ins'] as const;

function refuseExisting(path: string): void {
  const found = ['', ...foreignParts, ...parts].find((name) => existsSync(path + name));
  if (found !== undefined)
    throw new QuittanceError(
      'config.invalid',
      `${path}${found} already exists. A restore overwrites nothing: choose another path, or move the files of the old ledger away.`,
    );
}

function copyBackup(
  from: string,
  draft: string,
  { files }: BackupManifest,
  { tokens, signal }: RestoreOptions,
): void {
  for (const { path } of files) {
    signal.throwIfAborted();
    if (path === anchorName || (path === `${ledgerName}.tokens` && !tokens)) continue;
    mkdirSync(dirname(join(draft, path)), { recursive: true, mode: 0o700 });
    copyFileSync(join(from, path), join(draft, path));
  }
}

async function verifyWith(file: string, anchor: Anchor, work: FileWork): Promise<void> {
  const ledger = await openLedger(file, { readOnly: true });
  try {
    const found = await findCopyProblems(ledger, anchor, work);
    if (found !== undefined)
      throw changed(`verification found ${found.problems} problems. The first: ${found.first}`);
  } finally {
    await ledger.close();
  }
}

async function needKey(
  file: string,
  { hasSealKey }: BackupManifest,
  { sealKey, withoutKey }: RestoreOptions,
): Promise<Uint8Array | undefined> {
  if (hasSealKey) return undefined; // it is next to the file
  if (sealKey === undefined && !withoutKey)
    throw new QuittanceError(
      'config.invalid',
      'The backup does not contain the seal key. Name it: --seal-key-file FILE. If it is lost, use --lost-key: then ' +
        'sealed inputs cannot be opened, and idempotency keys with hidden values are not recognized.',
    );
  // Without the old key, a new one is for what is sealed from now on.
  const key = sealKey ?? new Uint8Array(randomBytes(sealKeyBytes));
  writeFileSync(`${file}.key`, key, { mode: 0o600, flag: 'wx', flush: true });
  if (sealKey === undefined) {
    const database = await openLedgerFile(file, false);
    storeKeyCheck(database, key);
    database.close();
  }
  return key;
}

/** The key is next to the file now. */
async function refuseOtherKey(file: string): Promise<void> {
  const ledger = await openSqliteLedger(file, { readOnly: true });
  try {
    const { broken = 0 } = (await openSealedInputs(ledger)) ?? {};
    if (broken > 0)
      throw new QuittanceError(
        'config.invalid',
        `The seal key does not open ${broken} sealed inputs of the backup: it is another key. Name the key that the ledger had at the time of the backup: --seal-key-file FILE. If it is lost, use --lost-key.`,
      );
  } finally {
    await ledger.close();
  }
}

/** The owners of the original are not in this ledger, so no open call can continue. */
async function endOpenCalls(
  file: string,
  backupAt: number,
  sealKey: Uint8Array | undefined,
): Promise<readonly RecoveredCall[]> {
  const ledger = await openSqliteLedger(file, { ...(sealKey !== undefined && { sealKey }) });
  try {
    const runtime = createRuntimeOn({ tools: [], ledger });
    const ended = await runtime.recover({ restoredFrom: backupAt });
    await runtime.close();
    return ended;
  } finally {
    await ledger.close();
  }
}

/** The ledger file comes last: before it is there, the path names no ledger. */
function putInPlace(file: string, path: string): void {
  refuseExisting(path);
  rmSync(lastEntryPath(path), { force: true }); // of a ledger that is gone
  for (const name of [...parts, '.last']) if (existsSync(file + name)) renameSync(file + name, path + name);
  renameSync(file, path);
  syncFolder(dirname(path));
}

const changed = (what: string): QuittanceError =>
  new QuittanceError(
    'ledger.damaged',
    `The backup was changed or is incomplete: ${what}. Use another backup.`,
  );
