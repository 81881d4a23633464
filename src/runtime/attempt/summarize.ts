import { ARTIFACT_SUMMARY_MAX_CHARS as longest } from '../../call/outcome.ts';

const gap = ' … ';

/** The head and the tail of a text, within the length of a summary. No character is cut in half. */
export function summarize(text: string): string {
  if (text.length <= longest) return text;
  const head = text.slice(0, 130).replace(/[\uD800-\uDBFF]$/, '');
  const tail = text.slice(text.length - (longest - gap.length - 130)).replace(/^[\uDC00-\uDFFF]/, '');
  return `${head}${gap}${tail}`;
}
