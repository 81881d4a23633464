import { parseJson } from 'quittance/internal/base/json';
import { UsageError } from './usage-error.ts';

/** `a,b`, or a JSON list for values that contain a comma. `where` is the option or variable, for errors. */
export function readTextList(where: string, text: string): readonly string[] {
  if (!text.trimStart().startsWith('['))
    return text
      .split(',')
      .map((each) => each.trim())
      .filter((each) => each !== '');
  const read = parseJson(text);
  if (read.ok && Array.isArray(read.value) && read.value.every((each) => typeof each === 'string'))
    return read.value as readonly string[]; // every item was just checked
  throw new UsageError(`${where} starts with "[" but is not a JSON list of texts.`, [
    `${where}${where.startsWith('--') ? ' ' : '='}'["one","two"]'`,
  ]);
}
