/** A text as JSON. Most texts need no escapes, and checking that is cheaper than `JSON.stringify`. */
export const quoteText = (text: string): string =>
  text.length < 100 && /^[ !#-[\]-~]*$/.test(text) ? `"${text}"` : JSON.stringify(text);
