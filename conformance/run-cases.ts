import type { Problems } from './case.ts';
import { errata } from './errata.ts';
import type { Found } from './find-cases.ts';
import { runRejectionCase } from './rejection-case.ts';
import { runRulesetCase } from './ruleset-case.ts';
import type { Adapter } from './through-adapters.ts';
import { isAboutAdapters, problemsThrough } from './through-adapters.ts';
import { runWorkflowCase } from './workflow-case.ts';

export type CaseResult = {
  readonly folder: string;
  readonly file: string;
  readonly id: string;
  readonly problems: Problems;
  /** The results through adapters, for cases about them. Their problems are also in the list of problems. */
  readonly through?: ReadonlyMap<string, Problems>;
};

/** Runs cases one after the other; cases about adapters also through each of these. A case that throws has failed. */
export async function runCases(
  found: readonly Found[],
  adapters: readonly Adapter[] = [],
): Promise<readonly CaseResult[]> {
  const results: CaseResult[] = [];
  for (const one of found) {
    const { folder, file, id } = one;
    const problems = await problemsOf(one);
    const through = isAboutAdapters(one) ? await problemsThrough(one, adapters) : new Map<string, Problems>();
    const there = [...through].flatMap(([name, list]) =>
      list.map((problem) => `through ${name}: ${problem}`),
    );
    results.push({ folder, file, id, problems: [...problems, ...there], through });
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

/** A score per folder, every failure, the errata, and the count. Passes if only errata failed. */
export function reportOn(results: readonly CaseResult[]): Report {
  const failed = results.filter(({ problems }) => problems.length > 0);
  const broken = failed.filter(({ id }) => errata.has(id));
  const folders = [...new Set(results.map(({ folder }) => folder))];
  const scores = folders.flatMap((folder) => {
    const here = results.filter((result) => result.folder === folder);
    const wrong = here.filter(({ problems }) => problems.length > 0).length;
    return [`${folder}: ${here.length - wrong} passed, ${wrong} failed`, ...scoresThrough(folder, here)];
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

/** One line for each adapter that ran cases of the folder. */
function scoresThrough(folder: string, here: readonly CaseResult[]): readonly string[] {
  const names = [...new Set(here.flatMap(({ through }) => [...(through?.keys() ?? [])]))];
  return names.map((name) => {
    const ran = here.filter(({ through }) => through?.has(name) === true);
    const wrong = ran.filter(({ through }) => (through?.get(name)?.length ?? 0) > 0).length;
    return `${folder} through ${name}: ${ran.length - wrong} passed, ${wrong} failed`;
  });
}
