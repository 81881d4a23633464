/** Creates the tables of a ledger, or brings them up to this version, under a lock that all processes take. */
import { randomUUID } from 'node:crypto';
import { QuittanceError } from 'quittance/internal/base/error';
import type { PgPool, PgQuery } from './pg-pool.ts';
import { firstFormatWithMarks, firstMark, functions, listIndexes, migrations } from './migrations.ts';
import type { FillProgress } from './rebuild.ts';
import { fillLists, rebuildWith } from './rebuild.ts';
import { refuseChangedSchema } from './schema-check.ts';
import { quoteSchema } from './settings.ts';

export type LedgerRow = {
  readonly ledgerId: string;
  readonly format: number;
  readonly keyCheck: string | null;
  /** Undefined once the lists are filled: see `rebuild.ts`. */
  readonly fillAfter: string | undefined;
};

/** The version of the tables in the database, 0 if there are none, and the version that this program needs. */
export type MigrationState = {
  readonly found: number;
  readonly wanted: number;
  /** False until the lists of an older ledger are filled: see `rebuild.ts`. */
  readonly isFilled: boolean;
};

/** Older versions lack the last one. */
const columns = `ledger_id AS "ledgerId", format, key_check AS "keyCheck", to_jsonb(l) ->> 'fill_after' AS "fillAfter"`;
const toLedgerRow = (row: LedgerRow): LedgerRow => ({ ...row, fillAfter: row.fillAfter ?? undefined });

/** The row of the ledger; undefined where the tables do not exist. */
export async function readLedgerRow(pool: PgPool): Promise<LedgerRow | undefined> {
  const [exists] = await pool.query<{ found: boolean }>(`SELECT to_regclass($1) IS NOT NULL AS found`, [
    `${quoteSchema(pool.settings.schema)}.ledger`,
  ]);
  if (exists?.found !== true) return undefined;
  const [row] = await pool.query<LedgerRow>(`SELECT ${columns} FROM @ledger l`);
  if (row !== undefined && (typeof row.ledgerId !== 'string' || row.ledgerId === ''))
    throw new QuittanceError(
      'ledger.damaged',
      `The ledger in the schema ${JSON.stringify(pool.settings.schema)} has no valid id: another program changed its ` +
        'tables, so nothing is read or written. Restore a backup to another schema: quittance restore FOLDER URL.',
    );
  return row && toLedgerRow(row);
}

/** Throws for tables of a newer version. */
export async function readMigrationState(pool: PgPool): Promise<MigrationState> {
  const row = await readLedgerRow(pool);
  const found = row?.format ?? 0;
  refuseNewer(found);
  return { found, wanted: migrations.length, isFilled: row?.fillAfter === undefined };
}

/** `onProgress` hears how far the lists of an older ledger are filled. */
export async function migrate(
  pool: PgPool,
  onProgress?: (progress: FillProgress) => void,
): Promise<LedgerRow> {
  const row = await makeTables(pool);
  await fillLists(pool, onProgress);
  return { ...row, fillAfter: undefined };
}

function makeTables(pool: PgPool): Promise<LedgerRow> {
  const { schema } = pool.settings;
  return pool.longTransaction(async (query) => {
    await query(`SELECT ${lockSql(schema)}`);
    const found = await formatOf(query, schema);
    refuseNewer(found);
    if (found === 0) await refuseServer(query);
    for (const sql of toStatements(schema, found)) await query(sql);
    await refuseChangedSchema(query, schema);
    if (found > 0 && found < firstFormatWithMarks) await rebuildWith(query, Date.now());
    const [row] = await query<LedgerRow>(`SELECT ${columns} FROM ledger l`);
    return row as LedgerRow; // written just now
  });
}

/** Texts of other encodings could not hold every result. Older servers lack functions that the tables need. */
async function refuseServer(query: PgQuery): Promise<void> {
  const [server] = await query<{ encoding: string; version: number }>(
    `SELECT current_setting('server_encoding') AS encoding, current_setting('server_version_num')::integer AS version`,
  );
  if (server === undefined) return;
  if (server.version < oldestServer)
    throw new QuittanceError(
      'config.invalid',
      `The server has version ${Math.floor(server.version / 10_000)} of PostgreSQL. A ledger needs version ${oldestServer / 10_000} or newer.`,
    );
  if (server.encoding !== 'UTF8')
    throw new QuittanceError(
      'config.invalid',
      `The database has the encoding ${server.encoding}, which cannot hold every text. Create one for the ledger: ` +
        `CREATE DATABASE agents ENCODING 'UTF8' TEMPLATE template0;`,
    );
}

const oldestServer = 140_000;

/** The same as a script for `psql`. Nothing if the tables are up to date. */
export function toMigrationScript(
  schema: string,
  { found, wanted }: Pick<MigrationState, 'found' | 'wanted'>,
): string {
  if (found === wanted) return '';
  const guard =
    found === 0
      ? `SELECT 1 / CASE WHEN to_regclass('${quoteSchema(schema)}.ledger') IS NULL THEN 1 ELSE 0 END AS "there is no ledger yet",
  1 / CASE WHEN current_setting('server_encoding') = 'UTF8' THEN 1 ELSE 0 END AS "the encoding is UTF8";`
      : `SELECT 1 / CASE WHEN format = ${found} THEN 1 ELSE 0 END AS "the version is still ${found}" FROM ${quoteSchema(schema)}.ledger;`;
  return [
    `-- Quittance: tables of version ${wanted} in the schema ${schema}, from version ${found}.`,
    'BEGIN;',
    `SELECT ${lockSql(schema)};`,
    guard,
    ...toStatements(schema, found).map((sql) => `${sql.trim().replace(/;$/, '')};`),
    'COMMIT;',
    ...(found > 0 && found < firstFormatWithMarks
      ? ['-- Run `quittance rebuild` next: calls with a limit or a key are refused before that.']
      : []),
    ...(found > 0 ? ['-- Run `quittance migrate` next: it fills the lists from the entries.'] : []),
    '',
  ].join('\n');
}

const lockSql = (schema: string): string =>
  `pg_advisory_xact_lock(hashtextextended('quittance migrate ${schema}', 5498))`;

/** Functions keep this path. Temporary tables come last: else a role could put its own in the place of the ledger's. */
const toPathSql = (schema: string): string => `SET LOCAL search_path TO ${quoteSchema(schema)}, pg_temp`;

function toStatements(schema: string, found: number): readonly string[] {
  if (found === migrations.length) return [toPathSql(schema)];
  return [
    ...(found === 0 ? [`CREATE SCHEMA IF NOT EXISTS ${quoteSchema(schema)}`] : []),
    toPathSql(schema),
    ...migrations.slice(found).filter((sql) => sql !== ''),
    functions,
    ...(found === 0
      ? [
          firstMark,
          ...listIndexes.map(([table, name, definition]) => `CREATE INDEX ${name} ON ${table} ${definition}`),
        ]
      : []),
    found === 0
      ? `INSERT INTO ledger (ledger_id, format) VALUES ('${randomUUID()}', ${migrations.length})`
      : `UPDATE ledger SET format = ${migrations.length}`,
  ];
}

/** Says what to do where the tables are not those of this version. */
export function requireFormat(
  row: LedgerRow | undefined,
  { schema }: { readonly schema: string },
): LedgerRow {
  const found = row?.format ?? 0;
  refuseNewer(found);
  if (row?.format === migrations.length) return row;
  throw new QuittanceError(
    'config.invalid',
    `${
      found === 0
        ? `The schema "${schema}" of the PostgreSQL database has no ledger.`
        : `The ledger in the schema "${schema}" of the PostgreSQL database has tables of version ${found}, and this program needs version ${migrations.length}.`
    } Run \`quittance migrate\` with a role that may create tables.`,
    { found: String(found), known: String(migrations.length) },
  );
}

function refuseNewer(found: number): void {
  if (found <= migrations.length) return;
  throw new QuittanceError(
    'ledger.newer',
    `A newer version of this package wrote this ledger: it has format ${found}, and this program knows formats up to ` +
      `${migrations.length}. Update the package to open it.`,
    { found: String(found), known: String(migrations.length) },
  );
}

/**
 * Reads the catalog itself. `to_regclass` would use what the connection remembers from before it waited for the lock:
 * another process may have created the tables meanwhile.
 */
async function formatOf(query: PgQuery, schema: string): Promise<number> {
  const [exists] = await query<{ found: boolean }>(
    `SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
       WHERE n.nspname = $1 AND c.relname = 'ledger') AS found`,
    [schema],
  );
  if (exists?.found !== true) return 0;
  const [row] = await query<{ format: number }>('SELECT format FROM @ledger');
  return row?.format ?? 0;
}
