/** What happens when connections break, commits overlap and owners end. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { OpenLedger } from '../../packages/quittance/src/ledger/ledger.ts';
import { openPostgresLedger } from '../../packages/postgres/src/open-postgres-ledger.ts';
import type { PostgresLedgerOptions } from '../../packages/quittance/src/store/postgres-package.ts';
import { SampleCall } from '../../packages/quittance/src/testing/sample-call.ts';
import type { PgProxy } from './start-proxy.ts';
import { startProxy } from './start-proxy.ts';
import type { TestPostgres } from './start-postgres.ts';
import { startPostgres } from './start-postgres.ts';
import { findProblems } from './verify.ts';
import {
  whenCallChanged,
  lastPosition,
  whenAppended,
  readWholeArtifact,
  findCalls,
  statusOfOwner,
} from '../../packages/quittance/src/ledger/reads.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-pg-faults-'));
let server: TestPostgres;
let schema = '';
let schemas = 0;
const opened: { close(): Promise<void> }[] = [];

beforeAll(async () => {
  server = await startPostgres(); // some tests leave transactions open, which delays the feeds of a server
});
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function open(options: PostgresLedgerOptions = {}, url = server.url): Promise<OpenLedger> {
  const ledger = await openPostgresLedger(url, { schema, spillFolder: join(folder, schema), ...options });
  opened.push(ledger);
  return ledger;
}

function newSchema(): void {
  schema = `faults_${process.pid}_${schemas++}`;
}

/** A separate client of the server, for actions of other programs. */
async function openClient(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  opened.push({ close: () => client.end() });
  return client;
}

async function openProxy(): Promise<PgProxy> {
  const proxy = await startProxy(server.url);
  opened.push(proxy);
  return proxy;
}

test('an entry whose answer was lost is stored once and answered', async () => {
  newSchema();
  const proxy = await openProxy();
  const ledger = await open({ writers: 1 }, proxy.url);
  const call = new SampleCall('c');
  await ledger.append(call.begin());
  proxy.dropAnswers();
  const answer = ledger.append(call.end());
  const direct = await open();
  await whenCallChanged(direct, 'session', 'c', 1); // stored, and its answer thrown away
  proxy.passAnswers();
  await expect(answer).resolves.toEqual({ status: 'appended', version: 2 });
  expect(await direct.readEntries({ limit: 10 })).toHaveLength(2);
});

test('a remark whose answer was lost is stored once, although it has no version', async () => {
  newSchema();
  const proxy = await openProxy();
  const ledger = await open({ writers: 1 }, proxy.url);
  const direct = await open();
  const call = new SampleCall('c');
  await ledger.append(call.begin());
  await ledger.append(call.end());
  const position = await lastPosition(direct);
  proxy.dropAnswers();
  const answer = ledger.append(call.recall());
  await whenAppended(direct, position);
  proxy.passAnswers();
  await expect(answer).resolves.toEqual({ status: 'appended', version: 2 });
  expect(await direct.readEntries({ limit: 10 })).toHaveLength(3);
});

test('an epoch of a connection never comes back, so that a statement it sent before it broke is refused', async () => {
  newSchema();
  const proxy = await openProxy();
  const ledger = await open({ writers: 1 }, proxy.url);
  const client = await openClient();
  const epoch = async (): Promise<number> => {
    const { rows } = await client.query<{ epoch: string }>(`SELECT epoch FROM ${schema}.lanes`);
    return Number(rows[0]?.epoch);
  };
  const call = new SampleCall('c');
  await ledger.append(call.begin());
  await ledger.append(call.end());
  const before = await epoch();
  // Another process takes this one for gone and removes its lane.
  await client.query(`DELETE FROM ${schema}.lanes`);
  proxy.cut();
  await expect(ledger.append(call.recall())).resolves.toMatchObject({ status: 'appended' });
  expect(await epoch()).toBeGreaterThan(before);
  // The statement of the old connection arrives only now. A remark has no version that would refuse it.
  const [row] = (
    await client.query(`SELECT text, bodies, salt FROM ${schema}.entries ORDER BY position DESC`)
  ).rows;
  const late = client.query(
    `SELECT * FROM ${schema}.append_v3('${ledger.ownerId}/0', ${before}, '{session}', '{}', false, false,
       '{session}', '{c}', '{-1}', '{NULL}', ARRAY[$1::text], ARRAY[$2::text], ARRAY[$3::text], '{NULL}', '{NULL}',
       '{"{}"}', '{NULL}', '{NULL}', '{}', '{}', '{}')`,
    [row.text, row.bodies, row.salt],
  );
  await expect(late).rejects.toMatchObject({ code: 'QT002' });
});

test('a connection that may not listen is closed, and the process listens as soon as it may', async () => {
  newSchema();
  const proxy = await openProxy();
  const client = await openClient();
  const count = async (sql: string, value: string): Promise<number> => {
    const { rows } = await client.query<{ count: string }>(`SELECT count(*) AS count ${sql}`, [value]);
    return Number(rows[0]?.count);
  };
  const countRefused = (): Promise<number> =>
    count('FROM pg_stat_activity WHERE query = $1', `LISTEM quittance_${schema}`);
  const countRenewals = (): number =>
    proxy.statements.filter((text) => text.startsWith('WITH renewed')).length;
  proxy.replace(['LISTEN', 'LISTEM']);
  // Calls do not need it: the process has its lease, and looks for changes by itself.
  const ledger = await open({ ownerLeaseMs: 1_000 }, proxy.url);
  const other = await open();
  const call = new SampleCall('c');
  await other.append(call.begin());
  const woken = whenCallChanged(ledger, 'session', 'c', 1);
  await other.append(call.end());
  await woken;
  // It tries again with every renewal.
  await expect.poll(countRenewals).toBeGreaterThan(4);
  await expect.poll(countRefused).toBeLessThan(2);
  proxy.replace(undefined);
  const countLocks = (): Promise<number> =>
    count(
      `FROM pg_locks l JOIN ${schema}.owners o ON l.objid::bigint = (o.lock_key & 4294967295)
       WHERE l.locktype = 'advisory' AND l.objsubid = 2 AND o.owner_id = $1`,
      ledger.ownerId,
    );
  await expect.poll(countLocks).toBe(1);
});

test('a listening connection that cannot be made, or that reaches another database, is reported at start', async () => {
  newSchema();
  await open();
  const elsewhere = new URL(server.url);
  elsewhere.pathname = '/template1';
  await expect(open({ listen: elsewhere.href })).rejects.toMatchObject({
    code: 'config.invalid',
    message: expect.stringContaining('another database'),
  });
  await expect(open({ listen: 'postgres://nobody@127.0.0.1:1/none' })).rejects.toMatchObject({
    code: 'ledger.unavailable',
    message: expect.stringContaining('"listen"'),
  });
});

test('a large output is stored although the connection breaks', async () => {
  newSchema();
  const proxy = await openProxy();
  const ledger = await open({}, proxy.url);
  const artifact = {
    sessionId: 's',
    artifactId: 'a',
    callId: 'c',
    mimeType: 'text/plain',
    content: 'x'.repeat(50_000),
  };
  proxy.cutWithin('artifacts', 100);
  await ledger.putArtifact(artifact);
  proxy.cutWithin('artifacts', 10);
  expect(await readWholeArtifact(ledger, 's', 'a')).toMatchObject({ content: artifact.content });
});

test('calls continue after all connections of a process were cut', async () => {
  newSchema();
  const proxy = await openProxy();
  const ledger = await open({}, proxy.url);
  await ledger.append(new SampleCall('a').begin());
  proxy.cut();
  await expect(ledger.append(new SampleCall('b').begin())).resolves.toMatchObject({
    status: 'appended',
  });
  await expect(ledger.readCall('session', 'b')).resolves.toMatchObject({ version: 1 });
});

test('a reader never passes an entry whose transaction is still open', async () => {
  newSchema();
  const ledger = await open();
  await ledger.append(new SampleCall('first').begin());
  const client = await openClient();
  await client.query('BEGIN');
  await client.query('SELECT pg_current_xact_id()'); // an older transaction that has not ended
  const other = await open();
  await other.append(new SampleCall('second', { sessionId: 'other' }).begin());
  const seen = await ledger.readEntries({ limit: 10 });
  expect(seen.map(({ sessionId }) => sessionId)).toEqual(['session']);
  expect(await lastPosition(ledger)).toBe(seen.at(-1)?.position);
  // Lists and calls do not wait for it.
  expect((await findCalls(ledger, {})).rows).toHaveLength(2);
  expect(await ledger.readCall('other', 'second')).toBeDefined();
  const woken = whenAppended(ledger, seen.at(-1)?.position ?? 0);
  await client.query('COMMIT');
  await woken;
  expect(await ledger.readEntries({ limit: 10 })).toHaveLength(2);
});

test('verify finds nothing while an older transaction of the server is open', async () => {
  newSchema();
  const ledger = await open();
  const old = new SampleCall('old');
  await ledger.append(old.begin());
  const client = await openClient();
  await client.query('BEGIN');
  await client.query('SELECT pg_current_xact_id()');
  // Entries that readers of all sessions do not see yet: of a known session, and of a new one.
  await ledger.append(old.end());
  const call = new SampleCall('new', { sessionId: 'new' });
  await ledger.append({
    ...call.begin({ reserve: [{ counter: 'n', amount: 1, limit: 5 }] }),
    claim: { key: 'k', inputDigest: 'sha256:1' },
  });
  const reader = await open({ readOnly: true });
  expect(await findProblems(reader)).toEqual([]);
  await client.query('COMMIT');
  expect(await findProblems(reader)).toEqual([]);
});

test('readers of many overlapping commits see every entry once, in order', async () => {
  newSchema();
  const handles = [await open(), await open()];
  const calls = Array.from({ length: 400 }, (_, n) => new SampleCall(`c${n}`, { sessionId: `s${n % 40}` }));
  const reader = await open({ readOnly: true });
  const seen: string[] = [];
  let after = 0;
  const reading = (async () => {
    while (seen.length < calls.length * 2) {
      const entries = await reader.readEntries({ after, limit: 50 });
      for (const { position, sessionId, sequence } of entries) {
        expect(position).toBeGreaterThan(after);
        after = position;
        seen.push(`${sessionId}/${sequence}`);
      }
      if (entries.length === 0) await whenAppended(reader, after);
    }
  })();
  await Promise.all(
    calls.map(async (call, n) => {
      await handles[n % 2]?.append(call.begin());
      await handles[(n + 1) % 2]?.append(call.end());
    }),
  );
  await reading;
  expect(new Set(seen).size).toBe(calls.length * 2);
});

test('the last position never runs ahead of entries whose commits are slow', async () => {
  newSchema();
  const handles = await Promise.all([open(), open(), open()]);
  const client = await openClient();
  await client.query(`SET search_path = ${schema}`);
  const reader = await open({ readOnly: true });
  const looks: { readonly last: number; readonly seen: number }[] = [];
  let writing = true;
  const countUntil = async (last: number): Promise<number> => {
    const { rows } = await client.query<{ count: string }>(
      'SELECT count(*) AS count FROM entries WHERE position <= $1',
      [last],
    );
    return Number(rows[0]?.count);
  };
  const looking = (async () => {
    while (writing) {
      const last = await lastPosition(reader);
      looks.push({ last, seen: await countUntil(last) });
    }
  })();
  // Appends wait for the lock after they got their positions, and then commit in any order.
  const locker = await openClient();
  const locking = (async () => {
    while (writing)
      await locker.query(
        `BEGIN; LOCK TABLE ${schema}.entries IN SHARE MODE; SELECT pg_sleep(random() * 0.03); COMMIT`,
      );
  })();
  // On a busy machine the reader may get little time meanwhile.
  const hasSeenMuch = (): boolean => looks.length > 10 && new Set(looks.map(({ last }) => last)).size > 5;
  await Promise.all(
    handles.map(async (ledger, host) => {
      for (let n = 0; n < 12 || (n < 100 && !hasSeenMuch()); n++)
        await Promise.all(
          [0, 1, 2].map(async (session) => {
            const call = new SampleCall(`c${host}-${n}-${session}`, { sessionId: `s${host}-${session}` });
            await ledger.append(call.begin());
          }),
        );
    }),
  );
  writing = false;
  await Promise.all([looking, locking]);
  expect(hasSeenMuch()).toBe(true);
  // No entry appears later before a position that a reader already has.
  for (const { last, seen } of looks) expect(await countUntil(last)).toBe(seen);
  await expect
    .poll(() => lastPosition(reader))
    .toBe((await handles[0]?.readEntries({ limit: 1_000 }))?.at(-1)?.position);
});

describe('a ledger that came from a server with higher transaction ids', () => {
  /** What a dump and logical replication do to processes that go on: the ids of transactions begin lower. */
  async function moveToOtherServer(ledger: OpenLedger): Promise<number> {
    const client = await openClient();
    await client.query(`UPDATE ${schema}.ledger SET position_base = 1000000`);
    await ledger.append(new SampleCall('old', { sessionId: 'old' }).begin());
    for (let other = 0; other < 100; other++) await client.query('SELECT pg_current_xact_id()');
    await findCalls(ledger, {});
    const last = await lastPosition(ledger);
    await client.query(`UPDATE ${schema}.ledger SET position_base = 0`);
    return last;
  }

  test('takes entries of processes that go on at higher positions, so that lists and readers see them', async () => {
    newSchema();
    const ledgers = await Promise.all([open(), open(), open()]);
    const last = await moveToOtherServer(ledgers[0]);
    const names = Array.from({ length: 30 }, (_, n) => `s${n}`);
    await Promise.all(
      names.map(async (sessionId, n) => ledgers[n % 3]?.append(new SampleCall('c', { sessionId }).begin())),
    );
    await expect.poll(() => ledgers[1].readEntries({ after: last, limit: 100 })).toHaveLength(names.length);
    const entries = await ledgers[1].readEntries({ after: last, limit: 100 });
    expect(new Set(entries.map(({ position }) => position)).size).toBe(names.length);
    const { rows } = await findCalls(ledgers[2], { limit: 100 });
    expect(rows.map(({ sessionId }) => sessionId).sort()).toEqual([...names, 'old'].sort());
    // A session of before goes on too.
    await ledgers[0].append(new SampleCall('new', { sessionId: 'old' }).begin());
    expect((await findCalls(ledgers[2], { limit: 100 })).rows).toHaveLength(names.length + 2);
  });

  test('takes an erasure and a removal by processes that go on', async () => {
    newSchema();
    const [ledger, other] = [await open(), await open()];
    for (const sessionId of ['erased', 'dropped'])
      await ledger.append(new SampleCall('done', { sessionId }).whole());
    await moveToOtherServer(ledger);
    expect(await ledger.erase({ sessionId: 'erased', by: 'Ada', reason: 'asked' })).toBeGreaterThan(0);
    await moveToOtherServer(ledger);
    expect(await other.dropSession({ sessionId: 'dropped', by: 'Ada', reason: 'old' })).toBe(true);
    expect((await findCalls(ledger, {})).rows.map(({ sessionId }) => sessionId)).toContain('erased');
  });

  test('takes entries of a process that opens it at higher positions', async () => {
    newSchema();
    await moveToOtherServer(await open());
    const ledger = await open();
    await ledger.append(new SampleCall('c', { sessionId: 'new' }).begin());
    expect((await findCalls(ledger, {})).rows).toHaveLength(2);
  });
});

test('an owner is gone when its connection ended and its lease is over, and not before', async () => {
  newSchema();
  const proxy = await openProxy();
  const other = await open();
  const [ownerLeaseMs, beganMs] = [1_000, performance.now()];
  const owner = await open({ ownerLeaseMs }, proxy.url);
  const { ownerId } = owner;
  expect(await statusOfOwner(other, ownerId)).toBe('alive');
  proxy.dropAnswers(); // its renewals fail from now on
  proxy.cut();
  const status = await statusOfOwner(other, ownerId);
  // On a busy machine the lease may have ended by now.
  const isLeased = performance.now() - beganMs < ownerLeaseMs;
  expect([isLeased, status]).not.toEqual([true, 'gone']);
  await expect.poll(() => statusOfOwner(other, ownerId)).toBe('gone');
});

test('[one-outcome] an owner lives as long as it holds its session lock, although its lease is over', async () => {
  newSchema();
  const owner = await open({ ownerLeaseMs: 3_600_000 });
  const other = await open();
  const { ownerId } = owner;
  const client = await openClient();
  // As when the process is stopped, or too busy to renew its lease.
  await client.query(
    `UPDATE ${schema}.owners SET renewed_at = clock_timestamp() - interval '1 day' WHERE owner_id = $1`,
    [ownerId],
  );
  expect(await statusOfOwner(other, ownerId)).toBe('alive');
  // The lock counts, and nothing else: without it the owner is gone.
  await client.query(
    `SELECT pg_terminate_backend(l.pid, 60000) FROM pg_locks l JOIN ${schema}.owners o
       ON l.objid::bigint = (o.lock_key & 4294967295)
     WHERE l.locktype = 'advisory' AND l.objsubid = 2 AND o.owner_id = $1`,
    [ownerId],
  );
  await expect.poll(() => statusOfOwner(other, ownerId)).toBe('gone');
});

test('[one-outcome] an owner whose status cannot be read counts as unknown, and never as gone', async () => {
  newSchema();
  const [owner, other] = [await open(), await open()];
  const { ownerId } = owner;
  expect(await statusOfOwner(other, ownerId)).toBe('alive');
  const client = await openClient();
  await client.query(`ALTER TABLE ${schema}.owners RENAME TO owners_away`);
  expect(await statusOfOwner(other, ownerId)).toBe('unknown');
  await client.query(`ALTER TABLE ${schema}.owners_away RENAME TO owners`);
  expect(await statusOfOwner(other, ownerId)).toBe('alive');
});

/** How often the lease of an owner was renewed, seen by another program. */
async function watchRenewals(ownerId: string): Promise<() => Promise<number>> {
  const client = await openClient();
  const seen = new Set<string>();
  return async () => {
    const { rows } = await client.query<{ at: string }>(
      `SELECT renewed_at::text AS at FROM ${schema}.owners WHERE owner_id = $1`,
      [ownerId],
    );
    seen.add(rows[0]?.at ?? '');
    return seen.size;
  };
}

test('a lease is renewed while all readers wait for a lock', async () => {
  newSchema();
  const ledger = await open({ readers: 1, listen: false, ownerLeaseMs: 500 });
  const client = await openClient();
  await client.query(`BEGIN; LOCK TABLE ${schema}.read_calls`);
  const list = findCalls(ledger, {});
  const countRenewals = await watchRenewals(ledger.ownerId);
  await expect.poll(countRenewals).toBeGreaterThan(4);
  await client.query('ROLLBACK');
  expect((await list).rows).toEqual([]);
});

test('a lease is renewed while the listening connection is silent, and while no other can be made', async () => {
  newSchema();
  const proxy = await openProxy();
  const other = await open();
  const ledger = await open({ listen: proxy.url, ownerLeaseMs: 500 });
  const countRenewals = await watchRenewals(ledger.ownerId);
  proxy.stall();
  await expect.poll(countRenewals).toBeGreaterThan(4);
  const before = { renewals: await countRenewals(), connections: proxy.countConnections() };
  proxy.cut();
  await expect.poll(countRenewals).toBeGreaterThan(before.renewals + 4);
  // A renewal that waited for a connection would need an attempt of its own.
  expect(proxy.countConnections() - before.connections).toBeLessThan(4);
  expect(await statusOfOwner(other, ledger.ownerId)).toBe('alive');
  proxy.resume();
});

test('many processes that open a new ledger at once create its tables once', async () => {
  for (let round = 0; round < 5; round++) {
    newSchema();
    const ledgers = await Promise.all(Array.from({ length: 6 }, () => open()));
    await Promise.all(ledgers.map(async (ledger, n) => ledger.append(new SampleCall(`c${n}`).begin())));
    // Another test may have a transaction open on the same server, which delays entries of other processes.
    await expect.poll(() => ledgers[0]?.readEntries({ limit: 10 })).toHaveLength(6);
  }
});

test('a process with another seal key is refused at start', async () => {
  newSchema();
  await open({ sealKey: Buffer.alloc(32, 1) });
  await expect(open({ sealKey: Buffer.alloc(32, 2) })).rejects.toMatchObject({ code: 'config.invalid' });
  await open({ sealKey: Buffer.alloc(32, 1) });
});

test('a server that cannot be reached is ledger.unavailable, and a bad URL is config.invalid', async () => {
  newSchema();
  await expect(open({}, 'postgres://nobody@127.0.0.1:1/none')).rejects.toMatchObject({
    code: 'ledger.unavailable',
  });
  await expect(open({}, 'mysql://localhost/none')).rejects.toMatchObject({ code: 'config.invalid' });
  await expect(open({ schema: 'Robert"; DROP' })).rejects.toMatchObject({ code: 'config.invalid' });
});
