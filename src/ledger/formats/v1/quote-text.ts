/** A text as JSON. Most have nothing to escape, and finding that out is cheaper than a call of `JSON.stringify`. */
export const quoteText = (text: string): string =>
  text.length < 100 && /^[ !#-[\]-~]*$/.test(text) ? `"${text}"` : JSON.stringify(text);
