/**
 * Takes a backup of a ledger while its processes work. A backup is a folder with a SQLite file, artifacts, spilled entries,
 * the anchor of that moment and a manifest. It is made under another name and gets its own when it is complete. So a backup
 * that was stopped or killed never looks whole.
 */
import { randomBytes } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { QuittanceError } from 'quittance/internal/base/error';
import type { Anchor } from 'quittance/internal/ledger/anchor';
import { anchorToText, createAnchor } from 'quittance/internal/ledger/anchor';
import type { BackupManifest } from './backup-manifest.ts';
import { anchorName, ledgerName, manifestName, manifestToText } from './backup-manifest.ts';
import type { FileWork } from './digest-files.ts';
import { listFiles, digestFiles, syncFiles } from './digest-files.ts';
import { openSource } from './copy-ledger.ts';
import { syncFolder } from 'quittance/internal/store/files/write-all';
import { parseLedgerUrl } from 'quittance/internal/store/ledger-url';
import { openLedger } from 'quittance/internal/store/open-ledger';
import { backupSqlite } from 'quittance/internal/store/sqlite/sqlite-backup';
import { takeSqliteCopy } from 'quittance/internal/store/sqlite/sqlite-copy';
import { findCopyProblems } from './copy-problems.ts';
import { readHeads } from 'quittance/internal/ledger/reads';

export type BackupOptions = FileWork & {
  /** Version of this package, for the manifest. */
  readonly version: string;
  /** Puts the seal key of a ledger file into the backup. */
  readonly withSealKey: boolean;
  /** Checks the copy as `quittance verify` does. */
  readonly verify: boolean;
};

export type Backup = BackupManifest & { readonly folder: string; readonly spills: number };

/** Files next to a ledger that belong to a server or a gateway. */
export const companionFiles = ['.tokens', '.schemas', '.reviews'] as const;

export async function backupLedger(url: string, to: string, options: BackupOptions): Promise<Backup> {
  const folder = resolve(to);
  refuseTarget(folder);
  const draft = `${folder}.partial-${randomBytes(4).toString('hex')}`;
  mkdirSync(draft, { recursive: true, mode: 0o700 });
  try {
    const copied = await copyTo(url, join(draft, ledgerName), options);
    const counted = await readCopy(join(draft, ledgerName), copied.at, options);
    writeFileSync(join(draft, anchorName), anchorToText(counted.anchor), { mode: 0o600 });
    const { signal, startProgress, version, withSealKey } = options;
    const files = await digestFiles(draft, listFiles(draft), { signal, startProgress });
    const manifest: BackupManifest = {
      at: copied.at,
      ledgerId: copied.ledgerId,
      source: copied.source,
      version,
      entries: counted.entries,
      sessions: counted.anchor.heads.length,
      artifacts: copied.artifacts,
      anchor: counted.anchor.digest,
      hasSealKey: withSealKey,
      files,
    };
    writeFileSync(join(draft, manifestName), manifestToText(manifest), { mode: 0o600 });
    await syncFiles(draft);
    signal.throwIfAborted();
    renameSync(draft, folder);
    syncFolder(dirname(folder));
    return { ...manifest, folder, spills: copied.spills };
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

function refuseTarget(folder: string): void {
  const found = statSync(folder, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (found.isDirectory() && readdirSync(folder).length === 0) return rmSync(folder, { recursive: true });
  throw new QuittanceError(
    'config.invalid',
    `${folder} already exists. A backup goes into a new folder, so that an earlier one is never lost. Choose another name.`,
  );
}

type Copied = {
  readonly at: number;
  readonly ledgerId: string;
  readonly source: BackupManifest['source'];
  readonly artifacts: number;
  readonly spills: number;
};

async function copyTo(url: string, target: string, options: BackupOptions): Promise<Copied> {
  const address = parseLedgerUrl(url);
  switch (address.kind) {
    case 'memory':
      throw new QuittanceError(
        'config.invalid',
        'A ledger in memory ends with its process, so there is nothing to back up.',
      );
    case 'sqlite':
      return copyFile(address.path, target, options);
    case 'postgres':
      return copyDatabase(address.url, target, options);
  }
}

async function copyFile(path: string, target: string, options: BackupOptions): Promise<Copied> {
  await requireRoom(path, dirname(target));
  const { at, ledgerId, artifacts, spills } = await backupSqlite(path, target, options);
  for (const name of companionFiles) if (existsSync(path + name)) copyFileSync(path + name, target + name);
  if (options.withSealKey) {
    if (!existsSync(`${path}.key`))
      throw new QuittanceError(
        'config.invalid',
        `There is no seal key file ${path}.key to put into the backup.`,
      );
    copyFileSync(`${path}.key`, `${target}.key`);
  }
  return { at, ledgerId, source: 'sqlite', artifacts, spills };
}

async function copyDatabase(url: string, target: string, options: BackupOptions): Promise<Copied> {
  if (options.withSealKey)
    throw new QuittanceError(
      'config.invalid',
      'A PostgreSQL ledger does not store its seal key, so a backup cannot contain it. Keep the key where your secrets are.',
    );
  const { withPgEnvironment } = await import('@quittance/postgres/internal/settings');
  const { openPostgresSnapshot } = await import('@quittance/postgres/internal/open-postgres-ledger');
  const { ledger, ledgerId, check } = await openPostgresSnapshot(withPgEnvironment(url, process.env));
  let progress: ReturnType<BackupOptions['startProgress']> | undefined;
  try {
    const at = ledger.now();
    const source = await openSource(ledger, {
      signal: options.signal,
      onStart: (total) => {
        progress = options.startProgress('copy', total);
      },
      onEntry: () => progress?.step(),
    });
    const { artifacts } = await takeSqliteCopy(target)({ ...source, sealKey: undefined }, options.signal);
    await check();
    return { at, ledgerId, source: 'postgres', artifacts, spills: 0 };
  } finally {
    progress?.done();
    await ledger.close();
  }
}

/** A backup that fills the disk of the ledger would stop its processes. */
async function requireRoom(path: string, folder: string): Promise<void> {
  const needed = ['', '-wal'].reduce(
    (sum, name) => sum + (statSync(path + name, { throwIfNoEntry: false })?.size ?? 0),
    0,
  );
  const { bavail, bsize } = await statfs(folder);
  if (bavail * bsize >= needed + needed / 10) return;
  throw new QuittanceError(
    'config.invalid',
    `${folder} has ${mebibytes(bavail * bsize)} free, and the backup needs about ${mebibytes(needed)}. Choose another disk.`,
  );
}

const mebibytes = (bytes: number): string => `${Math.ceil(bytes / 1_048_576)} MiB`;

/** The anchor of the copy, and the number of its entries. Verifies the copy if asked. */
async function readCopy(
  path: string,
  at: number,
  { verify, ...work }: BackupOptions,
): Promise<{ readonly anchor: Anchor; readonly entries: number }> {
  const ledger = await openLedger(path, { readOnly: true });
  try {
    const heads = await readHeads(ledger);
    const anchor = createAnchor(heads, at);
    const entries = heads.reduce((sum, { sequence }) => sum + sequence, 0);
    if (!verify) return { anchor, entries };
    const found = await findCopyProblems(ledger, anchor, work);
    if (found !== undefined)
      throw new QuittanceError(
        'ledger.altered',
        `The ledger has ${found.problems} problems, so no backup was written. The first: ${found.first} Run \`quittance verify\` ` +
          'to see all. To back it up as it is, use --no-verify.',
      );
    return { anchor, entries };
  } finally {
    await ledger.close();
    for (const name of ['-wal', '-shm']) rmSync(path + name, { force: true });
  }
}
