/** Relates what a call names to one of the runtime's own files. */
import { normalizePart, type LocatedOwnFile, type OwnFilePath } from './own-file.ts';

export type Relation = {
  /** `inside`: the path is the file, or lies in the folder. `contains`: the path is a folder above it. */
  readonly type: 'inside' | 'contains';
  /** Does only a pattern lead there? */
  readonly byPattern: boolean;
};

/** `named`: the components of an absolute path, root first. */
export function relatePath(named: readonly string[], { file, paths }: LocatedOwnFile): Relation | undefined {
  let contains = false;
  for (const { parts } of paths) {
    const common = Math.min(named.length, parts.length);
    const isSame = parts.slice(0, common).every((part, index) => {
      const given = named[index] ?? '';
      return given === part || (index === parts.length - 1 && isCompanion(given, part, file.withCompanions));
    });
    if (!isSame) continue;
    if (named.length >= parts.length) return { type: 'inside', byPattern: false };
    contains = true;
  }
  return contains ? { type: 'contains', byPattern: false } : undefined;
}

/** `ledger.db-wal`, `ledger.db.key` */
const isCompanion = (given: string, name: string, withCompanions: boolean): boolean =>
  withCompanions && given.startsWith(name) && /^[.-]/.test(given.slice(name.length));

/**
 * The same for a path that starts at a place the runtime does not know: a directory of the tool, or `..` from it. The
 * path counts if it ends like the path of an own file.
 *
 * `climbs`: the text itself says that it leads elsewhere. Then one common component is enough for a sealed file.
 */
export function relateTail(
  named: readonly string[],
  { file, paths }: LocatedOwnFile,
  climbs: boolean,
): Relation | undefined {
  const isSealed = file.access === 'sealed';
  for (const { parts } of paths)
    for (let common = Math.min(named.length, parts.length - 1); common >= 1; common--) {
      const last = named[common - 1] ?? '';
      const name = parts.at(-1) ?? '';
      const folders = parts.slice(parts.length - common, -1);
      const isTail =
        folders.every((part, index) => named[index] === part) &&
        (last === name || isCompanion(last, name, file.withCompanions));
      if (!isTail || (common === 1 ? last === name && !(climbs && isSealed) : !climbs && !isSealed)) continue;
      return { type: 'inside', byPattern: false };
    }
  if (!climbs || !isSealed || named.length === 0) return undefined;
  const isFolder = paths.some(({ parts }) => {
    const folders = parts.slice(1, -1);
    return (
      named.length <= folders.length && folders.slice(-named.length).every((part, at) => named[at] === part)
    );
  });
  return isFolder ? { type: 'contains', byPattern: false } : undefined;
}

/**
 * Marks that a shell or a search tool replaces: variables, substitutions, escapes, braces, sets and patterns. What they
 * become is unknown, so each may stand for any text.
 */
const marks =
  /\$\{[^}]*\}?|\$\([^)]*\)?|\$\w+|\$|`[^`]*`?|\\(?:x[0-9a-f]{1,2}|u[0-9a-f]{1,4}|[0-7]{1,3})|\{[^}]*\}?|\[.*\]?|[!@+]\(|[*?)]+|^~[^/]+/gi;

export const hasMarks = (text: string): boolean => text.search(marks) >= 0;
export const withoutMarks = (text: string): string => text.replace(marks, '');

/** Can a text with marks name this path? Both are absolute. */
export type PathPattern = (path: string) => boolean;

/**
 * `folder`: the place where a relative text starts. `skipsHidden`: a shell's pattern at the start of a name does not
 * match a name with a dot. Undefined if the text is nothing but marks, which may be any path.
 */
export function compilePattern(text: string, folder: string, skipsHidden: boolean): PathPattern | undefined {
  const normal = text.split('/').map(normalizePart).join('/');
  const startsAnywhere = /^[$`\\~]/.test(normal);
  // From an unknown place, only what follows the last `..` can be compared.
  const rest = startsAnywhere ? normal.replace(/^.*\/\.\.(?=\/)/s, '') : normal;
  const [first = '', ...others] = rest.split(marks);
  if (startsAnywhere && !others.some((fragment) => /\w.*\w/s.test(fragment))) return undefined;
  const start = startsAnywhere ? '' : first.startsWith('/') ? first : `${folder.replace(/\/$/, '')}/${first}`;
  const end = others.pop() ?? '';
  return (path) => {
    if (!path.startsWith(start) || !path.endsWith(end)) return false;
    if (skipsHidden && start.endsWith('/') && path.charAt(start.length) === '.') return false;
    let at = start.length;
    for (const fragment of others) {
      const found = path.indexOf(fragment, at);
      if (found < 0) return false;
      at = found + fragment.length;
    }
    return at <= path.length - end.length;
  };
}

/** Can the pattern name an own file, something next to it that belongs to it, or a folder above it? */
export function relatePattern(pattern: PathPattern, { paths }: LocatedOwnFile): Relation | undefined {
  const inside = paths.some((path) => filesOf(path).some(pattern));
  if (inside) return { type: 'inside', byPattern: true };
  const above = paths.some(({ parts }) =>
    parts.some((_, index) => index > 1 && pattern(toText(parts.slice(0, index)))),
  );
  return above ? { type: 'contains', byPattern: true } : undefined;
}

const filesOf = ({ parts, names }: OwnFilePath): readonly string[] =>
  names.map((name) => toText([...parts.slice(0, -1), name]));

const toText = ([root = '', ...rest]: readonly string[]): string =>
  root === '/' ? `/${rest.join('/')}` : [root, ...rest].join('/');
