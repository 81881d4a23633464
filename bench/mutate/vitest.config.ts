/** Runs the tests of one mutation: the named ones, in that order, in one worker, until one fails. */
import { readFileSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import type { TestSpecification } from 'vitest/node';
import { BaseSequencer } from 'vitest/node';
import type { Plan } from './run-tests.ts';
import { NoteFailure } from './note-failure.ts';

const planFile = process.env['QUITTANCE_MUTATE_PLAN'] ?? '';
const plan = JSON.parse(readFileSync(planFile, 'utf8')) as Plan;

class InGivenOrder extends BaseSequencer {
  override sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number =>
      plan.tests.findIndex((test) => moduleId.endsWith(`/${test}`));
    return Promise.resolve(files.toSorted((a, b) => place(a) - place(b)));
  }
}

const resolve = { conditions: ['quittance-source'] };

export default defineConfig({
  resolve,
  ssr: { resolve },
  test: {
    include: [...plan.tests],
    sequence: { sequencer: InGivenOrder },
    setupFiles: plan.log === undefined ? [] : ['bench/mutate/note-test.ts'],
    reporters: [new NoteFailure(plan)],
    maxWorkers: 1,
    // Probes are counted per test file, so each needs fresh modules.
    isolate: plan.log !== undefined,
    bail: plan.all ? 0 : 1,
    // Not in node_modules, which all copies share.
    fsModuleCachePath: 'mutate-cache',
    // A measurement waits as long as the suite: a slow test must not be left out.
    testTimeout: plan.log === undefined ? 30_000 : 120_000,
    hookTimeout: plan.log === undefined ? 30_000 : 120_000,
    // Mutated code may allocate without end.
    execArgv: ['--max-old-space-size=2048'],
    expect: { poll: { timeout: 10_000 } },
  },
});
