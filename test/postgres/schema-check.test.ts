/**
 * Changes by another program that can alter rows silently, or that make lists and guards wrong. `verify` reports them.
 * A changed schema is refused for writing, and a limit of two calls holds.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, it, test } from 'vitest';
import { createRuntime, defineTool } from 'quittance';
import type { OpenLedger } from 'quittance/store';
import { verifyLedger } from '../../packages/quittance/src/replay/verify-ledger.ts';
import { toMigrationScript } from '../../packages/postgres/src/migrate.ts';
import { migrations } from '../../packages/postgres/src/migrations.ts';
import { openPostgresLedger } from '../../packages/postgres/src/open-postgres-ledger.ts';
import { toRolesScript } from '../../packages/postgres/src/roles.ts';
import { describeCatalog } from '../../packages/postgres/src/schema-check.ts';
import { sharePostgres } from './shared-postgres.ts';
import type { TestPostgres } from './start-postgres.ts';
import { findCalls, takeCursor } from '../../packages/quittance/src/ledger/reads.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-pg-schema-'));
let server: TestPostgres;
let client: pg.Client;
let stages = 0;
const opened: { close(): Promise<void> }[] = [];

beforeAll(async () => {
  server = await sharePostgres();
  client = new pg.Client({ connectionString: server.url });
  await client.connect();
});
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
});
afterAll(async () => {
  await client.end();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

test('the tables that verification expects are those that the migrations make', async () => {
  const schema = `made_${process.pid}`;
  await client.query(toMigrationScript(schema, { found: 0, wanted: migrations.length }));
  const lines = await describeCatalog(
    async <Row>(text: string, values: readonly unknown[] = []) =>
      (await client.query(text, [...values])).rows as Row[],
    schema,
  );
  // After a migration: npx vitest run --project core test/postgres/schema-check.test.ts -u
  await expect(
    `/** What the migrations make, as \`schema-check.ts\` describes it. \`schema-check.test.ts\` writes this file. */\n` +
      `export const madeSchema: string = \`\n${lines.join('\n')}\n\`;\n`,
  ).toMatchFileSnapshot('../../packages/postgres/src/made-schema.ts');
});

const input = { type: 'object' } as const;

/** A ledger, and the runs of its calls. */
async function stage(
  limit = 2,
  place: { readonly url: string; readonly client: pg.Client } = { url: server.url, client },
) {
  const schema = `schema_${process.pid}_${stages++}`;
  const ran: string[] = [];
  const open = (options: { readOnly?: boolean } = {}): Promise<OpenLedger> =>
    openPostgresLedger(place.url, {
      schema,
      sealKey: Buffer.alloc(32),
      spillFolder: join(folder, schema),
      ...options,
    });
  const ledger = await open();
  const pay = defineTool({
    name: 'pay',
    mode: 'external',
    input,
    idempotencyKey: ({ ref }: { ref?: unknown }) => String(ref),
    run: (_, { callId }) => ran.push(callId),
  });
  const remove = defineTool({ name: 'remove', mode: 'destructive', input, run: () => 'gone' });
  const runtime = createRuntime({
    ledger,
    tools: [pay, remove],
    budgets: [{ scope: 'team', toolCalls: limit, per: 'day' }],
    onConfirm: () => new Promise(() => undefined),
  });
  opened.push(ledger, runtime);
  const call = (id: string, sessionId = 's'): Promise<unknown> =>
    runtime
      .turn({ sessionId })
      .call({ id, name: 'pay', arguments: { ref: id } })
      .catch((error: unknown) => error);
  return {
    schema,
    ledger,
    open,
    call,
    ran,
    hold: async (): Promise<void> => {
      void runtime
        .turn({ sessionId: 's' })
        .call({ id: 'held', name: 'remove', arguments: { password: 'hunter2' } })
        .catch(() => undefined);
      while ((await findCalls(ledger, { status: 'held' })).rows.length < 1)
        await new Promise((resolve) => setTimeout(resolve, 5));
    },
    edit: async (sql: string): Promise<void> => {
      await place.client.query(`SET search_path TO ${schema}; ${sql}; RESET search_path`);
    },
  };
}

async function findAll(ledger: OpenLedger): Promise<readonly string[]> {
  const found: string[] = [];
  const add = (message: string): Promise<void> => Promise.resolve(void found.push(message));
  const startProgress = () => ({ step: () => undefined, done: () => undefined });
  const { signal } = new AbortController();
  await verifyLedger(
    ledger,
    undefined,
    { signal, startProgress, note: (message) => add(`note: ${message}`) },
    (finding) => add(finding.message),
  ).catch((error: Error) => add(error.message)); // a table is missing
  return found;
}

const evil = (body: string): string =>
  `CREATE FUNCTION evil() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$ BEGIN ${body} END $$`;
const reset = evil('NEW.used := 0; NEW.reserved := 0; RETURN NEW;');
const skip = evil('RETURN NULL;');

/** What another program does, what verification says, and what this program then refuses. */
const schemaEdits: readonly (readonly [what: string, sql: string, said: RegExp])[] = [
  [
    'adds a trigger that resets counters before each change',
    `${reset}; CREATE TRIGGER evil BEFORE INSERT OR UPDATE ON counters FOR EACH ROW EXECUTE FUNCTION evil()`,
    /the trigger "counters\.evil"/,
  ],
  [
    'adds a trigger that deletes counters after each change',
    `${evil('DELETE FROM counters; RETURN NULL;')}; CREATE TRIGGER evil AFTER INSERT OR UPDATE ON counters FOR EACH ROW EXECUTE FUNCTION evil()`,
    /the trigger "counters\.evil"/,
  ],
  [
    'adds a trigger that empties marks and counters after each statement',
    `${evil(`DELETE FROM counters; DELETE FROM marks WHERE key <> ''; RETURN NULL;`)}; CREATE TRIGGER evil AFTER INSERT ON entries FOR EACH STATEMENT EXECUTE FUNCTION evil()`,
    /the trigger "entries\.evil"/,
  ],
  [
    'adds a trigger that skips marks',
    `${skip}; CREATE TRIGGER evil BEFORE INSERT OR UPDATE ON marks FOR EACH ROW EXECUTE FUNCTION evil()`,
    /the trigger "marks\.evil"/,
  ],
  [
    'adds a trigger that runs with replicated changes only',
    `${skip}; CREATE TRIGGER evil BEFORE INSERT ON claims FOR EACH ROW EXECUTE FUNCTION evil(); ALTER TABLE claims ENABLE REPLICA TRIGGER evil`,
    /the trigger "claims\.evil"/,
  ],
  [
    'adds a trigger again after it dropped one',
    `${reset}; CREATE TRIGGER evil BEFORE UPDATE ON counters FOR EACH ROW EXECUTE FUNCTION evil(); DROP TRIGGER evil ON counters;
     CREATE TRIGGER worse BEFORE UPDATE ON counters FOR EACH ROW EXECUTE FUNCTION evil()`,
    /the trigger "counters\.worse"/,
  ],
  [
    'adds a constraint trigger',
    `${evil('UPDATE counters SET used = 0; RETURN NULL;')}; CREATE CONSTRAINT TRIGGER evil AFTER INSERT ON entries DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION evil()`,
    /the trigger "entries\.evil"/,
  ],
  [
    'replaces changes of counters by nothing with a rule',
    'CREATE RULE evil AS ON UPDATE TO counters DO INSTEAD NOTHING',
    /the rule "counters\.evil"/,
  ],
  [
    'adds a rule that also empties counters',
    'CREATE RULE evil AS ON INSERT TO entries DO ALSO DELETE FROM counters',
    /the rule "entries\.evil"/,
  ],
  [
    'hides counters with row security and a policy',
    'ALTER TABLE counters ENABLE ROW LEVEL SECURITY; ALTER TABLE counters FORCE ROW LEVEL SECURITY; CREATE POLICY evil ON counters USING (used < 1)',
    /the policy "counters\.evil"/,
  ],
  [
    'enables row security without a policy',
    'ALTER TABLE marks ENABLE ROW LEVEL SECURITY',
    /"marks" has "row security"/,
  ],
  [
    'drops the key of counters',
    'ALTER TABLE counters DROP CONSTRAINT counters_pkey',
    /"counters\.counters_pkey" is missing/,
  ],
  [
    'drops the key of entries',
    'ALTER TABLE entries DROP CONSTRAINT entries_pkey',
    /"entries\.entries_pkey" is missing/,
  ],
  [
    'drops the key of a list',
    'ALTER TABLE read_calls DROP CONSTRAINT read_calls_pkey',
    /"read_calls\.read_calls_pkey" is missing/,
  ],
  [
    'drops the unique index of versions',
    'DROP INDEX entries_by_call',
    /"entries\.entries_by_call" is missing/,
  ],
  [
    'makes the index of versions one that is not unique',
    'DROP INDEX entries_by_call; CREATE INDEX entries_by_call ON entries (session_id, call_id, version)',
    /"entries\.entries_by_call" lacks "UNIQUE/,
  ],
  [
    'adds a unique index that refuses calls',
    'CREATE UNIQUE INDEX evil ON counters ((1)) WHERE used > 5',
    /the index "counters\.evil"/,
  ],
  [
    'adds an index that calls a function',
    `CREATE FUNCTION evil(text) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT $1'; CREATE INDEX evil ON entries (evil(hash))`,
    /the index "entries\.evil"/,
  ],
  [
    'changes the default of a column',
    'ALTER TABLE counters ALTER position SET DEFAULT 7',
    /position bigint default/,
  ],
  ['changes the type of a column', 'ALTER TABLE counters ALTER used TYPE real', /has "used real/],
  ['drops NOT NULL', 'ALTER TABLE counters ALTER used DROP NOT NULL', /has "used double precision"/],
  ['adds a column', 'ALTER TABLE counters ADD COLUMN evil text', /has "evil text"/],
  ['drops a column', 'ALTER TABLE sessions DROP COLUMN doubts', /lacks "doubts text"/],
  [
    'adds a check',
    'ALTER TABLE counters ADD CONSTRAINT evil CHECK (used < 9)',
    /the constraint "counters\.evil"/,
  ],
  [
    'refers to the ledger with a foreign key that deletes',
    'CREATE TABLE evil (name text PRIMARY KEY); INSERT INTO evil SELECT name FROM counters; ALTER TABLE counters ADD CONSTRAINT evil FOREIGN KEY (name) REFERENCES evil ON DELETE CASCADE NOT VALID',
    /the constraint "counters\.evil"/,
  ],
  [
    'replaces the body of the function that checks counters',
    `CREATE OR REPLACE FUNCTION check_counter(p_name text, p_quoted text) RETURNS void LANGUAGE plpgsql SET search_path FROM CURRENT AS $$ BEGIN UPDATE counters SET used = 0, reserved = 0; END $$`,
    /The function "check_counter/,
  ],
  [
    'changes a setting of a function',
    `ALTER FUNCTION append_v3 SET search_path TO public`,
    /The function "append_v3/,
  ],
  [
    'runs a function with other rights',
    `ALTER FUNCTION append_items SECURITY DEFINER`,
    /The function "append_items/,
  ],
  [
    'adds a function of ours with other parameters',
    'CREATE FUNCTION put_mark(p_key varchar, p_at bigint) RETURNS void LANGUAGE sql AS $$ SELECT $$',
    /the function "put_mark\(character varying,bigint\)"/,
  ],
  [
    'hides a function of the server',
    `CREATE FUNCTION strpos(text, varchar) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT 1'`,
    /the function "strpos/,
  ],
  [
    'adds an operator',
    `CREATE FUNCTION evil(text, varchar) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT true'; CREATE OPERATOR = (LEFTARG = text, RIGHTARG = varchar, FUNCTION = evil)`,
    /the operator/,
  ],
  [
    'puts a view in the place of a table',
    'ALTER TABLE counters RENAME TO hidden; CREATE VIEW counters AS SELECT name, 0::double precision AS used, 0::double precision AS reserved, position FROM hidden',
    /"counters" lacks "table" and has "view"/,
  ],
  [
    'puts a view with INSTEAD OF triggers in the place of a table',
    `${skip}; ALTER TABLE counters RENAME TO hidden; CREATE VIEW counters AS SELECT * FROM hidden; CREATE TRIGGER evil INSTEAD OF INSERT OR UPDATE ON counters FOR EACH ROW EXECUTE FUNCTION evil()`,
    /"counters" lacks "table" and has "view"/,
  ],
  ['adds a table that inherits', 'CREATE TABLE evil () INHERITS (counters)', /the child table "/],
  ['removes a table', 'DROP TABLE states', /table "states" is missing|relation ".*states" does not exist/],
  ['makes a table that a crash empties', 'ALTER TABLE claims SET UNLOGGED', /"claims" has "unlogged"/],
];

/** An open process does not notice these: they change no row of a table, an index or a function of ours. */
const late = new Set([
  'changes the default of a column',
  'drops NOT NULL',
  'adds a function of ours with other parameters',
  'hides a function of the server',
  'adds an operator',
]);
it.each(schemaEdits)(
  '[limits-hold] a PostgreSQL ledger is refused for writing, and verify says why, after another program %s',
  async (what, sql, said) => {
    const { ledger, open, call, ran, edit } = await stage();
    await call('one');
    await edit(sql);
    expect((await findAll(ledger)).filter((text) => !text.startsWith('note:')).join('\n')).toMatch(said);
    await expect(open()).rejects.toMatchObject({
      code: 'ledger.damaged',
      message: expect.stringMatching(said),
    });
    const answer = (await call('two')) as { readonly code?: string };
    for (const id of ['three', 'four']) await call(id);
    const expected = late.has(what) ? [undefined, 2] : ['ledger.unavailable', 1];
    expect([answer.code, ran.length]).toEqual(expected);
  },
);

const harmless: readonly (readonly [what: string, sql: string, said: RegExp])[] = [
  ['adds an index', 'CREATE INDEX other ON entries (hash)', /note: .*"entries\.other"/],
  [
    'drops an index that only speeds up lists',
    'DROP INDEX read_calls_by_user',
    /note: .*"read_calls\.read_calls_by_user" is missing/,
  ],
  [
    'adds a table and a view',
    'CREATE TABLE other (a text); CREATE VIEW shown AS SELECT * FROM entries',
    /^$/,
  ],
  [
    'adds a function of another name',
    `CREATE FUNCTION other() RETURNS integer LANGUAGE sql AS 'SELECT 1'`,
    /^$/,
  ],
  [
    'gives and takes rights',
    'GRANT SELECT ON counters TO PUBLIC; REVOKE SELECT ON counters FROM PUBLIC',
    /^$/,
  ],
  [
    'changes storage options',
    'ALTER TABLE counters SET (fillfactor = 70); ALTER TABLE entries SET (autovacuum_enabled = false)',
    /^$/,
  ],
  [
    'rewrites tables and indexes',
    'REINDEX TABLE counters; CLUSTER entries USING entries_pkey; ANALYZE counters',
    /^$/,
  ],
  [
    'adds a trigger and drops it again',
    `${reset}; CREATE TRIGGER evil BEFORE UPDATE ON counters FOR EACH ROW EXECUTE FUNCTION evil(); DROP TRIGGER evil ON counters`,
    /^$/,
  ],
];
it.each(harmless)(
  'a PostgreSQL ledger goes on, open or opened again, after another program %s',
  async (_, sql, said) => {
    const { ledger, open, call, ran, edit } = await stage();
    await call('one');
    await edit(sql);
    await call('two');
    opened.push(await open());
    expect(ran).toEqual(['one', 'two']);
    expect((await findAll(ledger)).join('\n')).toMatch(said);
  },
);

it('an event trigger of the database is noted, because it sees only commands that change tables', async () => {
  // In a database of its own: the ledgers of other tests would note it too.
  const database = `noted_${process.pid}`;
  const url = Object.assign(new URL(server.url), { pathname: `/${database}` }).href;
  await client.query(`CREATE DATABASE ${database}`);
  const own = new pg.Client({ connectionString: url });
  await own.connect();
  const { ledger, open, edit, schema } = await stage(2, { url, client: own });
  await edit(
    `CREATE FUNCTION noted() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN END $$; CREATE EVENT TRIGGER ${schema} ON sql_drop EXECUTE FUNCTION noted()`,
  );
  try {
    expect(await findAll(ledger)).toContain(
      `note: There is the event trigger "${schema}", which this program never creates.`,
    );
    opened.push(await open());
  } finally {
    for (const one of opened.splice(0).reverse()) await one.close();
    await own.end();
    await client.query(`DROP DATABASE ${database} WITH (FORCE)`);
  }
});

it('a PostgreSQL ledger with a foreign trigger can be read', async () => {
  const { open, call, edit } = await stage();
  await call('one');
  await edit(`${skip}; CREATE TRIGGER evil BEFORE INSERT ON entries FOR EACH ROW EXECUTE FUNCTION evil()`);
  const reader = await open({ readOnly: true });
  opened.push(reader);
  expect((await findCalls(reader, {})).rows).toHaveLength(1);
});

it('a writer that may not read the catalog of the server is refused, and reads still work', async () => {
  const [database, role] = [`catalog_${process.pid}`, `catalog_role_${process.pid}`];
  const url = Object.assign(new URL(server.url), { pathname: `/${database}` });
  await client.query(`CREATE DATABASE ${database}`);
  const admin = new pg.Client({ connectionString: url.href });
  await admin.connect();
  try {
    const spillFolder = join(folder, database);
    await (await openPostgresLedger(url.href, { spillFolder })).close();
    await admin.query(
      `${toRolesScript('quittance')} CREATE ROLE ${role} LOGIN PASSWORD 'pw'; GRANT quittance_writer TO ${role}`,
    );
    Object.assign(url, { username: role, password: 'pw' });
    const open = async (readOnly: boolean): Promise<void> =>
      (await openPostgresLedger(url.href, { spillFolder, readOnly })).close();
    await open(false);
    await admin.query('REVOKE SELECT ON pg_catalog.pg_trigger FROM PUBLIC');
    await expect(open(false)).rejects.toMatchObject({
      code: 'ledger.unavailable',
      facts: { sqlState: '42501' },
    });
    await open(true);
  } finally {
    await admin.end();
    await client.query(`DROP DATABASE ${database} WITH (FORCE)`);
    await client.query(`DROP ROLE ${role}`);
  }
});

const rowEdits: readonly (readonly [what: string, sql: string, said: RegExp])[] = [
  [
    'empties the list of calls',
    'DELETE FROM read_calls',
    /read table of calls is missing a row\. Run `quittance rebuild`/,
  ],
  [
    'edits a row of the list of calls',
    `UPDATE read_calls SET status = 'queued'`,
    /read table of calls disagrees with the entries \(status\)/,
  ],
  [
    'adds a call to the list',
    `INSERT INTO read_calls SELECT (jsonb_populate_record(c, '{"call_id": "surplus"}')).* FROM read_calls c LIMIT 1`,
    /read table of calls has a row without an entry/,
  ],
  [
    'edits arguments in the list',
    `UPDATE read_calls SET args = '{"ref":"x"}'`,
    /read table of calls disagrees with the entries \(args\)/,
  ],
  [
    'empties the list of confirmations',
    'DELETE FROM read_confirmations',
    /read table of confirmations is missing a row/,
  ],
  [
    'edits a confirmation',
    `UPDATE read_confirmations SET status = 'approved'`,
    /read table of confirmations disagrees with the entries \(status\)/,
  ],
  [
    'adds a confirmation',
    `INSERT INTO read_confirmations SELECT (jsonb_populate_record(c, '{"confirmation_id": "surplus"}')).* FROM read_confirmations c LIMIT 1`,
    /read table of confirmations has a row without an entry/,
  ],
  [
    'empties the counts of sessions',
    'UPDATE sessions SET calls = 0',
    /table of sessions disagrees with the entries \(calls\)/,
  ],
  [
    'edits a session in the list',
    'UPDATE sessions SET failures = 7',
    /table of sessions disagrees with the entries \(failures\)/,
  ],
  [
    'hides a session from the list',
    'UPDATE sessions SET first_at = NULL',
    /table of sessions disagrees with the entries \(first_at\)/,
  ],
  [
    'edits a tally',
    'UPDATE read_tallies SET calls = calls + 1',
    /read table of tallies disagrees with the entries \(calls\)/,
  ],
  ['empties the tallies', 'DELETE FROM read_tallies', /read table of tallies is missing a row/],
  [
    'adds a tally',
    `INSERT INTO read_tallies SELECT (jsonb_populate_record(c, '{"tool_name": "surplus"}')).* FROM read_tallies c LIMIT 1`,
    /read table of tallies has a row without an entry/,
  ],
  ['empties the search index', 'DELETE FROM read_words', /search index has other words/],
  [
    'edits words',
    `UPDATE read_words SET words = array_to_tsvector(ARRAY['0|other'])`,
    /search index has other words/,
  ],
  [
    'adds words',
    `INSERT INTO read_words (part, position, session_id, call_id, requested_at, words)
     SELECT 0, 1, session_id, call_id, 1, words FROM read_words LIMIT 1`,
    /search index has other words/,
  ],
  ['hides a part of the search index', 'UPDATE read_parts SET last_hour = 1', /part 0 of the search index/],
  ['deletes the parts of the search index', 'DELETE FROM read_parts', /"read_parts" does not begin/],
  [
    'moves the end of a session',
    'UPDATE sessions SET position = position - 1 WHERE sequence > 0',
    /"sessions" does not name the last entry/,
  ],
  ['deletes a mark', `DELETE FROM marks WHERE key LIKE 'counter%'`, /The mark of counter .* is missing/],
  ['deletes the first mark', `DELETE FROM marks WHERE key = ''`, /The mark of the beginning is missing/],
  [
    'moves a mark',
    `UPDATE marks SET position = 1 WHERE key LIKE 'claim%'`,
    /The mark of claim .* points to position 1/,
  ],
  [
    'adds a mark',
    `INSERT INTO marks VALUES ('claim surplus', 1)`,
    /"marks" has a row without an entry: claim surplus/,
  ],
  ['edits a sealed input', `UPDATE sealed SET text = 'x' || text`, /sealed input of the call does not open/],
  ['deletes a sealed input', 'DELETE FROM sealed', /needs its sealed input, which is missing/],
  [
    'moves a cursor back before the beginning',
    'UPDATE cursors SET position = -1',
    /The cursor "reader" has an invalid position/,
  ],
  [
    'moves a cursor after the end',
    'UPDATE cursors SET position = 9000000000000000',
    /The cursor "reader" has read up to position/,
  ],
  [
    'takes the owner of a cursor',
    'UPDATE cursors SET owner_id = NULL',
    /The cursor "reader" has a holder without an owner/,
  ],
];

it('verification names every edited row outside the entries of a PostgreSQL ledger', async () => {
  const { ledger, schema, call, hold, edit } = await stage(10);
  await call('one');
  await call('two', 'other');
  await hold();
  await takeCursor(ledger, { name: 'reader', holder: 'h', startAfter: 3 });
  expect((await findCalls(ledger, {})).rows).toHaveLength(3);
  expect(await findAll(ledger)).toEqual([]);
  const reported: string[] = [];
  for (const [what, sql, said] of rowEdits) {
    await client.query(`CREATE SCHEMA kept; SET search_path TO ${schema}`);
    const tables = [
      ...new Set(sql.match(/(?<=(?:UPDATE|FROM|INTO) )(?:read_\w+|sessions|marks|sealed|cursors)/g)),
    ];
    for (const table of tables) await client.query(`CREATE TABLE kept.${table} AS TABLE ${table}`);
    await edit(sql);
    const found = (await findAll(ledger)).join('\n');
    if (!said.test(found)) reported.push(`${what}: ${found}`);
    await client.query(`SET search_path TO ${schema}`);
    for (const table of tables)
      await client.query(
        `DELETE FROM ${table}; INSERT INTO ${table} ${table === 'read_words' ? 'OVERRIDING SYSTEM VALUE ' : ''}TABLE kept.${table}`,
      );
    await client.query('RESET search_path; DROP SCHEMA kept CASCADE');
  }
  expect(reported).toEqual([]);
  expect(await findAll(ledger)).toEqual([]);
});
