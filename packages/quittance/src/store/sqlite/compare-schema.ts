/**
 * Compares the tables, indexes, triggers and views of a file with those that this program creates. A foreign trigger
 * or an altered constraint could change rows silently, so such a file is not written to.
 */
import type { Database } from './database.ts';
import { openDatabase, prepareRow } from './database.ts';

export type SchemaObject = {
  readonly type: string;
  readonly name: string;
  readonly tbl_name: string;
  readonly sql: string | null;
};

export type SchemaReport = {
  /** Missing, changed or added parts of our tables. */
  readonly problems: readonly string[];
  /** Objects of other programs in the file that do not touch our tables. */
  readonly notes: readonly string[];
};

/** The schema of a new file after these statements. */
export function schemaAfter(statements: readonly string[]): readonly SchemaObject[] {
  const database = openDatabase(':memory:');
  try {
    for (const sql of statements) database.exec(sql);
    return readSchema(database);
  } finally {
    database.close();
  }
}

export const readSchema = (database: Database): readonly SchemaObject[] =>
  prepareRow<SchemaObject>(
    database,
    `SELECT type, name, tbl_name, sql FROM main.sqlite_schema WHERE name NOT LIKE 'sqlite~_%' ESCAPE '~'`,
  ).all();

export function compareSchema(
  found: readonly SchemaObject[],
  expected: readonly SchemaObject[],
): SchemaReport {
  const problems: string[] = [];
  const notes: string[] = [];
  const byName = new Map(found.map((object) => [object.name, object]));
  const ours = new Set(expected.filter(({ type }) => type === 'table').map(({ name }) => name));
  const known = new Set(expected.map(({ name }) => name));
  for (const { type, name, tbl_name: table, sql } of expected) {
    const other = byName.get(name);
    if (other === undefined) problems.push(`The ${type} "${name}" is missing from the file.`);
    else if (other.type !== type || other.tbl_name !== table || other.sql !== sql)
      problems.push(`The ${type} "${name}" differs from the original in its columns, constraints or text.`);
  }
  for (const { type, name, tbl_name: table, sql } of found) {
    if (known.has(name)) continue;
    const touches = ours.has(table) || (type !== 'table' && type !== 'index' && mentions(sql, ours));
    if (touches)
      problems.push(
        `The file has the ${type} "${name}" on tables of the ledger, which this program never creates.`,
      );
    else notes.push(`The file has the ${type} "${name}" that does not belong to the ledger.`);
  }
  return { problems, notes };
}

/** SQLite's internal objects, which it writes in one form only. Returns those in another form. */
export function findOddInternals(database: Database): readonly string[] {
  const internals = prepareRow<SchemaObject>(
    database,
    `SELECT type, name, tbl_name, sql FROM main.sqlite_schema
     WHERE name LIKE 'sqlite~_%' ESCAPE '~' AND name NOT LIKE 'sqlite~_stat%' ESCAPE '~'`,
  ).all();
  const isUsual = ({ type, name, tbl_name: table, sql }: SchemaObject): boolean =>
    name === 'sqlite_sequence'
      ? type === 'table' && table === name && sql === 'CREATE TABLE sqlite_sequence(name,seq)'
      : type === 'index' && sql === null && /^\d+$/.test(name.replace(`sqlite_autoindex_${table}_`, ''));
  return internals
    .filter((object) => !isUsual(object))
    .map(({ name }) => `The object "${name}" is not in the form that SQLite writes.`);
}

/** Does the text of a trigger or a view name one of our tables? */
const mentions = (sql: string | null, tables: ReadonlySet<string>): boolean =>
  (String(sql).match(/[\p{L}\p{N}_]+/gu) ?? []).some((word) => tables.has(word.toLowerCase()));
