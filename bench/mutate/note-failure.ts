import { writeFileSync } from 'node:fs';
import type { Reporter, SerializedError, TestModule, TestRunEndReason } from 'vitest/node';
import type { Plan, TestRun } from './run-tests.ts';

/** Writes how a run went: how long each test file took, and which failed first. */
export class NoteFailure implements Reporter {
  readonly #plan: Plan;

  constructor(plan: Plan) {
    this.#plan = plan;
  }

  onTestRunEnd(
    modules: readonly TestModule[],
    unhandledErrors: readonly SerializedError[],
    reason: TestRunEndReason,
  ): void {
    const files = modules.map((module) => {
      const test = this.#plan.tests.find((path) => module.moduleId.endsWith(`/${path}`)) ?? module.moduleId;
      const failed = [...module.children.allTests('failed')][0];
      const broken =
        module.errors()[0] ?? [...module.children.allSuites()].flatMap((suite) => suite.errors())[0];
      const { duration, collectDuration, environmentSetupDuration, prepareDuration } = module.diagnostic();
      return {
        test,
        ms: Math.round(duration + collectDuration + environmentSetupDuration + prepareDuration),
        failure:
          failed === undefined
            ? broken && { title: '(the file)', message: firstLine(broken.message) }
            : { title: failed.fullName, message: firstLine(failed.result().errors?.[0]?.message) },
      };
    });
    const first = unhandledErrors[0];
    const run: TestRun = {
      passed: reason === 'passed' && first === undefined,
      files,
      unhandled: first && firstLine(first.message),
    };
    writeFileSync(this.#plan.result, JSON.stringify(run));
  }
}

const firstLine = (text: string | undefined): string => (text ?? '').split('\n')[0]?.slice(0, 300) ?? '';
