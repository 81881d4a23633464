/**
 * Patterns in paths. `src/*.ts` names many files. It is inside if its folder is, if it cannot match a denied place,
 * and if no link that it matches leads outside.
 *
 * A lone `*` or `**` does not match names that start with a dot, as in shells and search tools. Any other pattern may
 * match whatever its text allows.
 */
import { compileGlob } from '../regex/glob.ts';
import type { PolicyWorld } from '../language/policy-call.ts';

export const isPathPattern = (part: string): boolean => /[*?[]/.test(part);

/** The same name in different letters: case, composition, dots and spaces that Windows drops, short names. */
export function mayBeName(part: string, name: string): boolean {
  const written = foldName(part);
  const wanted = foldName(name);
  if (written === wanted) return true;
  const short = /^([^~]{1,6})~\d{1,2}(?:\.[^.]{0,3})?$/.exec(written)?.[1];
  return short !== undefined && wanted.replace(/[^\p{L}\p{N}]/gu, '').startsWith(short);
}

const foldName = (name: string): string =>
  name
    .normalize('NFC')
    .toLowerCase()
    .replace(/(?<=[^. ])[. ]+$/, '');

function mayMatch(part: string, name: string): boolean {
  if (!isPathPattern(part)) return mayBeName(part, name);
  if (/^\*+$/.test(part)) return !name.startsWith('.');
  return part.length > 256 || compileGlob(foldName(part)).matches(foldName(name));
}

/** Can the components name the denied place or something below it? */
export function mayReach(parts: readonly string[], denied: readonly string[]): boolean {
  // Positions in `denied` that the components so far may have reached.
  let reached = new Set([0]);
  for (const part of parts) {
    const next = new Set<number>();
    for (const at of reached) {
      const name = denied[at];
      if (name === undefined) return true;
      if (mayMatch(part, name)) next.add(at + 1);
      if (part === '**') {
        next.add(at);
        for (let further = at; further < denied.length; further++) {
          if (!mayMatch(part, denied[further] ?? '')) break;
          next.add(further + 1);
        }
      }
    }
    if (next.size === 0) return false;
    reached = next;
  }
  return reached.has(denied.length);
}

/** Listing folders costs time at every call; a pattern that needs more entries is not expanded. */
const mostEntries = 5000;

/** The links that a pattern below a folder matches. Undefined if they cannot be determined. */
export function findLinks(
  folder: string,
  parts: readonly string[],
  world: PolicyWorld,
): readonly string[] | undefined {
  const { listFolder } = world;
  if (listFolder === undefined) return undefined;
  const links: string[] = [];
  let left = mostEntries;
  const visit = (at: string, from: number, depth: number): boolean => {
    const part = parts[from];
    if (part === undefined) return true;
    if (depth > 64) return false;
    if (part === '..') return false;
    if (!isPathPattern(part)) return visit(join(at, part), from + 1, depth + 1);
    const entries = listFolder(at);
    if (entries === undefined) return true;
    left -= entries.length;
    if (left < 0) return false;
    const glob = compileGlob(part);
    for (const { name, kind } of entries) {
      if (name.startsWith('.') && !part.startsWith('.') && !part.startsWith('[')) continue;
      if (!glob.matches(name)) continue;
      const path = join(at, name);
      if (kind === 'link') links.push(path);
      if (kind === 'file') continue;
      if (!visit(path, from + 1, depth + 1)) return false;
      if (part === '**' && kind === 'folder' && !visit(path, from, depth + 1)) return false;
    }
    return part !== '**' || visit(at, from + 1, depth + 1);
  };
  return visit(folder, 0, 0) ? links : undefined;
}

const join = (folder: string, name: string): string =>
  folder.endsWith('/') ? folder + name : `${folder}/${name}`;
