import { QuittanceError } from '../../base/error.ts';

/**
 * Encodes names for SQLite. Names may be any text, but SQLite stores UTF-8, in which all lone surrogates become one
 * character. A name that UTF-8 cannot represent, or that looks encoded, is written as JSON after a mark. So is an
 * empty name: an empty text stands for no name.
 */
const mark = '\u0001';

export function toSqlText(name: string): string {
  // Callers in plain JavaScript get a precise error instead of a ledger error.
  if (typeof name !== 'string')
    throw new QuittanceError('config.invalid', `An id must be a string, found ${typeof name}.`);
  return name.isWellFormed() && !name.startsWith(mark) && name !== '' ? name : mark + JSON.stringify(name);
}

/** Throws for a value that was not encoded this way: anyone with the file can change it. */
export function fromSqlText(text: string): string {
  const name: unknown =
    typeof text === 'string' && text.startsWith(mark) ? parse(text.slice(mark.length)) : text;
  if (typeof name === 'string') return name;
  throw new QuittanceError(
    'ledger.damaged',
    'A name in the ledger file was not written by this program: another program changed the file.',
  );
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
