/** Delegations on the command line. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Ran } from '../../../test/run-cli.ts';
import { runInProcess } from '../../../test/run-in-process.ts';
import { openLedger } from 'quittance/internal/store/open-ledger';

const folder = mkdtempSync(join(tmpdir(), 'quittance-delegations-'));
const path = join(folder, 'ledger.db');
beforeAll(async () => {
  await (await openLedger(path)).close();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const on = (...args: string[]): Promise<Ran> =>
  runInProcess(['delegations', ...args], { ledger: path, answer: () => true });

test('are given with an end by the user of the system, listed, and revoked', async () => {
  expect((await on()).err).toContain('No delegation is active.');
  const given = await on(
    'give',
    '--to',
    'dan',
    '--for',
    '7d',
    '--by',
    'Ada',
    '--reason',
    'Holiday',
    '--json',
  );
  expect(given.code).toBe(0);
  const made = JSON.parse(given.out) as { delegationId: string; identity: unknown };
  expect(made).toMatchObject({
    by: 'Ada',
    to: 'dan',
    status: 'active',
    identity: { kind: 'os_user', user: 'ada' },
  });
  const { out } = await on();
  expect(out.split('\n')[0]).toMatch(/^DELEGATION +FROM +TO +UNTIL +STATUS/);
  expect(out).toMatch(/Ada.*dan.*active/s);
  const revoked = await on('revoke', made.delegationId.slice(0, 12), '--by', 'Ada');
  expect(revoked.code).toBe(0);
  expect((await on()).err).toContain('No delegation is active.');
  expect((await on('--all')).out).toContain('revoked');
});

test.each([
  [['give', '--to', 'dan', '--by', 'Ada'], 'A delegation needs an end: --for or --until.'],
  [['give', '--to', 'dan', '--by', 'Ada', '--for', '1d', '--until', '2030-01-01'], 'needs an end'],
  [['give', '--by', 'Ada', '--for', '1d'], 'A delegation needs a delegate'],
  [['give', '--to', 'dan', '--for', '1d'], '--by is missing'],
  [['give', '--to', 'dan', '--by', 'Ada', '--for', '91d'], '90 days'],
  [['revoke'], 'Missing delegation id.'],
  [['revoke', 'dlg_none', '--by', 'Ada'], 'There is no delegation "dlg_none".'],
  [['withdraw'], 'Expected "list", "give" or "revoke"'],
])('refuses %j and says what to type', async (args, problem) => {
  const { code, out, err } = await on(...args);
  expect([code === 0, out, err]).toEqual([false, '', expect.stringContaining(problem)]);
});
