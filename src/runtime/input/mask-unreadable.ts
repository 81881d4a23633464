/**
 * Masks secrets in argument text that is not JSON. A redactor cannot use its keys, but such text is often
 * nearly JSON: the model was cut off or forgot a comma. Names are found without the grammar. The value after
 * a secret name is hidden up to its apparent end, or to the end of the text.
 */
import { redacted } from '../../base/text-mask.ts';

const member =
  /\\{0,8}["'`]?([\p{L}\p{N}_$][\p{L}\p{N}_$.-]{0,119})\\{0,8}["'`]?[ \t\r\n]{0,80}(?::|=>?)[ \t\r\n]{0,80}/gu;
const opening = /\\{0,8}["'`]/y;
const bare = /[^\s,;}\])]*/y;

/** The text with the values of such names masked. Adds those values to `found`. */
export function maskUnreadable(
  text: string,
  isSecretName: (name: string) => boolean,
  found?: Set<string>,
): string {
  let masked = '';
  let done = 0;
  for (const match of text.matchAll(member)) {
    const start = match.index + match[0].length;
    if (match.index < done || start >= text.length || !isSecretName(match[1] ?? '')) continue;
    const [from, to] = spanOfValue(text, start);
    found?.add(text.slice(from, to));
    masked += `${text.slice(done, from)}${redacted}`;
    done = to;
  }
  return masked + text.slice(done);
}

/** From after the opening quote to the closing one, or to the end of the text if there is none. */
function spanOfValue(text: string, start: number): readonly [from: number, to: number] {
  opening.lastIndex = start;
  const quote = opening.exec(text)?.[0];
  if (quote !== undefined) {
    const from = start + quote.length;
    let end = text.indexOf(quote, from);
    // An escaped quote belongs to the value.
    while (end !== -1 && text[end - 1] === '\\') end = text.indexOf(quote, end + 1);
    return [from, end === -1 ? text.length : end];
  }
  if (text[start] === '{' || text[start] === '[') return [start, text.length];
  bare.lastIndex = start;
  return [start, start + (bare.exec(text)?.[0].length ?? 0)];
}
