/** `quittance copy` between a file and PostgreSQL. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { createRuntime, defineTool } from 'quittance';
import { openLedger } from 'quittance/ledger';
import type { OpenLedger } from 'quittance/store';
import type { StoredEntry } from '../../packages/quittance/src/ledger/stored-entry.ts';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { copyLedger } from '../../packages/cli/src/ledgers/copy-ledger.ts';
import { fillLedger } from '../fill-ledger.ts';
import { runCli } from '../run-cli.ts';
import { runProgramHere } from '../run-program.ts';
import { envelope } from '../stage.ts';
import { sharePostgres } from './shared-postgres.ts';
import { findProblems } from './verify.ts';
import {
  readHeads,
  readSideRows,
  readWholeArtifact,
  readSealed,
  findCalls,
  countSessions,
} from '../../packages/quittance/src/ledger/reads.ts';
import { openBare } from '../bare-database.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-copy-'));
const original = join(folder, 'original.db');
let server = '';
let admin: pg.Client;
let count = 0;
let path: string;
let database: string;

const signal = new AbortController().signal;
const copy = (from: string, to: string) => copyLedger(from, to, { signal });

const pay = defineTool({
  name: 'pay',
  mode: 'destructive',
  idempotencyKey: ({ order }: { order?: string }) => String(order),
  redact: { input: ['card'] },
  run: ({ order }: { order?: string }) => `paid ${String(order)}`,
});
const budgets = [{ scope: 'shop', per: 'day', toolCalls: 5 }] as const;

/** A ledger with every kind of call, a held call with a sealed input, a claim, a budget, a removed session. */
async function fillOriginal(): Promise<void> {
  await fillLedger(original);
  const ledger = await openLedger(original);
  const runtime = createRuntime({
    tools: [pay],
    ledger,
    budgets,
    onConfirm: () => ({ decision: 'approve', by: 'Ada' }),
  });
  for (const sessionId of ['kept', 'removed', 'erased'])
    await runtime
      .turn({ sessionId })
      .call(envelope(`pay-${sessionId}`, 'pay', { order: sessionId, card: '4111' }));
  await runtime.close();
  const asking = createRuntime({ tools: [pay], ledger, budgets });
  await asking
    .turn({ sessionId: 'kept' })
    .call(envelope('held', 'pay', { order: 'held', card: '4222' }), { ifHeld: 'return' });
  await asking.close();
  await ledger.dropSession({ sessionId: 'removed', by: 'Ada', reason: 'old' });
  await ledger.erase({ sessionId: 'erased', by: 'Ada', reason: 'private' });
  await ledger.close();
}

beforeAll(async () => {
  server = (await sharePostgres()).url;
  admin = new pg.Client({ connectionString: server });
  await admin.connect();
  await fillOriginal();
  vi.stubEnv('QUITTANCE_SEAL_KEY', readFileSync(`${original}.key`).toString('hex'));
});
beforeEach(() => {
  const name = `copy_${process.pid}_${count++}`;
  path = join(folder, name, 'ledger.db');
  database = `${server}?schema=${name}`;
});
afterAll(async () => {
  await admin.end();
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

async function withLedger<Result>(
  url: string,
  work: (ledger: OpenLedger) => Promise<Result>,
): Promise<Result> {
  const ledger = await openLedger(url, { readOnly: true });
  try {
    return await work(ledger);
  } finally {
    await ledger.close();
  }
}

/** Everything that a copy must have, in an order that does not depend on the store. */
const describeLedger = (url: string): Promise<unknown> =>
  withLedger(url, async (ledger) => {
    const heads = await readHeads(ledger);
    const entries: StoredEntry[] = [];
    // Read session by session: a transaction of another test would hide the newest entries from a reader of all sessions.
    for (const { sessionId } of heads)
      entries.push(...(await ledger.readEntries({ sessionId, limit: 10_000 })));
    const rows: string[] = [];
    const contents: unknown[] = [];
    for await (const row of readSideRows(ledger)) {
      rows.push(JSON.stringify(row));
      if (row.kind === 'artifact')
        contents.push(await readWholeArtifact(ledger, row.sessionId ?? '', row.artifactId));
      if (row.kind === 'sealed') contents.push(await readSealed(ledger, row.sessionId ?? '', row.callId));
    }
    const calls = await findCalls(ledger, { limit: 500 });
    return {
      heads: heads.toSorted((a, b) => (a.sessionId < b.sessionId ? -1 : 1)),
      entries: entries
        .map((entry) => ({ ...entry, position: 0 }))
        .sort((a, b) =>
          a.sessionId === b.sessionId ? a.sequence - b.sequence : a.sessionId < b.sessionId ? -1 : 1,
        ),
      rows: rows.sort(),
      contents,
      calls: calls.rows.map((row) => JSON.stringify(row)).sort(),
      problems: await findProblems(ledger),
    };
  });

test('a ledger goes to PostgreSQL and back, with every hash, row and artifact, and both sides verify', async () => {
  const before = await describeLedger(original);
  expect(before).toMatchObject({ problems: [] });
  const there = await runCli(['copy', original, database]);
  expect(there).toMatchObject({ code: 0, out: expect.stringMatching(/^Copied \d+ entries/) });
  expect(await describeLedger(database)).toEqual(before);
  const back = await runCli(['copy', database, path]);
  expect(back).toMatchObject({ code: 0 });
  expect(await describeLedger(path)).toEqual(before);
  expect(readFileSync(`${path}.key`)).toEqual(readFileSync(`${original}.key`));
  expect(readdirSync(join(path, '..')).filter((name) => name.includes('copying'))).toEqual([]);
});

test('an anchor of the source holds for the copy, and one of the copy for the source', async () => {
  const anchor = join(folder, 'anchor.json');
  expect(await runProgramHere(['verify', '--ledger', original, '--write-anchor', anchor])).toMatchObject({
    code: 0,
  });
  await copy(original, database);
  expect(await runProgramHere(['verify', '--ledger', database, '--anchor', anchor])).toMatchObject({
    code: 0,
  });
  const other = join(folder, 'other.json');
  expect(await runProgramHere(['verify', '--ledger', database, '--write-anchor', other])).toMatchObject({
    code: 0,
  });
  expect(await runProgramHere(['verify', '--ledger', original, '--anchor', other])).toMatchObject({
    code: 0,
  });
});

test.each([
  ['PostgreSQL', (): [string, string] => [original, database]],
  ['SQLite', (): [string, string] => [original, path]],
])('a copy in %s keeps its promises: claims, limits and sealed inputs', async (_, toUrls) => {
  const [from, to] = toUrls();
  await copy(from, to);
  const ledger = await openLedger(to, { spillFolder: join(folder, 'spill') });
  const runtime = createRuntime({ tools: [pay], ledger, budgets });
  try {
    const turn = runtime.turn({ sessionId: 'kept' });
    // The key was used by a call of the source.
    expect(await turn.call(envelope('again', 'pay', { order: 'kept' }), { ifHeld: 'return' })).toMatchObject({
      type: 'ToolDenied',
    });
    const { rows } = await runtime.confirmations.list({ status: 'pending' });
    const [held] = rows;
    expect(rows).toHaveLength(1);
    await runtime.confirmations.decide(held?.confirmationId ?? '', {
      decision: 'approve',
      by: 'Ada',
      inputDigest: held?.inputDigest ?? '',
    });
    expect(await turn.call(envelope('held', 'pay', { order: 'held', card: '4222' }))).toMatchObject({
      output: 'paid held',
    });
  } finally {
    await runtime.close();
    await ledger.close();
  }
});

test('a second copy adds only what is missing, erasures included', async () => {
  const source = join(folder, `source-${count}`, 'ledger.db');
  await copy(original, source);
  expect((await copy(source, database)).entries).toBeGreaterThan(0);
  expect((await copy(source, path)).entries).toBeGreaterThan(0);
  expect(await copy(source, database)).toMatchObject({ entries: 0 });
  const ledger = await openLedger(source);
  const runtime = createRuntime({
    tools: [pay],
    ledger,
    onConfirm: () => ({ decision: 'approve', by: 'Ada' }),
  });
  await runtime.turn({ sessionId: 'new' }).call(envelope('pay-new', 'pay', { order: 'new' }));
  await runtime.close();
  await ledger.erase({ sessionId: 'ticket-43', by: 'Ada', reason: 'private' });
  await ledger.close();
  const expected = await describeLedger(source);
  for (const target of [database, path]) {
    expect((await copy(source, target)).entries).toBeGreaterThan(0);
    expect(await describeLedger(target)).toEqual(expected);
  }
});

test.each(['PostgreSQL', 'SQLite'])(
  'a target in %s that was used otherwise is refused and stays as it was',
  async (kind) => {
    const target = kind === 'SQLite' ? path : database;
    await copy(original, target);
    const ledger = await openLedger(target, { spillFolder: join(folder, 'spill') });
    const runtime = createRuntime({
      tools: [pay],
      ledger,
      onConfirm: () => ({ decision: 'approve', by: 'Ada' }),
    });
    await runtime.turn({ sessionId: 'elsewhere' }).call(envelope('x', 'pay', { order: 'x' }));
    await expect(copy(original, target)).rejects.toMatchObject({
      message: expect.stringContaining('Another process has the target open'),
    });
    await runtime.close();
    await ledger.close();
    const before = await describeLedger(target);
    await expect(copy(original, target)).rejects.toMatchObject({
      code: 'config.invalid',
      message: expect.stringContaining('that the source does not have'),
    });
    expect(await describeLedger(target)).toEqual(before);
  },
);

test('a damaged source, the same ledger twice and a target with another key are refused', async () => {
  const damaged = join(folder, 'damaged', 'ledger.db');
  mkdirSync(join(damaged, '..'));
  await copy(original, damaged);
  const file = openBare(damaged);
  file.exec(`UPDATE entries SET text = replace(text, 'refund', 'refuse') WHERE position = 3`);
  file.close();
  await expect(copy(damaged, database)).rejects.toMatchObject({ code: 'ledger.damaged' });
  expect(await runProgramHere(['calls', '--ledger', database])).toMatchObject({ code: 0, out: '' });
  await expect(copy(original, original)).rejects.toMatchObject({
    message: expect.stringContaining('the same ledger'),
  });
  await copy(original, database.replace('copy_', 'copykey_'));
  await admin.query(`UPDATE copykey_${process.pid}_${count - 1}.ledger SET key_check = 'x'`);
  await expect(copy(original, database.replace('copy_', 'copykey_'))).rejects.toMatchObject({
    message: expect.stringContaining('another seal key'),
  });
  await copy(original, path);
  writeFileSync(`${path}.key`, Buffer.alloc(32, 1));
  await expect(copy(original, path)).rejects.toMatchObject({
    message: expect.stringContaining('another seal key'),
  });
});

test('a copy that is stopped changes nothing', async () => {
  for (const target of [database, path]) {
    const stop = new AbortController();
    let seen = 0;
    const stopped = copyLedger(original, target, {
      signal: stop.signal,
      onEntry: () => {
        if (++seen === 10) stop.abort();
      },
    });
    await expect(stopped).rejects.toThrow('aborted');
  }
  expect(existsSync(path)).toBe(false);
  expect(await withLedger(database, (ledger) => Promise.resolve(countSessions(ledger)))).toBe(0);
});
