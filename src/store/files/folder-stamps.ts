/**
 * Says with one look per folder that no file in it was moved, deleted or replaced. The system changes the time of a
 * folder (`ctime`, which no program can set) whenever a name in it changes. A look at each file costs more: a ledger
 * has several files per folder, and looks with every commit.
 *
 * 1. Times of files advance in steps of a few milliseconds. A change in the same step as the one before leaves no
 *    trace. So a time counts only if it was old when the files themselves were looked at.
 * 2. It is a shortcut, not a proof for ever: from time to time the files themselves are looked at all the same.
 */
import { lstatSync, statSync } from 'node:fs';
import { platform } from 'node:os';
import { dirname } from 'node:path';

/** Longer than a step of file times on any system. */
const stepMs = 100;
const longestTrustMs = 1_000;

type Stamp = {
  readonly folder: string;
  readonly device: number;
  readonly inode: number;
  readonly changedMs: number;
};

export class FolderStamps {
  readonly #paths: readonly string[];
  #stamps: readonly Stamp[] = [];
  /** Until then the folders are enough. */
  #trustedUntilMs = 0;
  /** Until then they are not looked at: in a folder that changes all the time that would only add to the cost. */
  #restsUntilMs = 0;

  /** `paths`: the files that matter. */
  constructor(paths: readonly string[]) {
    this.#paths = paths;
  }

  /** Are the files unchanged? `look` looks at the files themselves; it may throw instead of returning false. */
  confirm(look: () => boolean): boolean {
    const nowMs = performance.now();
    if (nowMs < this.#trustedUntilMs && this.#stamps.every(isCurrent)) return true;
    this.#trustedUntilMs = 0;
    if (nowMs < this.#restsUntilMs) return look();
    this.#restsUntilMs = nowMs + stepMs;
    // Read before the files, so that a change in between is noticed later.
    this.#stamps = readStamps(this.#paths);
    const oldMs = Date.now() - stepMs;
    const isUnchanged = look();
    const areOld = this.#stamps.length > 0 && this.#stamps.every(({ changedMs }) => changedMs < oldMs);
    if (isUnchanged && areOld) this.#trustedUntilMs = nowMs + longestTrustMs;
    return isUnchanged;
  }
}

/** None if the folders say nothing about the files: on Windows, and for links, which lead to another folder. */
function readStamps(paths: readonly string[]): Stamp[] {
  if (platform() === 'win32') return [];
  if (paths.some((path) => lstatSync(path, { throwIfNoEntry: false })?.isFile() !== true)) return [];
  return [...new Set(paths.map((path) => dirname(path)))].map((folder) => {
    const { dev, ino, ctimeMs } = statSync(folder);
    return { folder, device: dev, inode: ino, changedMs: ctimeMs };
  });
}

function isCurrent({ folder, device, inode, changedMs }: Stamp): boolean {
  const found = statSync(folder, { throwIfNoEntry: false });
  return found?.ctimeMs === changedMs && found.ino === inode && found.dev === device;
}
