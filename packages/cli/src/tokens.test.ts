import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runInProcess } from '../../../test/run-in-process.ts';
import type { Ran } from '../../../test/run-cli.ts';

let folder = '';
let ledger = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'quittance-tokens-'));
  ledger = join(folder, 'new', 'ledger.db');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const tokens = (...args: string[]): Promise<Ran> =>
  runInProcess(['tokens', ...args], { ledger, answer: () => true });
const create = (name: string, role: string, ...more: string[]): Promise<Ran> =>
  tokens('create', '--name', name, '--role', role, ...more);

test('shows a token once, alone on standard output, and nowhere else later', async () => {
  const made = await create('Ada', 'approver');
  expect(made).toMatchObject({
    code: 0,
    err: expect.stringContaining('The token is shown only once.') as string,
  });
  expect(made.err).toContain(`There is no ledger at ${ledger} yet`);
  expect(made.out).toMatch(/^qt_[\w-]{43}\n$/);
  const listed = await tokens();
  expect(listed.out).toMatch(/^NAME +ROLE +ID +CREATED +UNTIL\nAda +approver +[0-9a-f]{12} /);
  expect(listed.out + readFileSync(`${ledger}.tokens`, 'utf8')).not.toContain(made.out.trim());
  expect(statSync(`${ledger}.tokens`).mode & 0o777).toBe(0o600);
});

test('listing tokens creates nothing, and an unusable folder is reported', async () => {
  expect(await tokens()).toMatchObject({ code: 0, out: '' });
  expect(await tokens('revoke', 'Ada')).toMatchObject({ code: 1 });
  expect(existsSync(join(folder, 'new'))).toBe(false);
  writeFileSync(join(folder, 'new'), 'a file');
  const { code, err } = await create('Ada', 'viewer');
  expect([code, err]).toEqual([3, expect.stringContaining('Cannot write to the folder')]);
  const served = await runInProcess(['serve'], { ledger });
  expect(served).toMatchObject({ code: 3, err: expect.stringContaining('try: quittance serve') as string });
});

test('lists tokens as JSON with their expiry', async () => {
  await create('Ada', 'viewer');
  const { out } = await create('agent-7', 'operator', '--for', '1h', '--json');
  const made = JSON.parse(out) as { token?: string; createdAt: string; expiresAt: string };
  expect(Date.parse(made.expiresAt) - Date.parse(made.createdAt)).toBe(3_600_000);
  const rows = (await tokens('list', '--json')).out.trim().split('\n');
  expect(rows.map((row) => JSON.parse(row) as unknown)).toMatchObject([
    { name: 'Ada', role: 'viewer' },
    { name: 'agent-7', role: 'operator', expiresAt: made.expiresAt },
  ]);
  expect(rows.join('\n')).not.toContain(made.token);
});

test('takes groups in several options, and names with a comma in a JSON list', async () => {
  const groupsOf = async (name: string, ...more: string[]) => {
    const made = await create(name, 'approver', ...more, '--json');
    return made.code === 0 ? (JSON.parse(made.out) as { groups?: unknown }).groups : made.err;
  };
  expect(await groupsOf('a', '--group', 'finance team, security')).toEqual(['finance team', 'security']);
  expect(await groupsOf('b', '--group', 'finance', '--group', 'security,finance')).toEqual([
    'finance',
    'security',
  ]);
  const distinguished = 'CN=Finance,OU=Groups,DC=example';
  expect(await groupsOf('c', '--group', JSON.stringify([distinguished]))).toEqual([distinguished]);
  expect(await groupsOf('d', '--group', '')).toContain('--group');
  expect(await groupsOf('e', '--group', ', ,')).toContain('names no group');
  expect(await groupsOf('f', '--group', '["finance"')).toContain('not a JSON list');
  expect(await groupsOf('g')).toBeUndefined();
  await create('h', 'approver', '--person', 'ada@example.com');
  const { out } = await tokens();
  expect(out).toMatch(/^NAME +ROLE +OWNER +GROUPS +ID /);
  expect(out).toMatch(/\na +approver +- +finance team; security +[0-9a-f]{12} /);
  expect(out).toMatch(/\nh +approver +ada@example\.com +- +[0-9a-f]{12} /);
});

test('revokes a token by name or id, once, and frees its name', async () => {
  await create('Ada', 'admin');
  const { out } = await create('Bob', 'viewer', '--json');
  const { tokenId: id } = JSON.parse(out) as { tokenId: string };
  expect(await tokens('revoke', 'Ada')).toMatchObject({
    code: 0,
    out: expect.stringContaining('Ada') as string,
  });
  expect((await tokens('revoke', id, '--json')).out).toContain('"name":"Bob"');
  expect(await tokens('revoke', 'Ada')).toMatchObject({
    code: 1,
    err: expect.stringContaining('There is no token "Ada".') as string,
  });
  expect(await tokens()).toMatchObject({
    out: '',
    err: expect.stringContaining('There are no tokens.') as string,
  });
  expect((await create('Ada', 'viewer')).code).toBe(0);
});

test('rejects invalid tokens with a command to try, and creates nothing', async () => {
  for (const args of [
    ['create'],
    ['create', '--name', 'Ada'],
    ['create', '--name', 'Ada', '--role', 'king'],
    ['create', '--name', '', '--role', 'viewer'],
    ['create', '--name', 'Ada', '--role', 'viewer', '--for', 'ever'],
    ['create', 'Ada', '--role', 'viewer'],
    ['revoke'],
    ['steal'],
  ]) {
    const { code, err } = await tokens(...args);
    expect([args, code]).toEqual([args, 2]);
    expect(err).toContain('try: ');
  }
  await create('Ada', 'viewer');
  expect(await create('Ada', 'admin')).toMatchObject({
    code: 2,
    err: expect.stringContaining('There is a token named "Ada" already') as string,
  });
  expect((await tokens('list', '--json')).out.trim().split('\n')).toHaveLength(1);
});

test('escapes a name that would move the cursor of a terminal', async () => {
  expect((await create('Ada\u001B[2J', 'viewer')).code).toBe(2);
  await create('Ada\u202Eadmin', 'viewer');
  expect((await tokens()).out).not.toContain('\u202E');
});
