import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { runProgramHere } from '../../test/run-program.ts';
import { contractsFromYaml } from '../contracts.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-init-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test.each([
  ['my-agent2', 'my-agent2'],
  ['My Agent: Büro', 'my-agent-buro'],
  ['_.hidden_', 'hidden'],
  ['"a\\b"', 'a-b'],
  ['代理', 'my-agent'],
  ['quittance', 'my-agent'],
  ['node_modules', 'my-agent'],
  ['x'.repeat(240), 'x'.repeat(100)],
])('a project in the folder %s is called %s', async (typed, name) => {
  const made = await runProgramHere(['init', typed], { cwd: folder });
  expect(made).toMatchObject({ code: 0, err: '' });
  const read = (file: string): string => readFileSync(join(folder, typed, file), 'utf8');
  expect(JSON.parse(read('package.json'))).toMatchObject({ name, private: true });
  expect(read('contracts.yaml')).toContain(`\n  name: ${JSON.stringify(name)}\n`);
  await expect(contractsFromYaml(join(folder, typed, 'contracts.yaml'))).resolves.toBeDefined();
});

test('a project in the current folder gets the name of that folder', async () => {
  const home = join(folder, 'Shop 7');
  mkdirSync(home);
  await runProgramHere(['init'], { cwd: home });
  expect(readFileSync(join(home, 'package.json'), 'utf8')).toContain('"name": "shop-7"');
});

test('explains how to install the unpublished package if it is missing', async () => {
  const made = await runProgramHere(['init', 'elsewhere'], { cwd: folder });
  expect(made.out).toMatch(/^npm install path\/to\/quittance-\d.*\.tgz {3}# .*not published/m);
});
