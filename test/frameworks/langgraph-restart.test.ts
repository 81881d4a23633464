/** A process that is killed, and another that continues its thread from the last checkpoint. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Dies } from './harnesses/langgraph-child.ts';
import type { Ran } from './suite/harness.ts';
import { packageArguments } from './suite/package-arguments.ts';

const child = join(import.meta.dirname, 'harnesses/langgraph-child.ts');
const start = (folder: string, dies: Dies) =>
  spawnSync(process.execPath, [...packageArguments(), child, folder, dies], { encoding: 'utf8' });

test.each([
  ['in the body', { status: 'error', retryable: false }],
  ['before the answer is kept', { paid: 5 }],
] as const)(
  'a thread whose process was killed %s continues from its checkpoint, and the effect happens once',
  (dies, heard) => {
    const folder = mkdtempSync(join(tmpdir(), 'quittance-langgraph-'));
    try {
      expect(start(folder, dies).signal).toBe('SIGKILL');
      const second = start(folder, 'never');
      expect([second.signal, second.stderr]).toEqual([null, '']);
      const { text, told } = JSON.parse(second.stdout) as Ran;
      expect(text).toBe('Done.');
      expect(told.map(({ texts }) => JSON.parse(texts[0] ?? '') as unknown)).toEqual([
        expect.objectContaining(heard),
      ]);
      expect(readFileSync(join(folder, 'effects.txt'), 'utf8')).toBe('5\n');
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
);
