/** How many round trips a call takes, and that saving them skips no check. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import type { Runtime } from 'quittance';
import { createRuntime, defineTool } from 'quittance';
import type { OpenLedger } from 'quittance/store';
import { BoundedReads } from '../../packages/server/src/http/bounded-reads.ts';
import { readStats } from '../../packages/server/src/http/read-stats.ts';
import { countHits } from '../../packages/server/src/http/readings.ts';
import { SampleCall } from '../../packages/quittance/src/testing/sample-call.ts';
import { openPostgresLedger } from '../../packages/postgres/src/open-postgres-ledger.ts';
import type { PgProxy } from './start-proxy.ts';
import { startProxy } from './start-proxy.ts';
import type { TestPostgres } from './start-postgres.ts';
import { startPostgres } from './start-postgres.ts';
import { findCalls } from '../../packages/quittance/src/ledger/reads.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-round-trips-'));
const sealKey = Buffer.alloc(32, 1);
let server: TestPostgres;
let proxy: PgProxy;
let schemas = 0;
let schema = '';
const opened: { close(): Promise<void> }[] = [];

beforeAll(async () => {
  vi.stubEnv('QUITTANCE_SEAL_KEY', sealKey.toString('hex'));
  server = await startPostgres();
  proxy = await startProxy(server.url);
});
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await proxy.close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

const newSchema = (): void => {
  schema = `trips_${process.pid}_${schemas++}`;
};

async function open(url = server.url): Promise<OpenLedger> {
  const ledger = await openPostgresLedger(url, { schema, sealKey, spillFolder: join(folder, schema) });
  opened.push(ledger);
  return ledger;
}

type Ran = { readonly runtime: Runtime; readonly ran: string[]; readonly judged: string[] };

function run(ledger: OpenLedger | string, fate: 'works' | 'breaks' = 'works', limit?: number): Ran {
  const ran: string[] = [];
  const judged: string[] = [];
  const runtime = createRuntime({
    ledger,
    tools: [
      defineTool({
        name: 'send_mail',
        mode: 'external',
        run: (_, { callId }) => {
          ran.push(callId);
          if (fate === 'breaks') throw new Error('the connection to the mail server was lost');
          return { sent: callId };
        },
      }),
      defineTool({ name: 'get_weather', mode: 'read', run: () => ({ sun: true }) }),
    ],
    budgets: limit === undefined ? [] : [{ scope: 'all', toolCalls: limit }],
    onPreToolUse: ({ callId }) => {
      judged.push(callId);
      return { type: 'allow' };
    },
  });
  opened.push(runtime);
  return { runtime, ran, judged };
}

const mail = (id: string) => ({ id, name: 'send_mail', arguments: { to: 'ada' } });

/** Statements of calls: not those that renew a lease, wake other processes or fill lists. */
const ofCalls = (): string[] =>
  proxy.statements.filter((text) => /append_v3|entries|unsettled|claims/.test(text) && !/read_/.test(text));

test.each([
  ['on an open ledger', () => open(proxy.url)],
  ['on the URL of its ledger', () => `${proxy.url}?schema=${schema}`],
])('a new call of a tool with an effect costs two round trips in a runtime %s', async (_, toLedger) => {
  newSchema();
  const { runtime } = run(await toLedger());
  const turn = runtime.turn({ sessionId: 's' });
  await turn.call(mail('first')); // a turn first looks for calls of processes that are gone
  proxy.statements.length = 0;
  await turn.call(mail('second'));
  expect(ofCalls().map((text) => /append_v3/.exec(text)?.[0])).toEqual(['append_v3', 'append_v3']);
});

test('concurrent calls share their look-ups and their commits', async () => {
  newSchema();
  const { runtime } = run(await open(proxy.url));
  const turn = runtime.turn({ sessionId: 's' });
  await turn.call({ id: 'first', name: 'get_weather', arguments: {} });
  proxy.statements.length = 0;
  await Promise.all(
    Array.from({ length: 100 }, (_, n) => turn.call({ id: `c${n}`, name: 'get_weather', arguments: { n } })),
  );
  expect(ofCalls().length).toBeLessThan(12);
});

test('large entries are not sent in one statement, however many wait', async () => {
  newSchema();
  const ledger = await open(`${proxy.url}?writers=1`);
  await ledger.append(new SampleCall('first').begin());
  proxy.statements.length = 0;
  const input = { text: 'x'.repeat(1_500_000) };
  const calls = Array.from({ length: 6 }, (_, n) => new SampleCall(`large-${n}`, { input }));
  const small = Array.from({ length: 40 }, (_, n) => new SampleCall(`small-${n}`));
  const results = await Promise.all([...calls, ...small].map(async (call) => ledger.append(call.begin())));
  expect(new Set(results.map(({ status }) => status))).toEqual(new Set(['appended']));
  // Two of them fit into a statement. The small ones go with the last of them.
  expect(proxy.statements.filter((text) => text.includes('append_v3'))).toHaveLength(3);
});

test('a call that another process made is answered with its outcome and does not run again', async () => {
  newSchema();
  const one = run(await open());
  const other = run(await open());
  const first = await one.runtime.turn({ sessionId: 's' }).call(mail('c'));
  const again = await other.runtime.turn({ sessionId: 's' }).call(mail('c'));
  expect(again).toEqual(first);
  expect(other.ran).toEqual([]);
  expect(other.judged).toEqual(['c']); // the look-up was spared, so the hook saw it
  expect(await other.runtime.turn({ sessionId: 's' }).call(mail('c'))).toEqual(first);
  expect(other.judged).toEqual(['c']); // now this process knows the call
  const different = await other.runtime
    .turn({ sessionId: 's' })
    .call({ id: 'c', name: 'send_mail', arguments: { to: 'bob' } });
  expect(different).toMatchObject({ type: 'ToolDenied', reason: 'conflict' });
});

test.each([undefined, 100])(
  'no-silent-rerun: a repeat of an unresolved effect of another process is held, not run (limit %s)',
  async (limit) => {
    newSchema();
    const one = run(await open(), 'breaks', limit);
    const other = run(await open(), 'works', limit);
    const failed = await one.runtime.turn({ sessionId: 's' }).call(mail('first'));
    expect(failed).toMatchObject({ type: 'ToolFailure' });
    const turn = other.runtime.turn({ sessionId: 's' });
    const held = await turn.call(mail('second'), { ifHeld: 'return' }).catch((error: unknown) => error);
    expect(other.ran).toEqual([]);
    const { rows } = await other.runtime.confirmations.list({ status: 'pending' });
    expect(rows).toMatchObject([{ callId: 'second' }]);
    expect(held).toBeDefined();
    // Other inputs are not concerned.
    await turn.call({ id: 'third', name: 'send_mail', arguments: { to: 'bob' } });
    expect(other.ran).toEqual(['third']);
  },
);

test('numbers of a month and hits of rules take a few round trips, however many calls there are', async () => {
  newSchema();
  const ledger = await open(proxy.url);
  const { runtime } = run(ledger, 'works', 1_000);
  const turn = runtime.turn({ sessionId: 's' });
  await Promise.all(
    Array.from({ length: 150 }, (_, n) => turn.call({ id: `c${n}`, name: 'get_weather', arguments: { n } })),
  );
  await findCalls(ledger, { limit: 1 }); // fills the lists
  const limits = { callBytes: 4_194_304, totalBytes: 2_097_152, timeMs: 60_000 };
  const until = ledger.now() + 1;
  const asked = async (read: () => Promise<unknown>): Promise<number> => {
    proxy.statements.length = 0;
    await read();
    return proxy.statements.filter((text) => /read_|entries|counters/.test(text)).length;
  };
  const span = { since: until - 30 * 86_400_000, until, buckets: 48, toolName: undefined };
  const month = await asked(() => readStats(new BoundedReads(ledger, limits), span, runtime.budgets));
  expect(month).toBeLessThan(20);
  expect(await asked(() => countHits(new BoundedReads(ledger, limits), {}))).toBeLessThan(12);
});
