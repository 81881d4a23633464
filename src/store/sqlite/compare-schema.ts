/**
 * Compares the tables, indexes, triggers and views of a file with those that this program makes. A trigger or an altered
 * constraint could change rows behind the back of whoever writes them, so such a file is not written to.
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
  /** What is missing, changed or added to our tables. */
  readonly problems: readonly string[];
  /** What somebody else keeps in the file, without touching our tables. */
  readonly notes: readonly string[];
};

/** What a new file holds after these statements. */
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
      problems.push(
        `The ${type} "${name}" is not the one that was made: its columns, constraints or text differ.`,
      );
  }
  for (const { type, name, tbl_name: table, sql } of found) {
    if (known.has(name)) continue;
    const touches = ours.has(table) || (type !== 'table' && type !== 'index' && mentions(sql, ours));
    if (touches)
      problems.push(`There is a ${type} "${name}" on tables of the ledger, which this program never makes.`);
    else notes.push(`There is a ${type} "${name}" in the file, which is not the ledger's.`);
  }
  return { problems, notes };
}

/** What SQLite keeps for itself and writes in one way only. Gives those that are written otherwise. */
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
    .map(({ name }) => `The object "${name}" is not as SQLite writes it.`);
}

/** Whether the text of a trigger or a view names one of our tables. */
const mentions = (sql: string | null, tables: ReadonlySet<string>): boolean =>
  (String(sql).match(/[\p{L}\p{N}_]+/gu) ?? []).some((word) => tables.has(word.toLowerCase()));
