/** Resolves the paths that a call names against the directories it names. */
import { baseOf, placeRelative, placeSpelling, type Base, type FoundPath } from './found-path.ts';
import { climbs, readPath } from './path-spelling.ts';
import type { PolicyWorld } from '../language/policy-call.ts';
import type { ResourceReader, SpelledPath } from './resource-reader.ts';

const mostBases = 16;

/** The directories that texts name, absolute; a relative one is below the host's. */
export function toBases(
  texts: readonly string[],
  worldBase: Base | undefined,
  world: PolicyWorld,
): readonly Base[] {
  const bases = new Map<string, Base>();
  for (const text of texts)
    for (const spelling of readPath(text) ?? []) {
      const start = spelling.root === undefined ? worldBase : baseOf(spelling, world);
      if (start === undefined) continue;
      const base = { root: start.root, parts: [...start.parts, ...spelling.parts] };
      bases.set(keyOf(base), base);
    }
  return [...bases.values()];
}

export const keyOf = ({ root, parts }: Base): string => `${root}\0${parts.join('/')}`;

/** A climbing path may start from any directory the call names, and must stay inside from each of them. */
export function placeResources(
  reader: ResourceReader,
  bases: readonly Base[],
  world: PolicyWorld,
): readonly FoundPath[] {
  const found: FoundPath[] = reader.hasUnreadablePath ? [{ type: 'unreadable' }] : [];
  const toClimbFrom = new Map(bases.map((base) => [keyOf(base), base]));
  const relative: SpelledPath[] = [];
  for (const spelling of reader.paths.values()) {
    const start = baseOf(spelling, world);
    if (start !== undefined) {
      const base = { root: start.root, parts: [...start.parts, ...spelling.parts] };
      toClimbFrom.set(keyOf(base), base);
      found.push(placeSpelling(start, spelling.parts, world));
    } else if (spelling.root === undefined) relative.push(spelling);
    else found.push({ type: 'unreadable' });
  }
  for (const spelling of relative) {
    const { parts } = spelling;
    const from = climbs(parts) && bases.length > 0 ? [...toClimbFrom.values()] : bases;
    if (from.length > mostBases) found.push({ type: 'unreadable' });
    else found.push(...placeRelative(parts, spelling.guessed, from, world));
  }
  return found;
}
