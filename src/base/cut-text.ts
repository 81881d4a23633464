/** Text of at most `length` UTF-16 units, ending in `…` where something was cut; no character is cut in half. */
export const cutText = (text: string, length: number): string =>
  text.length > length ? `${text.slice(0, length - 1).replace(/[\uD800-\uDBFF]$/, '')}…` : text;
