/** A runtime that is given the URL of its ledger. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import pg from 'pg';
import { createRuntime, defineTool } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { envelope } from '../stage.ts';
import { Proxy } from './proxy.ts';
import { sharePostgres } from './shared-postgres.ts';
import { findCalls } from '../../packages/quittance/src/ledger/reads.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-url-'));
let server = '';
let schemas = 0;
const closing: { close(): Promise<void> }[] = [];

beforeAll(async () => {
  server = (await sharePostgres()).url;
  vi.stubEnv('QUITTANCE_SEAL_KEY', 'ab'.repeat(32));
});
afterEach(async () => {
  for (const one of closing.splice(0).reverse()) await one.close();
});
afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

const withSchema = (url: string, schema = `url_${process.pid}_${schemas++}`): string =>
  `${url}?schema=${schema}`;
const closeLater = <Closable extends { close(): Promise<void> }>(one: Closable): Closable => {
  closing.push(one);
  return one;
};
const pay = defineTool({
  name: 'pay',
  mode: 'external',
  idempotencyKey: ({ order }: { order?: string }) => String(order),
  redact: { input: ['card'] },
  run: ({ order }: { order?: string }) => `paid ${String(order)}`,
});
const order = { order: 'o-1', card: '4111' };

test.each([
  ['memory', () => 'memory:'],
  ['SQLite', () => `sqlite:${join(folder, 'deep', 'calls.db')}`],
  ['PostgreSQL', () => withSchema(server)],
])('a runtime opens the %s ledger of its URL, and closes it with itself', async (_, toUrl) => {
  const url = toUrl();
  const runtime = createRuntime({ tools: [pay], ledger: url });
  const outcome = await runtime.turn({ sessionId: 's' }).call(envelope('c', 'pay', order));
  expect(outcome).toMatchObject({ type: 'ToolExecutionResult', output: 'paid o-1' });
  await runtime.close();
  if (url === 'memory:') return;
  const again = closeLater(createRuntime({ tools: [pay], ledger: url }));
  expect(await again.turn({ sessionId: 's' }).call(envelope('c', 'pay', order))).toEqual(outcome);
  const ledger = closeLater(await openLedger(url, { readOnly: true }));
  expect((await findCalls(ledger, {})).rows).toHaveLength(1);
});

test('a closed runtime leaves no connection', async () => {
  const url = new URL(withSchema(server));
  const name = `quittance-close-${process.pid}`;
  url.searchParams.set('application_name', name);
  const runtime = createRuntime({ tools: [pay], ledger: url.href });
  await runtime.turn({ sessionId: 's' }).call(envelope('c', 'pay', order));
  const client = new pg.Client({ connectionString: server });
  await client.connect();
  closing.push({ close: () => client.end() });
  const count = async (): Promise<unknown> =>
    (await client.query('SELECT count(*)::integer FROM pg_stat_activity WHERE application_name = $1', [name]))
      .rows[0];
  expect(await count()).not.toEqual({ count: 0 });
  await runtime.close();
  await expect.poll(count).toEqual({ count: 0 });
});

test('while the server is away a call is ledger.unavailable, and the runtime works once it comes', async () => {
  const proxy = new Proxy(server);
  await proxy.reserve();
  closing.push(proxy);
  const runtime = closeLater(createRuntime({ tools: [pay], ledger: withSchema(proxy.url) }));
  const turn = runtime.turn({ sessionId: 's' });
  const calls = await Promise.all([
    turn.call(envelope('c', 'pay', order)),
    turn.call(envelope('d', 'pay', { order: 'o-2' })),
  ]);
  for (const outcome of calls)
    expect(outcome).toMatchObject({
      type: 'ToolFailure',
      code: 'ledger.unavailable',
      retryable: true,
      error: expect.stringContaining('ECONNREFUSED'),
    });
  await expect(runtime.calls.list({ sessionId: 's' })).rejects.toMatchObject({ code: 'ledger.unavailable' });
  await proxy.open();
  expect(await turn.call(envelope('c', 'pay', order))).toMatchObject({ output: 'paid o-1' });
  await proxy.close();
  expect(await turn.call(envelope('e', 'pay', { order: 'o-3' }))).toMatchObject({
    code: 'ledger.unavailable',
  });
  await proxy.open();
  expect(await turn.call(envelope('e', 'pay', { order: 'o-3' }))).toMatchObject({ output: 'paid o-3' });
  expect(await runtime.calls.list({ sessionId: 's' })).toHaveLength(2);
});

test('a runtime that never opened its ledger closes at once, and one that opens it closes it', async () => {
  const url = `sqlite:${join(folder, 'never.db')}`;
  await createRuntime({ tools: [pay], ledger: url }).close();
  const early = createRuntime({ tools: [pay], ledger: withSchema(server) });
  const call = early.turn({ sessionId: 's' }).call(envelope('c', 'pay', order));
  await early.close();
  expect(await call).toMatchObject({ output: 'paid o-1' });
});

test('the password is in no error, no outcome and no description of the runtime', async () => {
  const url = new URL(withSchema(server));
  url.password = 'hunter2';
  const runtime = closeLater(createRuntime({ tools: [pay], ledger: url.href }));
  const outcome = await runtime.turn({ sessionId: 's' }).call(envelope('c', 'pay', order));
  expect(outcome).toMatchObject({ code: 'ledger.unavailable' });
  const failed = await openLedger(url.href).catch((error: unknown) => error);
  expect(failed).toMatchObject({ code: 'ledger.unavailable', facts: { sqlState: '28P01' } });
  const ledger = closeLater(await openLedger(withSchema(server)));
  const shown = inspect([outcome, failed, runtime, ledger], { depth: 30, showHidden: true });
  expect(shown).not.toContain('hunter2');
  expect(shown).not.toContain(new URL(server).password);
});

test('a process with another seal key is refused, and the others continue', async () => {
  const url = withSchema(server);
  const runtime = closeLater(createRuntime({ tools: [pay], ledger: url }));
  await runtime.turn({ sessionId: 's' }).call(envelope('c', 'pay', order));
  vi.stubEnv('QUITTANCE_SEAL_KEY', 'cd'.repeat(32));
  try {
    const other = closeLater(createRuntime({ tools: [pay], ledger: url }));
    expect(await other.turn({ sessionId: 's' }).call(envelope('d', 'pay', order))).toMatchObject({
      code: 'ledger.unavailable',
      error: expect.stringContaining('another seal key'),
    });
  } finally {
    vi.stubEnv('QUITTANCE_SEAL_KEY', 'ab'.repeat(32));
  }
  expect(await runtime.turn({ sessionId: 's' }).call(envelope('c', 'pay', order))).toMatchObject({
    output: 'paid o-1',
  });
});
