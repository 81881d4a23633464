/** Checks that every value has its column's type. SQLite accepts any value in any column. */
import type { Database } from './database.ts';
import { prepareRow, prepareValue } from './database.ts';
import type { TableFinding } from './table-finding.ts';

type Column = { readonly name: string; readonly type: string; readonly notnull: number; readonly pk: number };

const encodings = `'utf8', 'utf16le', 'bytes'`;

/** `tables`: the ledger's tables that have their original schema. */
export function* inspectTypes(
  ledger: Database,
  tables: readonly string[],
): Generator<TableFinding, void, undefined> {
  const columnsOf = prepareRow<Column>(ledger, 'SELECT name, type, "notnull", pk FROM pragma_table_info(?)');
  for (const table of tables)
    for (const column of columnsOf.all(table)) {
      const wrong = prepareValue<number>(
        ledger,
        `SELECT count(*) FROM ${table} WHERE NOT (${conditionOf(table, column)})`,
      ).get();
      if (wrong !== undefined && wrong > 0)
        yield {
          kind: 'side_row',
          message:
            `The column "${column.name}" of the table "${table}" contains ${wrong} ` +
            `${wrong === 1 ? 'value' : 'values'} of the wrong type. Restore a backup of the file, or ` +
            'run `quittance rebuild`.',
        };
    }
}

function conditionOf(table: string, { name, type, notnull, pk }: Column): string {
  const isType = `typeof(${name}) = '${type.toLowerCase()}'`;
  if (table === 'artifacts' && name === 'encoding') return `${isType} AND ${name} IN (${encodings})`;
  return notnull === 1 || pk > 0 ? isType : `${name} IS NULL OR ${isType}`;
}
