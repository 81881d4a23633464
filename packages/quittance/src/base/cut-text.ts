/** Text of at most `length` UTF-16 units, ending in `…` if it was cut; no character is split. */
export const cutText = (text: string, length: number): string =>
  text.length > length ? `${text.slice(0, length - 1).replace(/[\uD800-\uDBFF]$/, '')}…` : text;
