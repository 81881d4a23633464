/** The files of a backup: lists them, computes their digests, flushes them to disk. */
import { createHash } from 'node:crypto';
import { closeSync, createReadStream, fsyncSync, openSync, readdirSync, statSync } from 'node:fs';
import { join, sep } from 'node:path';
import type { BackupFile } from './backup-manifest.ts';
import { syncFolder } from 'quittance/internal/store/files/write-all';

export type FileWork = {
  readonly signal: AbortSignal;
  readonly startProgress: (label: string, total: number) => { step(count?: number): void; done(): void };
};

/** Every file in the folder, as a path with slashes, in a fixed order. */
export const listFiles = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(folder.length + 1)
        .split(sep)
        .join('/'),
    )
    .sort();

/** The sizes and digests of these files. */
export async function digestFiles(
  folder: string,
  paths: readonly string[],
  { signal, startProgress }: FileWork,
): Promise<readonly BackupFile[]> {
  const sizes = paths.map((path) => statSync(join(folder, path)).size);
  const progress = startProgress(
    'digests',
    sizes.reduce((sum, size) => sum + size, 0),
  );
  try {
    const files: BackupFile[] = [];
    for (const [index, path] of paths.entries()) {
      const found = createHash('sha256');
      for await (const piece of createReadStream(join(folder, path), { highWaterMark: 1_048_576 })) {
        signal.throwIfAborted();
        found.update(piece as Uint8Array);
        progress.step((piece as Uint8Array).length);
      }
      files.push({ path, bytes: sizes[index] ?? 0, sha256: found.digest('hex') });
    }
    return files;
  } finally {
    progress.done();
  }
}

/** Flushes every file and folder, so that a power loss leaves no empty file behind a complete manifest. */
export async function syncFiles(folder: string): Promise<void> {
  const folders = new Set([folder]);
  for (const path of listFiles(folder)) {
    const file = openSync(join(folder, path), 'r+');
    try {
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    const parts = path.split('/').slice(0, -1);
    for (let length = 1; length <= parts.length; length++)
      folders.add(join(folder, ...parts.slice(0, length)));
    await new Promise(setImmediate);
  }
  for (const each of folders) syncFolder(each);
}
