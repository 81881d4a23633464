/** The projects that `quittance init` writes, for every framework and store, with the real frameworks. */
import { execFile } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import root from '../../package.json' with { type: 'json' };
import {
  developmentPackages,
  frameworkChoices,
  ruleChoices,
  storeChoices,
} from '../../packages/cli/src/init/project-choices.ts';
import { runProgramHere } from '../run-program.ts';
import tested from './package.json' with { type: 'json' };
import { compileCache, isPackageBuilt, packageArguments } from './suite/package-arguments.ts';

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'quittance-projects-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const frameworks = Object.keys(frameworkChoices);
const combinations = frameworks.flatMap((framework) =>
  Object.keys(storeChoices).map((store) => ({ framework, store, rules: 'ask' })),
);
const others = ['block', 'observe'].map((rules) => ({ framework: 'none', store: 'sqlite', rules }));
const projects = [...combinations, ...others].map((choices) => ({
  ...choices,
  name: Object.values(choices).join('-'),
}));

beforeAll(async () => {
  symlinkSync(join(import.meta.dirname, 'node_modules'), join(folder, 'node_modules'));
  for (const name of applications) {
    mkdirSync(join(folder, name));
    const source = join(import.meta.dirname, '../../examples/apps', name);
    for (const file of readdirSync(source))
      writeFileSync(join(folder, name, file), readFileSync(join(source, file)));
  }
  for (const { name, framework, store, rules } of projects) {
    const options = ['--framework', framework, '--store', store, '--rules', rules];
    const { code, err } = await runProgramHere(['init', name, ...options], { cwd: folder });
    if (code !== 0) throw new Error(err);
  }
});

/** The applications of examples/apps, copied next to the projects. */
const applications = ['support-agent', 'coding-agent', 'desktop-mcp'];

test('the tables list exactly the templates of the package', () => {
  const list = (part: string): string[] =>
    readdirSync(join(import.meta.dirname, '../../packages/quittance/templates/projects', part)).toSorted();
  expect(list('frameworks')).toEqual(frameworks.toSorted());
  expect(list('stores')).toEqual(Object.keys(storeChoices).toSorted());
  expect(list('rules')).toEqual(Object.keys(ruleChoices).toSorted());
});

test('a project asks for the versions that the adapters are tested with', () => {
  const known: Readonly<Record<string, string>> = { ...root.devDependencies, ...tested.devDependencies };
  const asked = [...Object.values(frameworkChoices), ...Object.values(storeChoices)].flatMap(({ packages }) =>
    Object.entries(packages),
  );
  for (const [name, range] of [...asked, ...Object.entries(developmentPackages)])
    expect([name, range]).toEqual([name, `^${known[name]}`]);
});

test('every project for every framework and store has types that match', async () => {
  // One program for all of them, because they share most of what they import.
  const { compilerOptions } = JSON.parse(
    readFileSync(join(folder, 'none-sqlite-ask/tsconfig.json'), 'utf8'),
  ) as { compilerOptions: object };
  const fromSources = {
    customConditions: ['quittance-source'],
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    lib: ['es2024', 'es2025.collection', 'es2025.iterator', 'esnext.disposable', 'dom'],
  };
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({
      compilerOptions: {
        ...compilerOptions,
        typeRoots: [join(import.meta.dirname, '../../node_modules/@types')],
        ...(!isPackageBuilt() && fromSources),
      },
      include: [...projects.map(({ name }) => name), ...applications].map((name) => `${name}/*.ts`),
    }),
  );
  const tsc = fileURLToPath(new URL('bin/tsc', import.meta.resolve('typescript-native/package.json')));
  const { stdout } = await run(process.execPath, [tsc, '-p', folder, '--listFiles'], {
    maxBuffer: 2 ** 26,
  }).catch((error: { stdout: string }) => error); // the compiler prints problems and fails
  expect(stdout.split('\n').filter((line) => line.includes(': error TS'))).toEqual([]);
  for (const { name } of projects) expect(stdout).toContain(`/${name}/agent.test.ts`);
});

const cli = join(
  import.meta.dirname,
  '../..',
  isPackageBuilt() ? 'packages/cli/dist/main.js' : 'packages/cli/src/main.ts',
);

const testProject = (name: string) =>
  run(
    process.execPath,
    [
      ...packageArguments(),
      '--test',
      `${folder}/${name}/${applications.includes(name) ? name : 'agent'}.test.ts`,
    ],
    {
      // The keys of the person who runs the tests must not be used. The variable of a test runner would be inherited.
      env: {
        PATH: process.env['PATH'],
        HOME: process.env['HOME'],
        TMPDIR: process.env['TMPDIR'],
        QUITTANCE_CLI: cli,
        ...compileCache,
      },
    },
  );

test.each(applications)('the application %s passes its test', async (name) => {
  expect((await testProject(name)).stdout).toMatch(/^. pass [12]$[^]*^. fail 0$/m);
});

describe('the test of a project passes, and does not if the rule is removed', () => {
  test.each([
    ...frameworks.map((framework) => `${framework}-sqlite-ask`),
    ...others.map(({ rules }) => `none-sqlite-${rules}`),
  ])('%s', async (name) => {
    expect((await testProject(name)).stdout).toMatch(/^. pass 1$/m);
  });

  test('none-sqlite-block without its rule', async () => {
    const bare = join(folder, 'bare');
    mkdirSync(bare);
    for (const file of readdirSync(join(folder, 'none-sqlite-block'), { withFileTypes: true }))
      if (file.isFile())
        writeFileSync(
          join(bare, file.name),
          readFileSync(join(folder, 'none-sqlite-block', file.name), 'utf8').replace('gt: 5000', 'gt: 99999'),
        );
    await expect(testProject('bare')).rejects.toMatchObject({ code: 1 });
  });
});
