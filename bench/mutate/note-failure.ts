import { writeFileSync } from 'node:fs';
import type { Reporter, SerializedError, TestModule, TestRunEndReason } from 'vitest/node';
import type { Plan, TestRun } from './run-tests.ts';
import { beginsWith } from './run-tests.ts';

/** Prints the current test file, and writes the result of the run: the duration of each file and its first failure. */
export class NoteFailure implements Reporter {
  readonly #plan: Plan;

  constructor(plan: Plan) {
    this.#plan = plan;
  }

  onTestModuleStart(module: TestModule): void {
    process.stdout.write(`\n${beginsWith}${this.#nameOf(module.moduleId)}\n`);
  }

  onTestRunEnd(
    modules: readonly TestModule[],
    unhandledErrors: readonly SerializedError[],
    reason: TestRunEndReason,
  ): void {
    const files = modules.map((module) => {
      const failed = [...module.children.allTests('failed')][0];
      const broken =
        module.errors()[0] ?? [...module.children.allSuites()].flatMap((suite) => suite.errors())[0];
      const { duration, collectDuration, environmentSetupDuration, prepareDuration } = module.diagnostic();
      return {
        test: this.#nameOf(module.moduleId),
        ms: Math.round(duration + collectDuration + environmentSetupDuration + prepareDuration),
        failure:
          failed === undefined
            ? broken && { title: '(the file)', message: firstLine(broken.message), ms: Math.round(duration) }
            : {
                title: failed.fullName,
                message: firstLine(failed.result().errors?.[0]?.message),
                ms: Math.round(failed.diagnostic()?.duration ?? 0),
              },
      };
    });
    const first = unhandledErrors[0];
    const during: unknown = first?.['VITEST_TEST_PATH'];
    const run: TestRun = {
      passed: reason === 'passed' && first === undefined,
      files,
      unhandled: first && {
        test: typeof during === 'string' ? this.#nameOf(during) : undefined,
        message: firstLine(first.message),
      },
    };
    writeFileSync(this.#plan.result, JSON.stringify(run));
  }

  #nameOf(file: string): string {
    return this.#plan.tests.find((path) => file.endsWith(`/${path}`)) ?? file;
  }
}

const firstLine = (text: string | undefined): string => (text ?? '').split('\n')[0]?.slice(0, 300) ?? '';
