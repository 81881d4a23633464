/** Random changes to the files of a ledger, as a person with the files but without this program would make them. */
import { readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Database } from '../../packages/quittance/src/store/sqlite/database.ts';
import { openBare } from '../../test/bare-database.ts';

/** Pseudo-random numbers, the same for the same seed. */
export function createRandom(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

type Random = (below: number) => number;
type Value = string | number | Uint8Array | null;
type Row = Record<string, Value>;

/** The files of one copy. */
export type Files = { readonly folder: string; readonly ledger: string };

export const editKinds = [
  'set',
  'retype',
  'null',
  'delete',
  'duplicate',
  'swap',
  'cut tail',
  'cut session',
  'schema',
  'byte',
  'truncate',
  'zero page',
] as const;
export type EditKind = (typeof editKinds)[number];

/** Makes one change. Returns its description; undefined if the database refused it. */
export function editAtRandom(files: Files, kind: EditKind, random: Random): string | undefined {
  if (kind === 'byte' || kind === 'truncate' || kind === 'zero page') return editBytes(files, kind, random);
  const database = openBare(files.ledger);
  try {
    const what =
      kind === 'schema' ? editSchema(database, files.ledger, random) : editRows(database, kind, random);
    return what === undefined ? undefined : `${kind}: ${what}`;
  } catch (error) {
    if (error instanceof Error && 'errcode' in error) return undefined; // SQLite refused it
    throw error;
  } finally {
    database.close();
  }
}

function editRows(
  database: Database,
  kind: Exclude<EditKind, 'byte' | 'truncate' | 'zero page' | 'schema'>,
  random: Random,
): string | undefined {
  if (kind === 'cut tail' || kind === 'cut session') {
    const last = database.prepareValue<number>('SELECT max(position) FROM entries').get() ?? 0;
    const from = last - random(10);
    if (kind === 'cut tail') database.prepare('DELETE FROM entries WHERE position >= ?').run(from);
    else
      database.exec(
        `DELETE FROM entries WHERE session = ${1 + random(2)}${random(2) === 0 ? '' : '; DELETE FROM sessions WHERE session = 1'}`,
      );
    return `from ${from}`;
  }
  const tables = database
    .prepareValue<string>(
      `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_stat%'`,
    )
    .all();
  const table = random(3) === 0 ? 'entries' : (tables[random(tables.length)] ?? '');
  const rows = database.prepare<Row>(`SELECT * FROM ${table}`).all();
  const row = rows[random(rows.length || 1)];
  const other = rows[random(rows.length || 1)];
  if (row === undefined || other === undefined) return undefined;
  const names = Object.keys(row);
  const name = names[random(names.length)] ?? '';
  const where = names.map((column) => `${column} IS ?`).join(' AND ');
  const set = (target: Row, value: Value): number =>
    database
      .prepare(`UPDATE OR REPLACE ${table} SET ${name} = ? WHERE ${where}`)
      .run(value, ...Object.values(target)).changes;
  const what = `${table}.${name}`;
  const value = row[name] ?? null;
  switch (kind) {
    case 'set':
      return set(row, another(value, random)) > 0 ? what : undefined;
    case 'retype':
      return set(row, retyped(value, random)) > 0 ? what : undefined;
    case 'null':
      return set(row, null) > 0 ? what : undefined;
    case 'swap':
      return set(row, other[name] ?? null) + set(other, value) > 0 ? what : undefined;
    case 'delete':
      database.prepare(`DELETE FROM ${table} WHERE ${where}`).run(...Object.values(row));
      return table;
    case 'duplicate': {
      const copy = { ...row, [name]: another(value, random) };
      database
        .prepare(`INSERT INTO ${table} (${names.join()}) VALUES (${names.map(() => '?').join()})`)
        .run(...Object.values(copy));
      return what;
    }
  }
}

/** Another value of the same type. */
function another(value: Value, random: Random): Value {
  if (typeof value === 'number') return value + (random(2) === 0 ? 1 : -1) * (1 + random(3));
  if (typeof value !== 'string' || value === '') return ['x', 1, Buffer.from('x')][random(3)] ?? null;
  const at = random(value.length);
  const put = ['x', '0', '"', '}', 'é', '\u0000', ''][random(7)] ?? '';
  const changed = value.slice(0, at) + put + value.slice(at + random(2));
  return changed === value ? `${value}x` : changed;
}

function retyped(value: Value, random: Random): Value {
  const others: readonly Value[] =
    typeof value === 'number'
      ? [`${value} `, Buffer.from(String(value)), value + 0.5, 'x']
      : [0, 1.5, Buffer.from(String(value)), Buffer.alloc(0)];
  return others[random(others.length)] ?? null;
}

function editSchema(database: Database, path: string, random: Random): string | undefined {
  const objects = database
    .prepare<{ type: string; name: string }>(
      `SELECT type, name FROM sqlite_schema WHERE name NOT LIKE 'sqlite%' AND sql IS NOT NULL`,
    )
    .all();
  const tables = objects.filter(({ type }) => type === 'table').map(({ name }) => name);
  const table = tables[random(tables.length)] ?? '';
  const column =
    database.prepareValue<string>(`SELECT name FROM pragma_table_info('${table}')`).all()[0] ?? '';
  const index = objects.filter(({ type }) => type === 'index')[random(2)]?.name ?? '';
  const edits: readonly string[] = [
    `CREATE TRIGGER evil AFTER INSERT ON ${table} BEGIN SELECT 1; END`,
    `CREATE VIEW evil AS SELECT * FROM ${table}`,
    `CREATE INDEX evil ON ${table} (${column})`,
    `ALTER TABLE ${table} ADD COLUMN evil TEXT`,
    `ALTER TABLE ${table} ADD COLUMN evil TEXT GENERATED ALWAYS AS ('x') VIRTUAL`,
    `ALTER TABLE ${table} RENAME COLUMN ${column} TO evil`,
    `ALTER TABLE ${table} RENAME TO evil`,
    `DROP TABLE ${table}`,
    `DROP INDEX ${index}`,
  ];
  const sql = edits[random(edits.length + 1)];
  if (sql !== undefined) {
    database.exec(sql);
    return sql;
  }
  const unprotected = openBare(path, { defensive: false });
  unprotected.pragma('writable_schema = ON');
  unprotected
    .prepare(`UPDATE sqlite_schema SET sql = replace(sql, ' NOT NULL', '') WHERE name = ?`)
    .run(table);
  unprotected.close();
  return `NOT NULL taken from ${table}`;
}

function editBytes(files: Files, kind: 'byte' | 'truncate' | 'zero page', random: Random): string {
  const named = readdirSync(files.folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  // Mostly the ledger itself.
  const path = random(3) > 0 ? files.ledger : (named[random(named.length)] ?? files.ledger);
  const bytes = readFileSync(path);
  const at = random(Math.max(bytes.length, 1));
  const name = path.slice(files.folder.length + 1);
  if (bytes.length === 0) return `${kind} of ${name}, which is empty`;
  if (kind === 'truncate') truncateSync(path, at);
  else {
    if (kind === 'byte') bytes[at] = (bytes[at] ?? 0) ^ (1 << random(8));
    else bytes.fill(0, at - (at % 8_192), Math.min(at - (at % 8_192) + 8_192, bytes.length));
    writeFileSync(path, bytes);
  }
  return `${kind} of ${name} at ${at}`;
}
