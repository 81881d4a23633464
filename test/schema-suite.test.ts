/** `npm run schema-suite`, on a small suite made here. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'quittance-schema-suite-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const run = (...args: readonly string[]) =>
  spawnSync(
    process.execPath,
    ['--conditions=quittance-source', join(import.meta.dirname, '../bench/schema-suite/index.ts'), ...args],
    { encoding: 'utf8' },
  );

type Case = readonly [data: unknown, valid: boolean];

function put(name: string, schema: unknown, ...cases: readonly Case[]): void {
  const path = join(folder, 'tests', name);
  mkdirSync(dirname(path), { recursive: true });
  const tests = cases.map(([data, valid]) => ({ description: JSON.stringify(data), data, valid }));
  writeFileSync(path, JSON.stringify([{ description: 'made here', schema, tests }]));
}

const summaryOf = (stdout: string): unknown => JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '');

test('counts verdicts by class: agreement, stricter formats, refused schemas', () => {
  put('draft2020-12/type.json', { type: 'string' }, ['a', true], [1, false]);
  put('draft2020-12/optional/bignum.json', { type: 'integer' }, [1, true]);
  // The suite treats formats as annotations.
  put('draft2020-12/format.json', { type: 'string', format: 'email' }, ['not an address', true]);
  put('draft2020-12/unknown.json', { type: 'string', maxLenght: 3 }, ['a', true], ['long', false]);
  put('draft7/type.json', { type: 'number' }, [1, true], ['a', false]);
  const { stdout, status } = run(folder);
  expect(status).toBe(0);
  expect(summaryOf(stdout)).toEqual({
    type: 'schema-suite',
    classes: {
      'draft2020-12 mandatory': { tests: 5, agrees: 2, stricter: 1, refused: 2, wrong: 0 },
      'draft2020-12 optional': { tests: 1, agrees: 1, stricter: 0, refused: 0, wrong: 0 },
      'draft7 mandatory': { tests: 2, agrees: 2, stricter: 0, refused: 0, wrong: 0 },
    },
    silentlyWrongMandatory: 0,
  });
  expect(stdout).toContain('files that do not fully agree');
});

test('bundles the remote documents that a schema refers to', () => {
  const remote = 'http://localhost:1234/draft2020-12/nested/other.json';
  mkdirSync(join(folder, 'remotes/draft2020-12/nested'), { recursive: true });
  writeFileSync(join(folder, 'remotes/draft2020-12/nested/other.json'), '{"$ref":"../type.json"}');
  writeFileSync(join(folder, 'remotes/draft2020-12/type.json'), '{"$id":"own.json","type":"integer"}');
  put('draft2020-12/refRemote.json', { $ref: remote }, [1, true], ['a', false]);
  expect(summaryOf(run(folder).stdout)).toMatchObject({
    classes: { 'draft2020-12 mandatory': { tests: 2, agrees: 2 } },
  });
});

test('fails, and names the case, if a mandatory verdict is wrong without a refusal', () => {
  put('draft2020-12/type.json', { type: 'string' }, ['a', false]);
  const { stdout, status } = run(join(folder, 'tests'));
  expect(status).toBe(1);
  expect(stdout).toContain('wrong: draft2020-12 mandatory: type.json: made here: "a"');
  expect(summaryOf(stdout)).toMatchObject({ silentlyWrongMandatory: 1 });
});

test('says what to type without a suite', () => {
  expect(run()).toMatchObject({ status: 2, stderr: expect.stringContaining('git clone') as string });
  expect(run(folder)).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('contains no tests') as string,
  });
});
