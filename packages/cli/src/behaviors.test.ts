/** Progress of durable behaviors, on the command line. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest';
import type { Ran } from '../../../test/run-cli.ts';
import { runInProcess } from '../../../test/run-in-process.ts';
import { tokenFileOptions } from '../../../test/make-token.ts';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import { openLedger } from 'quittance/internal/store/open-ledger';
import { SampleCall } from 'quittance/internal/testing/sample-call';
import { listCursors, takeCursor, releaseCursor } from 'quittance/internal/ledger/reads';

const folder = mkdtempSync(join(tmpdir(), 'quittance-behaviors-'));
afterAll(() => rmSync(folder, { recursive: true }));

let count = 0;
let path: string;
let ledger: OpenLedger;
beforeEach(async () => {
  path = join(folder, `${count++}.db`);
  ledger = await openLedger(path);
});
afterEach(() => ledger.close());

/** Dropping needs the proof of an admin. */
const run = (...args: string[]): Promise<Ran> =>
  runInProcess(['behaviors', ...args, ...(args[0] === 'drop' ? tokenFileOptions(path) : [])], {
    ledger: path,
  });
const names = async (): Promise<string[]> => (await listCursors(ledger)).map(({ name }) => name);

/** One behavior that this process reads for, one whose process has ended, and one without a reader. */
async function makeThree(): Promise<void> {
  for (let n = 0; n < 4; n++) await ledger.append(new SampleCall(`c${n}`).whole());
  const other = await openLedger(path);
  await takeCursor(other, { name: 'mail_digest', holder: 'rdr_2', startAfter: 3 });
  await other.close();
  await takeCursor(ledger, { name: 'flag_orders', holder: 'rdr_1', startAfter: 4 });
  await takeCursor(ledger, { name: 'old\u001b[31m', holder: 'rdr_1', startAfter: 0 });
  await releaseCursor(ledger, 'old\u001b[31m', 'rdr_1');
}

test('lists behaviors with their progress and whether a process reads for them', async () => {
  await makeThree();
  const { code, out } = await run();
  expect(code).toBe(0);
  expect(out.split('\n')).toEqual([
    'BEHAVIOR       POSITION  BEHIND  STATUS   HOLDER',
    'flag_orders           4       ·  reading  rdr_1',
    'mail_digest           3       1  gone     rdr_2',
    'old\\u001b[31m         0       4  free     ·',
    '',
  ]);
  const lines = (await run('list', '--json')).out.trim().split('\n');
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { name: 'flag_orders', position: 4, behind: 0, status: 'reading', ownerId: ledger.ownerId },
    { name: 'mail_digest', behind: 1, status: 'gone', holder: 'rdr_2' },
    { name: 'old\u001b[31m', position: 0, behind: 4, status: 'free' },
  ]);
});

test('a behavior at an unreadable entry is stuck, with the entry and the cause', async () => {
  await makeThree();
  const file = new DatabaseSync(path);
  file.exec('UPDATE entries SET text = substr(text, 2) WHERE position = 4');
  file.close();
  const { code, out, err } = await run();
  expect(code).toBe(0);
  expect(out).toMatch(/mail_digest +3 +1 +stuck/);
  expect(out).toMatch(/old.* 4 +free/);
  expect(err).toContain(
    'mail_digest is stuck: Entry 4 of session "session", at position 4, cannot be read. An entry of the ledger is invalid: it is not JSON. Run `quittance verify` to list every such entry.',
  );
  const lines = (await run('--json')).out.trim().split('\n');
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { name: 'flag_orders', status: 'reading' },
    { name: 'mail_digest', status: 'stuck', problem: expect.stringContaining('position 4') as string },
    { status: 'free' },
  ]);
});

test('says that no behavior has read a ledger', async () => {
  expect(await run()).toMatchObject({
    code: 0,
    out: '',
    err: expect.stringContaining('No durable') as string,
  });
});

test('drops a behavior without a reader, by its displayed name', async () => {
  await makeThree();
  expect((await run('drop', 'mail_digest')).out).toBe(
    'Dropped mail_digest, which had read up to position 3.\n',
  );
  expect((await run('drop', 'old\\u001b[31m', '--json')).out).toContain('"dropped":true');
  expect(await names()).toEqual(['flag_orders']);
});

test('drops a behavior that a process reads for only with --force', async () => {
  await makeThree();
  const { code, err } = await run('drop', 'flag_orders');
  expect(code).toBe(1);
  expect(err).toMatch(/A process reads for "flag_orders" now.*--force/s);
  expect(await names()).toContain('flag_orders');
  expect((await run('drop', 'flag_orders', '--force')).code).toBe(0);
  expect(await names()).not.toContain('flag_orders');
});

test.each([
  [['drop'], 2, 'Missing behavior name.'],
  [['drop', 'flag_order'], 1, 'No behavior named "flag_order". Known behaviors: flag_orders'],
  [['remove'], 2, 'Expected "list" or "drop"; found "remove"'],
  [['list', 'x'], 2, 'Expected "list" or "drop"; found "x"'],
])('answers %j with a command to try', async (args, code, message) => {
  await makeThree();
  const ran = await run(...args);
  expect(ran.code).toBe(code);
  expect(ran.err).toContain(message);
  expect(ran.err).toContain('quittance behaviors');
  expect(await names()).toHaveLength(3);
});
