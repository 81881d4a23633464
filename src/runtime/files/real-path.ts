/** The policies' port to the file system: resolves links in paths. */
import { lstatSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import nodePath from 'node:path';

/** Most links without a target that are followed in a row. Operating systems have the same limit. */
const mostLinks = 40;

/** The functions of a system that resolve paths, so that tests can use those of another system. */
export type PathSystem = Pick<typeof nodePath, 'isAbsolute' | 'join' | 'parse' | 'resolve' | 'sep'> & {
  readonly realpath: (path: string) => string;
  readonly readlink: (path: string) => string;
  /** Does the path exist, following links? */
  readonly leadsSomewhere: (path: string) => boolean;
  /** Does the path itself exist, perhaps as a link without a target? */
  readonly isThere: (path: string) => boolean;
};

const thisSystem: PathSystem = {
  ...nodePath,
  realpath: realpathSync.native,
  readlink: (path) => readlinkSync(path),
  // These do not throw for missing files, the most common case: an exception costs more than everything else here. If
  // they cannot tell, they return true and the next step finds out.
  leadsSomewhere: (path) =>
    attempt(() => (statSync(path, { throwIfNoEntry: false }) === undefined ? '' : path)) !== '',
  isThere: (path) =>
    attempt(() => (lstatSync(path, { throwIfNoEntry: false }) === undefined ? '' : path)) !== '',
};

/**
 * Resolves every link in the longest existing ancestor and appends the rest as written. A link with a missing
 * target exists, because a write to it creates the target. Returns a path that it cannot resolve unchanged,
 * and never throws. The answer has slashes, also on Windows, and drives are capital letters.
 */
export function realPath(absolutePath: string, system: PathSystem = thisSystem): string {
  if (!system.isAbsolute(absolutePath)) return absolutePath;
  const real =
    (system.leadsSomewhere(absolutePath) ? attempt(() => system.realpath(absolutePath)) : undefined) ??
    walk(system.resolve(absolutePath), mostLinks, system);
  return toPlace(real, system.sep);
}

/** A path as rules compare it: on Windows with slashes, a capital drive, and without the prefix of long paths. */
export function toPlace(path: string, separator: string = nodePath.sep): string {
  if (separator !== '\\') return path;
  return path
    .replaceAll('\\', '/')
    .replace(/^\/\/[?.]\/UNC\//i, '//')
    .replace(/^\/\/[?.]\/(?=[a-z]:)/i, '')
    .replace(/^[a-z]:/, (drive) => drive.toUpperCase());
}

/** Resolves component by component from the root, until one is missing. */
function walk(path: string, linksLeft: number, system: PathSystem): string {
  const { join, parse, resolve, sep, realpath, readlink, isThere } = system;
  const { root } = parse(path);
  const parts = path.slice(root.length).split(sep);
  let reached = root;
  for (const [index, part] of parts.entries()) {
    const next = join(reached, part);
    if (!isThere(next)) return join(next, ...parts.slice(index + 1));
    const real = attempt(() => realpath(next));
    if (real === undefined) {
      const target = attempt(() => readlink(next));
      if (target === undefined || linksLeft === 0) return join(next, ...parts.slice(index + 1));
      return walk(resolve(reached, target, ...parts.slice(index + 1)), linksLeft - 1, system);
    }
    reached = real;
  }
  return reached;
}

function attempt<Found>(look: () => Found): Found | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}
