/** Retention, erase and drop: from the command line, from the settings of the server, and over HTTP. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Runtime } from 'quittance';
import { createRuntime, defineTool } from 'quittance';
import type { HttpServer } from '@quittance/server';
import { createHttpServer } from '@quittance/server';
import { openLedger } from 'quittance/ledger';
import type { ManualClock } from 'quittance/testing';
import { createManualClock } from 'quittance/testing';
import type { OpenLedger } from 'quittance/store';
import { applyRetention } from '../../packages/quittance/src/ledger/removal.ts';
import { runRetention } from '../../packages/cli/src/commands/serve.ts';
import { eventually } from '../eventually.ts';
import { sharePostgres } from '../postgres/shared-postgres.ts';
import { confirming, runProgramHere } from '../run-program.ts';
import { findSessions } from '../../packages/quittance/src/ledger/reads.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-removal-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const day = 86_400_000;
const input = { type: 'object' } as const;
const tools = [
  defineTool({ name: 'get', mode: 'read', input, run: () => ({ text: 'contents' }) }),
  defineTool({ name: 'ask', mode: 'destructive', input, run: () => 1 }),
  defineTool({
    name: 'lose',
    mode: 'external',
    input,
    run: () => {
      throw new Error('The connection broke.');
    },
  }),
];

const stores = ['sqlite', 'postgres'] as const;
describe.each(stores)('on %s', (kind) => {
  let url: string;
  let ledger: OpenLedger;
  let runtime: Runtime;
  let server: HttpServer;
  let clock: ManualClock;
  beforeAll(async () => {
    url =
      kind === 'sqlite'
        ? join(folder, 'ledger.db')
        : `${(await sharePostgres()).url}?schema=removal_${process.pid}_${Date.now().toString(36)}`;
    clock = createManualClock(Date.now());
    ledger = await openLedger(url, { clock, sealKey: new Uint8Array(32).fill(5) });
    runtime = createRuntime({ tools, ledger, clock });
    server = await createHttpServer({ ledger, runtime, port: 0, localName: 'ada' });
  });
  afterAll(async () => {
    await server.close();
    await runtime.close();
    await ledger.close();
  });

  const make = async (sessionId: string, name: string): Promise<void> => {
    const turn = runtime.turn({ sessionId });
    if (name === 'ask') await turn.submit({ id: 'c', name, arguments: {} }).accepted;
    else await turn.call({ id: 'c', name, arguments: {} });
  };
  const post = (path: string, body: object, token = server.token): Promise<Response> =>
    fetch(`${server.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token ?? ''}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const sessions = async (): Promise<readonly string[]> =>
    (await findSessions(ledger, { limit: 100 })).rows.map(({ sessionId }) => sessionId).sort();
  const ownEvents = async (): Promise<readonly object[]> => ledger.readSession('quittance.ledger');

  test('an admin erases a call and drops a session over HTTP, and the chain says who and why', async () => {
    for (const id of ['h1', 'h2']) await make(id, 'get');
    expect((await post('/v1/sessions/h1/calls/c/erase', {})).status).toBe(400);
    expect((await post('/v1/sessions/h1/calls/c/erase', { reason: 'x' }, 'wrong')).status).toBe(401);
    expect((await post('/v1/sessions/none/drop', { reason: 'x' })).status).toBe(404);
    const erased = await post('/v1/sessions/h1/calls/c/erase', { reason: 'request 17' });
    expect(await erased.json()).toMatchObject({ sessionId: 'h1' });
    expect(await ledger.readSession('h1', 'without_call')).toContainEqual(
      expect.objectContaining({ type: 'body.erased', reason: 'request 17' }),
    );
    expect(JSON.stringify(await runtime.calls.list({ sessionId: 'h1' }))).not.toContain('contents');
    expect((await post('/v1/sessions/h2/drop', { reason: 'request 18' })).status).toBe(200);
    expect(await sessions()).not.toContain('h2');
    expect(await ownEvents()).toContainEqual(
      expect.objectContaining({ type: 'session.dropped', reason: 'request 18' }),
    );
    expect(JSON.stringify(await ownEvents())).toContain('"kind":"token"');
  });

  test('open, held and unresolved calls are never removed', async () => {
    await make('held', 'ask');
    await make('lost', 'lose');
    for (const id of ['held', 'lost'])
      for (const way of ['erase', 'drop'])
        expect([id, way, (await post(`/v1/sessions/${id}/${way}`, { reason: 'x' })).status]).toEqual([
          id,
          way,
          409,
        ]);
    expect(await sessions()).toEqual(expect.arrayContaining(['held', 'lost']));
  });

  test('rules of age and session apply to old sessions, first match first', async () => {
    for (const id of ['test-1', 'test-2', 'audit-1']) await make(id, 'get');
    clock.advance(10 * day);
    // The question of the held call expires. Until that is stored, the call is open and its session stays.
    await eventually(async () => {
      const [held] = await runtime.calls.list({ sessionId: 'held' });
      expect(held?.status).toBe('settled');
    });
    await make('test-3', 'get');
    const rules = [
      { session: 'audit-*', olderThanMs: 365 * day, action: 'drop' },
      { session: 'test-*', olderThanMs: 7 * day, action: 'drop' },
      { olderThanMs: 9 * day, action: 'erase' },
    ] as const;
    const { signal } = new AbortController();
    const reason = { by: 'ada', reason: 'retention' };
    const dry = await applyRetention(ledger, rules, reason, { signal, dryRun: true });
    expect(dry).toMatchObject({ dropped: expect.arrayContaining(['test-1', 'test-2']) as string[] });
    const run = await applyRetention(ledger, rules, reason, { signal });
    expect([run.dropped.toSorted(), run.kept.toSorted()]).toEqual([['test-1', 'test-2'], ['lost']]);
    expect(await sessions()).toEqual(['audit-1', 'h1', 'held', 'lost', 'test-3']);
  });

  test('the server applies the rules by itself, and logs it', async () => {
    await make('old', 'get');
    clock.advance(100 * day);
    const lines: string[] = [];
    const log = {
      format: 'json' as const,
      write: (_level: string, event: string): Promise<void> => Promise.resolve(void lines.push(event)),
    };
    const rules = [{ session: 'old', olderThanMs: day, action: 'drop' as const }];
    const stop = runRetention(ledger, rules, 3_600_000, log, 1);
    await eventually(async () => expect(await sessions()).not.toContain('old'));
    await stop();
    expect(lines).toEqual(['retention.applied']);
  });
});

test('the command line erases, drops and applies rules, also from a configuration file', async () => {
  const path = join(folder, 'cli.db');
  const clock = createManualClock(Date.now() - 30 * day);
  const ledger = await openLedger(path, { clock });
  const runtime = createRuntime({ tools, ledger, clock });
  for (const id of ['a', 'b', 'old-1', 'old-2']) {
    await runtime.turn({ sessionId: id }).call({ id: 'c', name: 'get', arguments: {} });
  }
  await runtime.turn({ sessionId: 'lost' }).call({ id: 'c', name: 'lose', arguments: {} });
  await runtime.close();
  await ledger.close();
  const run = (...args: readonly string[]): ReturnType<typeof runProgramHere> =>
    runProgramHere([...args, '--ledger', path], { readTyped: confirming });
  expect(await run('erase', '--session', 'a')).toMatchObject({ code: 2 });
  expect(await run('erase', '--session', 'a', '--call', 'c', '--reason', 'r')).toMatchObject({ code: 0 });
  expect(await run('erase', '--session', 'none', '--reason', 'r')).toMatchObject({ code: 1 });
  expect(await run('drop', '--session', 'b', '--reason', 'r')).toMatchObject({ code: 0 });
  expect(await run('drop', '--session', 'b', '--reason', 'r')).toMatchObject({ code: 1 });
  expect(await run('drop', '--session', 'lost', '--reason', 'r')).toMatchObject({
    code: 1,
    err: expect.stringContaining('quittance reconcile') as string,
  });
  const config = join(folder, 'retention.yaml');
  writeFileSync(config, 'retention:\n  rules: [{ older_than: 7d, session: "old-*" }]\n');
  const args = ['retention', '--config', config];
  expect(await run(...args, '--dry-run', '--json')).toMatchObject({
    code: 0,
    out: expect.stringContaining('"dryRun":true') as string,
  });
  expect(await run(...args, '--reason', 'r')).toMatchObject({
    code: 0,
    err: '2 dropped, 0 erased, 0 kept.\n',
  });
  expect(await run('verify')).toMatchObject({ code: 0 });
});
