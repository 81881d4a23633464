/**
 * Compares the tables and functions in the catalog of the server with those that the migrations make. A foreign trigger,
 * rule or policy, a dropped key or a changed function could alter rows silently, so nothing is written to such a ledger.
 *
 * 1. Every object becomes one line: what it is, and what it looks like. `made-schema.ts` has the lines of a new ledger.
 * 2. What can change a row that an append writes or checks is a problem. An index of an administrator and an event
 *    trigger are only noted.
 * 3. Each append looks for changes of the tables and functions that it uses: see `SchemaGuard`.
 */
import { QuittanceError } from 'quittance/internal/base/error';
import type { StoreFinding } from 'quittance/internal/ledger/store-finding';
import { madeSchema } from './made-schema.ts';
import type { PgQuery } from './pg-pool.ts';

type SchemaRow = { readonly what: string; readonly detail: string };

const made: ReadonlyMap<string, string> = new Map(madeSchema.trim().split('\n').map(splitLine));

/** The names of our tables or functions. */
export const ownNames = (kind: 'table' | 'function'): readonly string[] =>
  [...made.keys()].flatMap((what) => new RegExp(`^${kind} "?(\\w+)`).exec(what)?.[1] ?? []);

function splitLine(line: string): [what: string, detail: string] {
  const at = line.indexOf(': ');
  return [line.slice(0, at), line.slice(at + 2)];
}

/** A line for each object. `tables` and `functions`: all that are in the schema, if there is no list. */
export async function describeCatalog(
  query: PgQuery,
  schema: string,
  tables: readonly string[] | null = null,
  functions: readonly string[] | null = null,
): Promise<readonly string[]> {
  const rows = await query<SchemaRow>(describeSql, [schema, tables, functions]);
  return rows
    .map(({ what, detail }) => `${what}: ${detail}`.replaceAll('"', '').replaceAll(/\s+/g, ' '))
    .sort();
}

/** What differs from the tables and functions that this version makes. */
export async function inspectSchema(query: PgQuery, schema: string): Promise<readonly StoreFinding[]> {
  const differences = await findDifferences(query, schema);
  return differences.map(({ level, text }) => ({
    kind: 'file',
    level,
    message: level === 'note' ? text : `${text} ${advice}`,
  }));
}

const advice = 'Undo the change, or copy the ledger to another schema with `quittance copy`.';

/** Throws if another program changed what decides what is written. */
export async function refuseChangedSchema(query: PgQuery, schema: string): Promise<void> {
  const problems = (await findDifferences(query, schema)).filter(({ level }) => level === 'problem');
  if (problems.length === 0) return;
  const more = problems.length - mostNamed;
  throw new QuittanceError(
    'ledger.damaged',
    `Another program changed the tables of the ledger in the schema "${schema}", so nothing is written to it. ` +
      problems
        .slice(0, mostNamed)
        .map(({ text }) => `${text} `)
        .join('') +
      `${more > 0 ? `There are ${more} more changes. ` : ''}${advice} Reading still works: \`quittance verify\` lists all changes.`,
  );
}

const mostNamed = 5;

type Difference = Pick<StoreFinding, 'level'> & { readonly text: string };

async function findDifferences(query: PgQuery, schema: string): Promise<readonly Difference[]> {
  const lines = await describeCatalog(query, schema, ownNames('table'), ownNames('function'));
  const found = new Map(lines.map(splitLine));
  const whats = [...new Set([...made.keys(), ...found.keys()])].sort();
  return whats.flatMap((what) => compare(what, made.get(what), found.get(what)) ?? []);
}

function compare(what: string, due: string | undefined, found: string | undefined): Difference | undefined {
  if (due === found) return undefined;
  const [, kind = '', name = what] = /^((?:event |child )?\w+|columns of table) (.*)$/.exec(what) ?? [];
  const subject = `${kind} "${name}"`;
  const isNote = kind === 'event trigger' || (kind === 'index' && !isUnique(due) && !isRisky(found));
  const say = (text: string): Difference => ({ level: isNote ? 'note' : 'problem', text });
  if (due === undefined) return say(`There is the ${subject}, which this program never creates.`);
  if (found === undefined) return say(`The ${subject} is missing.`);
  if (kind === 'function') return say(`The ${subject} has another body or other settings.`);
  const [gone, added] = [partsOnlyIn(due, found), partsOnlyIn(found, due)];
  const changes = [...(gone === '' ? [] : [`lacks ${gone}`]), ...(added === '' ? [] : [`has ${added}`])];
  return say(`The ${subject} ${changes.join(' and ')}.`);
}

/** Can an index refuse a row, or run a function of another program? */
const isRisky = (detail: string | undefined): boolean => isUnique(detail) || /\w\(/.test(detail ?? '');
const isUnique = (detail: string | undefined): boolean => detail?.startsWith('UNIQUE') === true;

function partsOnlyIn(one: string, other: string): string {
  const others = new Set(other.split(' | '));
  return one
    .split(' | ')
    .filter((part) => !others.has(part))
    .map((part) => JSON.stringify(part))
    .join(', ');
}

/**
 * Indexes go by their columns alone: administrators set storage options. Functions go by a digest. A foreign function or
 * operator counts if it has a name of ours or of the server. The server chooses among them by their parameters.
 */
const describeSql = `
  WITH ns AS (SELECT oid, nspname FROM pg_catalog.pg_namespace WHERE nspname = $1),
  rel AS (SELECT c.* FROM pg_catalog.pg_class c JOIN ns ON ns.oid = c.relnamespace
    WHERE c.relkind NOT IN ('i', 'I', 'S', 't', 'c') AND ($2::text[] IS NULL OR c.relname = ANY ($2::text[]))),
  ext AS (SELECT d.classid, d.objid FROM pg_catalog.pg_depend d WHERE d.deptype = 'e')
  SELECT 'table ' || relname AS what, CASE relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view'
      WHEN 'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' ELSE relkind::text END
    || CASE relpersistence WHEN 'p' THEN '' WHEN 'u' THEN ' | unlogged' ELSE ' | temporary' END
    || CASE WHEN relrowsecurity THEN ' | row security' ELSE '' END || CASE WHEN relforcerowsecurity THEN ' | forced row security' ELSE '' END AS detail
    FROM rel
  UNION ALL SELECT 'columns of table ' || rel.relname, string_agg(a.attname || ' ' || pg_catalog.format_type(a.atttypid, a.atttypmod)
      || coalesce((SELECT ' ' || l.collname FROM pg_catalog.pg_collation l WHERE l.oid = a.attcollation AND l.collname <> 'default'), '')
      || CASE WHEN a.attnotnull THEN ' not null' ELSE '' END
      || CASE WHEN a.attidentity = '' THEN '' ELSE ' identity ' || a.attidentity::text END
      || CASE WHEN a.attgenerated = '' THEN '' ELSE ' generated' END
      || coalesce(' default ' || pg_catalog.pg_get_expr(d.adbin, d.adrelid), ''), ' | ' ORDER BY a.attnum)
    FROM rel JOIN pg_catalog.pg_attribute a ON a.attrelid = rel.oid AND a.attnum > 0 AND NOT a.attisdropped
    LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum GROUP BY rel.relname
  UNION ALL SELECT 'constraint ' || rel.relname || '.' || k.conname || CASE WHEN k.conrelid = rel.oid THEN '' ELSE ' from ' || k.conrelid::regclass END,
      pg_catalog.pg_get_constraintdef(k.oid) || CASE WHEN k.convalidated THEN '' ELSE ' | not validated' END
    FROM rel JOIN pg_catalog.pg_constraint k ON rel.oid IN (k.conrelid, k.confrelid) WHERE k.contype NOT IN ('n', 't')
  UNION ALL SELECT 'index ' || rel.relname || '.' || c.relname,
      CASE WHEN i.indisunique THEN 'UNIQUE ' ELSE '' END
      || regexp_replace(regexp_replace(pg_catalog.pg_get_indexdef(i.indexrelid), '^CREATE .*? USING ', ''), ' WITH [(][^)]*[)]', '')
      || CASE WHEN i.indisvalid AND i.indisready AND i.indislive THEN '' ELSE ' | invalid' END
    FROM rel JOIN pg_catalog.pg_index i ON i.indrelid = rel.oid JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
  UNION ALL SELECT 'trigger ' || rel.relname || '.' || t.tgname, 'trigger'
    FROM rel JOIN pg_catalog.pg_trigger t ON t.tgrelid = rel.oid WHERE NOT t.tgisinternal
  UNION ALL SELECT 'rule ' || rel.relname || '.' || r.rulename, 'rule'
    FROM rel JOIN pg_catalog.pg_rewrite r ON r.ev_class = rel.oid WHERE r.rulename <> '_RETURN'
  UNION ALL SELECT 'policy ' || rel.relname || '.' || p.polname, 'policy'
    FROM rel JOIN pg_catalog.pg_policy p ON p.polrelid = rel.oid
  UNION ALL SELECT 'child table ' || h.inhrelid::regclass, 'of ' || h.inhparent::regclass
    FROM rel JOIN pg_catalog.pg_inherits h ON rel.oid IN (h.inhparent, h.inhrelid)
  UNION ALL SELECT 'function ' || p.proname || '(' || replace(pg_catalog.oidvectortypes(p.proargtypes), ', ', ',') || ')', left(md5(replace(concat_ws(' ',
      p.prokind, p.prosecdef, p.proisstrict, p.provolatile, p.proretset, pg_catalog.pg_get_function_arguments(p.oid),
      pg_catalog.pg_get_function_result(p.oid), (SELECT l.lanname FROM pg_catalog.pg_language l WHERE l.oid = p.prolang),
      regexp_replace(array_to_string(p.proconfig, ' '), 'search_path="?' || ns.nspname || '"?,', 'search_path='),
      p.prosrc, pg_catalog.pg_get_function_sqlbody(p.oid), a.aggfinalfn::oid, a.agginitval, a.aggmtransfn::oid,
      regexp_replace(a.aggtransfn::text, '^.*[.]', '')), '"', '')), 16)
    FROM ns JOIN pg_catalog.pg_proc p ON p.pronamespace = ns.oid LEFT JOIN pg_catalog.pg_aggregate a ON a.aggfnoid = p.oid
    WHERE $3::text[] IS NULL OR p.proname = ANY ($3::text[])
      OR (p.oid NOT IN (SELECT objid FROM ext WHERE classid = 'pg_catalog.pg_proc'::regclass) AND EXISTS (
        SELECT 1 FROM pg_catalog.pg_proc b WHERE b.proname = p.proname AND b.pronamespace = 'pg_catalog'::regnamespace))
  UNION ALL SELECT 'operator ' || o.oid::regoperator, 'operator' FROM ns JOIN pg_catalog.pg_operator o ON o.oprnamespace = ns.oid
    WHERE o.oid NOT IN (SELECT objid FROM ext WHERE classid = 'pg_catalog.pg_operator'::regclass)
      AND o.oprname IN (SELECT b.oprname FROM pg_catalog.pg_operator b WHERE b.oprnamespace = 'pg_catalog'::regnamespace)
  UNION ALL SELECT 'event trigger ' || evtname, evtevent FROM pg_catalog.pg_event_trigger WHERE $2::text[] IS NOT NULL AND evtenabled <> 'D'`;
