import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { Reporter, TestModule, TestRunEndReason } from 'vitest/node';

export type Counts = {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** The file and the title of each test that failed. */
  readonly failures: readonly string[];
};

/**
 * The environment variable with the file for the counts of a run, for a program that runs the tests among
 * other things.
 */
export const countsFileName = 'QUITTANCE_TEST_COUNTS';

/**
 * Ends a run with the slowest files, the names of what failed, and `N passed, N failed` (and `, N skipped`) alone on a
 * line. Some readers see only the last lines. An unhandled error counts as a failure of the file and the test that ran.
 */
export class ClosingLine implements Reporter {
  onTestRunEnd(
    modules: readonly TestModule[],
    unhandledErrors: readonly unknown[],
    reason: TestRunEndReason,
  ): void {
    let passed = 0;
    let skipped = 0;
    const failures = unhandledErrors.map(describeUnhandled);
    for (const module of modules) {
      const file = module.relativeModuleId;
      for (const { message } of module.errors()) failures.push(`${file}: ${firstLine(message)}`);
      for (const suite of module.children.allSuites())
        for (const { message } of suite.errors())
          failures.push(`${file} > ${suite.fullName}: ${firstLine(message)}`);
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state === 'passed') passed += 1;
        else if (state === 'skipped') skipped += 1;
        else failures.push(`${file} > ${test.fullName}`);
      }
    }
    printSlowest(modules);
    // A run that fails for another reason must not read as "0 failed".
    const failed = reason === 'passed' ? failures.length : Math.max(failures.length, 1);
    const file = process.env[countsFileName];
    if (file !== undefined) {
      writeFileSync(file, JSON.stringify({ passed, failed, skipped, failures } satisfies Counts));
      return;
    }
    const skips = skipped > 0 ? `, ${skipped} skipped` : '';
    for (const failure of failures) process.stdout.write(`\n✗ ${failure}`);
    process.stdout.write(`\n${passed} passed, ${failed} failed${skips}\n`);
  }
}

const mostSlow = 10;

/** The files that took longest. A short run prints none. */
function printSlowest(modules: readonly TestModule[]): void {
  if (modules.length <= mostSlow) return;
  const slowest = modules
    .map((module) => ({ file: module.relativeModuleId, ms: module.diagnostic().duration }))
    .toSorted((left, right) => right.ms - left.ms)
    .slice(0, mostSlow);
  process.stdout.write('\nThe slowest files:\n');
  for (const { file, ms } of slowest)
    process.stdout.write(`${(ms / 1_000).toFixed(1).padStart(7)} s  ${file}\n`);
}

/** Vitest adds where the error was noticed. That may be another test of the same file, or the file before. */
function describeUnhandled(error: unknown): string {
  const {
    VITEST_TEST_PATH: path = 'an unknown file',
    VITEST_TEST_NAME: name,
    message,
  } = (error ?? {}) as { VITEST_TEST_PATH?: string; VITEST_TEST_NAME?: string; message?: string };
  const during = name === undefined ? '' : ` > ${name}`;
  return `${relative(process.cwd(), path)}${during}: unhandled error: ${firstLine(message)}`;
}

const firstLine = (text = 'no message'): string => text.split('\n')[0] ?? '';
