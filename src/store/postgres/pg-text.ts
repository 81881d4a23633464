/**
 * Names in the columns of PostgreSQL. Its texts cannot hold NUL or a lone surrogate. Such a name, an empty one, and one
 * that looks like a name written this way, is written as JSON after a mark.
 */
import { QuittanceError } from '../../base/error.ts';

const mark = '\u0001';

export function toPgText(name: string): string {
  // A caller without TypeScript gets this error instead of one about the ledger.
  if (typeof name !== 'string')
    throw new QuittanceError('config.invalid', `An id must be a string, found ${typeof name}.`);
  const isPlain = name !== '' && name.isWellFormed() && !name.startsWith(mark) && !name.includes('\0');
  return isPlain ? name : mark + JSON.stringify(name);
}

/** Throws on a text that `toPgText` did not write: another program changed the table. */
export function fromPgText(text: string): string {
  const name: unknown = text.startsWith(mark) ? parse(text.slice(mark.length)) : text;
  if (typeof name === 'string') return name;
  throw new QuittanceError(
    'ledger.damaged',
    'A name in the ledger is not one that this program wrote: another program changed its tables.',
  );
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
