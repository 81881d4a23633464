/**
 * Rows beside the entries that another program changes or deletes, while processes use the ledger. The entries decide: no
 * effect runs twice, and no limit is exceeded.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { createRuntime, defineTool, ToolError } from 'quittance';
import { contractsFromYamlString } from 'quittance/contracts';
import { openPostgresLedger } from '../../packages/postgres/src/open-postgres-ledger.ts';
import { SampleCall } from '../../packages/quittance/src/testing/sample-call.ts';
import type { TestPostgres } from './start-postgres.ts';
import { sharePostgres } from './shared-postgres.ts';
import { findProblems } from './verify.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-pg-rows-'));
const anything = { type: 'object' } as const;
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

/** A ledger, and the runs of its calls. */
async function stage() {
  const schema = `rows_${process.pid}_${stages++}`;
  const ledger = await openPostgresLedger(server.url, {
    schema,
    sealKey: Buffer.alloc(32),
    spillFolder: join(folder, schema),
  });
  const ran: string[] = [];
  const run = (_: unknown, { callId }: { callId: string }): string => {
    ran.push(callId);
    return 'done';
  };
  const runtime = createRuntime({
    ledger,
    tools: [
      defineTool({ name: 'pay', mode: 'external', input: anything, loopLimit: 1_000, run }),
      defineTool({ name: 'order', mode: 'external', input: anything, idempotencyKey: () => 'the key', run }),
      defineTool({
        name: 'send',
        mode: 'external',
        input: anything,
        rerun: 'deny',
        run: (input, context) => {
          run(input, context);
          throw new ToolError('tool.network_error', 'The line was cut.');
        },
      }),
    ],
    budgets: [{ scope: 'team', toolCalls: 4, per: 'day' }],
  });
  opened.push(ledger, runtime);
  /** How a call ends: the type or the reason of its outcome, or the code of the error. */
  const call = async (id: string, name: 'pay' | 'order' | 'send', sessionId = 's'): Promise<string> => {
    try {
      const outcome = await runtime.turn({ sessionId }).call({ id, name, arguments: {} });
      return 'code' in outcome ? outcome.code : outcome.type;
    } catch (error) {
      return (error as { code?: string }).code ?? String(error);
    }
  };
  return {
    ledger,
    ran,
    call,
    edit: async (sql: string): Promise<void> => {
      await client.query(`SET search_path TO ${schema}; ${sql}; RESET search_path`);
    },
  };
}

const claims: readonly (readonly [what: string, sql: string])[] = [
  ['deleted the claim', 'DELETE FROM claims'],
  ['made the claim another call’s', `UPDATE claims SET call_id = 'x', session_id = 'y'`],
  ['made the claim about another input', `UPDATE claims SET digest = 'x'`],
  ['gave the claim another key', `UPDATE claims SET key = 'x'`],
  ['deleted the mark of the claim', `DELETE FROM marks WHERE key LIKE 'claim%'`],
  [
    'moved the mark of the claim',
    `UPDATE marks SET position = (SELECT min(position) FROM entries) WHERE key LIKE 'claim%'`,
  ],
  ['moved the mark of the claim to no entry', `UPDATE marks SET position = 1 WHERE key LIKE 'claim%'`],
  ['emptied both tables', 'DELETE FROM claims; DELETE FROM marks'],
];
it.each(claims)(
  '[no-silent-rerun] on PostgreSQL an effect with a key of the tool runs once, even after another program %s',
  async (_, sql) => {
    const { call, edit, ran } = await stage();
    await call('before', 'pay');
    expect(await call('first', 'order')).toBe('ToolExecutionResult');
    await edit(sql);
    await call('second', 'order', 's');
    await call('third', 'order', 's');
    expect(ran).toEqual(['before', 'first']);
  },
);

it('an append does not take a key whose claim another program deleted', async () => {
  const { ledger, edit } = await stage();
  const claim = { key: 'k', inputDigest: 'd' };
  await ledger.append(new SampleCall('first').begin({ claim }));
  await edit('DELETE FROM claims');
  expect(await ledger.append(new SampleCall('second').begin({ claim }))).toEqual({
    status: 'claimed',
    holder: { sessionId: 'session', callId: 'first', inputDigest: 'd' },
  });
  await edit('DELETE FROM marks');
  await expect(ledger.append(new SampleCall('third').begin({ claim }))).rejects.toMatchObject({
    code: 'ledger.damaged',
  });
});

const counters: readonly (readonly [what: string, sql: string])[] = [
  ['lowered the counter', 'UPDATE counters SET used = 0, reserved = 0'],
  ['deleted the counter', 'DELETE FROM counters'],
  ['renamed the counter', `UPDATE counters SET name = name || 'x'`],
  ['deleted the counter and its mark', `DELETE FROM counters; DELETE FROM marks`],
  [
    'moved the mark of the counter',
    `UPDATE marks SET position = (SELECT min(position) FROM entries) WHERE key LIKE 'counter%'; UPDATE counters SET used = 1, reserved = 0`,
  ],
];
it.each(counters)(
  '[limits-hold] on PostgreSQL a limit holds, even after another program %s',
  async (_, sql) => {
    const { call, edit, ran } = await stage();
    for (const id of ['one', 'two', 'three', 'four']) await call(id, 'pay');
    await edit(sql);
    for (const id of ['five', 'six']) expect(await call(id, 'pay', 'other')).not.toBe('ToolExecutionResult');
    expect(ran).toEqual(['one', 'two', 'three', 'four']);
  },
);

it('a counter that was raised is reported as damage, and a rebuild corrects it', async () => {
  const { ledger, call, edit } = await stage();
  await call('one', 'pay');
  await edit('UPDATE counters SET used = 2');
  expect(await call('two', 'pay')).toBe('ledger.unavailable');
  await ledger.rebuild();
  expect(await call('two', 'pay')).toBe('ToolExecutionResult');
  expect(await findProblems(ledger)).toEqual([]);
});

const effects: readonly (readonly [what: string, sql: string])[] = [
  ['deleted its row', 'DELETE FROM unsettled'],
  ['gave its row another input', `UPDATE unsettled SET digest = 'x'`],
  ['gave its row another tool', `UPDATE unsettled SET tool = 'x'`],
];
it.each(effects)(
  '[no-silent-rerun] on PostgreSQL an effect that may have happened does not run again, even after another program %s',
  async (_, sql) => {
    const { call, edit, ran } = await stage();
    expect(await call('first', 'send')).toBe('tool.network_error');
    await edit(sql);
    await call('second', 'send');
    expect(ran).toEqual(['first']);
  },
);

const release = `apiVersion: edictum/v1
kind: Workflow
metadata:
  name: release
stages:
  - id: study
    tools: [look]
    exit:
      - condition: file_read("plan.md")
        message: Read plan.md first.
  - id: push
    tools: [push]
`;
const states: readonly (readonly [what: string, sql: string])[] = [
  ['added what was not read', `UPDATE states SET text = replace(text, 'other.md', 'plan.md')`],
  ['moved it to a later stage', `UPDATE states SET text = replace(text, '"study"', '"push"')`],
  ['gave it another version', 'UPDATE states SET version = version + 1'],
  ['gave it to another session', `UPDATE states SET session_id = 'other'`],
  ['deleted its row', 'DELETE FROM states'],
  ['deleted its mark', `DELETE FROM marks WHERE key LIKE 'state%'`],
  [
    'moved its mark',
    `UPDATE marks SET position = (SELECT min(position) FROM entries) WHERE key LIKE 'state%'`,
  ],
];
it.each(states)('on PostgreSQL a workflow does not advance after another program %s', async (_, sql) => {
  const { ledger, edit, ran } = await stage();
  const run = (_given: unknown, { callId }: { callId: string }): number => ran.push(callId);
  const input = { type: 'object', properties: { path: { type: 'string' } } } as const;
  const runtime = createRuntime({
    ledger,
    tools: [
      defineTool({ name: 'look', mode: 'read', input, run }),
      defineTool({ name: 'push', mode: 'safe_write', input: anything, run }),
    ],
    contracts: contractsFromYamlString(release, { evidence: { look: { reads: ['path'] } } }),
  });
  opened.push(runtime);
  const call = async (id: string, name: string, given: Record<string, string> = {}): Promise<void> => {
    await runtime
      .turn({ sessionId: 's' })
      .call({ id, name, arguments: given })
      .catch(() => undefined);
  };
  await call('other', 'look', { path: 'other.md' });
  await edit(sql);
  await call('early', 'push');
  expect(ran).toEqual(['other']);
  await ledger.rebuild();
  await call('plan', 'look', { path: 'plan.md' });
  await call('late', 'push');
  expect(ran).toEqual(['other', 'plan', 'late']);
});
