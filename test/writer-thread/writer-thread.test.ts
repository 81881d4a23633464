/** The writer thread of an SQLite ledger: it dies, it waits for a slow disk, it takes over and gives back. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Worker } from 'node:worker_threads';
import { createRuntime, defineTool } from 'quittance';
import type { RuntimeTrouble } from 'quittance/runtime';
import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { VerifyFinding } from '../../src/replay/verify-ledger.ts';
import { verifyLedger } from '../../src/replay/verify-ledger.ts';
import { openSqliteLedger } from '../../src/store/sqlite/open-sqlite-ledger.ts';
import type { SqliteLedgerOptions, SqliteTuning } from '../../src/store/sqlite/sqlite-ledger-options.ts';
import type { SqliteLedger } from '../../src/store/sqlite/sqlite-ledger.ts';
import { SampleCall } from '../../src/testing/sample-call.ts';
import type { Disturbance } from './disturbance.ts';
import { disturbNext } from './disturbance.ts';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

function newPath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-thread-'));
  folders.push(folder);
  return join(folder, 'ledger.db');
}

const disturbed = ['--import', new URL('disturb-commit.ts', import.meta.url).href];

/** A ledger whose writer thread writes everything, and whose commits can be disturbed. */
const openThreaded = (
  path: string,
  tuning: Partial<SqliteTuning> = {},
  options: SqliteLedgerOptions = {},
): Promise<SqliteLedger> =>
  openSqliteLedger(path, options, { writerThread: 'always', writerThreadArgv: disturbed, ...tuning });

const whole = (id: string, sessionId = id) => new SampleCall(id, { sessionId }).whole();

async function findProblems(ledger: SqliteLedger): Promise<readonly VerifyFinding[]> {
  const found: VerifyFinding[] = [];
  const { signal } = new AbortController();
  const startProgress = () => ({ step: () => undefined, done: () => undefined });
  await verifyLedger(
    ledger,
    undefined,
    { signal, startProgress },
    async (finding) => void found.push(finding),
  );
  return found;
}

const deaths: readonly Disturbance[] = (['throw', 'exit', 'memory'] as const).flatMap((how) => [
  { when: 'before', how },
  { when: 'after', how },
]);

describe.each(deaths)('a writer thread that dies by $how $when a commit', (death) => {
  test('[nothing-lost] answers every call once, and reports its death', async () => {
    const path = newPath();
    const ledger = await openThreaded(path);
    const troubles: RuntimeTrouble[] = [];
    const ran: string[] = [];
    const tool = defineTool({
      name: 'send_mail',
      mode: 'external',
      input: z.object({ to: z.string() }),
      run: async ({ to }) => void ran.push(to),
    });
    const runtime = createRuntime({ tools: [tool], ledger, onTrouble: (trouble) => troubles.push(trouble) });
    const call = (id: string) =>
      runtime
        .turn({ sessionId: id })
        .call({ id, name: 'send_mail', arguments: { to: id } })
        .then(({ type }) => type);
    expect(await call('first')).toBe('ToolExecutionResult');
    disturbNext(path, death);
    const ids = Array.from({ length: 40 }, (_, index) => `call-${index}`);
    const types = await Promise.all(ids.map(call));
    expect(new Set(types)).toEqual(new Set(['ToolExecutionResult']));
    expect(ran.toSorted()).toEqual(['first', ...ids].toSorted());
    expect(await call('last')).toBe('ToolExecutionResult');
    expect(troubles).toMatchObject([{ type: 'ledger.writer_stopped', error: expect.any(Error) as Error }]);
    expect(await findProblems(ledger)).toEqual([]);
    const entryIds = ledger.entries
      .read({ limit: 1_000 })
      .map(({ text }) => JSON.parse(text).entry as string);
    expect(new Set(entryIds).size).toBe(entryIds.length);
    await runtime.close();
    await ledger.close();
  });
});

test('a dead writer thread leaves a remark, a refusal and a cursor as they were decided', async () => {
  const path = newPath();
  const ledger = await openThreaded(path);
  const sample = new SampleCall('a', { sessionId: 's' });
  await ledger.journal.append(sample.whole());
  await ledger.cursors.take({ name: 'reader', holder: 'h', startAfter: 0 });
  disturbNext(path, { when: 'after', how: 'exit' });
  const remark = { ...sample.recall(), entryId: 'remark' };
  const ends = await Promise.all([
    ledger.journal.append(remark),
    ledger.journal.append(whole('a', 's')),
    ledger.cursors.move({ name: 'reader', holder: 'h', from: 0, to: 1 }),
    ledger.cursors.move({ name: 'reader', holder: 'other', from: 1, to: 2 }),
  ]);
  expect(ends).toEqual([{ status: 'appended', version: 1 }, { status: 'conflict', version: 1 }, true, false]);
  expect(ledger.entries.read({ limit: 10 })).toHaveLength(2);
  await ledger.close();
});

test('a slow disk does not block the event loop, even with one append at a time', async () => {
  const path = newPath();
  const ledger = await openThreaded(path);
  await ledger.journal.append(whole('first'));
  disturbNext(path, { when: 'before', how: 'slow' });
  const count = 10;
  let turns = 0;
  let isOver = false;
  const turn = (): void => {
    turns++;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  for (let index = 0; index < count; index++) await ledger.journal.append(whole(`call-${index}`));
  isOver = true;
  // A thread that writes by itself takes two or three turns per append: it is blocked during the flush.
  expect(turns).toBeGreaterThan(10 * count);
  await ledger.close();
});

test('reads do not wait for a commit of the thread', async () => {
  const path = newPath();
  const ledger = await openThreaded(path);
  await ledger.journal.append(whole('stored'));
  disturbNext(path, { when: 'before', how: 'slow' });
  /** How many times both could be read before the append was answered. */
  const readDuring = async (callId: string): Promise<number> => {
    let isStored = false;
    const appended = Promise.resolve(ledger.journal.append(whole(callId))).then(() => {
      isStored = true;
    });
    let reads = 0;
    while (!isStored) {
      expect(ledger.journal.readCall('stored', 'stored')?.version).toBe(1);
      expect(ledger.claims.readCounters(['x'])).toEqual([{ used: 0, reserved: 0 }]);
      reads++;
      await new Promise(setImmediate);
    }
    await appended;
    expect(ledger.journal.readCall(callId, callId)?.version).toBe(1);
    return reads;
  };
  // On a busy machine this thread may get no time during a commit, so there is more than one.
  let most = 0;
  for (let index = 0; index < 200 && most <= 10; index++)
    most = Math.max(most, await readDuring(`next-${index}`));
  expect(most).toBeGreaterThan(10);
  await ledger.close();
});

test('closing the ledger during a batch stores all of it first', async () => {
  const path = newPath();
  const ledger = await openThreaded(path);
  await ledger.journal.append(whole('first'));
  disturbNext(path, { when: 'before', how: 'slow' });
  const ids = Array.from({ length: 200 }, (_, index) => `call-${index}`);
  const appends = Promise.all(ids.map((id) => ledger.journal.append(whole(id))));
  await new Promise(setImmediate);
  await ledger.close();
  expect(new Set((await appends).map(({ status }) => status))).toEqual(new Set(['appended']));
  const again = await openSqliteLedger(path);
  expect(again.entries.read({ limit: 1_000 })).toHaveLength(201);
  expect(await findProblems(again)).toEqual([]);
  await again.close();
});

test('a ledger that is closed while the thread starts ends the thread', async () => {
  const ledger = await openThreaded(newPath());
  const appended = ledger.journal.append(whole('a'));
  await ledger.close();
  expect(await appended).toMatchObject({ status: 'appended' });
});

test('a process that closes its ledger while the thread starts ends when all is stored', async () => {
  const program = fileURLToPath(new URL('close-early.ts', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--conditions=quittance-source',
    '--disable-warning=ExperimentalWarning',
    program,
    newPath(),
  ]);
  expect(stdout).toBe('stored 20\n');
});

test('a ledger can be closed twice, and orders of any length pass', async () => {
  const ledger = await openThreaded(newPath());
  const long = (id: string, length: number) => {
    const entry = whole(id);
    return { ...entry, entryId: `${entry.entryId}-${'x'.repeat(length)}` };
  };
  for (const [index, length] of [10, 400_000, 10, 900_000, 10].entries())
    expect(await ledger.journal.append(long(`call-${index}`, length))).toMatchObject({ status: 'appended' });
  expect(await findProblems(ledger)).toEqual([]);
  await Promise.all([ledger.close(), ledger.close()]);
});

test('a thread that cannot start is reported once, and the main thread writes', async () => {
  const troubles: string[] = [];
  const ledger = await openThreaded(newPath(), { writerThreadArgv: ['--import', './no-such-file.ts'] });
  ledger.watchTrouble(({ type }) => troubles.push(type), new AbortController().signal);
  for (let index = 0; index < 5; index++)
    expect(await ledger.journal.append(whole(`call-${index}`))).toMatchObject({ status: 'appended' });
  expect(troubles).toEqual(['ledger.writer_stopped']);
  await ledger.close();
});

/** Resolves when the next writer thread is ready to write. */
const nextThreadReady = (): Promise<void> =>
  new Promise((resolve) => {
    process.once('worker', (worker: Worker) => {
      worker.on('message', (message: unknown) => {
        if (message === 'ready') resolve();
      });
    });
  });

test('the threads hand the writing over under load and back, and keep the order of all appends', async () => {
  const path = newPath();
  // A short tail, so that each thread meets an index that the other has written.
  const ledger = await openSqliteLedger(path, {}, { longestTail: 50 });
  const expected: string[] = [];
  let count = 0;
  const append = (): Promise<unknown> => {
    const id = `call-${count++}`;
    expected.push(id);
    return Promise.resolve(ledger.journal.append(whole(id, `session-${count % 7}`)));
  };
  const ready = nextThreadReady();
  const burst = (size: number): Promise<unknown> => Promise.all(Array.from({ length: size }, append));
  await burst(100);
  await ready;
  for (let round = 0; round < 3; round++) {
    const appends = [burst(100)];
    // Only the main thread can do this, between two batches of the other.
    appends.push(ledger.cursors.take({ name: `reader-${round}`, holder: 'h', startAfter: 0 }));
    appends.push(burst(100));
    await Promise.all(appends);
    // Small and quick batches: the main thread writes again.
    for (let index = 0; index < 150; index++) await append();
    expect(ledger.journal.readCall(`session-${count % 7}`, `call-${count - 1}`)?.version).toBe(1);
  }
  const stored = ledger.entries.read({ limit: 10_000 }).map(({ text }) => JSON.parse(text).call as string);
  expect(stored).toEqual(expected);
  expect(ledger.cursors.list().map(({ name }) => name)).toEqual(['reader-0', 'reader-1', 'reader-2']);
  expect(await findProblems(ledger)).toEqual([]);
  await ledger.close();
});

test('an error of the disk in the thread reaches the caller with its code', async () => {
  const ledger = await openThreaded(newPath(), {}, { maxBytes: 300_000 });
  const ids = Array.from({ length: 400 }, (_, index) => `call-${index}`);
  const ends = await Promise.allSettled(ids.map((id) => ledger.journal.append(whole(id))));
  const errors = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason as Error] : []));
  expect(errors.length).toBeGreaterThan(0);
  for (const error of errors) expect(error).toMatchObject({ name: 'SqliteError', code: 'SQLITE_FULL' });
  expect(ledger.entries.read({ limit: 1_000 })).toHaveLength(ids.length - errors.length);
  await ledger.close();
});

test('several handles with writer threads share one file', async () => {
  const path = newPath();
  const ledgers = [
    await openThreaded(path, { longestTail: 40 }),
    await openThreaded(path, { longestTail: 40 }),
  ];
  const other = await openSqliteLedger(path, {}, { writerThread: 'never', longestTail: 40 });
  const all = [...ledgers, other];
  const ids = Array.from({ length: 300 }, (_, index) => `call-${index}`);
  // Every call is appended by all handles at once: one succeeds.
  const results = await Promise.all(
    ids.map((id) => Promise.all(all.map((ledger) => ledger.journal.append(whole(id, 'shared'))))),
  );
  for (const statuses of results.map((each) => each.map(({ status }) => status).toSorted()))
    expect(statuses).toEqual(['appended', 'conflict', 'conflict']);
  for (const ledger of all) {
    expect(ledger.entries.read({ limit: 1_000 })).toHaveLength(ids.length);
    for (const id of ids) expect(ledger.journal.readCall('shared', id)?.version).toBe(1);
  }
  expect(await findProblems(other)).toEqual([]);
  for (const ledger of all) await ledger.close();
});
