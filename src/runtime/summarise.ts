const longest = 200;
const gap = ' … ';

/** The head and the tail of a text, at most 200 characters together. No character is cut in half. */
export function summarise(text: string): string {
  if (text.length <= longest) return text;
  const head = text.slice(0, 130).replace(/[\uD800-\uDBFF]$/, '');
  const tail = text.slice(text.length - (longest - gap.length - 130)).replace(/^[\uDC00-\uDFFF]/, '');
  return `${head}${gap}${tail}`;
}
