/** The policies' port to the file system: resolves links in paths. */
import { lstatSync, readdirSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import type { FolderEntry } from '../../policy/language/policy-call.ts';
import { isAbsolute, join, parse, resolve, sep } from 'node:path';

/** Most links without a target that are followed in a row. Operating systems have the same limit. */
const mostLinks = 40;

/**
 * Resolves every link in the longest existing ancestor and appends the rest as written. A link with a missing
 * target exists, because a write to it creates the target. Returns a path that it cannot resolve unchanged,
 * and never throws.
 */
export function realPath(absolutePath: string): string {
  if (!isAbsolute(absolutePath)) return absolutePath;
  return (
    (leadsSomewhere(absolutePath) ? attempt(() => realpathSync.native(absolutePath)) : undefined) ??
    walk(resolve(absolutePath), mostLinks)
  );
}

/** Resolves component by component from the root, until one is missing. */
function walk(path: string, linksLeft: number): string {
  const { root } = parse(path);
  const parts = path.slice(root.length).split(sep);
  let reached = root;
  for (const [index, part] of parts.entries()) {
    const next = join(reached, part);
    if (!isThere(next)) return join(next, ...parts.slice(index + 1));
    const real = attempt(() => realpathSync.native(next));
    if (real === undefined) {
      const target = attempt(() => readlinkSync(next));
      if (target === undefined || linksLeft === 0) return join(next, ...parts.slice(index + 1));
      return walk(resolve(reached, target, ...parts.slice(index + 1)), linksLeft - 1);
    }
    reached = real;
  }
  return reached;
}

/**
 * Two checks that do not throw for missing files, the most common case: an exception costs more than
 * everything else here. If they cannot tell, they return true and the next step finds out.
 */
const leadsSomewhere = (path: string): boolean =>
  attempt(() => (statSync(path, { throwIfNoEntry: false }) === undefined ? '' : path)) !== '';

const isThere = (path: string): boolean =>
  attempt(() => (lstatSync(path, { throwIfNoEntry: false }) === undefined ? '' : path)) !== '';

/** The entries of a folder, or undefined if it does not exist or cannot be read. */
export function listFolder(absolutePath: string): readonly FolderEntry[] | undefined {
  return attempt(() =>
    readdirSync(absolutePath, { withFileTypes: true }).map((entry) => ({
      name: entry.name,
      kind: entry.isSymbolicLink() ? 'link' : entry.isDirectory() ? 'folder' : 'file',
    })),
  );
}

function attempt<Found>(look: () => Found): Found | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}
