/** Makes random changes to copies of a ledger in PostgreSQL, and checks that `verify` finds each. */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { isQuittanceError } from 'quittance';
import { verifyLedger } from '../../packages/quittance/src/replay/verify-ledger.ts';
import { copyLedger } from '../../packages/cli/src/ledgers/copy-ledger.ts';
import { openPostgresLedger } from '../../packages/postgres/src/open-postgres-ledger.ts';
import { startPostgres } from '../../test/postgres/start-postgres.ts';
import { createRandom } from './edit.ts';
import { fillForTampering } from './fill.ts';

export const postgresKinds = [
  'set',
  'null',
  'delete',
  'duplicate',
  'swap',
  'cut tail',
  'cut session',
  'schema',
] as const;
type Kind = (typeof postgresKinds)[number];
type Trial = {
  readonly kind: Kind;
  readonly what: string;
  readonly changed: boolean;
  readonly found: boolean;
  readonly crash: string | undefined;
  readonly wrote: boolean;
};

const signal = new AbortController().signal;
const startProgress = () => ({ step: () => undefined, done: () => undefined });

/** What no entry records: cursors, owners, documents, and numbers that only order or count rows. */
const untold: Readonly<Record<string, readonly string[] | 'all'>> = {
  cursors: 'all',
  lanes: 'all',
  owners: 'all',
  documents: 'all',
  ledger: 'all',
  counters: ['position'],
  unsettled: ['position'],
  // In which part of the index the words of a call are only changes how fast a search is.
  read_parts: ['part', 'position'],
  read_calls: ['part'],
  read_words: ['number', 'part', 'words'],
};

export async function openPostgresTamper(folder: string) {
  const server = await startPostgres();
  const source = join(folder, 'ledger.db');
  await fillForTampering(source);
  const admin = new pg.Client({ connectionString: server.url });
  await admin.connect();
  await admin.query('CREATE DATABASE sound');
  const urlOf = (database: string): string =>
    Object.assign(new URL(server.url), { pathname: `/${database}` }).href;
  const spillFolder = join(folder, 'spill');
  // Without the key, nothing tells that a sealed input was changed.
  const sealKey = readFileSync(`${source}.key`);
  await copyLedger(source, urlOf('sound'), { signal });
  const query = async <Row extends pg.QueryResultRow>(database: string, sql: string): Promise<Row[]> => {
    const client = new pg.Client({ connectionString: urlOf(database) });
    await client.connect();
    try {
      await client.query('SET search_path TO quittance');
      return (await client.query<Row>(sql)).rows;
    } finally {
      await client.end();
    }
  };
  const sound = await dump('sound');

  /** Everything that entries tell. */
  async function dump(database: string): Promise<string> {
    const tables = await query<{ name: string }>(
      database,
      `SELECT c.relname AS name FROM pg_class c WHERE c.relnamespace = 'quittance'::regnamespace AND c.relkind IN ('r', 'v') ORDER BY 1`,
    );
    const texts: string[] = [];
    for (const { name } of tables) {
      const without = untold[name] ?? [];
      if (without === 'all') continue;
      const zero = name === 'read_tallies' ? ' WHERE (calls, unresolved, cost_micros) <> (0, 0, 0)' : '';
      const [row] = await query<{ text: string }>(
        database,
        `SELECT coalesce(string_agg((to_jsonb(t)${without.map((column) => ` - '${column}'`).join('')})::text, E'\\n' ORDER BY t::text), '') AS text FROM ${name} t${zero}`,
      );
      texts.push(name, row?.text ?? '');
    }
    return hash('sha256', JSON.stringify(texts.flatMap((text) => text.split('\n').sort())));
  }

  async function tryEdit(seed: number): Promise<Trial | undefined> {
    const random = createRandom(seed);
    const kind = postgresKinds[random(postgresKinds.length)] ?? 'set';
    const database = `copy_${seed}`;
    await admin.query(`CREATE DATABASE ${database} TEMPLATE sound`);
    try {
      const sql = await toEdit((text) => query(database, text), kind, random);
      if (sql === undefined) return undefined;
      try {
        await query(database, sql);
      } catch {
        return undefined; // refused
      }
      const edited = await dump(database);
      const { found, crash } = await verify(urlOf(database));
      const wrote = (await dump(database)) !== edited;
      const crashed = crash ?? (await rebuild(urlOf(database)));
      return {
        kind,
        what: sql,
        changed: kind === 'schema' || edited !== sound,
        found,
        crash: crashed,
        wrote,
      };
    } finally {
      await admin.query(`DROP DATABASE ${database} WITH (FORCE)`);
    }
  }

  async function verify(url: string): Promise<{ found: boolean; crash: string | undefined }> {
    let problems = 0;
    const count = async (): Promise<void> => void problems++;
    try {
      const ledger = await openPostgresLedger(url, { readOnly: true, sealKey });
      try {
        await verifyLedger(ledger, undefined, { signal, startProgress, note: count }, count);
      } finally {
        await ledger.close();
      }
      return { found: problems > 0, crash: undefined };
    } catch (error) {
      return isQuittanceError(error)
        ? { found: true, crash: undefined }
        : { found: false, crash: `verify: ${String(error)}` };
    }
  }

  async function rebuild(url: string): Promise<string | undefined> {
    try {
      const ledger = await openPostgresLedger(url, { spillFolder });
      try {
        await ledger.rebuild();
      } finally {
        await ledger.close();
      }
      return undefined;
    } catch (error) {
      return isQuittanceError(error) ? undefined : `rebuild: ${String(error)}`;
    }
  }

  return {
    tryEdit,
    async close(): Promise<void> {
      await admin.end();
      await server.stop();
    },
  };
}

type Query = <Row extends pg.QueryResultRow>(sql: string) => Promise<Row[]>;

async function toEdit(
  query: Query,
  kind: Kind,
  random: (below: number) => number,
): Promise<string | undefined> {
  const columns = await query<{ table: string; column: string; type: string }>(
    `SELECT table_name AS table, column_name AS column, data_type AS type FROM information_schema.columns
     WHERE table_schema = 'quittance' ORDER BY 1, ordinal_position`,
  );
  const tables = [...new Set(columns.map(({ table }) => table))];
  const table = random(4) === 0 ? 'entries' : (tables[random(tables.length)] ?? 'entries');
  const own = columns.filter((one) => one.table === table);
  const { column = '', type = '' } = own[random(own.length)] ?? {};
  const rows = await query<{ at: string }>(`SELECT ctid::text AS at FROM ${table} ORDER BY ctid`);
  const [one, other] = [rows[random(rows.length || 1)]?.at, rows[random(rows.length || 1)]?.at];
  if (kind === 'schema') return schemaEdit(table, column, random);
  if (kind === 'cut tail')
    return `DELETE FROM entries WHERE position IN (SELECT position FROM entries ORDER BY position DESC LIMIT ${1 + random(10)})`;
  if (kind === 'cut session')
    return `DELETE FROM entries WHERE session_id = '${random(2) === 0 ? 'one' : 'two'}'${random(2) === 0 ? '' : `; DELETE FROM sessions WHERE session_id = 'one'`}`;
  if (one === undefined || other === undefined) return undefined;
  const changed = another(column, type, random);
  switch (kind) {
    case 'set':
      return `UPDATE ${table} SET "${column}" = ${changed} WHERE ctid = '${one}'`;
    case 'null':
      return `UPDATE ${table} SET "${column}" = NULL WHERE ctid = '${one}'`;
    case 'delete':
      return `DELETE FROM ${table} WHERE ctid = '${one}'`;
    case 'swap':
      return `UPDATE ${table} t SET "${column}" = o."${column}" FROM ${table} o
        WHERE (t.ctid, o.ctid) IN (('${one}'::tid, '${other}'::tid), ('${other}'::tid, '${one}'::tid))`;
    case 'duplicate':
      return `INSERT INTO ${table} OVERRIDING USER VALUE SELECT ${own.map((each) => (each.column === column ? changed : `"${each.column}"`)).join()} FROM ${table} WHERE ctid = '${one}'`;
  }
}

/** Another value of the same type. */
function another(column: string, type: string, random: (below: number) => number): string {
  const name = `"${column}"`;
  if (/int|double/.test(type)) return `${name} ${random(2) === 0 ? '+' : '-'} ${1 + random(3)}`;
  if (type === 'boolean') return `NOT ${name}`;
  if (type === 'bytea') return `${name} || '\\x00'::bytea`;
  if (type === 'tsvector') return `array_append(tsvector_to_array(${name}), 'other')::text::tsvector`;
  if (/time/.test(type)) return `${name} + interval '1 second'`;
  const at = 1 + random(40);
  const put = ['x', '0', '"', '}', 'é', ''][random(6)] ?? '';
  return `overlay(${name} PLACING '${put}' FROM ${at} FOR ${random(3)})`;
}

function schemaEdit(table: string, column: string, random: (below: number) => number): string {
  const body = (text: string): string =>
    `CREATE FUNCTION evil() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${text} END $$`;
  const edits: readonly string[] = [
    ...['BEFORE INSERT', 'AFTER UPDATE', 'AFTER DELETE'].map(
      (when) =>
        `${body('RETURN NULL;')}; CREATE TRIGGER evil ${when} ON ${table} FOR EACH ${random(2) === 0 ? 'ROW' : 'STATEMENT'} EXECUTE FUNCTION evil()`,
    ),
    `CREATE RULE evil AS ON ${random(2) === 0 ? 'UPDATE' : 'INSERT'} TO ${table} DO INSTEAD NOTHING`,
    `ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY; CREATE POLICY evil ON ${table} USING (false)`,
    `CREATE TABLE evil () INHERITS (${table})`,
    `ALTER TABLE ${table} ADD COLUMN evil text DEFAULT 'x'`,
    `ALTER TABLE ${table} ALTER "${column}" DROP NOT NULL, ADD CONSTRAINT evil CHECK ("${column}" IS NOT NULL) NOT VALID`,
    `ALTER TABLE ${table} RENAME TO evil; CREATE VIEW ${table} AS SELECT * FROM evil`,
    `ALTER TABLE ${table} RENAME COLUMN "${column}" TO evil`,
    `ALTER TABLE ${table} SET UNLOGGED`,
    `ALTER TABLE ${table} DROP CONSTRAINT ${table}_pkey`,
    `CREATE UNIQUE INDEX evil ON ${table} ("${column}") WHERE false`,
    `DROP TABLE ${table}`,
    `DROP INDEX entries_by_${random(2) === 0 ? 'call' : 'position'}`,
    `ALTER FUNCTION append_v3 SET jit = on`,
    `CREATE OR REPLACE FUNCTION damaged(p_what text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN END $$`,
  ];
  return edits[random(edits.length)] ?? '';
}
