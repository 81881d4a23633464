/**
 * How the code that both SQL stores share runs statements. SQLite wraps calls that are synchronous: a statement is done
 * when it is asked for. So a transaction of such statements lets no other task in between.
 */
import { QuittanceError } from '../../base/error.ts';

export type SqlValue = string | number | Buffer | null;

/** `?` in a statement stands for each value, in order. A store may give its tables a prefix: see the dialect. */
export interface SqlDriver {
  all<Row>(sql: string, values?: readonly SqlValue[]): Promise<readonly Row[]>;
  /** For a statement that returns no rows. */
  run(sql: string, values?: readonly SqlValue[]): Promise<void>;
}

/** A driver whose statements read as of one moment, in pages: other work runs between two of them. */
export interface SqlReader extends SqlDriver {
  /** In the order of an index, if one gives the order of the statement. */
  pages<Row>(sql: string, values?: readonly SqlValue[]): AsyncIterable<readonly Row[]>;
}

/** Names may be any text, which a database cannot always hold: a store encodes them. */
export type SqlNames = {
  readonly toText: (name: string) => string;
  /** Throws `ledger.damaged` for a text that `toText` did not write. */
  readonly fromText: (text: string) => string;
};

const mark = '\u0001';

/**
 * A name that UTF-8 or the database cannot hold, or that looks encoded, is written as JSON after a mark. So is an empty
 * name: an empty text stands for no name.
 */
export const createNames = (canHold: (name: string) => boolean): SqlNames => ({
  toText(name) {
    // Callers in plain JavaScript get a precise error instead of a ledger error.
    if (typeof name !== 'string')
      throw new QuittanceError('config.invalid', `An id must be a string, found ${typeof name}.`);
    const isPlain = name !== '' && name.isWellFormed() && !name.startsWith(mark) && canHold(name);
    return isPlain ? name : mark + JSON.stringify(name);
  },
  fromText(text) {
    const name: unknown =
      typeof text === 'string' && text.startsWith(mark) ? parse(text.slice(mark.length)) : text;
    if (typeof name === 'string') return name;
    throw new QuittanceError(
      'ledger.damaged',
      'A name in the ledger was not written by this program: another program changed its tables.',
    );
  },
});

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/** A condition with its values. */
export type SqlCondition = readonly [sql: string, ...values: SqlValue[]];

export const toWhere = (conditions: readonly SqlCondition[]): string =>
  conditions.length === 0 ? '' : ` WHERE ${conditions.map(([sql]) => sql).join(' AND ')}`;

export const toValues = (conditions: readonly SqlCondition[]): SqlValue[] =>
  conditions.flatMap(([, ...values]) => values);

/** A name that this program may not have written; undefined if it did not. */
export function readStoredName(names: SqlNames, text: unknown): string | undefined {
  try {
    return typeof text === 'string' ? names.fromText(text) : undefined;
  } catch {
    return undefined;
  }
}
