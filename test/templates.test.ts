/**
 * The templates: what each allows, asks about and blocks, by the cases next to it and by random spellings.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import {
  contractsFromMultiple,
  contractsFromTemplate,
  contractsFromYamlString,
  templateNames,
} from 'quittance/contracts';
import { describe, expect, test } from 'vitest';
import { renderContracts } from '../scripts/render-contracts.ts';
import { readCases } from '../packages/cli/src/contracts-case.ts';
import { demoRules } from '../packages/cli/src/commands/demo.ts';
import { runCases } from '../packages/cli/src/run-cases.ts';
import { root } from './sources.ts';

const generated = renderContracts();

test.each([...generated.keys()])('%s is up to date (npm run docs writes it again)', (path) => {
  expect(readFileSync(join(root, path), 'utf8')).toBe(generated.get(path));
});

test('every document in templates/ is a template', () => {
  const documents = globSync('packages/quittance/templates/*.yaml', { cwd: root }).filter(
    (path) => !path.endsWith('.cases.yaml'),
  );
  expect(templateNames.map((name) => `packages/quittance/templates/${name}.yaml`)).toEqual(
    documents.toSorted(),
  );
});

const least: Readonly<Record<string, number>> = {
  'file-agent': 25,
  'research-agent': 25,
  'coding-agent': 40,
  'devops-agent': 40,
  'coding-workflow': 8,
};

describe.each(templateNames)('the template %s', (name) => {
  test('does what its cases say', async () => {
    const path = join(root, `packages/quittance/templates/${name}.cases.yaml`);
    const reading = readCases(readFileSync(path), path);
    if (!reading.ok) throw new Error(JSON.stringify(reading.problems));
    const results = await runCases(reading.file, (options) =>
      Promise.resolve(contractsFromTemplate(name, options)),
    );
    expect(
      results.filter(({ passed }) => !passed).map(({ case: { id }, problems }) => [id, problems]),
    ).toEqual([]);
    expect(results.length).toBeGreaterThanOrEqual(least[name] ?? 0);
    // A list that only blocks proves little, and so does one that only allows.
    const words = new Set(results.map(({ came }) => came));
    for (const word of ['allow', 'ask', 'block'] as const) expect(words).toContain(word);
  });

  test('has no warnings', () => {
    expect(contractsFromTemplate(name).check()).toEqual([]);
  });
});

test('the rules of the demo, of projects and of examples have no warnings', () => {
  const files = [
    'packages/quittance/templates/projects/rules/*/*.yaml',
    'examples/apps/*/*.yaml',
    'examples/http/*.yaml',
  ];
  const documents = globSync(files, { cwd: root }).map((path): readonly [string, string] => [
    path,
    readFileSync(join(root, path), 'utf8').replace('PROJECT', 'project'),
  ]);
  expect(documents.length).toBeGreaterThan(5);
  for (const [path, text] of [...documents, ['the demo', demoRules] as const]) {
    const warnings = contractsFromYamlString(text).check();
    // Rules that only observe are a choice of `quittance init`.
    expect([path, warnings.filter(({ code }) => code !== 'observe_default')]).toEqual([path, []]);
  }
});

describe('whatever the spelling', () => {
  const project = { workingDirectory: '/project', homeDirectory: '/home/agent' };
  const sources = {
    file: contractsFromTemplate('file-agent', project),
    coding: contractsFromTemplate('coding-agent', project),
    devops: contractsFromTemplate('devops-agent', project),
  };

  const folders = fc.constantFrom(
    '',
    './',
    '/project/',
    'packages/api/',
    'a/../',
    '././',
    'packages//api/./',
  );
  const dots = fc.constantFrom('.env', '.ENV', '%2eenv', '%252Eenv', '．env', '.env.local', '.env ');

  test('a file agent reads no .env', async () => {
    await fc.assert(
      fc.asyncProperty(
        folders,
        dots,
        fc.constantFrom('path', 'file_path', 'filename'),
        async (folder, file, key) => {
          const input = { [key]: `${folder}${file}` };
          const { decision } = await sources.file.evaluate({ toolName: 'read_file', input });
          expect(decision).toBe('block');
        },
      ),
    );
  });

  /** Puts quotes and backslashes into a word without changing what a shell reads. */
  const disguise = (word: string): fc.Arbitrary<string> =>
    fc
      .array(fc.constantFrom('', '', '""', "''", '\\'), { minLength: word.length, maxLength: word.length })
      .map((marks) => Array.from(word, (letter, index) => `${marks[index] ?? ''}${letter}`).join(''));

  test('a coding agent removes nothing and reads no .env without a person, however its words are quoted', async () => {
    const commands = fc.oneof(
      fc
        .tuple(disguise('rm'), fc.constantFrom('-rf', '-fr', '-r -f', '--recursive --force'), disguise('src'))
        .map((words) => words.join(' ')),
      fc.tuple(disguise('cat'), disguise('.env')).map((words) => words.join(' ')),
      fc
        .tuple(disguise('git'), fc.constant('diff'), disguise('packages/api/.env'))
        .map((words) => words.join(' ')),
      fc.tuple(disguise('sudo'), fc.constant('npm test')).map((words) => words.join(' ')),
    );
    await fc.assert(
      fc.asyncProperty(
        commands,
        fc.constantFrom('Bash', 'execute_command', 'shell'),
        async (command, toolName) => {
          const { decision } = await sources.coding.evaluate({ toolName, input: { command } });
          expect({ command, decision }).not.toMatchObject({ decision: 'allow' });
        },
      ),
    );
  });

  test('a devops agent shows no secret of the cluster without a person', async () => {
    const commands = fc
      .tuple(disguise('kubectl'), disguise('get'), disguise('secrets'))
      .map((words) => words.join(' '));
    await fc.assert(
      fc.asyncProperty(commands, async (command) => {
        const { decision } = await sources.devops.evaluate({ toolName: 'Bash', input: { command } });
        expect({ command, decision }).not.toMatchObject({ decision: 'allow' });
      }),
    );
  });

  test('a command followed by an unknown one is not allowed', async () => {
    const joints = fc.constantFrom(';', '&&', '||', '|', '&', '\n', '$(', '`', '<<<', '|&', '<(', '& &');
    await fc.assert(
      fc.asyncProperty(joints, fc.string({ maxLength: 20 }), async (joint, rest) => {
        const input = { command: `npm test ${joint} unknown-program ${rest}` };
        expect((await sources.coding.evaluate({ toolName: 'Bash', input })).decision).not.toBe('allow');
      }),
    );
  });
});

test('the workflow is listed next to the rules', async () => {
  const both = contractsFromMultiple(
    [
      contractsFromTemplate('coding-agent', { workingDirectory: '/project' }),
      contractsFromTemplate('coding-workflow'),
    ],
    { workingDirectory: '/project' },
  );
  const { ruling, workflows } = await both.explain({ toolName: 'Bash', input: { command: 'git push' } });
  expect(ruling.decision).toBe('block');
  expect(workflows).toMatchObject([{ workflow: 'coding-workflow', stageBefore: 'look', decision: 'block' }]);
});
