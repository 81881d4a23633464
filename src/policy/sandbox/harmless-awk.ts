/**
 * Decides whether an awk program only reads its input and prints: no call to `system`, no pipe, no `getline`, no output
 * to a file. Strings, patterns and comments are removed first, in one pass: each may contain the marks of the others.
 * In `/"/ {system("x")} /"/` the quotes belong to patterns.
 */

export function isHarmlessAwk(text: string): boolean {
  if (text.length > 4096) return false;
  const bare = removeLiterals(text)?.replaceAll('||', ' ');
  if (bare === undefined) return false;
  if (/\b(?:system|getline|close|fflush|ARGV|ARGC)\b|@|\||>>|>(?!\s*(?:=|-?[\d.]))/.test(bare)) return false;
  // After `print`, `>` names a file, even if a number follows. In parentheses it compares.
  return !removeGroups(bare)
    .split(/[;{}\n]/)
    .some((statement) => /\bprintf?\b.*>(?!=)/s.test(statement));
}

/** Without what is in parentheses, from the inside out. */
function removeGroups(text: string): string {
  const next = text.replace(/\([^()]*\)/g, '');
  return next === text ? text : removeGroups(next);
}

/** The program with `""` for each string and pattern. Undefined if the text does not show where one ends. */
function removeLiterals(text: string): string | undefined {
  let bare = '';
  let at = 0;
  while (at < text.length) {
    const unit = text.charAt(at);
    const rest = text.slice(at);
    if (unit === '"' || (unit === '/' && startsPattern(bare))) {
      const literal = (unit === '"' ? quoted : pattern).exec(rest)?.[0];
      if (literal === undefined) return undefined;
      bare += '""';
      at += literal.length;
    } else if (unit === '#') at += /^[^\n]*/.exec(rest)?.[0].length ?? 1;
    else {
      // `if (x) /y/` and `(x) / y / z` look the same, and quotes may be inside.
      if (unit === '/' && /\)\s*$/.test(bare) && /["/]/.test(rest.slice(1))) return undefined;
      bare += unit;
      at++;
    }
  }
  return bare;
}

const quoted = /^"(?:[^"\\\n]|\\[^\n])*"/;
/** A slash inside brackets ends the pattern in some programs only, so there may be none. */
const pattern = /^\/(?:[^/\\\n[]|\\[^\n]|\[\^?\]?[^\]/\n]*\])*\//;

/** A slash divides if a value precedes it. */
function startsPattern(before: string): boolean {
  const word = /([\w$]+)\s*$/.exec(before)?.[1];
  if (word !== undefined) return /^(?:print|printf|return|in|case|else|do|exit)$/.test(word);
  return !/(?:[)\]"$]|\+\+|--)\s*$/.test(before);
}
