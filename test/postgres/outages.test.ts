/** Servers that restart, stop, fill up or answer too late, and hosts that stop. */
import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, chownSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { createRuntime, defineTool } from 'quittance';
import type { Runtime, ToolOutcome } from 'quittance';
import type { OpenLedger } from '../../packages/quittance/src/ledger/ledger.ts';
import { openPostgresLedger } from '../../packages/postgres/src/open-postgres-ledger.ts';
import type { PostgresLedgerOptions } from '../../packages/quittance/src/store/postgres-package.ts';
import { SampleCall } from '../../packages/quittance/src/testing/sample-call.ts';
import { PgServer } from './pg-server.ts';
import type { PgProxy } from './start-proxy.ts';
import { startProxy } from './start-proxy.ts';
import { readHeads, findSessions, findCalls } from '../../packages/quittance/src/ledger/reads.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-outages-'));
const sealKey = Buffer.alloc(32, 1);
let server: PgServer;
let schema = '';
let schemas = 0;
const opened: { close(): Promise<void> }[] = [];

beforeAll(async () => {
  server = await PgServer.create({
    settings: ['fsync = off', 'full_page_writes = off', 'max_connections = 40'],
  });
});
afterEach(async () => {
  vi.useRealTimers();
  for (const one of opened.splice(0).reverse()) await one.close();
});
afterAll(async () => {
  await server.remove();
  rmSync(folder, { recursive: true, force: true });
});

async function open(options: PostgresLedgerOptions = {}, url = server.url): Promise<OpenLedger> {
  const ledger = await openPostgresLedger(url, {
    schema,
    sealKey,
    spillFolder: join(folder, schema),
    ...options,
  });
  opened.push(ledger);
  return ledger;
}

function newSchema(): void {
  schema = `outages_${process.pid}_${schemas++}`;
}

async function openProxy(): Promise<PgProxy> {
  const proxy = await startProxy(server.url);
  opened.push(proxy);
  return proxy;
}

/** `during` happens inside the body of each call. */
function mailer(ledger: OpenLedger, during: () => Promise<void> | void): { runtime: Runtime; ran: string[] } {
  const ran: string[] = [];
  const runtime = createRuntime({
    ledger,
    tools: [
      defineTool({
        name: 'send_mail',
        mode: 'external',
        run: async (_, { callId }) => {
          ran.push(callId);
          await during();
          return { sent: callId };
        },
      }),
    ],
  });
  opened.push(runtime);
  return { runtime, ran };
}

const mail = (id: string) => ({ id, name: 'send_mail', arguments: { id } });

test('calls go on while the server restarts', async () => {
  newSchema();
  const ledger = await open();
  await ledger.append(new SampleCall('before').begin());
  const calls = Array.from({ length: 50 }, (_, n) => new SampleCall(`c${n}`, { sessionId: `s${n % 5}` }));
  const appended = Promise.all(
    calls.map(async (call) => {
      await ledger.append(call.begin());
      return ledger.append(call.end());
    }),
  );
  await server.stop();
  await server.start();
  expect(new Set((await appended).map(({ status }) => status))).toEqual(new Set(['appended']));
  expect(await ledger.readEntries({ limit: 200 })).toHaveLength(101);
});

test('an append that is cut at any byte of its statement or of its answer is stored once', async () => {
  newSchema();
  const proxy = await openProxy();
  const ledger = await open({ writers: 1 }, proxy.url);
  await ledger.append(new SampleCall('first').begin());
  const bytes = [0, 1, 5, 40, 200, 600];
  for (const [index, many] of bytes.entries()) {
    const call = new SampleCall(`c${index}`);
    proxy.cutWithin('append_v3', many);
    await expect(ledger.append(call.begin())).resolves.toEqual({ status: 'appended', version: 1 });
    proxy.cutAnswerTo('append_v3', many);
    await expect(ledger.append(call.end())).resolves.toEqual({ status: 'appended', version: 2 });
  }
  expect(await ledger.readEntries({ limit: 100 })).toHaveLength(1 + bytes.length * 2);
});

test('an append beyond the queue is refused with a clear error, and the others are written', async () => {
  newSchema();
  const proxy = await openProxy();
  const ledger = await open({ writers: 1, maxQueued: 5 }, proxy.url);
  await ledger.append(new SampleCall('first').begin());
  proxy.stall();
  const first = ledger.append(new SampleCall('under way').begin());
  await Promise.resolve();
  await Promise.resolve(); // the batch has left the queue
  const queued = Array.from({ length: 5 }, (_, n) => ledger.append(new SampleCall(`q${n}`).begin()));
  await expect(ledger.append(new SampleCall('too many').begin())).rejects.toMatchObject({
    code: 'ledger.unavailable',
    message: expect.stringContaining('Too many'),
  });
  proxy.resume();
  for (const append of [first, ...queued])
    await expect(append).resolves.toMatchObject({ status: 'appended' });
  expect(await ledger.readCall('session', 'too many')).toBeUndefined();
});

test('nothing-lost: in a long outage a result is spilled, the answer says so, and the ledger gets it later', async () => {
  newSchema();
  const proxy = await openProxy();
  const ledger = await open({ outageWaitMs: 300 }, proxy.url);
  const { runtime, ran } = mailer(ledger, () => proxy.refuse());
  const spilled = await runtime.turn({ sessionId: 's' }).call(mail('c'));
  expect(spilled.type).toBe('ToolExecutionResult');
  expect(spilled.modelNote).toBeDefined();
  // No intent, no run.
  const refused = await runtime.turn({ sessionId: 's' }).call(mail('d'));
  expect(refused).toMatchObject({ type: 'ToolFailure', code: 'ledger.unavailable' });
  expect(ran).toEqual(['c']);
  proxy.accept();
  const after = mailer(ledger, () => undefined);
  await after.runtime.recover();
  const direct = await open();
  await expect
    .poll(async () => (await direct.readCall('s', 'c'))?.events.map(({ type }) => type))
    .toContain('tool.responded');
  expect(await after.runtime.turn({ sessionId: 's' }).call(mail('c'))).toMatchObject({
    type: 'ToolExecutionResult',
  });
  expect([...ran, ...after.ran]).toEqual(['c']);
});

test('a ledger opens although a connection is lost at any step of opening it', async () => {
  newSchema();
  const proxy = await openProxy();
  await (await open({}, proxy.url)).close();
  const steps = [...new Set(proxy.statements)];
  expect(steps.length).toBeGreaterThan(5);
  for (const [index, step] of steps.entries()) {
    // Every second time the statement itself is lost instead of its answer.
    if (index % 2 === 0) proxy.cutAnswerTo(step, 0);
    else proxy.cutWithin(step, 1);
    const ledger = await open({}, proxy.url);
    const call = new SampleCall(`after step ${index}`);
    await expect(ledger.append(call.begin())).resolves.toMatchObject({ status: 'appended' });
  }
});

test('in a long outage calls are refused at once instead of waiting each', async () => {
  newSchema();
  const proxy = await openProxy();
  const ledger = await open({ outageWaitMs: 400, writers: 1 }, proxy.url);
  await ledger.append(new SampleCall('first').begin());
  proxy.refuse();
  const code = { code: 'ledger.unavailable' };
  await expect(ledger.append(new SampleCall('a').begin())).rejects.toMatchObject(code);
  // The outage is longer than the wait by now. From here on the clock stands still: an append that waits never ends.
  const nowMs = performance.now();
  vi.useFakeTimers({ toFake: ['performance'] });
  vi.advanceTimersByTime(nowMs + 400);
  for (const id of ['b', 'c', 'd', 'e', 'f'])
    await expect(ledger.append(new SampleCall(id).begin())).rejects.toMatchObject(code);
  vi.useRealTimers();
  // More readers than connections: those who wait for one are answered too.
  const reads = Array.from({ length: 12 }, async (_, n) => ledger.readSession(`session-${n}`));
  for (const read of await Promise.allSettled(reads))
    expect(read).toMatchObject({ status: 'rejected', reason: code });
  proxy.accept();
  await expect
    .poll(() => Promise.resolve(ledger.append(new SampleCall('g').begin())).catch(() => undefined))
    .toMatchObject({ status: 'appended' });
});

/** The server fails with this state when an entry is written: the proxy calls another function in the place of ours. */
async function failWith(state: string, proxy: PgProxy): Promise<void> {
  const [row] = await server.query(`SELECT pg_get_functiondef('${schema}.append_v3'::regproc) AS text`);
  await server.query(
    String(row?.['text'])
      .replace('append_v3', 'append_v0')
      .replace(
        /AS \$function\$.*\$function\$/s,
        () => `AS $$ BEGIN RAISE EXCEPTION 'no space left on device' USING ERRCODE = '${state}'; END $$`,
      ),
  );
  proxy.replace(['append_v3', 'append_v0']);
}

test('nothing-lost: a full disk of the server refuses new calls and spills results', async () => {
  newSchema();
  const proxy = await openProxy();
  const ledger = await open({}, proxy.url);
  const { runtime, ran } = mailer(ledger, () => failWith('53100', proxy));
  const spilled = await runtime.turn({ sessionId: 's' }).call(mail('c'));
  expect(spilled).toMatchObject({ type: 'ToolExecutionResult', modelNote: expect.any(String) });
  const refused = await runtime.turn({ sessionId: 's' }).call(mail('d'));
  expect(refused).toMatchObject({ code: 'ledger.unavailable' });
  expect(ran).toEqual(['c']);
  proxy.replace(undefined);
  await runtime.recover();
  await expect
    .poll(async () => (await ledger.readCall('s', 'c'))?.events.map(({ type }) => type))
    .toContain('tool.responded');
});

test.runIf(canMount())('nothing-lost: a file system of the server that is really full', async () => {
  newSchema();
  const disk = join(server.folder, 'small-disk');
  mkdirSync(disk);
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16m', 'tmpfs', disk]);
  try {
    // The server runs as the owner of its folder.
    const { uid, gid } = statSync(server.folder);
    chownSync(disk, uid, gid);
    const database = new URL(server.url);
    database.pathname = '/small';
    await server.query(`CREATE TABLESPACE small LOCATION '${disk}'`);
    await server.query('CREATE DATABASE small TABLESPACE small');
    const ledger = await open({}, database.href);
    const { runtime, ran } = mailer(ledger, () => undefined);
    const filler = join(disk, 'filler');
    fillUp(filler);
    const turn = runtime.turn({ sessionId: 's' });
    const answers: ToolOutcome[] = [];
    // The pages that the tables already have take some calls.
    for (let n = 0; n < 300 && answers.at(-1)?.type !== 'ToolFailure'; n++)
      answers.push(await turn.call(mail(`c${n}`)));
    expect(answers.at(-1)).toMatchObject({ code: 'ledger.unavailable' });
    expect(server.log.join('')).toContain('No space left on device');
    rmSync(filler);
    await runtime.recover();
    for (const callId of ran)
      await expect
        .poll(async () => (await ledger.readCall('s', callId))?.events.map(({ type }) => type))
        .toContain('tool.responded');
    expect(await turn.call(mail('after'))).toMatchObject({ type: 'ToolExecutionResult' });
    expect(ran.length).toBe(new Set(ran).size);
    for (const one of opened.splice(0).reverse()) await one.close();
    await server.query('DROP DATABASE small');
    await server.query('DROP TABLESPACE small');
  } finally {
    execFileSync('umount', ['--lazy', disk]);
  }
});

function fillUp(path: string): void {
  const block = Buffer.alloc(4_096);
  const fill = (): never => {
    for (;;) appendFileSync(path, block);
  };
  expect(fill).toThrow(expect.objectContaining({ code: 'ENOSPC' }));
}

function canMount(): boolean {
  const probe = mkdtempSync(join(tmpdir(), 'quittance-probe-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', probe], { stdio: 'ignore' });
    execFileSync('umount', [probe], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  } finally {
    rmSync(probe, { recursive: true, force: true });
  }
}

test('an append that a statement timeout cancels is tried again until there is room', async () => {
  newSchema();
  await server.query(`ALTER DATABASE postgres SET statement_timeout = '250ms'`);
  try {
    const ledger = await open({ writers: 1 });
    await ledger.append(new SampleCall('first').begin());
    const client = new pg.Client({ connectionString: server.url });
    await client.connect();
    await client.query(`BEGIN; LOCK TABLE ${schema}.entries IN SHARE MODE`);
    const append = ledger.append(new SampleCall('c').begin());
    await expect.poll(() => server.log.join('')).toContain('canceling statement due to statement timeout');
    await client.end();
    await expect(append).resolves.toEqual({ status: 'appended', version: 1 });
  } finally {
    await server.query('ALTER DATABASE postgres RESET statement_timeout');
  }
});

test('appends, lists, erasures and documents of several handles survive serialization failures of a strict database', async () => {
  newSchema();
  await server.query(`ALTER DATABASE postgres SET default_transaction_isolation = 'serializable'`);
  try {
    const handles = [await open(), await open(), await open()];
    await handles[0]?.append(new SampleCall('old', { sessionId: 'old' }).whole());
    const others = handles.map(async (handle) => {
      for (let n = 0; n < 6; n++) {
        await findCalls(handle, { text: 'session' });
        await handle.erase({ sessionId: 'old', by: 'Ada', reason: 'asked to' });
      }
    });
    const results = await Promise.all(
      Array.from({ length: 90 }, async (_, n) =>
        handles[n % 3]?.append(new SampleCall(`c${n}`, { sessionId: `s${n % 4}` }).begin()),
      ),
    );
    await Promise.all(others);
    // A single statement fails too, if another one changes its row at that moment. One of three is the first.
    for (let version = 0; version < 10; version++) {
      const replace = async ({ documents }: OpenLedger): Promise<boolean | undefined> =>
        documents?.replace('d', version, 't');
      const replaced = await Promise.all(handles.map(replace));
      expect(replaced.filter((isFirst) => isFirst === true)).toEqual([true]);
    }
    expect(new Set(results.map((result) => result?.status))).toEqual(new Set(['appended']));
    const heads = await readHeads(handles[0] as OpenLedger);
    expect(heads.flatMap(({ sessionId, sequence }) => (/^s\d$/.test(sessionId) ? [sequence] : []))).toEqual([
      23, 23, 22, 22,
    ]);
  } finally {
    await server.query('ALTER DATABASE postgres RESET default_transaction_isolation');
  }
});

test('connections to a database that takes no writes are replaced, so that leases and lists go on when it does', async () => {
  newSchema();
  const ledger = await open({ ownerLeaseMs: 500, outageWaitMs: 200, listen: false });
  const { runtime, ran } = mailer(ledger, () => undefined);
  const turn = runtime.turn({ sessionId: 's' });
  const set = (how: string): Promise<unknown> =>
    server.query(`BEGIN READ WRITE; ALTER DATABASE postgres ${how}; COMMIT`);
  const readRenewal = async (): Promise<unknown> =>
    (await server.query(`SELECT renewed_at::text AS at FROM ${schema}.owners`))[0]?.['at'];
  const endConnections = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'quittance'`;
  try {
    await set('SET default_transaction_read_only = on');
    await server.query(endConnections);
    expect(await turn.call(mail('first'))).toMatchObject({
      code: 'ledger.unavailable',
      error: expect.stringContaining('read-only transaction'),
    });
    expect(ran).toEqual([]);
    // Connections of readers are made now, and their sessions keep the setting.
    await Promise.all(Array.from({ length: 4 }, async () => findSessions(ledger, {})));
  } finally {
    await set('RESET default_transaction_read_only');
  }
  expect(await turn.call(mail('second'))).toMatchObject({ output: { sent: 'second' } });
  const renewed = await readRenewal();
  await expect.poll(readRenewal).not.toBe(renewed);
  expect((await findCalls(ledger, {})).rows.map(({ callId }) => callId)).toEqual(['second']);
  expect((await server.query(`SELECT count(*)::integer AS calls FROM ${schema}.read_calls`))[0]).toEqual({
    calls: 1,
  });
});

test('a role without rights is refused at once, and the error says what to do', async () => {
  newSchema();
  await open();
  await server.query(`CREATE ROLE ${schema} LOGIN; GRANT USAGE ON SCHEMA ${schema} TO ${schema};
    GRANT SELECT ON ALL TABLES IN SCHEMA ${schema} TO ${schema}`);
  const url = server.url.replace('postgres@', `${schema}@`);
  // It would wait for a test's whole time if it waited at all.
  const ledger = await open({ outageWaitMs: 3_600_000 }, url);
  await expect(ledger.append(new SampleCall('c').begin())).rejects.toMatchObject({
    code: 'ledger.unavailable',
    message: expect.stringContaining('permission denied'),
    remedy: expect.stringContaining('quittance migrate --roles'),
  });
});

test('a server without a free connection is waited for', async () => {
  newSchema();
  const ledger = await open({ writers: 1, outageWaitMs: 20_000 });
  await server.query(`ALTER ROLE postgres CONNECTION LIMIT -1`);
  const [row] = await server.query(`SELECT current_setting('max_connections')::int AS most`);
  const crowd: OpenLedger[] = [];
  const enter = (): Promise<OpenLedger> =>
    openPostgresLedger(server.url, { schema, sealKey, spillFolder: join(folder, schema) });
  // Every ledger takes a few connections. The server refuses some of them in the end.
  const crowding = (async () => {
    for (let n = 0; n < Number(row?.['most']); n++) crowd.push(await enter());
  })();
  await expect(crowding).rejects.toMatchObject({ code: 'ledger.unavailable' });
  const append = ledger.append(new SampleCall('c').begin());
  for (const one of crowd) await one.close();
  await expect(append).resolves.toMatchObject({ status: 'appended' });
});

test('late-is-kept: the result of a host that was stopped longer than its lease is stored as late', async () => {
  newSchema();
  const ledger = await open();
  const child = fork(join(import.meta.dirname, 'stopped-child.ts'), {
    execArgv: ['--conditions=quittance-source'],
    env: { ...process.env, TEST_URL: `${server.url}?schema=${schema}&listen=off&owner_lease_ms=400` },
    cwd: folder,
  });
  try {
    await once(child, 'message'); // the body runs
    child.kill('SIGSTOP');
    const { runtime } = mailer(ledger, () => undefined);
    await expect
      .poll(async () => {
        await runtime.recover();
        return (await ledger.readCall('s', 'c'))?.events.map(({ type }) => type);
      })
      .toContain('tool.responded');
    const [outcome] = await outcomesOf(ledger);
    expect(outcome).toMatchObject({ code: 'tool.indeterminate' });
    child.kill('SIGCONT');
    child.send('finish');
    await expect
      .poll(async () => (await ledger.readCall('s', 'c'))?.events.map(({ type }) => type))
      .toContain('tool.late');
    expect(await outcomesOf(ledger)).toEqual([outcome]);
  } finally {
    child.kill('SIGKILL');
  }
});

const outcomesOf = async (ledger: OpenLedger): Promise<readonly unknown[]> =>
  (await ledger.readCall('s', 'c'))?.events.flatMap((event) =>
    event.type === 'tool.responded' ? [event.outcome] : [],
  ) ?? [];

test('the clock of the ledger is that of the server, also when the clock of the host jumps', async () => {
  newSchema();
  const ledger = await open();
  const before = ledger.now();
  vi.useFakeTimers({ toFake: ['Date'] });
  vi.setSystemTime(before + 86_400_000);
  expect(ledger.now() - before).toBeLessThan(3_600_000);
  vi.setSystemTime(before - 86_400_000);
  expect(ledger.now()).toBeGreaterThanOrEqual(before);
  const earliest = ledger.now();
  const [row] = await server.query('SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now');
  const latest = ledger.now();
  // The clock may be off by as long as one answer took.
  expect(Number(row?.['now'])).toBeGreaterThan(earliest - 60_000);
  expect(Number(row?.['now'])).toBeLessThan(latest + 60_000);
});
