/**
 * A path that a call names, put where it leads. One spelling can lead to two places: whoever normalises the text first
 * reads `a/link/../b` as `a/b`, the kernel goes through the link and up from there. Both are kept, and a path is only
 * inside where both are.
 */
import { findLinks, isPathPattern } from './path-pattern.ts';
import { climbs, foldParts, type PathSpelling } from './path-spelling.ts';
import type { PolicyWorld } from '../language/policy-call.ts';

export type PlacedPath = {
  readonly type: 'placed';
  /** Absolute, `..` resolved by the text alone. */
  readonly path: string;
  /** Every place it may lead to once links are followed, asked of the world when first needed. Undefined: unknown. */
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
      /** The links it matches, where a shell would expand it; undefined where they are not known. */
      readonly links: () => readonly PlacedPath[] | undefined;
    }
  /** Relative to a directory nobody declared, and never above it. */
  | { readonly type: 'floating'; readonly parts: readonly string[]; readonly guessed: boolean }
  /** Nobody can say where it leads. */
  | { readonly type: 'unreadable' };

/** An absolute directory as its root and components. */
export type Base = { readonly root: string; readonly parts: readonly string[] };

/** As many `..` behind a name as are followed; each costs a look at the file system. */
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

/** Where a spelling starts, as far as it says so itself. Undefined for a relative one, or a home nobody told us. */
export function baseOf({ root }: PathSpelling, world: PolicyWorld): Base | undefined {
  if (root === undefined) return undefined;
  if (root === '~') return world.homeDirectory === undefined ? undefined : readBase(world.homeDirectory);
  return { root, parts: [] };
}

/** A directory the host declared. */
export function readBase(directory: string): Base | undefined {
  const drive = /^([a-z]:)[/\\]/i.exec(directory)?.[1];
  if (drive === undefined && !directory.startsWith('/')) return undefined;
  const text = drive === undefined ? directory : directory.slice(2).replaceAll('\\', '/');
  return {
    root: drive?.toUpperCase() ?? '/',
    parts: text.split('/').filter((part) => part !== '' && part !== '.'),
  };
}

/** A path that may hold patterns. `expanded`: a shell would replace it by the files it matches. */
export function placeSpelling(
  base: Base,
  parts: readonly string[],
  expanded: boolean,
  world: PolicyWorld,
): FoundPath {
  const first = parts.findIndex(isPathPattern);
  if (first < 0) return placePath(base, parts, world);
  const rest = parts.slice(first);
  // Where a pattern leads up from is not known.
  if (rest.includes('..')) return { type: 'unreadable' };
  const folder = placePath(base, parts.slice(0, first), world);
  return {
    type: 'pattern',
    folder,
    parts: rest,
    links: () =>
      expanded
        ? findLinks(folder.path, rest, world)?.map((link) =>
            placePath({ root: base.root, parts: splitBelow(base.root, link) }, [], world),
          )
        : [],
  };
}

const splitBelow = (root: string, path: string): readonly string[] =>
  (root === '/' ? path : path.slice(root.length)).split('/').filter((part) => part !== '');

/** A relative path against everything it may be relative to. */
export function placeRelative(
  parts: readonly string[],
  { guessed, expanded }: { readonly guessed: boolean; readonly expanded: boolean },
  bases: readonly Base[],
  world: PolicyWorld,
): readonly FoundPath[] {
  if (bases.length > 0) return bases.map((base) => placeSpelling(base, parts, expanded, world));
  if (expanded && parts.some(isPathPattern)) return [{ type: 'unreadable' }];
  return climbs(parts) ? [{ type: 'unreadable' }] : [{ type: 'floating', parts: foldParts(parts), guessed }];
}
