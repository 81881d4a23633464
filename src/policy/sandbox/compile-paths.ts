/** Decides whether a path is inside the prefixes of a sandbox rule. */
import { baseOf, placePath, readBase, type FoundPath } from './found-path.ts';
import { mayBeName, mayReach } from './path-pattern.ts';
import { foldParts, readPath } from './path-spelling.ts';
import type { PolicyWorld } from '../language/policy-call.ts';

type Prefix =
  | { readonly type: 'placed'; readonly spellings: readonly string[]; readonly real: readonly string[] }
  | { readonly type: 'floating'; readonly parts: readonly string[] };

/** The verdict on one path. An `unknown` path neither fails the call nor is enough to allow it. */
type Verdict = 'inside' | 'outside' | 'unknown';

export function compilePaths(
  within: readonly string[],
  notWithin: readonly string[],
): (paths: readonly FoundPath[], world: PolicyWorld) => Verdict {
  return (paths, world) => {
    if (paths.length === 0) return 'unknown';
    const allowed = within.flatMap((text) => placePrefix(text, world));
    const denied = notWithin.flatMap((text) => placePrefix(text, world));
    let together: Verdict = 'unknown';
    for (const path of paths) {
      const verdict = judgePath(path, allowed, denied);
      if (verdict === 'outside') return verdict;
      if (verdict === 'inside') together = verdict;
    }
    return together;
  };
}

function judgePath(path: FoundPath, allowed: readonly Prefix[], denied: readonly Prefix[]): Verdict {
  switch (path.type) {
    case 'unreadable':
      return 'outside';
    case 'floating':
      return judgeFloating(path.parts, path.guessed, allowed, denied);
    case 'pattern':
      return judgePattern(path, allowed, denied);
    case 'placed': {
      if (denied.some((prefix) => covers(prefix, path.path, 'denied'))) return 'outside';
      const isInside = path
        .real()
        ?.every(
          (place) =>
            !denied.some((prefix) => covers(prefix, place, 'denied')) &&
            allowed.some((prefix) => covers(prefix, place, 'allowed')),
        );
      return isInside === true ? 'inside' : 'outside';
    }
  }
}

function placePrefix(text: string, world: PolicyWorld): readonly Prefix[] {
  const prefixes: Prefix[] = [];
  for (const spelling of readPath(text) ?? []) {
    const start =
      spelling.root === undefined ? readBase(world.workingDirectory ?? '') : baseOf(spelling, world);
    if (start !== undefined) {
      const { path, real } = placePath(start, spelling.parts, world);
      prefixes.push({ type: 'placed', spellings: [path], real: real() ?? [] });
    } else if (spelling.root === undefined)
      prefixes.push({ type: 'floating', parts: foldParts(spelling.parts) });
  }
  return prefixes;
}

/** Inside if its folder is and if it cannot match a denied place. */
function judgePattern(
  { folder, parts }: Extract<FoundPath, { readonly type: 'pattern' }>,
  allowed: readonly Prefix[],
  denied: readonly Prefix[],
): Verdict {
  if (judgePath(folder, allowed, denied) !== 'inside') return 'outside';
  const folders = [folder.path, ...(folder.real() ?? [])].map(splitPath);
  const reaches = denied
    .flatMap(placesOf)
    .some((place) => folders.some((at) => mayReach([...at, ...parts], splitPath(place))));
  return reaches ? 'outside' : 'inside';
}

const splitPath = (path: string): readonly string[] => path.split('/').filter((part) => part !== '');

/** A denied prefix matches in every spelling; an allowed one only at its real location. */
function covers(prefix: Prefix, path: string, list: 'allowed' | 'denied'): boolean {
  if (prefix.type === 'floating') return false;
  if (list === 'allowed') return prefix.real.some((real) => isBelow(real, path));
  const parts = splitPath(path);
  return placesOf(prefix).some((place) => startsWithNames(parts, splitPath(place)));
}

const placesOf = (prefix: Prefix): readonly string[] =>
  prefix.type === 'floating' ? [] : [...prefix.spellings, ...prefix.real];

const startsWithNames = (parts: readonly string[], names: readonly string[]): boolean =>
  names.every((name, index) => {
    const part = parts[index];
    return part !== undefined && mayBeName(part, name);
  });

const isBelow = (prefix: string, path: string): boolean =>
  path === prefix || path.startsWith(prefix.endsWith('/') ? prefix : `${prefix}/`);

/**
 * Relative to an undeclared directory. A named path must be covered by a relative prefix. A guessed path stays below
 * a directory that the call cannot choose. It is outside only if it leads from an allowed directory into a denied
 * one.
 */
function judgeFloating(
  parts: readonly string[],
  guessed: boolean,
  allowed: readonly Prefix[],
  denied: readonly Prefix[],
): Verdict {
  const isCovered = (prefix: Prefix): boolean =>
    prefix.type === 'floating' && prefix.parts.every((part, index) => parts[index] === part);
  if (denied.some((prefix) => prefix.type === 'floating' && mayReach(parts, prefix.parts))) return 'outside';
  const leadsToDenied = allowed.some(
    (start) =>
      start.type === 'placed' &&
      [...start.spellings, ...start.real].some((directory) =>
        denied
          .flatMap(placesOf)
          .some((place) => mayReach([...splitPath(directory), ...parts], splitPath(place))),
      ),
  );
  if (leadsToDenied) return 'outside';
  if (allowed.some(isCovered)) return 'inside';
  return guessed ? 'unknown' : 'outside';
}
