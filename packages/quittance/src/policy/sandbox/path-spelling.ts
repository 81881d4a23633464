/**
 * Parses a text as a path: its start and its components, with `..` kept. Nothing is resolved here, because `link/..`
 * differs between the kernel and a program that only reads the text (found-path.ts judges both).
 */
import { isPathPattern } from './path-pattern.ts';

export type PathSpelling = {
  /** `/`, a drive such as `C:`, `~`, or undefined for a path relative to the tool's directory. */
  readonly root: '/' | '~' | `${string}:` | undefined;
  /** Without empty and `.` components. */
  readonly parts: readonly string[];
};

/** Most paths that braces may expand to. */
const mostAlternatives = 64;

/**
 * The ways to read the text as a path. A backslash may be a separator or a letter. Surrounding spaces may be trimmed,
 * and braces may expand.
 *
 * Undefined if the text does not determine a path. Examples are a NUL, another user's home, a variable, a pattern that
 * may match `..`, a file stream, and another name for the root.
 */
export function readPath(text: string): readonly PathSpelling[] | undefined {
  if (text.includes('\0') || text.includes('`') || hasVariable(text)) return undefined;
  const trimmed = text.trim();
  const texts = new Set([text, trimmed]);
  if (text.includes('\\')) texts.add(trimmed.replaceAll('\\', '/'));
  const spellings: PathSpelling[] = [];
  for (const written of texts) {
    const alternatives = expandBraces(written);
    if (alternatives === undefined) return undefined;
    for (const one of new Set([written, ...alternatives])) {
      const spelling = readOne(one);
      if (spelling === undefined) return undefined;
      spellings.push(spelling);
    }
  }
  return spellings;
}

/**
 * `$HOME`, `${X}`, `$(x)`, `%APPDATA%`, anywhere in the path. A name with only small letters, such as `$postId.tsx`,
 * is a file name unless it comes first: programs that expand variables use capitals or underscores.
 */
function hasVariable(text: string): boolean {
  if (!/[$%]/.test(text)) return false;
  return (
    /^\s*\$|\$[{([?!#*@$\d-]|\$[A-Z_][A-Z\d_]*(?![a-z])|\$[a-z][a-z\d]*_\w/.test(text) ||
    /%[a-z_][\w()]*(?::[^%]*)?%/i.test(text.replace(/%(?:[0-9a-f]{2}|u[0-9a-f]{4})/gi, '\u{fffd}'))
  );
}

function readOne(text: string): PathSpelling | undefined {
  if (/^~[^/]/.test(text)) return undefined;
  const drive = /^([a-z]:)[/\\]/i.exec(text)?.[1];
  // Relative to the current directory of a drive.
  if (drive === undefined && /^[a-z]:(?!\d+(?::\d+)?$)/i.test(text)) return undefined;
  const root =
    drive === undefined ? (text.startsWith('/') ? '/' : text.startsWith('~') ? '~' : undefined) : 'drive';
  const rest = root === '~' ? text.slice(1) : drive === undefined ? text : text.slice(2);
  const parts = rest.split(drive === undefined ? '/' : /[/\\]/).filter((part) => part !== '' && part !== '.');
  if (parts.some(mayClimbUnseen) || parts.some(namesAStream) || leadsThroughSystem(root, parts))
    return undefined;
  // The regular expression above guarantees a letter and a colon.
  return { root: root === 'drive' ? (drive!.toUpperCase() as `${string}:`) : root, parts };
}

/** `file.txt::$DATA`, `dir:$INDEX_ALLOCATION`: Windows opens the file without the rest. */
const namesAStream = (part: string): boolean => /::?\$[a-z_]+$/i.test(part) || /:\$/.test(part);

/** `/proc/self/root`, `/proc/1/cwd`, `/dev/fd/3` lead elsewhere, and only the kernel knows where. */
function leadsThroughSystem(root: string | undefined, parts: readonly string[]): boolean {
  if (root !== '/') return false;
  const folded = foldParts(parts);
  const [top = '', next = ''] = folded;
  if (top === 'proc') return folded.some((part) => /^(?:root|cwd|fd|exe|map_files|task)$/.test(part));
  return top === 'dev' && /^(?:fd|std(?:in|out|err)|tcp|udp)$/.test(next);
}

/** A component that is not `..` but may become it: by a pattern, or when spaces and invisible letters are dropped. */
function mayClimbUnseen(part: string): boolean {
  if (part === '..') return false;
  if (part.charCodeAt(0) === 0x2e) {
    if (part.length > 2 && part.replace(/[\s\p{Cf}]/gu, '') === '..') return true;
  } else if (!part.startsWith('[') && !/^[\s\p{Cf}]/u.test(part)) return false;
  if (part.replace(/[\s\p{Cf}]/gu, '') === '..') return true;
  // `.*`, `.?` and `[.].` match `..` in some programs. A set stands for one letter: `[id].tsx` cannot match it.
  const folded = part.replace(/\[[^[\]]*\]/g, '?');
  return isPathPattern(part) && (/^[.?][.?*]*$/.test(folded) ? folded.length > 1 : folded.includes('['));
}

/** Undefined if there are too many, or for a range of letters, which may contain any character. */
function expandBraces(text: string): readonly string[] | undefined {
  if (!text.includes('{')) return [text];
  let texts: readonly string[] = [text];
  for (let round = 0; round < 8; round++) {
    const next: string[] = [];
    let changed = false;
    for (const one of texts) {
      const found = /\{([^{}]*)\}/.exec(one);
      if (found === null || !/,|\.\./.test(found[1] ?? '')) {
        next.push(one);
        // Braces without a list are literal; a list after them still counts.
        if (found !== null && /\{[^{}]*(?:,|\.\.)[^{}]*\}/.test(one.slice(found.index + 1))) return undefined;
        continue;
      }
      changed = true;
      const inside = found[1] ?? '';
      if (!inside.includes(',') && !/^-?\d+\.\.-?\d+(?:\.\.\d+)?$/.test(inside)) return undefined;
      const choices = inside.includes(',') ? inside.split(',') : ['0'];
      for (const choice of choices)
        next.push(one.slice(0, found.index) + choice + one.slice(found.index + found[0].length));
      if (next.length > mostAlternatives) return undefined;
    }
    texts = next;
    if (!changed) return texts;
  }
  return undefined;
}

/** Do the components lead above their start? */
export function climbs(parts: readonly string[]): boolean {
  let depth = 0;
  for (const part of parts) if ((depth += part === '..' ? -1 : 1) < 0) return true;
  return false;
}

/** Resolves `..` by the text alone; the parent of the top is the top. */
export function foldParts(parts: readonly string[]): readonly string[] {
  if (!parts.includes('..')) return parts;
  const folded: string[] = [];
  for (const part of parts) {
    if (part === '..') folded.pop();
    else folded.push(part);
  }
  return folded;
}
