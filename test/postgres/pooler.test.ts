/** A ledger behind a pooler that gives every transaction another connection. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createRuntime, defineTool } from 'quittance';
import type { OpenLedger } from '../../packages/quittance/src/ledger/ledger.ts';
import { openPostgresLedger } from '../../packages/postgres/src/open-postgres-ledger.ts';
import type { PostgresLedgerOptions } from '../../packages/quittance/src/store/postgres-package.ts';
import { ledgerContract } from '../../packages/quittance/src/testing/ledger-contract.ts';
import { SampleCall } from '../../packages/quittance/src/testing/sample-call.ts';
import { PgServer } from './pg-server.ts';
import { findProblems } from './verify.ts';
import type { PgPooler } from './start-pooler.ts';
import { startPooler } from './start-pooler.ts';
import { whenCallChanged } from '../../packages/quittance/src/ledger/reads.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-pooler-'));
const sealKey = Buffer.alloc(32, 1);
let server: PgServer;
let pooler: PgPooler;
let opened = 0;
const open: { close(): Promise<void> }[] = [];

beforeAll(async () => {
  server = await PgServer.create({ settings: ['fsync = off', 'synchronous_commit = off'] });
  pooler = await startPooler(server.url, 6);
});
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});
afterAll(async () => {
  await pooler.close();
  await server.remove();
  rmSync(folder, { recursive: true, force: true });
});

const newSchema = (): string => `pooled_${process.pid}_${opened++}`;
const openPooled = (schema: string, options: PostgresLedgerOptions = {}): Promise<OpenLedger> =>
  openPostgresLedger(pooler.url, {
    listen: false,
    schema,
    sealKey,
    spillFolder: join(folder, schema),
    ...options,
  });

const schemas = new WeakMap<OpenLedger, string>();
const parts = new Set(['claims', 'counters', 'owners', 'shared']);
const checks = ledgerContract({
  async open({ clock }) {
    const schema = newSchema();
    const ledger = await openPooled(schema, { clock });
    schemas.set(ledger, schema);
    return ledger;
  },
  openAnother: (ledger, { clock }) => openPooled(schemas.get(ledger) ?? '', { clock }),
}).filter(({ member }) => parts.has(member));

describe('a PostgreSQL ledger behind a pooler in transaction mode keeps the contract', () => {
  for (const { member, name, run } of checks)
    test(`${member}: ${name}`, async () => {
      await expect(run()).resolves.toBeUndefined();
    });
});

test('a separate listening connection wakes a process whose statements go through a pooler', async () => {
  const schema = newSchema();
  const reader = await openPooled(schema, { listen: server.url });
  const writer = await openPooled(schema);
  open.push(reader, writer);
  const call = new SampleCall('c');
  await writer.append(call.begin());
  const woken = whenCallChanged(reader, 'session', 'c', 1);
  await writer.append(call.end());
  await woken;
  expect(await reader.readCall('session', 'c')).toMatchObject({ version: 2 });
  const [lock] = await server.query(
    `SELECT count(*)::int AS locks FROM pg_locks WHERE locktype = 'advisory'`,
  );
  expect(lock).toEqual({ locks: 1 }); // the writer behind the pooler holds none
});

test('a listening connection can be named in the URL', async () => {
  const schema = newSchema();
  const url = `${pooler.url}?schema=${schema}&listen=${encodeURIComponent(server.url)}&writers=1`;
  const ledger = await openPostgresLedger(url, { sealKey, spillFolder: join(folder, schema) });
  open.push(ledger);
  await ledger.append(new SampleCall('c').begin());
  expect(await ledger.readCall('session', 'c')).toMatchObject({ version: 1 });
});

test('limits-hold: calls of four processes behind a pooler stay within their limit', async () => {
  const schema = newSchema();
  let ran = 0;
  const runtimes = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const ledger = await openPooled(schema);
      const runtime = createRuntime({
        ledger,
        tools: [defineTool({ name: 'send_mail', mode: 'external', run: () => void ran++ })],
        budgets: [{ scope: 'all', toolCalls: 25 }],
      });
      open.push(ledger, runtime);
      return runtime;
    }),
  );
  await Promise.all(
    runtimes.flatMap((runtime, process) => {
      const turn = runtime.turn({ sessionId: `s${process}` });
      return Array.from({ length: 20 }, (_, n) =>
        turn.call({ id: `c${n}`, name: 'send_mail', arguments: { n, process } }),
      );
    }),
  );
  expect(ran).toBe(25);
  expect(pooler.transactions()).toBeGreaterThan(0);
  // The entries of all sessions state the totals of the shared counter in the order of their positions.
  const reader = await openPooled(schema);
  open.push(reader);
  expect(await findProblems(reader)).toEqual([]);
});

test('appends go through a pooler that the settings do not mention', async () => {
  const schema = newSchema();
  // Both keep a statement on the server at first, and are given connections that do not have it or have it already.
  const ledgers = [
    await openPooled(schema, { listen: undefined }),
    await openPooled(schema, { listen: undefined }),
  ];
  open.push(...ledgers);
  for (let n = 0; n < 20; n++)
    for (const [index, ledger] of ledgers.entries())
      expect(await ledger.append(new SampleCall(`c${n}`, { sessionId: `s${index}` }).begin())).toMatchObject({
        status: 'appended',
      });
  expect(await findProblems(ledgers[0] as OpenLedger)).toEqual([]);
  // A lock would stay with a connection of the pooler, and the process would count as alive after its end.
  const [lock] = await server.query(
    `SELECT count(*)::int AS locks FROM pg_locks WHERE locktype = 'advisory'`,
  );
  expect(lock).toEqual({ locks: 0 });
});
