/** Expands a path as a shell does before it opens a file: variables with known values, tails, braces. */

/** Replaces variables whose value is known. */
export const expandPathVariables = (text: string): string =>
  text
    .replace(/^(?:\$HOME|\$\{HOME\}|%USERPROFILE%|\$env:(?:HOME|USERPROFILE))(?=$|[/\\])/i, '~')
    .replace(/^(?:\$PWD|\$\{PWD\}|%CD%|~\+)(?=$|[/\\])/i, '.');

/** The part after the last variable, substitution or other user's home. */
export function tailOf(text: string): string | undefined {
  if (!/\$|`|%\w+%|^~[^/\\]/.test(text)) return undefined;
  const tail = text
    .replace(/^.*(?:\$\{[^}]*\}?|\$\([^)]*\)?|\$\w+|`[^`]*`?|%\w+%)/s, '')
    .replace(/^~[^/\\]*/, '')
    .replace(/^[/\\]+/, '');
  return tail === '' ? undefined : tail;
}

const mostBraces = 64;
const braces = /\{([^{}\s"']*(?:,|\.\.)[^{}\s"']*)\}/;

/** `a{b,c}` as a shell reads it. Too many alternatives become a wildcard. */
export function expandBraces(text: string): readonly string[] {
  if (!braces.test(text)) return [text];
  let all = [text];
  for (let round = 0; round < 6; round++) {
    const next = all.flatMap((one) => {
      const found = braces.exec(one);
      if (found === null) return [one];
      const [whole, inner = ''] = found;
      const choices = inner.includes(',') ? inner.split(',') : ['*'];
      return choices.map(
        (choice) => one.slice(0, found.index) + choice + one.slice(found.index + whole.length),
      );
    });
    if (next.length > mostBraces) return [text.replace(/\{.*\}/s, '*')];
    if (next.length === all.length && next.every((one, index) => one === all[index])) break;
    all = next;
  }
  return [text, ...all];
}
