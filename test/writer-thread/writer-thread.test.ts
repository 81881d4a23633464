/** The writer thread of an SQLite ledger: it dies, it waits for a slow disk, it starts and ends. */
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createRuntime, defineTool } from 'quittance';
import type { RuntimeTrouble } from 'quittance/runtime';
import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { VerifyFinding } from '../../packages/quittance/src/replay/verify-ledger.ts';
import { verifyLedger } from '../../packages/quittance/src/replay/verify-ledger.ts';
import { openDatabase } from '../../packages/quittance/src/store/sqlite/database.ts';
import { openSqliteLedger } from '../../packages/quittance/src/store/sqlite/open-sqlite-ledger.ts';
import type { SqliteLedgerOptions } from '../../packages/quittance/src/store/sqlite/sqlite-ledger-options.ts';
import type { SqliteLedger } from '../../packages/quittance/src/store/sqlite/sqlite-ledger.ts';
import { SampleCall } from '../../packages/quittance/src/testing/sample-call.ts';
import type { Disturbance } from './disturbance.ts';
import { disturbancePath, disturbed, disturbNext, disturbNoMore } from './disturbance.ts';
import {
  findCalls,
  takeCursor,
  moveCursor,
  readCounters,
} from '../../packages/quittance/src/ledger/reads.ts';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

function newPath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-thread-'));
  folders.push(folder);
  return join(folder, 'ledger.db');
}

/** A ledger whose commits can be disturbed. */
const openThreaded = (path: string, options: SqliteLedgerOptions = {}): Promise<SqliteLedger> =>
  openSqliteLedger(path, options, disturbed);

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
    const entryIds = (await ledger.readEntries({ limit: 1_000 })).map(
      ({ text }) => JSON.parse(text).entry as string,
    );
    expect(new Set(entryIds).size).toBe(entryIds.length);
    await runtime.close();
    await ledger.close();
  });
});

test.each(deaths)(
  'the upgrade of an older ledger goes on after its thread dies by $how $when a commit',
  async (death) => {
    const path = newPath();
    const before = await openThreaded(path);
    for (const id of ['a', 'b', 'c']) await before.append(whole(id));
    const expected = await findCalls(before, { limit: 10 });
    await before.close();
    const database = openDatabase(path, { mustExist: true });
    // As a program leaves a file of the version before the lists.
    database.exec('DELETE FROM calls; INSERT INTO relisting VALUES (0)');
    database.close();
    disturbNext(path, death);
    const ledger = await openThreaded(path);
    expect(existsSync(disturbancePath(path))).toBe(false);
    expect(await findCalls(ledger, { limit: 10 })).toEqual(expected);
    expect(await findProblems(ledger)).toEqual([]);
    await ledger.close();
  },
);

test('a dead writer thread leaves a remark, a refusal and a cursor as they were decided', async () => {
  const path = newPath();
  const ledger = await openThreaded(path);
  const sample = new SampleCall('a', { sessionId: 's' });
  await ledger.append(sample.whole());
  await takeCursor(ledger, { name: 'reader', holder: 'h', startAfter: 0 });
  disturbNext(path, { when: 'after', how: 'exit' });
  const remark = { ...sample.recall(), entryId: 'remark' };
  const ends = await Promise.all([
    ledger.append(remark),
    ledger.append(whole('a', 's')),
    moveCursor(ledger, { name: 'reader', holder: 'h', from: 0, to: 1 }),
    moveCursor(ledger, { name: 'reader', holder: 'other', from: 1, to: 2 }),
  ]);
  expect(ends).toEqual([{ status: 'appended', version: 1 }, { status: 'conflict', version: 1 }, true, false]);
  expect(await ledger.readEntries({ limit: 10 })).toHaveLength(2);
  await ledger.close();
});

test('a slow disk does not block the event loop, even with one append at a time', async () => {
  const path = newPath();
  const ledger = await openThreaded(path);
  await ledger.append(whole('first'));
  disturbNext(path, { when: 'before', how: 'slow' });
  const count = 10;
  let turns = 0;
  let isOver = false;
  const turn = (): void => {
    turns++;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  for (let index = 0; index < count; index++) await ledger.append(whole(`call-${index}`));
  isOver = true;
  expect(turns).toBeGreaterThan(10 * count);
  await ledger.close();
});

test('reads do not wait for a commit of the thread', async () => {
  const path = newPath();
  const ledger = await openThreaded(path);
  await ledger.append(whole('stored'));
  disturbNext(path, { when: 'before', how: 'slow' });
  /** How many times both could be read before the append was answered. */
  const readDuring = async (callId: string): Promise<number> => {
    let isStored = false;
    const appended = Promise.resolve(ledger.append(whole(callId))).then(() => {
      isStored = true;
    });
    let reads = 0;
    while (!isStored) {
      expect((await ledger.readCall('stored', 'stored'))?.version).toBe(1);
      expect(await readCounters(ledger, ['x'])).toEqual([{ used: 0, reserved: 0 }]);
      reads++;
      await new Promise(setImmediate);
    }
    await appended;
    expect((await ledger.readCall(callId, callId))?.version).toBe(1);
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
  await ledger.append(whole('first'));
  disturbNext(path, { when: 'before', how: 'slow' });
  const ids = Array.from({ length: 200 }, (_, index) => `call-${index}`);
  const appends = Promise.all(ids.map((id) => ledger.append(whole(id))));
  await new Promise(setImmediate);
  await ledger.close();
  expect(new Set((await appends).map(({ status }) => status))).toEqual(new Set(['appended']));
  const again = await openSqliteLedger(path);
  expect(await again.readEntries({ limit: 1_000 })).toHaveLength(201);
  expect(await findProblems(again)).toEqual([]);
  await again.close();
});

test('a ledger that is closed while the thread starts ends the thread', async () => {
  const ledger = await openThreaded(newPath());
  const appended = ledger.append(whole('a'));
  await ledger.close();
  expect(await appended).toMatchObject({ status: 'appended' });
});

test('a process that closes its ledger while the thread starts ends when all is stored', async () => {
  const program = fileURLToPath(new URL('close-early.ts', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--conditions=quittance-source',
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
    expect(await ledger.append(long(`call-${index}`, length))).toMatchObject({ status: 'appended' });
  expect(await findProblems(ledger)).toEqual([]);
  await Promise.all([ledger.close(), ledger.close()]);
});

test('a ledger that only reads starts no thread, and the first write starts one', async () => {
  const path = newPath();
  await (await openSqliteLedger(path)).close();
  let threads = 0;
  const count = (): void => void threads++;
  process.on('worker', count);
  const ledger = await openSqliteLedger(path);
  expect(await ledger.readCall('a', 'a')).toBeUndefined();
  expect(await readCounters(ledger, ['x'])).toEqual([{ used: 0, reserved: 0 }]);
  expect(threads).toBe(0);
  await Promise.all([ledger.append(whole('a')), ledger.append(whole('b'))]);
  await ledger.append(whole('c'));
  await ledger.close();
  process.off('worker', count);
  expect(threads).toBe(1);
});

test('a thread that cannot start is reported, and what it should have stored is refused', async () => {
  const troubles: string[] = [];
  const ledger = await openSqliteLedger(newPath(), {}, ['--import', './no-such-file.ts']);
  ledger.watchTrouble(({ type }) => troubles.push(type), new AbortController().signal);
  await expect(ledger.append(whole('call'))).rejects.toMatchObject({ code: 'ledger.unavailable' });
  expect(new Set(troubles)).toEqual(new Set(['ledger.writer_stopped']));
  expect(await ledger.readCall('call', 'call')).toBeUndefined();
  await ledger.close();
});

test('a thread that dies again and again ends with refusals, and the next thread writes', async () => {
  const path = newPath();
  const ledger = await openThreaded(path);
  await ledger.append(whole('first'));
  disturbNext(path, { when: 'before', how: 'exit', isLasting: true });
  const ends = await Promise.allSettled(['a', 'b'].map((id) => ledger.append(whole(id))));
  for (const end of ends)
    expect(end).toMatchObject({ status: 'rejected', reason: { code: 'ledger.unavailable' } });
  disturbNoMore(path);
  expect(await ledger.append(whole('a'))).toEqual({ status: 'appended', version: 1 });
  expect((await ledger.readEntries({ limit: 10 })).map(({ sessionId }) => sessionId)).toEqual(['first', 'a']);
  await ledger.close();
});

test('appends keep their order, together and one by one', async () => {
  const ledger = await openSqliteLedger(newPath());
  const expected: string[] = [];
  const append = (): Promise<unknown> => {
    const id = `call-${expected.length}`;
    expected.push(id);
    return ledger.append(whole(id, `session-${expected.length % 7}`));
  };
  const burst = (size: number): Promise<unknown> => Promise.all(Array.from({ length: size }, append));
  for (let round = 0; round < 3; round++) {
    await Promise.all([burst(100), burst(100)]);
    for (let index = 0; index < 20; index++) await append();
  }
  const stored = (await ledger.readEntries({ limit: 10_000 })).map(
    ({ text }) => JSON.parse(text).call as string,
  );
  expect(stored).toEqual(expected);
  expect(await findProblems(ledger)).toEqual([]);
  await ledger.close();
});

test('an error of the disk in the thread reaches the caller with its code', async () => {
  const full = 13;
  const ledger = await openThreaded(newPath(), { maxBytes: 300_000 });
  const ids = Array.from({ length: 400 }, (_, index) => `call-${index}`);
  const ends = await Promise.allSettled(ids.map((id) => ledger.append(whole(id))));
  const errors = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason as Error] : []));
  expect(errors.length).toBeGreaterThan(0);
  for (const error of errors) expect(error).toMatchObject({ code: 'ERR_SQLITE_ERROR', errcode: full });
  expect(await ledger.readEntries({ limit: 1_000 })).toHaveLength(ids.length - errors.length);
  await ledger.close();
});

test('several handles with writer threads share one file', async () => {
  const path = newPath();
  const other = await openSqliteLedger(path);
  const all = [await openThreaded(path), await openThreaded(path), other];
  const ids = Array.from({ length: 300 }, (_, index) => `call-${index}`);
  // Every call is appended by all handles at once: one succeeds.
  const results = await Promise.all(
    ids.map((id) => Promise.all(all.map((ledger) => ledger.append(whole(id, 'shared'))))),
  );
  for (const statuses of results.map((each) => each.map(({ status }) => status).toSorted()))
    expect(statuses).toEqual(['appended', 'conflict', 'conflict']);
  for (const ledger of all) {
    expect(await ledger.readEntries({ limit: 1_000 })).toHaveLength(ids.length);
    for (const id of ids) expect((await ledger.readCall('shared', id))?.version).toBe(1);
  }
  expect(await findProblems(other)).toEqual([]);
  for (const ledger of all) await ledger.close();
});
