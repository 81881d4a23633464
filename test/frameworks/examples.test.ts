/** Every example of an adapter is a program that runs, without a key, and checks itself. */
import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { packageArguments } from './suite/package-arguments.ts';

const folder = join(import.meta.dirname, 'examples');

test.each(readdirSync(folder).filter((name) => name.endsWith('.ts')))('%s', async (name) => {
  const { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE } = process.env;
  const child = spawn(
    process.execPath,
    [...packageArguments(), join(folder, name)],
    // The keys of the person who runs the tests must not be used.
    { env: { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE } },
  );
  const [output, errors, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise((resolve) => child.once('close', resolve)),
  ]);
  expect({ code, errors }).toEqual({ code: 0, errors: '' });
  expect(output).not.toBe('');
});
