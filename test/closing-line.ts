import { writeFileSync } from 'node:fs';
import type { Reporter, TestModule, TestRunEndReason } from 'vitest/node';

export type Counts = { readonly passed: number; readonly failed: number; readonly skipped: number };

/**
 * The environment variable with the file for the counts of a run, for a program that runs the tests among
 * other things.
 */
export const countsFileName = 'QUITTANCE_TEST_COUNTS';

/**
 * Ends a run with `N passed, N failed` (and `, N skipped`) alone on a line, for readers of only the last
 * line.
 */
export class ClosingLine implements Reporter {
  onTestRunEnd(
    modules: readonly TestModule[],
    unhandledErrors: readonly unknown[],
    reason: TestRunEndReason,
  ): void {
    let passed = 0;
    let failed = unhandledErrors.length;
    let skipped = 0;
    for (const module of modules) {
      failed += module.errors().length;
      for (const suite of module.children.allSuites()) failed += suite.errors().length;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state === 'passed') passed += 1;
        else if (state === 'skipped') skipped += 1;
        else failed += 1;
      }
    }
    // A run that fails for another reason must not read as "0 failed".
    if (reason !== 'passed' && failed === 0) failed = 1;
    const file = process.env[countsFileName];
    if (file !== undefined) {
      writeFileSync(file, JSON.stringify({ passed, failed, skipped } satisfies Counts));
      return;
    }
    const skips = skipped > 0 ? `, ${skipped} skipped` : '';
    process.stdout.write(`\n${passed} passed, ${failed} failed${skips}\n`);
  }
}
