/**
 * Names are anybody's text; SQLite keeps UTF-8, in which all lone surrogates are one character. A name that UTF-8
 * cannot hold, or that looks like one written this way, is written as JSON behind a mark. So is an empty name: an
 * empty text stands for no name at all.
 */
const mark = '\u0001';

export const toSqlText = (name: string): string =>
  name.isWellFormed() && !name.startsWith(mark) && name !== '' ? name : mark + JSON.stringify(name);

export const fromSqlText = (text: string): string =>
  text.startsWith(mark) ? (JSON.parse(text.slice(mark.length)) as string) : text;
