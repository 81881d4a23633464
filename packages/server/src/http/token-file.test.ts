import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { NewLogin } from 'quittance/internal/runtime/tokens';
import { TokenFile } from './token-file.ts';

let folder: string;
let path: string;
let now = 1_000;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'quittance-tokens-'));
  path = join(folder, 'ledger.db.tokens');
  now = 1_000;
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const open = (): TokenFile => new TokenFile(path, () => now);

test('a token is valid in every process that reads the file, until it is revoked', () => {
  const [mine, other] = [open(), open()];
  const { token, record } = mine.create({ name: 'Ada', role: 'approver' });
  expect(other.findToken(token)).toMatchObject({ name: 'Ada', role: 'approver', tokenId: record.tokenId });
  expect(other.revoke('Ada')).toEqual(record);
  expect(mine.findToken(token)).toBeUndefined();
  expect(mine.revoke('Ada')).toBeUndefined();
});

test('a token ends with its time, and so does a browser login made with it', () => {
  const tokens = open();
  const { token, record } = tokens.create({ name: 'Ada', role: 'admin', expiresInMs: 100 });
  const { secret, pageKey } = tokens.openLogin(record.tokenId, 10_000);
  expect(tokens.findLogin(secret, pageKey)?.record?.name).toBe('Ada');
  now += 100;
  expect(tokens.findToken(token)).toBeUndefined();
  expect(tokens.findLogin(secret, pageKey)).toBeUndefined();
});

test('browser logins end at logout, at their expiry and when their token is revoked', () => {
  const tokens = open();
  const { record } = tokens.create({ name: 'Ada', role: 'admin' });
  const logIn = (ms: number): NewLogin => tokens.openLogin(record.tokenId, ms);
  const [first, second, third] = [logIn(100), logIn(10_000), logIn(10_000)];
  const isIn = ({ secret, pageKey }: NewLogin): boolean => tokens.findLogin(secret, pageKey) !== undefined;
  now += 100;
  expect(isIn(first)).toBe(false);
  tokens.closeLogin(second.secret);
  expect([isIn(second), isIn(third)]).toEqual([false, true]);
  expect(isIn({ ...third, pageKey: second.pageKey })).toBe(false);
  tokens.revoke(record.tokenId);
  expect(isIn(third)).toBe(false);
});

test('two tokens never have the same name: a decision must name its person', () => {
  const tokens = open();
  tokens.create({ name: 'Ada', role: 'viewer' });
  expect(() => tokens.create({ name: 'Ada', role: 'admin' })).toThrow('There is a token named "Ada" already');
  for (const name of ['', '  ', 'a\nb', '\uD800', 'x'.repeat(201)])
    expect(() => tokens.create({ name, role: 'viewer' })).toThrow('A token needs a name');
});

test('only the owner of the file can read it, however often it is written', () => {
  const tokens = open();
  for (const name of ['a', 'b']) tokens.create({ name, role: 'viewer' });
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test('a malformed file lets no one in, and the error says so', () => {
  const { token } = open().create({ name: 'Ada', role: 'admin' });
  for (const content of [
    '',
    '{',
    '[]',
    '{"version":2}',
    '{"version":1,"tokens":[{"name":"x"}],"logins":[]}',
    // Only the four roles count, not the properties that every object has.
    '{"version":1,"tokens":[{"tokenId":"1","name":"x","role":"constructor","hash":"00"}],"logins":[]}',
  ]) {
    writeFileSync(path, content);
    expect(() => open().findToken(token)).toThrow('does not contain tokens');
  }
});

test('a token with an unreadable expiry has expired', () => {
  const { token } = open().create({ name: 'Ada', role: 'admin', expiresInMs: 100 });
  expect(open().findToken(token)?.name).toBe('Ada');
  for (const end of ['null', '"never"', '"9999"']) {
    writeFileSync(path, readFileSync(path, 'utf8').replace(/"expiresAt": .+(?=,\n)/, `"expiresAt": ${end}`));
    expect([end, open().findToken(token)]).toEqual([end, undefined]);
  }
});

test('no token is lost if several processes make tokens at once', async () => {
  const make = (name: string): Promise<unknown> =>
    promisify(execFile)(process.execPath, [
      '--input-type=module',
      '--eval',
      `import { TokenFile } from ${JSON.stringify(new URL('token-file.ts', import.meta.url).href)};
       const tokens = new TokenFile(${JSON.stringify(path)}, Date.now);
       for (let n = 0; n < 25; n++) tokens.create({ name: ${JSON.stringify(name)} + n, role: 'viewer' });`,
    ]);
  await Promise.all(['a', 'b', 'c'].map(make));
  expect(open().list()).toHaveLength(75);
});

test('a lock left by a dead process is removed', () => {
  writeFileSync(`${path}.lock`, '');
  const longAgo = new Date(Date.now() - 60_000);
  utimesSync(`${path}.lock`, longAgo, longAgo);
  expect(open().create({ name: 'Ada', role: 'viewer' }).record.name).toBe('Ada');
});

test('repeated logins replace only logins of the same token', () => {
  const tokens = open();
  const [ada, eve] = ['Ada', 'Eve'].map((name) => tokens.create({ name, role: 'viewer' }).record.tokenId);
  const { secret, pageKey } = tokens.openLogin(ada ?? '', 10_000);
  const logins = Array.from({ length: 50 }, () => tokens.openLogin(eve ?? '', 10_000));
  expect(tokens.findLogin(secret, pageKey)?.record?.name).toBe('Ada');
  expect(logins.filter((each) => tokens.findLogin(each.secret, each.pageKey) !== undefined)).toEqual(
    logins.slice(-20),
  );
});

test('a cache of logins can tell that they may have changed', () => {
  for (const tokens of [open(), new TokenFile(undefined, () => now)]) {
    const before = tokens.revision;
    expect(tokens.revision).toBe(before);
    tokens.create({ name: 'Ada', role: 'viewer' });
    const after = tokens.revision;
    expect(after).not.toBe(before);
    tokens.revoke('Ada');
    expect(tokens.revision).not.toBe(after);
  }
});
