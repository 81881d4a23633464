/**
 * Covers: what is hidden or made read-only inside the folders that a command sees. Refuses layouts in which a file cannot
 * be covered.
 */
import { lstatSync, mkdirSync, readdirSync, statSync, type Stats } from 'node:fs';
import { dirname, join, resolve, sep } from 'node:path';
import { QuittanceError } from '../base/error.ts';
import { foldName } from '../base/fold-name.ts';
import { describeOwnFile, type OwnFile } from '../policy/own-files/own-file.ts';
import { realPath } from '../runtime/own-files.ts';

/**
 * - `hidden_folder`: an empty folder that cannot be written;
 * - `hidden_file`: a file that cannot be opened;
 * - `read_only`: as on the host, but it cannot be written;
 * - `pinned`: as on the host, but the folder cannot be renamed or removed.
 */
export type SandboxCover = {
  readonly kind: 'hidden_folder' | 'hidden_file' | 'read_only' | 'pinned';
  readonly path: string;
};

export const hides = ({ kind }: SandboxCover): boolean => kind === 'hidden_folder' || kind === 'hidden_file';

/** Refuses layouts in which an own file cannot be protected. */
export function checkOwnFile(file: OwnFile, writable: readonly string[], system: readonly string[]): void {
  const real = realPath(file.path);
  const what = `${describeOwnFile(file)} (${file.path})`;
  for (const root of writable) {
    if (isInside(real, root))
      throw new QuittanceError(
        'config.invalid',
        `The sandbox rules allow ${root}, which is inside ${what}. Move one of them.`,
      );
  }
  if (file.access !== 'sealed') return;
  const shown = system.find((folder) => isInside(folder, real));
  if (shown !== undefined && !isInsideOne(writable, real))
    throw new QuittanceError(
      'config.invalid',
      `Every sandboxed command can read ${shown}, which holds ${what}. Move it to a folder such as /var/lib/quittance.`,
    );
  const twice = findSecondName(file, real);
  if (twice !== undefined)
    throw new QuittanceError(
      'config.invalid',
      `${twice} belongs to ${describeOwnFile(file)} and has a second name (a hard link), which may be in a folder that commands see. Find it with: find / -samefile ${twice}`,
    );
}

/**
 * The folder that hides a file of the ledger. Other files appear next to it at any time (`ledger.db-wal`), so the whole
 * folder is hidden, and made if it does not exist yet. Undefined if commands do not see it anyway.
 */
export function folderToHide(file: OwnFile, writable: readonly string[]): string | undefined {
  const real = realPath(file.path);
  const root = writable.find((each) => isInside(each, real));
  if (root === undefined) return undefined;
  const folder = dirname(real);
  if (folder === root && !file.withCompanions && isFolder(real)) return real;
  if (writable.some((each) => isInside(folder, each)))
    throw new QuittanceError(
      'config.invalid',
      `${file.path} (${describeOwnFile(file)}) lies directly in ${folder}, which sandboxed commands may change. Put it in a folder of its own: ${join(folder, '.quittance', file.path.slice(file.path.lastIndexOf(sep) + 1))}`,
    );
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return folder;
}

/** A file of the ledger that has more than one name. */
function findSecondName(file: OwnFile, real: string): string | undefined {
  const folder = file.withCompanions ? dirname(real) : real;
  const name = real.slice(dirname(real).length + 1);
  const paths = !file.withCompanions
    ? isFolder(real)
      ? list(real).map((entry) => join(real, entry))
      : [real]
    : list(folder)
        .filter((entry) => entry === name || entry.startsWith(`${name}.`) || entry.startsWith(`${name}-`))
        .flatMap((entry) => {
          const path = join(folder, entry);
          return isFolder(path) ? list(path).map((inner) => join(path, inner)) : [path];
        });
  return paths.find((path) => {
    const found = lstatSync(path, { throwIfNoEntry: false });
    return found !== undefined && found.isFile() && found.nlink > 1;
  });
}

/** Hides a path that exists, and watches one that does not. */
export function cover(
  given: string,
  visible: readonly string[],
  covers: Map<string, SandboxCover>,
  watched: Map<string, string | undefined>,
): void {
  const path = resolve(given);
  if (!isInsideOne(visible, realPath(dirname(path)))) return;
  const real = realPath(path);
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined || found.isSymbolicLink()) {
    const place = join(realPath(dirname(path)), path.slice(dirname(path).length + 1));
    watched.set(place, inodeOf(place));
  }
  if (!isInsideOne(visible, real) || !exists(real)) return;
  if (!isFolder(real) && (look(real)?.nlink ?? 1) > 1)
    throw new QuittanceError(
      'config.invalid',
      `${real} is excluded and has a second name (a hard link), which commands may see. Find it with: find / -samefile ${real}`,
    );
  covers.set(real, { kind: isFolder(real) ? 'hidden_folder' : 'hidden_file', path: real });
}

/**
 * The path, and existing ones that the text rule takes for the same (base/fold-name.ts). Only names inside these folders
 * are compared.
 */
export function findSpellings(path: string, visible: readonly string[]): readonly string[] {
  let found: readonly string[] = ['/'];
  for (const part of path.split('/').filter((each) => each !== ''))
    found = found.flatMap((folder) => {
      const others = isInsideOne(visible, realPath(folder))
        ? list(folder).filter((name) => name !== part && foldName(name) === foldName(part))
        : [];
      return [part, ...others].map((name) => join(folder, name));
    });
  return found;
}

/** The inode of the path itself, not of what it links to. Undefined if it does not exist. */
export function inodeOf(path: string): string | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false, bigint: true });
  return found === undefined ? undefined : `${found.dev}:${found.ino}`;
}

/** Drops covers inside hidden folders, and pins the folders between a writable folder and each cover. */
export function orderCovers(
  covers: readonly SandboxCover[],
  writable: readonly string[],
): readonly SandboxCover[] {
  const kept = covers.filter(
    ({ path }) => !covers.some((other) => other.path !== path && hides(other) && isInside(other.path, path)),
  );
  const all = new Map(kept.map((each) => [each.path, each]));
  for (const { path } of kept) {
    const root = writable.find((each) => each !== path && isInside(each, path));
    if (root === undefined) continue;
    for (let folder = dirname(path); folder !== root; folder = dirname(folder))
      if (!all.has(folder)) all.set(folder, { kind: 'pinned', path: folder });
  }
  // Inside a read-only folder nothing can be renamed, and a pin would make it writable again.
  const isReadOnly = (path: string): boolean =>
    kept.some((each) => each.kind === 'read_only' && each.path !== path && isInside(each.path, path));
  return [...all.values()]
    .filter(({ kind, path }) => kind !== 'pinned' || !isReadOnly(path))
    .sort((left, right) => depthOf(left.path) - depthOf(right.path) || (left.path < right.path ? -1 : 1));
}

export const isInside = (folder: string, path: string): boolean =>
  path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`);

export const isInsideOne = (folders: readonly string[], path: string): boolean =>
  folders.some((folder) => isInside(folder, path));

const depthOf = (path: string): number => path.split('/').length;

export const exists = (path: string): boolean => look(path) !== undefined;

export const isFolder = (path: string): boolean => look(path)?.isDirectory() === true;

/** Undefined also for a path that this user cannot look at: a command runs as the same user. */
const look = (path: string): Stats | undefined => {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
};

const list = (folder: string): readonly string[] => {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
};
