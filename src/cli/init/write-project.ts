/**
 * Writes a project, all of it or nothing.
 *
 * 1. An existing file is never changed: a file that may not exist refuses the whole project.
 * 2. Everything is written without a pause, so a signal to this process cannot stop it halfway.
 * 3. If a write fails, the files and folders that were written are removed.
 */
import { existsSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeFolder } from '../make-folder.ts';
import { UsageError } from '../usage-error.ts';
import type { ProjectFile } from './project-files.ts';

const another = ['quittance init another-folder'];

/** Returns the names of the files that were written. */
export function writeProject(folder: string, files: readonly ProjectFile[]): readonly string[] {
  const taken = files.filter(({ name, mayExist }) => !mayExist && existsSync(join(folder, name)));
  if (taken.length > 0)
    throw new UsageError(`init would overwrite ${taken.map(({ name }) => name).join(', ')}.`, another);
  const missing = files.filter(({ name }) => !existsSync(join(folder, name)));
  // The agent's folder contains neither the contracts nor the ledger.
  const workspace = join(folder, 'workspace');
  const made = missingFolders(workspace);
  const written: string[] = [];
  try {
    makeFolder(folder, another);
    makeFolder(workspace, another);
    for (const { name, text } of missing) {
      const path = join(folder, name);
      writeFileSync(path, '', { flag: 'wx' });
      written.push(path);
      writeFileSync(path, text);
    }
  } catch (error) {
    for (const path of written) rmSync(path, { force: true });
    for (const path of made) removeEmpty(path);
    throw error;
  }
  return missing.map(({ name }) => name);
}

/** The folder and its parents that do not exist yet, the innermost first. */
function missingFolders(path: string): readonly string[] {
  return existsSync(path) ? [] : [path, ...missingFolders(dirname(path))];
}

function removeEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // It was not created, or another process has written to it.
  }
}
