/**
 * Resolves a path that a call names. One spelling can lead to two places. Code that normalizes the text first reads
 * `a/link/../b` as `a/b`. The kernel follows the link and goes up from there. Both are kept, and a path is inside
 * only if both are.
 */
import { isPathPattern } from './path-pattern.ts';
import { climbs, foldParts, type PathSpelling } from './path-spelling.ts';
import type { PolicyWorld } from '../language/policy-call.ts';

type PlacedPath = {
  readonly type: 'placed';
  /** Absolute, with `..` resolved by the text alone. */
  readonly path: string;
  /** Every place it may lead to once links are followed, looked up on first use. Undefined: unknown. */
  readonly real: () => readonly string[] | undefined;
};

export type FoundPath =
  | PlacedPath
  /** Files of a folder that match a pattern. */
  | {
      readonly type: 'pattern';
      /** The folder that the components without a pattern lead to. */
      readonly folder: PlacedPath;
      readonly parts: readonly string[];
    }
  /** Relative to an undeclared directory, and never above it. */
  | { readonly type: 'floating'; readonly parts: readonly string[]; readonly guessed: boolean }
  /** The target cannot be determined. */
  | { readonly type: 'unreadable' };

/** An absolute directory as its root and components. */
export type Base = { readonly root: string; readonly parts: readonly string[] };

/** Most `..` that are followed after a name; each costs a file system lookup. */
const mostTurns = 40;

export function placePath(base: Base, parts: readonly string[], world: PolicyWorld): PlacedPath {
  const all = [...base.parts, ...parts];
  const path = formatPlace(base.root, foldParts(all));
  let known: { readonly paths: readonly string[] | undefined } | undefined;
  return {
    type: 'placed',
    path,
    real: () => (known ??= { paths: followLinks(base.root, all, path, world) }).paths,
  };
}

function followLinks(
  root: string,
  parts: readonly string[],
  path: string,
  world: PolicyWorld,
): readonly string[] | undefined {
  try {
    const byText = world.realPath(path);
    if (!parts.includes('..')) return [byText];
    let turns = 0;
    let reached = formatPlace(root, []);
    for (const part of parts) {
      if (part === '..') {
        if (++turns > mostTurns) return undefined;
        reached = parentOf(root, world.realPath(reached));
      } else reached = reached.endsWith('/') ? reached + part : `${reached}/${part}`;
    }
    return [...new Set([byText, world.realPath(reached)])];
  } catch {
    return undefined;
  }
}

const formatPlace = (root: string, parts: readonly string[]): string =>
  root === '/' ? `/${parts.join('/')}` : `${root}/${parts.join('/')}`;

function parentOf(root: string, path: string): string {
  const end = path.lastIndexOf('/');
  return end <= 0 || path.slice(0, end) === root ? formatPlace(root, []) : path.slice(0, end);
}

/**
 * The start of a spelling, if it names one itself. Undefined for a relative path, or if the home directory is
 * unknown.
 */
export function baseOf({ root }: PathSpelling, world: PolicyWorld): Base | undefined {
  if (root === undefined) return undefined;
  if (root === '~') return world.homeDirectory === undefined ? undefined : readBase(world.homeDirectory);
  return { root, parts: [] };
}

/** A directory that the host declared. */
export function readBase(directory: string): Base | undefined {
  const drive = /^([a-z]:)[/\\]/i.exec(directory)?.[1];
  if (drive === undefined && !directory.startsWith('/')) return undefined;
  const text = drive === undefined ? directory : directory.slice(2).replaceAll('\\', '/');
  return {
    root: drive?.toUpperCase() ?? '/',
    parts: text.split('/').filter((part) => part !== '' && part !== '.'),
  };
}

/**
 * On Windows, a path without a drive is on the current drive or on a share. Some names stand for another file or for a
 * device. The text does not say which.
 */
function isUnclearOnWindows({ root }: Base, parts: readonly string[], world: PolicyWorld): boolean {
  if (root !== '/') return parts.some(isWindowsAlias);
  return [world.workingDirectory, world.homeDirectory].some(
    (directory) => directory !== undefined && /^[a-z]:[/\\]/i.test(directory),
  );
}

/** A path that may contain patterns. */
export function placeSpelling(base: Base, parts: readonly string[], world: PolicyWorld): FoundPath {
  if (isUnclearOnWindows(base, parts, world)) return { type: 'unreadable' };
  const first = parts.findIndex(isPathPattern);
  if (first < 0) return placePath(base, parts, world);
  const rest = parts.slice(first);
  // The parent of a pattern's matches is unknown.
  if (rest.includes('..')) return { type: 'unreadable' };
  return { type: 'pattern', folder: placePath(base, parts.slice(0, first), world), parts: rest };
}

/** Resolves a relative path against every directory it may be relative to. */
export function placeRelative(
  parts: readonly string[],
  guessed: boolean,
  bases: readonly Base[],
  world: PolicyWorld,
): readonly FoundPath[] {
  if (bases.length > 0) return bases.map((base) => placeSpelling(base, parts, world));
  return climbs(parts) ? [{ type: 'unreadable' }] : [{ type: 'floating', parts: foldParts(parts), guessed }];
}

/**
 * Names that Windows does not use as they are written. It drops dots and spaces at the end. It opens a device for reserved
 * names, in any folder and with any extension. It reads the text after a colon as a stream of the file.
 */
const devices =
  /^(?:con|prn|aux|nul|conin\$|conout\$|clock\$|(?:com|lpt)[\d\u00b9\u00b2\u00b3])[ ]*(?:[.:].*)?$/i;

export function isWindowsAlias(part: string): boolean {
  if (part === '.' || part === '..') return false;
  return /[. ]$/.test(part) || part.includes(':') || devices.test(part);
}
