/** Checks the hand-written pages of docs/ against the code. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, sep } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { SuccessCheck, ToolMode } from 'quittance';
import {
  coercionRules,
  defaultSuccessCheck,
  defaultTreatments,
  errorTable,
  successChecks,
  toolModePatterns,
  toolModeTreatments,
} from 'quittance';
import { templateNames } from 'quittance/contracts';
import { faultNames } from 'quittance/testing';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { operandKinds } from '../packages/quittance/src/policy/language/operand.ts';
import { builtInPrefixes } from '../packages/quittance/src/policy/read/parse-selector.ts';
import {
  actionsOf,
  keysOf,
  olderActions,
  olderKeys,
  rulesetShape,
  ruleShapes,
} from '../packages/quittance/src/policy/language/rule-shape.ts';
import { gateNames } from '../packages/quittance/src/runtime/gates.ts';
import { toolFields } from '../packages/quittance/src/tool/tool-fields.ts';
import { root } from './sources.ts';
import { isPackageBuilt, packageArguments } from './frameworks/suite/package-arguments.ts';

const read = (path: string): string => readFileSync(join(root, path), 'utf8');
/** Pages whose blocks are separate programs that print the lines marked `// →`. */
const pagesOfPrograms = ['docs/behaviors.md', 'docs/retries.md', 'docs/ledger.md'];

/** Pages whose programs need a service or another program. Their types are checked. */
const typedPages = [
  'docs/approval-policies.md',
  'docs/mcp.md',
  'docs/notifications.md',
  'docs/postgres.md',
  'docs/sandboxed-executor.md',
];

/** Every other page with a program: it runs, and prints what the page says. */
const pages = globSync('docs/{*,guides/*}.md', { cwd: root })
  .map((path) => path.split(sep).join('/'))
  .filter((path) => /^```ts$/m.test(read(path)))
  .filter((path) => !pagesOfPrograms.includes(path) && !typedPages.includes(path))
  .toSorted();

/** The blocks of one language, in order, as one text. */
const blocks = (page: string, language: string): string =>
  [...read(page).matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))]
    .map(([, block = '']) => block)
    .join('');

/** The blocks of a page, after those of the page whose program it continues. */
function programOf(page: string, language: string): string {
  const [, earlier] = /^The examples continue the program of \[[^\]]+\]\(([^)]+)\)/m.exec(read(page)) ?? [];
  const before = earlier === undefined ? '' : programOf(`docs/${earlier}`, language);
  return before + blocks(page, language);
}

/** The words in backticks in the first column of the table under a heading. */
function firstColumn(page: string, heading: string): string[] {
  const [, section = ''] = read(page).split(`\n## ${heading}\n`);
  const rows = (section.split('\n## ')[0] ?? '').split('\n').filter((line) => line.startsWith('| '));
  return rows.flatMap((row) =>
    [...(row.split('|')[1] ?? '').matchAll(/`([^`]+)`/g)].map(([, word = '']) => word),
  );
}

async function run(program: string): Promise<{ output: string; errors: string }> {
  const args = [...packageArguments(), '--input-type=module-typescript', '-'];
  const child = spawn(process.execPath, args, { cwd: root });
  child.stdin.end(program);
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { output, errors };
}

describe.each(pages)('%s', (page) => {
  test('is a program that prints what the page says', async () => {
    expect(await run(programOf(page, 'ts'))).toEqual({ output: programOf(page, 'text'), errors: '' });
  });
});

describe.each(pagesOfPrograms)('%s', (page) => {
  const programs = [...read(page).matchAll(/^```ts\n(.*?)^```/gms)].map(([, program = '']) => program);
  const folder = mkdtempSync(join(tmpdir(), 'quittance-handbook-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  test.each(programs)('has programs that print what they say, twice: %#', async (program) => {
    const output = [...program.matchAll(/^\/\/ → (.*\n)/gm)].map(([, line = '']) => line).join('');
    for (const _ of ['first', 'again'])
      expect(await run(program.replace('./.quittance', folder))).toEqual({ output, errors: '' });
  });
});

/** On pages that only need their types checked, every block that begins with an import begins a program. */
function separatePrograms(page: string): readonly (readonly [name: string, program: string])[] {
  const programs: string[] = [];
  for (const [, block = ''] of read(page).matchAll(/^```ts\n(.*?)^```/gms))
    if (block.startsWith('import ') || programs.length === 0) programs.push(block);
    else programs.push(`${programs.pop()}${block}`);
  return programs.map((program, index) => [`${page}-${index}`, program]);
}

test('the programs of the pages compile', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-handbook-types-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [page, program] of [
    ...pages.map((page) => [page, programOf(page, 'ts')] as const),
    ...typedPages.flatMap(separatePrograms),
  ])
    writeFileSync(join(folder, `${page.replaceAll('/', '_')}.ts`), program);
  // They import this package by its name.
  const modules = join(folder, 'node_modules');
  mkdirSync(modules);
  for (const name of readdirSync(join(root, 'node_modules')).filter((each) => !each.startsWith('.')))
    symlinkSync(join(root, 'node_modules', name), join(modules, name));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  const compilerOptions = isPackageBuilt() ? { customConditions: [] } : {};
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ extends: join(root, 'tsconfig.json'), compilerOptions, include: ['*.ts'], exclude: [] }),
  );
  const tsc = fileURLToPath(new URL('bin/tsc', import.meta.resolve('typescript-native/package.json')));
  const child = spawn(process.execPath, [tsc, '-p', folder], { cwd: folder });
  const [problems, [code]] = await Promise.all([
    text(child.stdout),
    once(child, 'close') as Promise<[number]>,
  ]);
  expect([problems, code]).toEqual(['', 0]);
});

describe('docs/tools.md lists', () => {
  test('every field of a definition', () => {
    expect(firstColumn('docs/tools.md', 'Fields').toSorted()).toEqual(Object.keys(toolFields).toSorted());
  });

  test('every coercion rule in its order, in its own words', () => {
    expect(firstColumn('docs/tool-input.md', 'Arguments that do not fit')).toEqual(
      coercionRules.map(({ name }) => name),
    );
    for (const { sentence } of coercionRules) expect(read('docs/tool-input.md')).toContain(sentence);
  });

  const treatmentWords = {
    run: 'runs',
    ask: 'asks a person',
    ask_unless_undo: 'asks a person, unless the tool has `undo`',
  };

  test('every mode with its meaning and the names that mean it', () => {
    expect(firstColumn('docs/tools.md', 'Modes')).toEqual(Object.keys(toolModeTreatments));
    const rows = read('docs/tools.md').split('\n');
    for (const [mode, { meaning }] of Object.entries(toolModeTreatments)) {
      const row = rows.find((line) => line.startsWith(`| \`${mode}\` `)) ?? '';
      expect(row.replaceAll('\\', '')).toContain(meaning);
      expect(row.split('|').at(-2)?.trim()).toBe(treatmentWords[defaultTreatments[mode as ToolMode]]);
      const beginnings = [...row.matchAll(/`([a-z]+_)`/g)].map(([, beginning = '']) => beginning);
      const known = toolModePatterns.filter((each) => each.mode === mode);
      expect(beginnings).toHaveLength(known.length);
      for (const beginning of beginnings)
        expect(known.some(({ pattern }) => pattern.test(`${beginning}x`))).toBe(true);
    }
  });

  test('every member of a body’s context', () => {
    const [, context = ''] = read('packages/quittance/src/tool/tool-context.ts').split(
      'export type ToolContext = {',
    );
    const members = [...(context.split('\n};')[0] ?? '').matchAll(/^ {2}(?:readonly )?(\w+)[(:]/gm)];
    expect(firstColumn('docs/tools.md', 'The context').toSorted()).toEqual(
      members.map(([, name = '']) => name).toSorted(),
    );
  });
});

describe('docs/runtime.md lists', () => {
  test('every option', () => {
    const [, type = ''] =
      /^export type RuntimeOptions[^]*?\{\n([^]*?)^\}/m.exec(
        read('packages/quittance/src/runtime/create-runtime.ts'),
      ) ?? [];
    const declared = [...type.matchAll(/^ {2}readonly (\w+)\??:/gm)];
    expect(firstColumn('docs/runtime.md', 'Options')).toEqual(declared.map(([, name]) => name));
  });

  test('every gate in its order', () => {
    expect(firstColumn('docs/calls.md', 'The order of the checks')).toEqual(gateNames);
  });

  test('every error in its own words', () => {
    const rows = [...read('docs/errors.md').matchAll(/^\| `([^`]+)` +\|/gm)].map(([, code]) => code);
    expect(rows).toEqual(Object.keys(errorTable));
    for (const { means } of Object.values(errorTable)) expect(read('docs/errors.md')).toContain(means);
  });
});

describe('docs/contracts.md', () => {
  const page = read('docs/contracts.md');
  /** The words in backticks in all columns of the row that begins so. */
  const rowOf = (first: string): string[] =>
    [
      ...(page.split('\n').find((line) => line.startsWith(`| \`${first}\` `)) ?? '').matchAll(/`([^`]+)`/g),
    ].map(([, word = '']) => word);

  test('lists every operator and every selector', () => {
    const listed = firstColumn('docs/contract-conditions.md', 'Conditions');
    expect(listed).toEqual(expect.arrayContaining(Object.keys(operandKinds)));
    for (const prefix of builtInPrefixes)
      expect(listed.some((word) => word === prefix || word.startsWith(`${prefix}.`))).toBe(true);
  });

  test('lists every key of a ruleset, and every field and action of each type of rule', () => {
    expect(['apiVersion', 'kind', ...firstColumn('docs/contracts.md', 'Documents')].toSorted()).toEqual(
      keysOf(rulesetShape).toSorted(),
    );
    for (const type of ['pre', 'post', 'session', 'sandbox'] as const)
      expect([...rowOf(type), 'type']).toEqual(
        expect.arrayContaining([...keysOf(ruleShapes[type]), ...actionsOf[type]]),
      );
  });

  test('lists every template', () => {
    expect(firstColumn('docs/contract-loading.md', 'Templates').toSorted()).toEqual(templateNames.toSorted());
  });

  test('lists every option and every function that loads', () => {
    const options = [
      ...read('packages/quittance/src/contracts/contracts-options.ts').matchAll(/^ {2}readonly (\w+)\?:/gm),
    ];
    const listed = firstColumn('docs/contract-loading.md', 'Loading');
    expect(listed).toEqual(expect.arrayContaining(options.map(([, name]) => name)));
    const loading = [
      ...read('packages/quittance/src/contracts.ts').matchAll(
        /\b((?:compose)?[cC]ontracts(?:From\w+)?)\b(?=[ ,])/g,
      ),
    ];
    for (const [, name = ''] of loading)
      expect(listed.some((word) => word.startsWith(`${name}(`))).toBe(true);
  });
});

test('docs/moving-from-edictum.md lists every older word', () => {
  const words = firstColumn('docs/moving-from-edictum.md', 'What loads unchanged').map((word) =>
    word.replace(/:$/, ''),
  );
  expect(words).toEqual(expect.arrayContaining([...Object.keys(olderKeys), ...Object.keys(olderActions)]));
});

test('docs/faults.md lists every fault', () => {
  const rows = [...read('docs/faults.md').matchAll(/^\| `([^`]+)` +\|/gm)].map(([, name]) => name);
  expect(rows).toEqual(faultNames);
});

test('docs/tool-results.md says how answers of well-known services are read', async () => {
  const rows = read('docs/tool-results.md')
    .split('\n')
    .flatMap((line) => {
      const [, answer, byDefault, check] =
        /^\| [^|]+ \| `(\{.*\})` +\| (\w+) +\| (?:`successChecks\.(.+?)`)? *\|$/.exec(line) ?? [];
      return answer === undefined ? [] : [{ answer: JSON.parse(answer) as unknown, byDefault, check }];
    });
  expect(rows.length).toBeGreaterThanOrEqual(20);
  const ready: Readonly<Record<string, SuccessCheck>> = {
    httpStatus: successChecks.httpStatus,
    exitCode: successChecks.exitCode,
    'statusField()': successChecks.statusField(),
    "statusField('state')": successChecks.statusField('state'),
  };
  for (const { answer, byDefault, check } of rows) {
    expect([answer, defaultSuccessCheck('t', answer)]).toEqual([answer, byDefault === 'success']);
    const last = check === undefined ? { ok: false } : await ready[check]?.('t', answer);
    expect(last).toMatchObject({ ok: false });
  }
});
