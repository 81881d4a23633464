/** The port of policies to the file system: where a path leads once links are followed. */
import { lstatSync, readdirSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import type { FolderEntry } from '../../policy/language/policy-call.ts';
import { isAbsolute, join, parse, resolve, sep } from 'node:path';

/** As many links without a target as are followed one behind the other; systems give up here as well. */
const mostLinks = 40;

/**
 * The path with every link of its longest existing ancestor resolved, and the rest as written. A link whose target is
 * missing exists: who writes to it makes the target. Gives back what it cannot resolve, and never throws.
 */
export function realPath(absolutePath: string): string {
  if (!isAbsolute(absolutePath)) return absolutePath;
  return (
    (leadsSomewhere(absolutePath) ? attempt(() => realpathSync.native(absolutePath)) : undefined) ??
    walk(resolve(absolutePath), mostLinks)
  );
}

/** Component by component from the top, until one is missing. */
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
 * Two looks that throw for nothing that is merely missing, which is most of what is asked about: an exception costs more
 * than all the rest. Where they cannot say, they say yes, and the next one finds out.
 */
const leadsSomewhere = (path: string): boolean =>
  attempt(() => (statSync(path, { throwIfNoEntry: false }) === undefined ? '' : path)) !== '';

const isThere = (path: string): boolean =>
  attempt(() => (lstatSync(path, { throwIfNoEntry: false }) === undefined ? '' : path)) !== '';

/** What lies in a folder; undefined where there is none or it cannot be read. */
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
