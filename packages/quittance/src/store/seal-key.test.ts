import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { thrownBy } from '../../../../test/thrown-by.ts';
import { findSealKey, needSealKey } from './seal-key.ts';

const key = Buffer.alloc(32, 7);
const hex = key.toString('hex');
const from = process.cwd();
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'quittance-key-'));
  process.chdir(folder);
});
afterEach(() => {
  process.chdir(from);
  rmSync(folder, { recursive: true });
});

test('the environment gives the key as hex, as base64, by a file or by a command', () => {
  writeFileSync('hex.key', `${hex}\n`, { mode: 0o600 });
  writeFileSync('raw.key', key, { mode: 0o600 });
  for (const env of [
    { QUITTANCE_SEAL_KEY: hex },
    { QUITTANCE_SEAL_KEY: key.toString('base64') },
    { QUITTANCE_SEAL_KEY: key.toString('base64url') },
    { QUITTANCE_SEAL_KEY_FILE: 'hex.key' },
    { QUITTANCE_SEAL_KEY_FILE: 'raw.key' },
    { QUITTANCE_SEAL_KEY_COMMAND: 'cat hex.key' },
  ])
    expect(findSealKey(env, {})?.sealKey).toEqual(new Uint8Array(key));
  expect(findSealKey({ QUITTANCE_SEAL_KEY_FILE: 'hex.key' }, {})?.sealKeyFile).toBe(join(folder, 'hex.key'));
  expect(existsSync('.quittance')).toBe(false);
});

test('options come before the environment', () => {
  const other = new Uint8Array(32);
  expect(findSealKey({ QUITTANCE_SEAL_KEY: hex }, { sealKey: other })?.sealKey).toBe(other);
});

test('without a key, a process that makes calls creates a private file, and another process reads it', () => {
  expect(findSealKey({}, {})).toBeUndefined();
  const made = needSealKey({}, {});
  expect(made.sealKeyFile).toBe(join(folder, '.quittance/seal.key'));
  expect(statSync('.quittance/seal.key').mode & 0o777).toBe(0o600);
  expect(new Uint8Array(readFileSync('.quittance/seal.key'))).toEqual(made.sealKey);
  expect(findSealKey({}, {})?.sealKey).toEqual(made.sealKey);
});

test.each<[string, Readonly<Record<string, string>>, RegExp]>([
  ['two sources', { QUITTANCE_SEAL_KEY: hex, QUITTANCE_SEAL_KEY_FILE: 'x' }, /only one of/],
  ['a short key', { QUITTANCE_SEAL_KEY: 'c0ffee'.repeat(5) }, /64 hex digits/],
  ['a missing file', { QUITTANCE_SEAL_KEY_FILE: 'none.key' }, /none\.key.*ENOENT/],
  ['a failing command', { QUITTANCE_SEAL_KEY_COMMAND: 'exit 3' }, /exited with 3/],
  ['a command that prints no key', { QUITTANCE_SEAL_KEY_COMMAND: 'echo c0ffee' }, /The output of/],
])('%s is refused without showing the key', (_, env, reason) => {
  const error = thrownBy(() => findSealKey(env, {})) as Error;
  expect(error).toMatchObject({ code: 'config.invalid', message: expect.stringMatching(reason) });
  expect(error.message).not.toMatch(/c0ffee|0707/);
});

test('a key file that others can write is refused', () => {
  writeFileSync('hex.key', hex);
  chmodSync('hex.key', 0o666);
  expect(thrownBy(() => findSealKey({ QUITTANCE_SEAL_KEY_FILE: 'hex.key' }, {}))).toMatchObject({
    code: 'config.invalid',
    message: expect.stringMatching(/written by others/),
  });
});
