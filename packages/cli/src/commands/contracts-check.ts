import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { resolve } from 'node:path';
import type { LoadedContracts } from 'quittance/internal/contracts/loaded-contracts';
import { findExposures } from 'quittance/internal/policy/own-files/find-exposures';
import { describeOwnFile, type OwnFile } from 'quittance/internal/policy/own-files/own-file';
import { realPath } from 'quittance/internal/runtime/own-files';
import { postgresOwnFiles } from 'quittance/internal/store/postgres-package';
import { ledgerFile } from '../find-ledger.ts';
import type { LintWarning } from 'quittance/internal/policy/language/lint-warning';
import type { CliCommand, Context, Given } from '../command.ts';
import { reads } from '../command.ts';
import { needFiles, problemLines, tryToLoad, type Loading } from '../load-or-explain.ts';
import { toolsInLedger } from '../ledger-calls.ts';
import { exitCodes } from '../exit-code.ts';
import { safeJson, terminalText } from '../terminal-text.ts';
import { wrap } from '../text-width.ts';
import { UsageError } from '../usage-error.ts';

export const contractsCheckCommand: CliCommand = {
  name: 'contracts check',
  summary: 'Check that contracts load, and warn about probable mistakes',
  takes: '<file>…',
  most: Number.POSITIVE_INFINITY,
  about: [
    'The command prints every problem with its line. Contracts that load are checked for valid but probably unintended rules. Examples: patterns that never match, rules that never decide, fields that may be absent, allowed folders that contain the ledger or the contracts. Several files are composed, left to right.',
    'If the tools are known, from --tools or from a ledger, the command also reports unknown tool names and tools without a rule. Exit code 1: there are problems, or warnings with --strict.',
  ],
  options: {
    tools: { value: 'A,B,C', help: 'Names of the known tools' },
    strict: { help: 'Treat warnings as problems' },
    json: { help: 'JSON instead of text: one line per problem and warning, then one with the totals' },
  },
  examples: [
    ['quittance contracts check contracts.yaml', 'one document'],
    ['quittance contracts check base.yaml team.yaml --strict', 'two documents, composed, before a merge'],
    ['quittance contracts check contracts.yaml --tools Bash,Read,Write', 'check that every tool has a rule'],
    [
      'quittance contracts check contracts.yaml --ledger ledger.db',
      'the same, for the tools that a ledger has seen',
    ],
  ],
  effect: reads,
  run: async (given, context) => {
    const paths = needFiles(given.args, 'contracts check');
    const tools = await knownTools(given, context);
    const loading = await tryToLoad(paths, {});
    const warnings = loading.ok
      ? [...loading.contracts.check(tools), ...ownFileWarnings(loading.contracts, given, context)]
      : [];
    const print = given.has('json') ? printJson : printText;
    await print(loading, warnings, paths, context);
    const isBad = !loading.ok || (given.has('strict') && warnings.length > 0);
    return isBad ? exitCodes.bad : exitCodes.good;
  },
};

async function knownTools(given: Given, context: Context): Promise<readonly string[] | undefined> {
  const typed = given
    .text('tools')
    ?.split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  if (typed?.length === 0) throw new UsageError('--tools lists no tool names.', ['--tools Bash,Read,Write']);
  const seen = given.has('ledger')
    ? await context.withLedger(given, (ledger) => toolsInLedger(ledger, context.signal))
    : undefined;
  return typed === undefined && seen === undefined
    ? undefined
    : [...new Set([...(typed ?? []), ...(seen ?? [])])];
}

/** Rules are judged from the current folder, as a runtime started there would judge them. */
function ownFileWarnings(contracts: LoadedContracts, given: Given, context: Context): readonly LintWarning[] {
  const files: OwnFile[] = contracts.files.map((path) => ({
    path,
    kind: 'contract_file',
    access: 'read_only',
    withCompanions: false,
  }));
  const ledger = ledgerFile(context.ledgerUrl(given, 'make'));
  if (ledger === undefined) files.push(...postgresOwnFiles({}).filter(({ path }) => existsSync(path)));
  else if (given.has('ledger') || existsSync(ledger))
    files.push({ path: resolve(ledger), kind: 'ledger', access: 'sealed', withCompanions: true });
  const world = { realPath, workingDirectories: () => [resolve('.')], homeDirectory: homedir() };
  return findExposures(contracts.policy.composed, files, world).map(
    ({ ruleId, source, line, area, file }): LintWarning => ({
      code: 'holds_own_files',
      ruleId,
      source,
      line,
      message: `within allows ${JSON.stringify(area)}, which contains ${describeOwnFile(file)}: ${file.path}.`,
      advice: "Move the file out of the agent's folder, or add it to not_within.",
    }),
  );
}

type Print = (
  loading: Loading,
  warnings: readonly LintWarning[],
  paths: readonly string[],
  context: Context,
) => Promise<void>;

const printJson: Print = async (loading, warnings, paths, { out }) => {
  const problems = loading.ok ? [] : loading.problems;
  for (const problem of problems) await out.print(safeJson({ type: 'problem', ...problem }));
  for (const warning of warnings) await out.print(safeJson({ type: 'warning', ...warning }));
  await out.print(
    safeJson({
      type: 'totals',
      files: paths,
      ...(loading.ok && {
        rules: loading.contracts.policy.composed.rules.length,
        workflows: loading.contracts.policy.workflows.length,
        policyVersion: loading.contracts.version,
      }),
      problems: problems.length,
      warnings: warnings.length,
      ok: loading.ok,
    }),
  );
};

const printText: Print = async (loading, warnings, paths, { out }) => {
  if (!loading.ok) {
    for (const problem of loading.problems) {
      for (const line of problemLines(problem, out)) await out.print(line);
      await out.print('');
    }
    await out.print(
      out.paint(
        ['bold', 'red'],
        `${count(loading.problems.length, 'problem')}. None of these contracts would be in force.`,
      ),
    );
    return;
  }
  for (const warning of warnings) {
    for (const line of warningLines(warning, out)) await out.print(line);
    await out.print('');
  }
  const { policy } = loading.contracts;
  const holds = [
    count(policy.composed.rules.length, 'rule'),
    ...(policy.workflows.length === 0 ? [] : [count(policy.workflows.length, 'workflow')]),
  ].join(', ');
  const good = paths.length === 1 ? 'The contracts load' : 'The contracts load together';
  await out.print(
    `${out.paint(['bold', 'green'], `${good}.`)} ${holds}, ${count(warnings.length, 'warning')}.`,
  );
};

function warningLines(
  { source, line, ruleId, code, message, advice }: LintWarning,
  out: Context['out'],
): string[] {
  const place = source === undefined ? '' : `${source}${line === undefined ? '' : `:${line}`}  `;
  const head = `${place}${ruleId === undefined ? '' : `rule ${ruleId}`}`.trim();
  return [
    `${out.paint('bold', terminalText(head === '' ? 'the contracts' : head))}  ${out.paint('dim', code)}`,
    ...wrap(terminalText(message), out.textWidth - 2).map((text) => `  ${out.paint('yellow', text)}`),
    ...wrap(terminalText(advice), out.textWidth - 2).map((text) => `  ${text}`),
  ];
}

const count = (number: number, one: string, many = `${one}s`): string =>
  `${number} ${number === 1 ? one : many}`;
