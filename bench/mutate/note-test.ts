/** Writes the name of each starting test file to the log of the probes. */
import { appendFileSync, readFileSync } from 'node:fs';
import { relative, sep } from 'node:path';
import { expect } from 'vitest';
import type { Plan } from './run-tests.ts';

const { log } = JSON.parse(readFileSync(process.env['QUITTANCE_MUTATE_PLAN'] ?? '', 'utf8')) as Plan;
const { testPath } = expect.getState();
if (log !== undefined && testPath !== undefined)
  appendFileSync(log, `# ${relative(process.cwd(), testPath).split(sep).join('/')}\n`);
