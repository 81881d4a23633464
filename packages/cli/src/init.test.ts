import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { runProgramHere } from '../../../test/run-program.ts';
import { contractsFromYaml } from 'quittance/contracts';
import { writeProject } from './commands/init.ts';

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
  const made = await runProgramHere(['init', typed, '--yes'], { cwd: folder });
  expect(made).toMatchObject({ code: 0, err: '' });
  const read = (file: string): string => readFileSync(join(folder, typed, file), 'utf8');
  expect(JSON.parse(read('package.json'))).toMatchObject({ name, private: true });
  expect(read('contracts.yaml')).toContain(`\n  name: ${JSON.stringify(name)}\n`);
  await expect(contractsFromYaml(join(folder, typed, 'contracts.yaml'))).resolves.toBeDefined();
});

test.each(readdirSync(join(import.meta.dirname, '../../quittance/templates/projects/frameworks')))(
  'a project with %s asks a person about tools with a risk',
  async (framework) => {
    const made = await runProgramHere(['init', `risk-${framework}`, '--yes', '--framework', framework], {
      cwd: folder,
    });
    expect(made).toMatchObject({ code: 0, err: '' });
    const written = readFileSync(join(folder, `risk-${framework}`, 'quittance.ts'), 'utf8');
    expect(written).toContain("treatments: { risk: 'ask' }");
  },
);

test('a project in the current folder gets the name of that folder', async () => {
  const home = join(folder, 'Shop 7');
  mkdirSync(home);
  await runProgramHere(['init', '--yes'], { cwd: home });
  expect(readFileSync(join(home, 'package.json'), 'utf8')).toContain('"name": "shop-7"');
});

test('explains how to install the unpublished package if it is missing', async () => {
  const made = await runProgramHere(['init', 'elsewhere', '--yes'], { cwd: folder });
  expect(made.out).toMatch(/^npm install .*path\/to\/quittance-\d.*\.tgz {3}# .*not published/m);
});

test('installs the package from the file that a parent folder has it from', async () => {
  const parent = join(folder, 'parent');
  mkdirSync(join(parent, 'node_modules/quittance'), { recursive: true });
  writeFileSync(join(parent, 'node_modules/quittance/package.json'), '{ "name": "quittance" }');
  writeFileSync(
    join(parent, 'package.json'),
    '{ "dependencies": { "quittance": "file:../packed/quittance-0.1.0.tgz" } }',
  );
  const { out } = await runProgramHere(['init', 'apps/shop', '--yes'], { cwd: parent });
  expect(out).toMatch(/^npm install$/m);
  expect(JSON.parse(readFileSync(join(parent, 'apps/shop/package.json'), 'utf8'))).toMatchObject({
    dependencies: {
      quittance: 'file:../../../packed/quittance-0.1.0.tgz',
      '@quittance/cli': 'file:../../../packed/quittance-cli-0.1.0.tgz',
      '@quittance/server': 'file:../../../packed/quittance-server-0.1.0.tgz',
    },
  });
});

describe('the three questions', () => {
  /** Types the answers; undefined is Ctrl-C or the end of the input. */
  const answer = async (name: string, answers: readonly (string | undefined)[], options: string[] = []) => {
    const asked: string[] = [];
    const left = [...answers];
    const readLine = async (prompt: string) => (asked.push(prompt), left.shift());
    const ran = await runProgramHere(['init', name, ...options], { cwd: folder, readLine });
    return { ...ran, asked, left };
  };
  const dependencies = (name: string): object =>
    (JSON.parse(readFileSync(join(folder, name, 'package.json'), 'utf8')) as { dependencies: object })
      .dependencies;

  test('are answered by number, by name, or with the default', async () => {
    const { code, out, asked } = await answer('asked', ['2', 'postgres', '']);
    expect({ code, asked: asked.length }).toEqual({ code: 0, asked: 3 });
    expect(out).toMatch(/Which framework.*\n.*none.*\n +2 {2}ai-sdk/);
    expect(dependencies('asked')).toMatchObject({ ai: expect.any(String), pg: expect.any(String) });
    expect(readFileSync(join(folder, 'asked/contracts.yaml'), 'utf8')).toContain('action: ask');
  });

  test('are asked again after an unknown answer, which names the nearest', async () => {
    const { out, asked } = await answer('again', ['lang-chain', '0', 'langchain', '', '']);
    expect(asked).toHaveLength(5);
    expect(out).toMatch(/No answer named "lang-chain".*langchain/);
    expect(dependencies('again')).toHaveProperty('langchain');
  });

  test('are not asked if an option answers them', async () => {
    const { asked } = await answer('flags', ['block'], ['--framework', 'openai', '--store', 'sqlite']);
    expect(asked).toHaveLength(1);
    expect(readFileSync(join(folder, 'flags/contracts.yaml'), 'utf8')).toContain('action: block');
  });

  test.each([[[undefined]], [['1', undefined]], [['1', '1', undefined]]])(
    'write nothing if the person stops: %j',
    async (answers) => {
      expect(await answer('stopped', answers)).toMatchObject({ code: 1, err: 'Nothing was written.\n' });
      expect(existsSync(join(folder, 'stopped'))).toBe(false);
    },
  );

  test('need a terminal or options', async () => {
    const ran = await runProgramHere(['init', 'nobody'], { cwd: folder });
    expect(ran).toMatchObject({ code: 2, err: expect.stringContaining('--framework ai-sdk --store sqlite') });
    expect(ran.err).toContain('try: quittance init my-agent --yes');
    expect(existsSync(join(folder, 'nobody'))).toBe(false);
    const wrong = await runProgramHere(['init', 'nobody', '--framework', 'lang'], { cwd: folder });
    expect(wrong).toMatchObject({ code: 2, err: expect.stringContaining('--framework is one of none') });
  });
});

describe('a project is written whole or not at all', () => {
  test('a file that is there already refuses all of it', async () => {
    const home = join(folder, 'taken');
    mkdirSync(home);
    writeFileSync(join(home, 'agent.ts'), 'mine');
    const ran = await runProgramHere(['init', 'taken', '--yes'], { cwd: folder });
    expect(ran).toMatchObject({ code: 2, err: expect.stringContaining('init would overwrite agent.ts.') });
    expect(readdirSync(home)).toEqual(['agent.ts']);
    expect(readFileSync(join(home, 'agent.ts'), 'utf8')).toBe('mine');
  });

  test('a write that fails removes what was written, and its folders, but nothing else', () => {
    const home = join(folder, 'deep/er/home');
    const bad = { name: 'no/such/folder.ts', text: '', mayExist: false };
    const good = { name: 'good.ts', text: 'x', mayExist: false };
    expect(() => writeProject(home, [good, bad])).toThrow('ENOENT');
    expect(existsSync(join(folder, 'deep'))).toBe(false);
    mkdirSync(home, { recursive: true });
    writeFileSync(join(home, 'mine'), '');
    expect(() => writeProject(home, [good, bad])).toThrow('ENOENT');
    expect(readdirSync(home)).toEqual(['mine']);
  });

  test('a project that has package.json keeps it, and init prints what to add', async () => {
    const home = join(folder, 'there already');
    mkdirSync(home);
    writeFileSync(join(home, 'package.json'), '{}');
    writeFileSync(join(home, '.gitignore'), 'dist\n');
    const { out } = await runProgramHere(['init', 'there already', '--yes'], { cwd: folder });
    expect(out).toContain("cd 'there already'\necho '.quittance/' >> .gitignore\nnpm pkg set type=module");
    expect(out).toContain("scripts.start='node main.ts'");
    expect(out).toMatch(/^npm install 'zod@\^4/m);
    expect(readFileSync(join(home, 'package.json'), 'utf8')).toBe('{}');
    expect(readFileSync(join(home, '.gitignore'), 'utf8')).toBe('dist\n');
  });
});
