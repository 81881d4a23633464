import type { Problems } from './case.ts';
import { errata } from './errata.ts';
import type { Found } from './find-cases.ts';
import { runRejectionCase } from './rejection-case.ts';
import { runRulesetCase } from './ruleset-case.ts';
import { runWorkflowCase } from './workflow-case.ts';

export type CaseResult = {
  readonly folder: string;
  readonly file: string;
  readonly id: string;
  readonly problems: Problems;
};

/** Runs cases one after the other. What throws has failed. */
export async function runCases(found: readonly Found[]): Promise<readonly CaseResult[]> {
  const results: CaseResult[] = [];
  for (const one of found) {
    const { folder, file, id } = one;
    results.push({ folder, file, id, problems: await problemsOf(one) });
  }
  return results;
}

async function problemsOf(found: Found): Promise<Problems> {
  try {
    switch (found.kind) {
      case 'unreadable':
        return [found.why];
      case 'ruleset':
        return await runRulesetCase(found.case);
      case 'rejection':
        return runRejectionCase(found.case);
      case 'workflow':
        return await runWorkflowCase(found.case);
    }
  } catch (error) {
    return [`threw ${error instanceof Error ? error.message : String(error)}`];
  }
}

export type Report = { readonly lines: readonly string[]; readonly ok: boolean };

/** A score per folder, every failure, the errata, and the count. Right if nothing but errata failed. */
export function reportOn(results: readonly CaseResult[]): Report {
  const failed = results.filter(({ problems }) => problems.length > 0);
  const broken = failed.filter(({ id }) => errata.has(id));
  const folders = [...new Set(results.map(({ folder }) => folder))];
  const scores = folders.map((folder) => {
    const here = results.filter((result) => result.folder === folder);
    const wrong = here.filter(({ problems }) => problems.length > 0).length;
    return `${folder}: ${here.length - wrong} passed, ${wrong} failed`;
  });
  return {
    lines: [
      ...scores,
      ...failed.flatMap(({ file, id, problems }) => [
        '',
        `FAILED ${id} (${file})`,
        ...problems.map((problem) => `  ${problem}`),
      ]),
      ...(broken.length === 0 ? [] : ['', 'Errata, counted as failed:']),
      ...broken.map(({ id }) => `  ${id}: ${errata.get(id)}`),
      '',
      `${results.length - failed.length} passed, ${failed.length} failed`,
    ],
    ok: results.length > 0 && failed.length === broken.length,
  };
}
