import { execFile } from 'node:child_process';
import { globSync } from 'node:fs';
import { basename } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { packageArguments } from './frameworks/suite/package-arguments.ts';
import { root } from './sources.ts';

const examples = globSync('examples/[0-9]*.ts', { cwd: root }).toSorted();

test('examples are numbered from 01 without gaps', () => {
  const numbers = examples.map((path) => basename(path).slice(0, 2));
  expect(numbers).toEqual(examples.map((_, index) => String(index + 1).padStart(2, '0')));
});

for (const example of examples)
  test(`${example} runs to the end`, async () => {
    const run = promisify(execFile)(process.execPath, [...packageArguments(), example], { cwd: root });
    await expect(run).resolves.toBeDefined();
  });
