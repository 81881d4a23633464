/** Migrations ahead of a deployment, and roles with few rights. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { createRuntime, defineTool } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { migrations } from '../../packages/postgres/src/migrations.ts';
import { PgPool } from '../../packages/postgres/src/pg-pool.ts';
import { readSettings } from '../../packages/postgres/src/settings.ts';
import { openMigration } from '../../packages/postgres/src/open-migration.ts';
import { SampleCall } from '../../packages/quittance/src/testing/sample-call.ts';
import { runCli } from '../run-cli.ts';
import { confirming, runProgramHere } from '../run-program.ts';
import { envelope } from '../stage.ts';
import { sharePostgres } from './shared-postgres.ts';
import { findProblems } from './verify.ts';
import {
  findCalls,
  findConfirmations,
  findSessions,
  readCounters,
  readTallies,
  readWholeArtifact,
} from '../../packages/quittance/src/ledger/reads.ts';
import type { CallSummary } from '../../packages/quittance/src/ledger/call-query.ts';
import type { OpenLedger } from '../../packages/quittance/src/ledger/ledger.ts';
import type { Plan, Story } from '../make-ledger.ts';
import { makeEntries, stories } from '../make-ledger.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-migrate-'));
let server = '';
let admin: pg.Client;
const closing: { close(): Promise<unknown> }[] = [];

beforeAll(async () => {
  server = (await sharePostgres()).url;
  vi.stubEnv('QUITTANCE_SEAL_KEY', 'ab'.repeat(32));
  admin = new pg.Client({ connectionString: server });
  await admin.connect();
});
afterEach(async () => {
  for (const one of closing.splice(0).reverse()) await one.close();
});
afterAll(async () => {
  await admin.end();
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

let schemas = 0;
const newSchema = (): string => `migrate_${process.pid}_${schemas++}`;
const urlOf = (schema: string, user?: string): string => {
  const url = new URL(server);
  url.searchParams.set('schema', schema);
  if (user !== undefined) [url.username, url.password] = [user, 'pw'];
  return url.href;
};
const closeLater = <Closable extends { close(): Promise<unknown> }>(one: Closable): Closable => {
  closing.push(one);
  return one;
};

describe('quittance migrate', () => {
  /** Tables, columns, indexes and functions, without the name of the schema. */
  async function describeSchema(schema: string): Promise<string> {
    const { rows } = await admin.query(
      `SELECT 'column ' || table_name || '.' || column_name || ' ' || data_type AS what FROM information_schema.columns
         WHERE table_schema = $1
       UNION ALL SELECT 'index ' || indexdef FROM pg_indexes WHERE schemaname = $1
       UNION ALL SELECT 'function ' || proname || ' ' || prosecdef || ' ' || prosrc FROM pg_proc
         WHERE pronamespace = $1::regnamespace ORDER BY 1`,
      [schema],
    );
    return rows.map(({ what }) => String(what).replaceAll(schema, 'SCHEMA')).join('\n');
  }

  test('creates the tables once, however many processes run it, and says what it did', async () => {
    const url = urlOf(newSchema());
    const dry = await runCli(['migrate', '--ledger', url, '--dry-run']);
    expect([dry.code, dry.out]).toEqual([
      1,
      `The tables have no version, and this program needs version ${migrations.length}.\n`,
    ]);
    const runs = Array.from({ length: 4 }, () => closeLater(openMigration(url)));
    await Promise.all(runs.map((migration) => migration.run()));
    const again = await runProgramHere(['migrate'], { env: { QUITTANCE_LEDGER: url } });
    expect([again.code, again.out]).toEqual([
      0,
      `The tables are up to date: version ${migrations.length}.\n`,
    ]);
    expect((await runProgramHere(['migrate', '--ledger', url, '--dry-run'])).code).toBe(0);
    expect((await runProgramHere(['migrate', '--ledger', url, '--print-sql'])).out).toBe('');
  });

  test('prints SQL that makes the same tables', async () => {
    const [printed, run] = [newSchema(), newSchema()];
    const { code, out } = await runProgramHere(['migrate', '--ledger', urlOf(printed), '--print-sql']);
    expect(code).toBe(0);
    await admin.query(out);
    await closeLater(openMigration(urlOf(run))).run();
    expect(await describeSchema(printed)).toBe(await describeSchema(run));
    await (await openLedger(urlOf(printed), { migrate: false })).close();
    // Run a second time, the script changes nothing.
    await expect(admin.query(out)).rejects.toMatchObject({ code: '22012' });
    await admin.query('ROLLBACK');
  });

  test('upgrades tables of every earlier version, and a process that may not says which versions differ', async () => {
    const whole = newSchema();
    await closeLater(openMigration(urlOf(whole))).run();
    for (let version = 1; version < migrations.length; version++) {
      const schema = newSchema();
      await admin.query(
        `BEGIN; CREATE SCHEMA ${schema}; SET LOCAL search_path TO ${schema}; ${migrations.slice(0, version).join('')};
         INSERT INTO ledger (ledger_id, format) VALUES ('x', ${version}); COMMIT`,
      );
      const refused = openLedger(urlOf(schema), { migrate: false });
      await expect(refused).rejects.toMatchObject({
        code: 'config.invalid',
        message: expect.stringContaining(
          `tables of version ${version}, and this program needs version ${migrations.length}`,
        ),
        facts: { found: String(version), known: String(migrations.length) },
      });
      const cli = await runProgramHere(['calls', '--ledger', urlOf(schema)]);
      expect([cli.code, cli.err]).toEqual([2, expect.stringContaining('quittance migrate')]);
      await closeLater(openMigration(urlOf(schema))).run();
      expect(await describeSchema(schema)).toBe(await describeSchema(whole));
      await (await openLedger(urlOf(schema), { migrate: false })).close();
    }
  });

  test('rebuilds the rows outside the entries of a ledger whose version did not check them', async () => {
    const [now, before] = [newSchema(), newSchema()];
    const ran: string[] = [];
    const open = async (schema: string) => {
      const ledger = closeLater(await openLedger(urlOf(schema), { spillFolder: join(folder, schema) }));
      const order = defineTool({
        name: 'order',
        mode: 'external',
        input: { type: 'object' },
        idempotencyKey: ({ key }: { key?: unknown }) => String(key),
        run: (_, { callId }) => ran.push(callId),
      });
      const budgets = [{ scope: 'team', toolCalls: 2, per: 'day' } as const];
      const runtime = closeLater(createRuntime({ ledger, tools: [order], budgets }));
      const call = async (id: string, key: string): Promise<string> => {
        const outcome = await runtime
          .turn({ sessionId: 's' })
          .call({ id, name: 'order', arguments: { key } });
        return 'code' in outcome ? outcome.code : outcome.type;
      };
      return { ledger, call };
    };
    expect(await (await open(now)).call('first', 'a')).toBe('ToolExecutionResult');
    for (const one of closing.splice(0).reverse()) await one.close();
    await admin.query(
      `BEGIN; CREATE SCHEMA ${before}; SET LOCAL search_path TO ${before}; ${migrations.slice(0, 3).join('')}; COMMIT`,
    );
    for (const table of ['ledger', 'sessions', 'entries']) {
      const { rows } = await admin.query<{ name: string }>(
        `SELECT column_name AS name FROM information_schema.columns WHERE table_schema = $1 AND table_name = $2`,
        [before, table],
      );
      const columns = rows.map(({ name }) => name).join(', ');
      await admin.query(
        `INSERT INTO ${before}.${table} (${columns}) OVERRIDING SYSTEM VALUE SELECT ${columns} FROM ${now}.${table}`,
      );
    }
    await admin.query(`UPDATE ${before}.ledger SET format = 3`);
    await closeLater(openMigration(urlOf(before))).run();
    const { ledger, call } = await open(before);
    // The key and the counter come from the entries again.
    expect(await call('second', 'a')).toBe('ToolExecutionResult');
    expect(ran).toEqual(['first']);
    expect(await call('third', 'b')).toBe('ToolExecutionResult');
    expect(await call('fourth', 'c')).toBe('budget.tool_calls_exhausted');
    expect(ran).toEqual(['first', 'third']);
    expect(await findProblems(ledger)).toEqual([]);
  });

  test('refuses tables of a newer version', async () => {
    const schema = newSchema();
    await closeLater(openMigration(urlOf(schema))).run();
    await admin.query(`UPDATE ${schema}.ledger SET format = 99`);
    expect(await runProgramHere(['migrate', '--ledger', urlOf(schema)])).toMatchObject({
      code: 1,
      err: expect.stringContaining('format 99'),
    });
  });

  test('makes a schema whose name is a word of SQL, with its roles', async () => {
    const schema = 'select';
    const migration = openMigration(urlOf(schema));
    try {
      await admin.query(migration.toScript(await migration.readState()));
      await admin.query(migration.rolesScript());
      expect(await migration.readState()).toMatchObject({ found: migrations.length });
      const ledger = closeLater(await openLedger(urlOf(schema), { spillFolder: join(folder, schema) }));
      await ledger.append(new SampleCall('c').begin());
      expect((await findCalls(ledger, {})).rows).toHaveLength(1);
    } finally {
      for (const one of [...closing.splice(0).reverse(), migration]) await one.close();
      await admin.query(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`);
      for (const role of ['keeper', 'approver', 'reader', 'writer'])
        await admin.query(`DROP ROLE IF EXISTS ${schema}_${role}`);
    }
  });

  test('lets no append be compiled: servers up to version 17 would do that every time', async () => {
    const schema = newSchema();
    await closeLater(openMigration(urlOf(schema))).run();
    const { rows } = await admin.query<{ name: string }>(
      `SELECT p.proname AS name FROM pg_proc p WHERE p.pronamespace = $1::regnamespace
       AND 'enable_seqscan=off' = ANY (p.proconfig) AND NOT 'jit=off' = ANY (p.proconfig)`,
      [schema],
    );
    expect(rows).toEqual([]);
  });

  describe('in a database with other settings', () => {
    const name = `settings_${process.pid}`;
    const urlIn = (database: string, schema: string): string => {
      const url = new URL(urlOf(schema));
      url.pathname = `/${database}`;
      return url.href;
    };
    beforeAll(async () => {
      await admin.query(`CREATE DATABASE ${name}_latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0`);
      await admin.query(`CREATE DATABASE ${name}`);
      for (const setting of [
        `bytea_output = escape`,
        `extra_float_digits = -3`,
        `search_path = ''`,
        `standard_conforming_strings = off`,
        `statement_timeout = '30s'`,
        `idle_in_transaction_session_timeout = '30s'`,
      ])
        await admin.query(`ALTER DATABASE ${name} SET ${setting}`);
    });
    afterAll(async () => {
      for (const database of [name, `${name}_latin`])
        await admin.query(`DROP DATABASE ${database} WITH (FORCE)`);
    });

    test('refuses an encoding that cannot hold every text', async () => {
      const url = urlIn(`${name}_latin`, newSchema());
      const migration = closeLater(openMigration(url));
      await expect(migration.run()).rejects.toMatchObject({
        code: 'config.invalid',
        message: expect.stringContaining('LATIN1'),
      });
      const client = new pg.Client({ connectionString: url });
      closeLater({ close: () => client.end() });
      await client.connect();
      const script = migration.toScript(await migration.readState());
      await expect(client.query(script)).rejects.toMatchObject({ code: '22012' });
    });

    test('makes tables that hold every text and every byte', async () => {
      const ledger = closeLater(
        await openLedger(urlIn(name, newSchema()), { spillFolder: join(folder, name) }),
      );
      const text = "a'b\\c\u0000\u20ac\u{1f600}";
      const call = new SampleCall(text, { input: { text }, output: text });
      await ledger.append(call.begin());
      await ledger.append(call.end());
      const content = Uint8Array.from({ length: 1_000 }, (_, n) => n % 256);
      await ledger.putArtifact({
        sessionId: 'session',
        artifactId: 'a',
        callId: text,
        mimeType: 'x/y',
        content,
      });
      expect(await readWholeArtifact(ledger, 'session', 'a')).toMatchObject({ callId: text, content });
      expect(await ledger.readCall('session', text)).toMatchObject({ version: 2 });
      expect(await findProblems(ledger)).toEqual([]);
    });

    test('counts amounts exactly', async () => {
      const ledger = closeLater(
        await openLedger(urlIn(name, newSchema()), { spillFolder: join(folder, name) }),
      );
      let reserved = 0;
      for (const amount of [0.1, 1 / 7, 2 / 3]) {
        const sessionId = `s${amount}`;
        expect(
          await ledger.append({
            ...new SampleCall('c', { sessionId }).begin(),
            reserve: [{ counter: 'usd', amount, limit: 100 }],
          }),
        ).toMatchObject({ status: 'appended' });
        reserved += amount;
      }
      expect(await readCounters(ledger, ['usd'])).toEqual([{ used: 0, reserved }]);
      expect(await findProblems(ledger)).toEqual([]);
      await ledger.rebuild();
      expect(await readCounters(ledger, ['usd'])).toEqual([{ used: 0, reserved }]);
      expect(await findProblems(ledger)).toEqual([]);
    });

    test('gives work on a whole ledger the time that it needs', async () => {
      const pool = closeLater(new PgPool(readSettings(urlIn(name, newSchema()), {})));
      const limits = `SELECT current_setting('statement_timeout') || ' ' ||
        current_setting('idle_in_transaction_session_timeout') AS limits`;
      expect(await pool.query(limits)).toEqual([{ limits: '30s 30s' }]);
      expect(await pool.longTransaction((query) => query(limits))).toEqual([{ limits: '0 0' }]);
    });
  });

  test('upgrades a SQLite ledger', async () => {
    const ledger = join(folder, 'file.db');
    expect(await runProgramHere(['migrate', '--ledger', ledger])).toMatchObject({ code: 0 });
    expect(await runProgramHere(['migrate', '--ledger', ledger, '--roles'])).toMatchObject({ code: 2 });
  });
});

describe('lists of a ledger that an older version wrote', () => {
  const sealKey = Buffer.alloc(32, 1);

  const everyStory: readonly Plan[] = (Object.keys(stories) as Story[])
    .filter((story) => story !== 'artifact')
    .flatMap((story) => ['s0', 's1'].map((session) => ({ session, call: `${story}-${session}`, story })));
  /** More sessions than one transaction fills. */
  const manySessions: readonly Plan[] = Array.from({ length: 700 }, (_, n) => ({
    session: `s${n}`,
    call: 'one',
    story: 'read',
  }));

  /** A ledger with tables of the version before lists were written with their entries. */
  async function makeOlder(plan: readonly Plan[]): Promise<{ schema: string; listed: unknown }> {
    const [now, schema] = [newSchema(), newSchema()];
    const source = await openLedger(urlOf(now), { sealKey, spillFolder: join(folder, now) });
    await Promise.all(makeEntries(plan).map(async (entry) => source.append(entry)));
    const listed = await listsOf(source);
    await source.close();
    await admin.query(
      `BEGIN; CREATE SCHEMA ${schema}; SET LOCAL search_path TO ${schema}; ${migrations.slice(0, 9).join('')}; COMMIT`,
    );
    const tables = [
      'ledger',
      'sessions',
      'entries',
      'claims',
      'counters',
      'marks',
      'unsettled',
      'states',
      'sealed',
    ];
    for (const table of tables) {
      const { rows } = await admin.query<{ name: string }>(
        `SELECT column_name AS name FROM information_schema.columns WHERE table_schema = $1 AND table_name = $2`,
        [schema, table],
      );
      const columns = rows.map(({ name }) => name).join(', ');
      await admin.query(`INSERT INTO ${schema}.${table} (${columns}) SELECT ${columns} FROM ${now}.${table}`);
    }
    await admin.query(`UPDATE ${schema}.ledger SET format = 9`);
    return { schema, listed };
  }

  const listsOf = async (ledger: OpenLedger): Promise<unknown> => ({
    calls: (await findCalls(ledger, { limit: 500 })).rows.toSorted(byCall),
    sessions: (await findSessions(ledger, { limit: 500 })).rows.toSorted((a, b) =>
      a.sessionId < b.sessionId ? -1 : 1,
    ),
    confirmations: (await findConfirmations(ledger, { limit: 500 })).rows
      .map((row) => JSON.stringify(row))
      .toSorted(),
    tallies: (await readTallies(ledger, { by: ['toolName', 'outcome', 'status'] }))
      .map((row) => JSON.stringify(row))
      .toSorted(),
    found: (await findCalls(ledger, { text: 's1', limit: 500 })).rows.length,
  });
  const byCall = (one: CallSummary, other: CallSummary): number =>
    `${one.sessionId} ${one.callId}` < `${other.sessionId} ${other.callId}` ? -1 : 1;

  test('are filled from the entries when the ledger is opened, and say what they said before', async () => {
    const { schema, listed } = await makeOlder(everyStory);
    const ledger = closeLater(
      await openLedger(urlOf(schema), { sealKey, spillFolder: join(folder, schema) }),
    );
    expect(await listsOf(ledger)).toEqual(listed);
    expect(await findProblems(ledger)).toEqual([]);
    await ledger.append(new SampleCall('next', { sessionId: 's0' }).whole());
    expect(await findProblems(ledger)).toEqual([]);
  });

  test('are filled by `quittance migrate` with its progress, also after a process was killed in between', async () => {
    const { schema, listed } = await makeOlder(manySessions);
    const migration = closeLater(openMigration(urlOf(schema)));
    const killed = migration.run(({ position, end }) => {
      expect([position > 0, position < end]).toEqual([true, true]);
      throw new TypeError('killed');
    });
    await expect(killed).rejects.toThrow('killed');
    expect(await migration.readState()).toMatchObject({ found: migrations.length, isFilled: false });
    expect(await runProgramHere(['migrate', '--ledger', urlOf(schema), '--dry-run'])).toMatchObject({
      code: 1,
      out: expect.stringContaining('not filled yet'),
    });

    // A process that may not fill waits for one that does.
    const opening = openLedger(urlOf(schema), { sealKey, migrate: false, spillFolder: join(folder, schema) });
    const steps: number[] = [];
    await migration.run(({ position, end }) => steps.push(position / end));
    expect(steps.at(-1)).toBe(1);
    const ledger = closeLater(await opening);
    expect(await migration.readState()).toMatchObject({ isFilled: true });
    expect(await listsOf(ledger)).toEqual(listed);
    expect(await findProblems(ledger)).toEqual([]);
  });

  test('are missed by a process that may not fill them, if no other process does', async () => {
    const { schema } = await makeOlder(everyStory);
    const migration = closeLater(openMigration(urlOf(schema)));
    await admin.query(migration.toScript(await migration.readState()));
    const opening = openLedger(urlOf(schema), { sealKey, readOnly: true, outageWaitMs: 100 });
    await expect(opening).rejects.toMatchObject({
      code: 'config.invalid',
      message: expect.stringContaining('quittance migrate'),
    });
  });
});

describe('roles', () => {
  const schema = `roles_${process.pid}`;
  const login = (role: string): string => `${schema}_${role}_login`;
  const roles = ['writer', 'reader', 'approver', 'keeper'];
  const open = async (role: string, readOnly = false) =>
    closeLater(
      await openLedger(urlOf(schema, login(role)), {
        readOnly,
        migrate: false,
        spillFolder: join(folder, `spill-${role}`),
      }),
    );
  /** The server's answer to a statement of this role. */
  async function tryAs(role: string, sql: string): Promise<string> {
    const client = new pg.Client({ connectionString: urlOf(schema, login(role)) });
    await client.connect();
    try {
      await client.query(`SET search_path TO ${schema}`);
      await client.query(sql);
      return 'done';
    } catch (error) {
      return (error as { readonly code?: string }).code ?? String(error);
    } finally {
      await client.end();
    }
  }
  const denied = '42501';

  beforeAll(async () => {
    await closeLater(openMigration(urlOf(schema))).run();
    const { out } = await runProgramHere(['migrate', '--ledger', urlOf(schema), '--roles']);
    await admin.query(out);
    await admin.query(out); // it can be run again
    for (const role of roles) {
      await admin.query(`CREATE ROLE ${login(role)} LOGIN PASSWORD 'pw'`);
      await admin.query(`GRANT ${schema}_${role} TO ${login(role)}`);
    }
  });
  afterAll(async () => {
    await admin.query(`DROP SCHEMA ${schema} CASCADE`);
    for (const role of roles) await admin.query(`DROP ROLE ${login(role)}`);
    for (const role of roles.toReversed())
      await admin.query(`DROP OWNED BY ${schema}_${role}; DROP ROLE ${schema}_${role}`);
  });

  const pay = defineTool({
    name: 'pay',
    mode: 'destructive',
    idempotencyKey: ({ order }: { order?: string }) => String(order),
    redact: { input: ['card'] },
    run: ({ order }: { order?: string }) => `paid ${String(order)}`,
  });
  const list = defineTool({
    name: 'list',
    mode: 'read',
    run: () => Array.from({ length: 5_000 }, (_, id) => ({ id })),
  });

  test('a writer makes calls and an approver decides about them', async () => {
    const ledger = await open('writer');
    const runtime = closeLater(
      createRuntime({
        tools: [pay, list],
        ledger,
        budgets: [{ scope: 'shop', per: 'day', toolCalls: 100 }],
      }),
    );
    const turn = runtime.turn({ sessionId: 's' });
    expect(await turn.call(envelope('big', 'list'))).toMatchObject({ type: 'ToolArtifactReference' });
    const decided: unknown[] = [];
    for (const [callId, decision] of [
      ['one', 'approve'],
      ['two', 'deny'],
    ] as const) {
      const outcome = turn.call(envelope(callId, 'pay', { order: callId, card: '4111' }));
      const people = closeLater(await open('approver'));
      await expect
        .poll(async () => (await findConfirmations(people, { status: 'pending' })).rows)
        .toHaveLength(1);
      const { out, err, code } = await runProgramHere(
        [
          decision,
          callId,
          '--by',
          'Ada',
          '--ledger',
          urlOf(schema, login('approver')),
          ...(decision === 'approve' ? ['--digest', await digestOf(callId)] : []),
        ],
        { cwd: folder, env: { QUITTANCE_SEAL_KEY: '' }, readTyped: confirming },
      );
      expect({ code, err }).toEqual({ code: 0, err: '' });
      expect(out).toContain('Ada');
      decided.push(await outcome);
    }
    expect(decided).toMatchObject([
      { output: 'paid one' },
      { type: 'ToolDenied', code: 'confirmation.rejected' },
    ]);
    expect(await runtime.calls.list({ sessionId: 's' })).toHaveLength(3);

    async function digestOf(callId: string): Promise<string> {
      const { rows } = await runtime.confirmations.list({ status: 'pending' });
      return rows.find((view) => view.callId === callId)?.inputDigest ?? '';
    }
  });

  test('a reader lists, verifies and exports, and cannot write', async () => {
    const ledger = await open('reader', true);
    for (const text of [undefined, 's ', 's'])
      expect((await findCalls(ledger, { sessionId: 's', text })).rows).toHaveLength(3);
    expect(await findProblems(ledger)).toEqual([]);
    const writing = await open('reader');
    await expect(writing.append(new SampleCall('x').begin())).rejects.toMatchObject({
      facts: { sqlState: denied },
    });
    for (const sql of [
      `INSERT INTO entries (position, session_id, sequence, text, hash) VALUES (1, 'x', 1, '{}', '')`,
      `UPDATE sessions SET hash = ''`,
      `DELETE FROM claims`,
      `UPDATE read_calls SET message = 'x'`,
      `INSERT INTO owners (owner_id, host, renewed_at, lease_ms) VALUES ('x', 'x', now(), 1)`,
      `UPDATE ledger SET key_check = 'x'`,
      `SELECT text FROM sealed`,
      `SELECT * FROM documents`,
      `SELECT * FROM append_decisions(${Array.from({ length: 21 }, () => 'NULL').join(', ')})`,
      `CREATE TABLE mine (a integer)`,
    ])
      expect([sql, await tryAs('reader', sql)]).toEqual([sql, denied]);
  });

  test('a reader lists calls of a server that takes no writes, such as a standby', async () => {
    const writer = await openLedger(urlOf(schema, login('writer')), {
      migrate: false,
      spillFolder: join(folder, 'spill-unlisted'),
    });
    await writer.append(new SampleCall('unlisted', { sessionId: 'other' }).begin());
    await writer.close();
    await admin.query(`ALTER ROLE ${login('writer')} SET default_transaction_read_only = on`);
    try {
      const ledger = await open('writer', true);
      expect((await findCalls(ledger, { sessionId: 's' })).rows).toHaveLength(3);
    } finally {
      await admin.query(`ALTER ROLE ${login('writer')} RESET default_transaction_read_only`);
    }
  });

  test('a writer adds entries and cannot change, remove or alter them', async () => {
    for (const sql of [
      `UPDATE entries SET text = text`,
      `UPDATE entries SET bodies = NULL`,
      `DELETE FROM entries`,
      `TRUNCATE entries`,
      `DELETE FROM sessions`,
      `DROP TABLE entries`,
      `ALTER TABLE entries ADD COLUMN a integer`,
      `ALTER TABLE entries DISABLE TRIGGER ALL`,
      `CREATE TABLE mine (a integer)`,
      `CREATE OR REPLACE FUNCTION chain_step(state text, head text, n bigint, t text) RETURNS text LANGUAGE sql RETURN ''`,
      `UPDATE ledger SET format = 99`,
      `UPDATE ledger SET ledger_id = 'x'`,
    ])
      expect([sql, await tryAs('writer', sql)]).toEqual([sql, denied]);
    const ledger = await open('writer');
    const removal = { sessionId: 's', by: 'Ada', reason: 'old' };
    await expect(Promise.resolve(ledger.dropSession(removal))).rejects.toMatchObject({
      facts: { sqlState: denied },
    });
  });

  test('an approver adds decisions and nothing else', async () => {
    const ledger = await open('approver');
    const call = new SampleCall('forged', { sessionId: 's' });
    await expect(ledger.append(call.begin())).rejects.toMatchObject({ facts: { sqlState: denied } });
    expect(await ledger.readCall('s', 'forged')).toBeUndefined();
    for (const sql of [
      `INSERT INTO entries (position, session_id, sequence, text, hash) VALUES (1, 'x', 1, '{}', '')`,
      `UPDATE sessions SET hash = ''`,
      `UPDATE owners SET ended = true`,
      `INSERT INTO claims VALUES ('k', 's', 'c', 'd')`,
      `UPDATE counters SET used = 0`,
      `SELECT text FROM sealed`,
      `SELECT * FROM documents`,
    ])
      expect([sql, await tryAs('approver', sql)]).toEqual([sql, denied]);
  });

  test.each([
    [
      'an outcome',
      `'{"status": "settled", "outcome": "ToolExecutionResult", "unresolved": false}'`,
      undefined,
    ],
    ['an end', `'{"status": "held", "settled_at": 1, "unresolved": false}'`, undefined],
    ['an unresolved effect', `'{"status": "held", "unresolved": true}'`, undefined],
    ['other counts', 'NULL', `'{1,1,1,0,0,0,0}'`],
    ['no counts', 'NULL', 'NULL'],
  ])('attack: an approver cannot list a call with %s', async (_, row, counts = `'{1,1,0,0,0,0,0}'`) => {
    const one = (value: string): string => `ARRAY[${value}]`;
    const none = one('NULL');
    const texts = one(`'{"events": [{"type": "confirmation.decided"}]}'`);
    const item = [one(`'s'`), one(`'c'`), one('0'), none, texts, none, none, none, none, none];
    const lists = [one(row), one(counts), ...Array.from({ length: 3 }, () => `'{}'`)];
    const given = [`'evil'`, '1', one(`'s'`), one(`'g'`), 'true', 'true', ...item, ...lists];
    expect(await tryAs('approver', `SELECT * FROM ${schema}.append_decisions(${given.join(', ')})`)).toBe(
      denied,
    );
  });

  test.each([
    '{}',
    '{"events": []}',
    '{"events": [{}]}',
    '{"events": [{"type": null}]}',
    '{"events": [{"type": "confirmation.decided"}, {"type": "tool.responded"}]}',
    '{"events": [{"type": "confirmation.decided"}, []]}',
    '{"events": {"type": "confirmation.decided"}}',
    '{"events": "confirmation.decided"}',
    '{"events": [], "Events": [{"type": "confirmation.decided"}]}',
  ])('attack: an approver can append only decisions, not %s', async (entry) => {
    const one = (value: string): string => `ARRAY[${value}]`;
    const none = one('NULL');
    const [names, texts] = [one(`'s'`), one(`'${entry}'`)];
    const items = [names, one(`'c'`), one('0'), none, texts, none, none, none, none, none, none, none];
    const batch = [...items, ...Array.from({ length: 3 }, () => `'{}'`)];
    const given = [`'evil'`, '1', names, one(`'g'`), 'true', 'true', ...batch];
    const sql = `INSERT INTO ${schema}.lanes VALUES ('evil', 1) ON CONFLICT DO NOTHING;
      SELECT * FROM ${schema}.append_decisions(${given.join(', ')})`;
    expect(await tryAs('approver', sql)).toBe(denied);
  });

  test('attack: an approver cannot put tables of their own in the place of those that the function uses', async () => {
    const forge = `
      CREATE FUNCTION pg_temp.forge() RETURNS boolean LANGUAGE plpgsql AS
        'BEGIN UPDATE ${schema}.ledger SET key_check = ''forged''; RETURN true; END';
      CREATE TEMP VIEW lanes AS SELECT 'x'::text AS lane_id, 1::bigint AS epoch WHERE pg_temp.forge();`;
    const none = `'{}'`;
    const given = [`'x'`, '1', none, none, 'false', 'true', ...Array.from({ length: 15 }, () => none)];
    // The lane does not exist in the ledger's own table.
    expect(
      await tryAs('approver', `${forge} SELECT * FROM ${schema}.append_decisions(${given.join(', ')})`),
    ).toBe('QT002');
    const { rows } = await admin.query<{ forged: boolean }>(
      `SELECT EXISTS (SELECT 1 FROM ${schema}.ledger WHERE key_check = 'forged') AS forged`,
    );
    expect(rows).toEqual([{ forged: false }]);
  });

  test('a keeper erases and removes sessions, and the rest still verifies', async () => {
    const ledger = await open('keeper');
    await ledger.append(new SampleCall('old', { sessionId: 'old' }).begin());
    expect(await ledger.erase({ sessionId: 's', by: 'Ada', reason: 'old' })).toBeGreaterThan(0);
    expect(await ledger.dropSession({ sessionId: 's', by: 'Ada', reason: 'old' })).toBe(true);
    expect(await findProblems(ledger)).toEqual([]);
    expect(await tryAs('keeper', 'DROP TABLE entries')).toBe(denied);
    expect(await tryAs('keeper', `UPDATE entries SET text = ''`)).toBe(denied);
  });
});
