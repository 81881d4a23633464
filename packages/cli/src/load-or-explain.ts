/** Loads the contracts named on a command line, or reports their problems. */
import { readFileSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { isQuittanceError } from 'quittance/internal/base/error';
import type { FileOptions } from 'quittance/internal/contracts/from-yaml';
import { contractsFromYaml } from 'quittance/internal/contracts/from-yaml';
import type { LoadedContracts } from 'quittance/internal/contracts/loaded-contracts';
import type { ContractsProblem } from 'quittance/internal/policy/language/contracts-problem';
import { exitCodes } from './exit-code.ts';
import { terminalText } from './terminal-text.ts';
import type { Terminal } from './terminal.ts';
import { trim, wrap } from './text-width.ts';
import { UsageError } from './usage-error.ts';

/** Checks that files are named and exist. */
export function needFiles(paths: readonly string[], command: string): readonly string[] {
  if (paths.length === 0)
    throw new UsageError('Missing path of a contracts file.', [
      `quittance ${command} contracts.yaml`,
      `quittance help ${command}`,
    ]);
  for (const path of paths) needFile(path, `quittance ${command} contracts.yaml`);
  return paths;
}

/** `tryThis` ends with the name of an example file. */
export function needFile(path: string, tryThis: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) throw new UsageError(`There is no file ${path}.`, [tryThis]);
  if (!found.isDirectory()) return;
  const [example = ''] = /\S+$/.exec(tryThis) ?? [];
  const areMany = example === 'contracts.yaml';
  throw new UsageError(`${path} is a folder. Name ${areMany ? 'the files' : 'a file'} in it.`, [
    `${tryThis.slice(0, -example.length)}${path.replace(/\/+$/, '')}/${areMany ? '*.yaml' : basename(example)}`,
  ]);
}

export type Loading =
  | { readonly ok: true; readonly contracts: LoadedContracts }
  | { readonly ok: false; readonly problems: readonly ContractsProblem[] };

export async function tryToLoad(paths: readonly string[], options: FileOptions): Promise<Loading> {
  try {
    return { ok: true, contracts: await contractsFromYaml(paths, options) };
  } catch (error) {
    if (!isQuittanceError(error, 'contracts.invalid')) throw error;
    // The same package wrote this list of problems.
    return { ok: false, problems: JSON.parse(error.facts['problems'] ?? '[]') as ContractsProblem[] };
  }
}

/** For commands that need valid contracts: reports the first problem. */
export async function loadOrExplain(
  paths: readonly string[],
  options: FileOptions,
): Promise<LoadedContracts> {
  const loading = await tryToLoad(paths, options);
  if (loading.ok) return loading.contracts;
  const [first] = loading.problems;
  const more = loading.problems.length - 1;
  throw new UsageError(
    `These contracts do not load. ${first === undefined ? '' : `${sourcePosition(first)}: ${first.message}`}` +
      (more > 0 ? ` And ${more} more.` : ''),
    [`quittance contracts check ${paths.join(' ')}`],
    exitCodes.bad,
  );
}

export const sourcePosition = ({
  source,
  line,
  column,
}: Pick<ContractsProblem, 'source' | 'line' | 'column'>): string =>
  line === undefined ? source : `${source}:${line}:${column ?? 1}`;

/** A problem with its source lines and a mark under the place. */
export function problemLines(problem: ContractsProblem, out: Terminal): string[] {
  const { field, message, line, column } = problem;
  const place = out.paint('bold', terminalText(sourcePosition(problem)));
  return [
    field === '' ? place : `${place}  ${out.paint('dim', terminalText(field))}`,
    ...wrap(terminalText(message), out.textWidth - 2).map((text) => `  ${out.paint('red', text)}`),
    ...(line === undefined ? [] : excerpt(problem.source, line, column ?? 1, out)),
  ];
}

/** The line and the previous one. Empty if the file can no longer be read. */
function excerpt(path: string, line: number, column: number, out: Terminal): string[] {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    return [];
  }
  const lines = text.split(/\r?\n/);
  const gutter = String(line).length;
  // A long line is cut to the part around the place.
  const room = Math.max(20, Math.min(out.width, 120) - gutter - 5);
  const from = column > room - 10 ? column - Math.floor(room / 2) : 1;
  const show = (number: number): string =>
    `  ${out.paint('dim', `${String(number).padStart(gutter)} |`)} ${trim(terminalText((lines[number - 1] ?? '').replaceAll('\t', ' ').slice(from - 1)), room)}`;
  return [
    ...(line > 1 && (lines[line - 2] ?? '').trim() !== '' ? [show(line - 1)] : []),
    show(line),
    `  ${out.paint('dim', `${' '.repeat(gutter)} |`)} ${' '.repeat(Math.max(0, column - from))}${out.paint('red', '^')}`,
  ];
}
