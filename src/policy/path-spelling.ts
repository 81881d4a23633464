/**
 * How a text names a path: from where, and which components, `..` kept. Nothing is resolved here, since `link/..` is
 * another directory for the kernel than for whoever only looks at the text (found-path.ts judges both).
 */
import { compileGlob } from './glob.ts';

export type PathSpelling = {
  /** `/`, a drive such as `C:`, `~`, or undefined for a path relative to wherever the tool runs. */
  readonly root: '/' | '~' | `${string}:` | undefined;
  /** Without empty and `.` components. */
  readonly parts: readonly string[];
};

/**
 * The ways to read the text as a path: a backslash may be a separator or a letter, and blanks around it may be cut
 * off. Undefined where nobody can say what it will name: a NUL, another user's home, a variable, a pattern that may
 * stand for `..`.
 */
export function readPath(text: string): readonly PathSpelling[] | undefined {
  if (text.includes('\0') || /\$[{(]|`/.test(text) || (text.includes('{') && text.includes('..')))
    return undefined;
  const trimmed = text.trim();
  const texts = new Set([text, trimmed]);
  if (text.includes('\\')) texts.add(trimmed.replaceAll('\\', '/'));
  const spellings: PathSpelling[] = [];
  for (const one of texts) {
    const spelling = readOne(one);
    if (spelling === undefined) return undefined;
    spellings.push(spelling);
  }
  return spellings;
}

function readOne(text: string): PathSpelling | undefined {
  if (/^(?:\$|%[a-z_]\w*%(?:\/|$)|~[^/])/i.test(text)) return undefined;
  const drive = /^([a-z]:)[/\\]/i.exec(text)?.[1];
  const root =
    drive === undefined ? (text.startsWith('/') ? '/' : text.startsWith('~') ? '~' : undefined) : 'drive';
  const rest = root === '~' ? text.slice(1) : drive === undefined ? text : text.slice(2);
  const parts = rest.split(drive === undefined ? '/' : /[/\\]/).filter((part) => part !== '' && part !== '.');
  if (parts.some(mayClimbUnseen)) return undefined;
  // The drive is a letter and a colon by the expression above.
  return { root: root === 'drive' ? (drive!.toUpperCase() as `${string}:`) : root, parts };
}

/** A component that is not `..` but may become it: by a pattern, or when blanks and invisible letters are dropped. */
function mayClimbUnseen(part: string): boolean {
  if (part === '..') return false;
  if (part.charCodeAt(0) === 0x2e) {
    if (part.length > 2 && part.replace(/[\s\p{Cf}]/gu, '') === '..') return true;
  } else if (!part.startsWith('[') && !/^[\s\p{Cf}]/u.test(part)) return false;
  if (part.replace(/[\s\p{Cf}]/gu, '') === '..') return true;
  return part.length < 64 && /[*?[]/.test(part) && compileGlob(part).matches('..');
}

/** Whether following the components leads above where they start. */
export function climbs(parts: readonly string[]): boolean {
  let depth = 0;
  for (const part of parts) if ((depth += part === '..' ? -1 : 1) < 0) return true;
  return false;
}

/** With `..` resolved by the text alone; above the top there is only the top. */
export function foldParts(parts: readonly string[]): readonly string[] {
  if (!parts.includes('..')) return parts;
  const folded: string[] = [];
  for (const part of parts) {
    if (part === '..') folded.pop();
    else folded.push(part);
  }
  return folded;
}
