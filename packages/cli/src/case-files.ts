/** The case files of contracts: `x.cases.yaml` next to `x.yaml`, or the named files. */
import { existsSync, readFileSync } from 'node:fs';
import type { Terminal } from './terminal.ts';
import { readCases, type CaseFile } from './contracts-case.ts';
import { needFile, problemLines } from './load-or-explain.ts';
import { UsageError } from './usage-error.ts';

/** Path of the case file for a document. */
export const findCaseFiles = (path: string): string => path.replace(/(\.ya?ml)?$/i, '.cases.yaml');

/** Undefined if a file has problems, which this function has printed. */
export async function readCaseFiles(
  named: readonly string[],
  documents: readonly string[],
  command: string,
  out: Terminal,
): Promise<readonly CaseFile[] | undefined> {
  for (const path of named) needFile(path, `quittance ${command} --cases contracts.cases.yaml`);
  const paths =
    named.length > 0 ? named : [...new Set(documents.map(findCaseFiles))].filter((path) => existsSync(path));
  if (paths.length === 0)
    throw new UsageError(
      `Found no case file for ${documents.join(', ')}. Expected: ${documents.map(findCaseFiles).join(', ')}.`,
      [
        `quittance ${command} --cases FILE`,
        `printf 'cases:\\n  - {id: first, tool: Bash, args: {command: ls}, expect: allow}\\n' > ${findCaseFiles(documents[0] ?? 'contracts.yaml')}`,
      ],
    );
  const readings = paths.map((path) => readCases(readFileSync(path), path));
  const problems = readings.flatMap((reading) => (reading.ok ? [] : reading.problems));
  for (const problem of problems) {
    for (const line of problemLines(problem, out)) await out.print(line);
    await out.print('');
  }
  return problems.length > 0 ? undefined : readings.flatMap((reading) => (reading.ok ? [reading.file] : []));
}
