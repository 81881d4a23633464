/** Relates a path that a call names to one of the runtime's own files. Handles wildcards in the path. */
import { compileGlob } from '../regex/glob.ts';
import { normalizePart, type OwnFilePath, type LocatedOwnFile } from './own-file.ts';

export type Relation = {
  /** `inside`: the path is the file, or lies in the folder. `contains`: the path is a folder above it. */
  readonly type: 'inside' | 'contains';
  /** Does only a wildcard lead there? */
  readonly byPattern: boolean;
};

export type NamedPart = {
  readonly text: string;
  /** Undefined for a component without a wildcard. */
  readonly matches: ((name: string) => boolean) | undefined;
  /** `**`: any number of components. */
  readonly deep: boolean;
};

export function readParts(parts: readonly string[], skipsHidden: boolean): readonly NamedPart[] {
  return parts.map((part) => {
    if (part === '**') return { text: part, matches: () => true, deep: true };
    const text = normalizePart(part);
    if (!/[*?[]/.test(part)) return { text, matches: undefined, deep: false };
    const globs = [compileGlob(part), compileGlob(part.normalize('NFC').toLowerCase())];
    // A shell skips names that start with a dot, unless the pattern starts with one.
    const isHidden = (name: string): boolean => skipsHidden && name.startsWith('.') && !part.startsWith('.');
    return {
      text,
      matches: (name) => !isHidden(name) && globs.some((glob) => glob.matches(name)),
      deep: false,
    };
  });
}

/** Absolute path, root first. */
export function relatePath(
  named: readonly NamedPart[],
  { file, paths }: LocatedOwnFile,
): Relation | undefined {
  let found: Relation | undefined;
  for (const place of paths) {
    const relation = relatePlace(named, place, file.withCompanions);
    if (relation?.type === 'inside') return relation;
    found ??= relation;
  }
  return found;
}

function relatePlace(
  named: readonly NamedPart[],
  place: OwnFilePath,
  withCompanions: boolean,
): Relation | undefined {
  let byPattern = false;
  for (const [index, part] of place.parts.entries()) {
    const given = named[index];
    if (given === undefined) return { type: 'contains', byPattern };
    if (given.deep) return relateDeep(named.slice(index + 1), place);
    const isLast = index === place.parts.length - 1;
    byPattern ||= given.matches !== undefined;
    const fits = isLast ? fitsLast(given, place, withCompanions) : fitsPart(given, part);
    if (!fits) return undefined;
  }
  return { type: 'inside', byPattern };
}

const fitsPart = ({ text, matches }: NamedPart, part: string): boolean => matches?.(part) ?? text === part;

const fitsLast = (given: NamedPart, { parts, names }: OwnFilePath, withCompanions: boolean): boolean => {
  if (given.matches !== undefined) return names.some(given.matches);
  const last = parts.at(-1) ?? '';
  return given.text === last || (withCompanions && /^[.-]/.test(continuation(given.text, last) ?? ''));
};

const continuation = (text: string, start: string): string | undefined =>
  text.startsWith(start) ? text.slice(start.length) : undefined;

/** After `**` only the last component is significant. If it matches everything, the folder itself is meant. */
function relateDeep(rest: readonly NamedPart[], { names }: OwnFilePath): Relation | undefined {
  const last = rest.at(-1);
  if (last === undefined || last.deep || last.text === '*') return { type: 'contains', byPattern: true };
  return names.some((name) => fitsPart(last, name)) ? { type: 'inside', byPattern: true } : undefined;
}

/**
 * The same for a path that starts at a place the runtime does not know. Examples are a variable, another user's home,
 * or `..` from a directory that only the tool knows. The path counts if it ends like the path of an own file.
 *
 * `isAnchored`: the text itself says that it leads elsewhere. Then one common component is enough for a sealed file.
 */
export function relateTail(
  named: readonly NamedPart[],
  { file, paths }: LocatedOwnFile,
  isAnchored: boolean,
): Relation | undefined {
  for (const place of paths)
    for (let common = Math.min(named.length, place.parts.length - 1); common >= 1; common--) {
      if (!isTail(named.slice(0, common), place, file.withCompanions)) continue;
      const last = named[common - 1];
      const byPattern = named.slice(0, common).some(({ matches }) => matches !== undefined);
      if (named.slice(0, common).every(({ matches }) => matches !== undefined)) continue;
      const isCompanion = file.withCompanions && !byPattern && last?.text !== place.parts.at(-1);
      if (common === 1 && !isCompanion && !(isAnchored && file.access === 'sealed')) continue;
      if (common > 1 && !isAnchored && file.access !== 'sealed') continue;
      return { type: 'inside', byPattern };
    }
  if (!isAnchored || file.access !== 'sealed' || named.length === 0) return undefined;
  const holder = paths.some(({ parts }) => {
    const folder = parts.slice(1, -1);
    return (
      named.length <= folder.length &&
      named.some(({ matches }) => matches === undefined) &&
      named.every((part, index) => fitsPart(part, folder[folder.length - named.length + index] ?? ''))
    );
  });
  return holder ? { type: 'contains', byPattern: false } : undefined;
}

const isTail = (named: readonly NamedPart[], place: OwnFilePath, withCompanions: boolean): boolean =>
  named.every((part, index) => {
    const at = place.parts.length - named.length + index;
    return at === place.parts.length - 1
      ? fitsLast(part, place, withCompanions)
      : fitsPart(part, place.parts[at] ?? '');
  });
