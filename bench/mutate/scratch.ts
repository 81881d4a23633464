/**
 * A copy of the repository that may be changed. Tests run in it, so everything they start from source, including
 * child processes and threads, runs the changed source.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, relative, sep } from 'node:path';

export type Scratch = {
  readonly root: string;
  read(path: string): string;
  write(path: string, text: string): void;
  remove(): void;
};

/** Outside the repository and its node_modules, because Node does not strip types below a node_modules folder. */
export function makeScratch(repository: string): Scratch {
  const root = mkdtempSync(join(tmpdir(), 'quittance-mutate-'));
  const leftOut = new Set(['node_modules', '.git', 'dist', 'oldest']);
  cpSync(repository, root, {
    recursive: true,
    filter: (source) => !leftOut.has(basename(source)) || relative(repository, source).split(sep).length > 3,
  });
  symlinkSync(join(repository, 'node_modules'), join(root, 'node_modules'), 'dir');
  return {
    root,
    read: (path) => readFileSync(join(root, path), 'utf8'),
    write: (path, text) => writeFileSync(join(root, path), text),
    remove: () => rmSync(root, { recursive: true, force: true, maxRetries: 5 }),
  };
}
