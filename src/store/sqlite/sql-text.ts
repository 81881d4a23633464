import { QuittanceError } from '../../base/error.ts';

/**
 * Names are anybody's text; SQLite keeps UTF-8, in which all lone surrogates are one character. A name that UTF-8
 * cannot hold, or that looks like one written this way, is written as JSON behind a mark. So is an empty name: an
 * empty text stands for no name at all.
 */
const mark = '\u0001';

export function toSqlText(name: string): string {
  // Whoever writes no TypeScript hears what is wrong, and not that the ledger is.
  if (typeof name !== 'string')
    throw new QuittanceError('config.invalid', `An id must be a text, found ${typeof name}.`);
  return name.isWellFormed() && !name.startsWith(mark) && name !== '' ? name : mark + JSON.stringify(name);
}

/** Throws what was not written that way: the file is open to whoever has it. */
export function fromSqlText(text: string): string {
  const name: unknown =
    typeof text === 'string' && text.startsWith(mark) ? parse(text.slice(mark.length)) : text;
  if (typeof name === 'string') return name;
  throw new QuittanceError(
    'ledger.damaged',
    'A name in the ledger file is not one that was written: the file was changed by other means than this program.',
  );
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
