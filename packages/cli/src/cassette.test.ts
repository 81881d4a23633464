import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fillLedger } from '../../../test/fill-ledger.ts';
import { runProgramHere } from '../../../test/run-program.ts';
import { readCassette } from 'quittance/internal/replay/write-cassette';

const folder = mkdtempSync(join(tmpdir(), 'quittance-cassette-'));
const env = { QUITTANCE_LEDGER: join(folder, 'ledger.db') };
const on = (...args: string[]): ReturnType<typeof runProgramHere> => runProgramHere(args, { env });
const file = join(folder, 'ticket-43.json');

beforeAll(() => fillLedger(env.QUITTANCE_LEDGER));
afterAll(() => rmSync(folder, { recursive: true }));

test('exports a session as a cassette that can be read back, with access for its owner only', async () => {
  const { code, err } = await on('cassette', 'export', 'ticket-43', '--out', file);
  expect({ code, err }).toMatchObject({
    code: 0,
    err: expect.stringContaining(`1 call in ${file}`) as string,
  });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readCassette(readFileSync(file, 'utf8'))).toMatchObject({
    sessionId: 'ticket-43',
    calls: [{ callId: 'call_read' }],
  });
});

test('exports some calls of a session by their ids', async () => {
  const { code, out } = await on(
    'cassette',
    'export',
    'ticket-42',
    '--calls',
    'call_timeout,call_denied',
    '--out',
    '-',
  );
  expect(code).toBe(0);
  expect(
    readCassette(out)
      .calls.map(({ callId }) => callId)
      .toSorted(),
  ).toEqual(['call_denied', 'call_timeout']);
});

test('shows the content of a cassette, one call per line', async () => {
  await on('cassette', 'export', 'ticket-42', '--out', join(folder, 'all.json'));
  const { code, out } = await on('cassette', 'show', join(folder, 'all.json'));
  expect(code).toBe(0);
  expect(out).toMatch(/^session {3}ticket-42$/m);
  expect(out).toMatch(/^call_timeout .* timed out +tool\.timeout/m);
  const { out: json } = await on('cassette', 'show', join(folder, 'all.json'), '--json');
  expect(
    json
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as unknown),
  ).toContainEqual(expect.objectContaining({ callId: 'call_denied', runs: 0 }));
});

test('refuses a changed cassette until it is sealed again', async () => {
  await on('cassette', 'export', 'ticket-43', '--out', file, '--force');
  writeFileSync(file, readFileSync(file, 'utf8').replace('"call_read"', '"call_edited"'));
  expect(await on('cassette', 'show', file)).toMatchObject({
    code: 1,
    err: expect.stringContaining(`quittance cassette seal ${file}`) as string,
  });
  expect(await on('cassette', 'seal', file)).toMatchObject({ code: 0 });
  expect(await on('cassette', 'show', file)).toMatchObject({
    code: 0,
    out: expect.stringContaining('call_edited') as string,
  });
});

test.each([
  [['cassette', 'export'], 'Missing session id.'],
  [['cassette', 'export', 'ticket-43'], '--out is missing.'],
  [['cassette', 'export', 'nowhere', '--out', '-'], 'no calls of session "nowhere"'],
  [['cassette', 'export', 'ticket-43', '--calls', 'x', '--out', '-'], 'has no call "x"'],
  [['cassette', 'show', join(folder, 'none.json')], 'There is no file'],
  [['cassette', 'show', join(folder, 'ledger.db')], 'it is not JSON'],
])('answers %j with a command to try', async (args, says) => {
  const { code, err } = await on(...args);
  expect(code).not.toBe(0);
  expect(err).toContain(says);
  expect(err).toContain('quittance ');
});
