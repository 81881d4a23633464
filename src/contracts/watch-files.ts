import type { FSWatcher } from 'node:fs';
import { watch } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';

/** Editors write in several steps. */
const settleMs = 50;

/**
 * Calls `tell` when one of the files may have changed. The folders are watched, not the files, because most editors
 * replace the old file with a new one. Does not keep the process alive.
 */
export function watchFiles(paths: () => readonly string[], tell: () => Promise<void>): () => void {
  const watchers = new Map<string, FSWatcher>();
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  const isMeant = (folder: string, name: string | null): boolean =>
    name === null || paths().some((path) => dirname(resolve(path)) === folder && basename(path) === name);
  const look = (): void => {
    timer = undefined;
    void tell().then(watchAll, watchAll);
  };
  const watchAll = (): void => {
    if (stopped) return;
    for (const folder of new Set(paths().map((path) => dirname(resolve(path))))) {
      if (watchers.has(folder)) continue;
      const watcher = watch(folder, { persistent: false }, (_, name) => {
        if (!isMeant(folder, name)) return;
        clearTimeout(timer);
        timer = setTimeout(look, settleMs);
        timer.unref();
      });
      watcher.on('error', () => {
        watchers.delete(folder);
        watcher.close();
      });
      watchers.set(folder, watcher);
    }
  };
  watchAll();
  return () => {
    stopped = true;
    clearTimeout(timer);
    for (const watcher of watchers.values()) watcher.close();
  };
}
