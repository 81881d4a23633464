/**
 * How the code that both SQL stores share runs statements. SQLite wraps calls that are synchronous: a statement is done
 * when it is asked for. So a transaction of such statements lets no other task in between.
 */
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
