/** The adapter matrix page matches the harnesses, and every row of the table of bypasses names a test. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { formatText } from '../../scripts/format-text.ts';
import { bypasses } from './bypasses.ts';
import { loadHarnesses } from './harnesses.ts';
import { matrixPath, renderMatrix } from './matrix.ts';
import { cellsOf } from './suite/matrix-cells.ts';

const root = join(import.meta.dirname, '../..');

test('docs/adapter-matrix.md matches the harnesses (npm run docs writes it again)', async () => {
  const file = join(root, matrixPath);
  const page = await formatText(matrixPath, await renderMatrix());
  expect(existsSync(file) ? readFileSync(file, 'utf8') : '').toBe(page);
});

test('every cell outside of the behavior suite names an existing test', async () => {
  const cells = (await loadHarnesses()).flatMap(cellsOf).filter(({ column }) => column === 'structured');
  const missing = cells.filter(({ file, path: [name = '', ...titles] }) => {
    const source = readFileSync(join(import.meta.dirname, file), 'utf8');
    return (
      file !== 'suite/behavior-suite.ts' &&
      !(source.includes(`'${name}`) && source.includes(titles.join(' ')))
    );
  });
  expect(missing).toEqual([]);
});

test('every way around a governed tool names an existing test', () => {
  const sources = globSync(
    [
      'test/frameworks/*.test.ts',
      'test/frameworks/suite/*.ts',
      'packages/*/src/{*.test.ts,adopt/*.test.ts,run/*.test.ts}',
      'test/adapters/*.test.ts',
    ],
    {
      cwd: root,
    },
  ).map((name) => readFileSync(join(root, name), 'utf8').replaceAll(/\s+/g, ' '));
  const missing = bypasses.filter(({ test: title }) => !sources.some((source) => source.includes(title)));
  expect(missing).toEqual([]);
});
