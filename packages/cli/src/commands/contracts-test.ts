import type { CliCommand, Context } from '../command.ts';
import { reads } from '../command.ts';
import { readCaseFiles } from '../case-files.ts';
import type { CaseResult } from '../run-cases.ts';
import { runCases } from '../run-cases.ts';
import { loadOrExplain, needFiles } from '../load-or-explain.ts';
import { exitCodes } from '../exit-code.ts';
import { shellWord } from '../find-call.ts';
import { safeJson, terminalText } from '../terminal-text.ts';
import type { Column, Row } from '../table.ts';
import { layOutTable } from '../table.ts';
import { withoutUndefined } from '../to-json.ts';

export const contractsTestCommand: CliCommand = {
  name: 'contracts test',
  summary: 'Run the case files of contracts: calls with their expected decisions',
  takes: '<file>…',
  most: Number.POSITIVE_INFINITY,
  about: [
    'The cases of rules.yaml are in rules.cases.yaml, as a list `cases`. Each case has id, tool, args and expect (allow, ask, block, warn, redact). Optional: rule, message_contains, output, principal, metadata, snapshot, environment (a word, or variables), session (tool_calls, attempts, per_tool). Also optional: result or error for post rules, and before (earlier calls that succeeded) for workflows.',
    'A `working_directory` next to `cases` is the folder that relative paths start from; it need not exist. Environment variables of this machine are not visible to cases.',
  ],
  options: {
    cases: {
      value: 'FILE',
      help: 'Read the cases from this file; can be repeated',
      file: true,
      multiple: true,
    },
    json: { help: 'JSON instead of text: one line per case, then one with the totals' },
  },
  examples: [
    ['quittance contracts test contracts.yaml', 'with the cases in contracts.cases.yaml'],
    ['quittance contracts test base.yaml team.yaml --cases team.cases.yaml', 'two documents, composed'],
    ['quittance contracts test contracts.yaml --json | jq "select(.passed == false)"', 'failed cases'],
  ],
  effect: reads,
  run: async (given, context) => {
    const { out } = context;
    const paths = needFiles(given.args, 'contracts test');
    await loadOrExplain(paths, {});
    const typed = `contracts test ${paths.map(shellWord).join(' ')}`;
    const files = await readCaseFiles(given.list('cases'), paths, typed, out);
    if (files === undefined) return exitCodes.bad;
    const results: CaseResult[] = [];
    for (const file of files)
      results.push(...(await runCases(file, (options) => loadOrExplain(paths, options))));
    const failed = results.filter(({ passed }) => !passed);
    if (given.has('json')) {
      for (const result of results) await out.print(safeJson(resultToJson(result)));
      await out.print(
        safeJson({ type: 'totals', passed: results.length - failed.length, failed: failed.length }),
      );
    } else await printText(results.length, failed, paths, context);
    return failed.length > 0 ? exitCodes.bad : exitCodes.good;
  },
};

const columns: readonly Column[] = [
  { title: 'CASE', min: 16 },
  { title: 'EXPECTED' },
  { title: 'ACTUAL' },
  { title: 'RULE', min: 10, optional: 2 },
  { title: 'WHY', min: 24 },
  { title: 'WHERE', optional: 1 },
];

function toRow({ case: each, came, decidedBy, problems }: CaseResult): Row {
  const why = decidedBy === undefined ? 'no rule fired' : decidedBy.message;
  const others = problems.filter((problem) => problem !== `expected ${each.expected.word}, got ${came}`);
  return [
    terminalText(each.id),
    each.expected.word,
    { text: came, style: came === each.expected.word ? 'yellow' : 'red' },
    terminalText(decidedBy?.ruleId ?? ''),
    terminalText(others.length > 0 ? others.join('; ') : why),
    { text: terminalText(`${each.source}:${each.line ?? 1}`), style: 'dim' },
  ];
}

async function printText(
  total: number,
  failed: readonly CaseResult[],
  paths: readonly string[],
  { out }: Context,
): Promise<void> {
  const rows = failed.map(toRow);
  if (rows.length > 0) {
    const table = layOutTable(columns, rows, out.width, out.paint);
    await out.print(table.heading());
    for (const row of rows) await out.print(table.line(row));
    await out.print('');
  }
  const words = `${total - failed.length} passed, ${failed.length} failed`;
  await out.print(out.paint(['bold', failed.length > 0 ? 'red' : 'green'], words));
  const [first] = failed;
  if (first === undefined) return;
  const { toolName, input } = first.case;
  const files = paths.map(shellWord).join(' ');
  await out.print(
    out.paint(
      'dim',
      `Why: quittance contracts explain ${files} --tool ${shellWord(toolName)} --args ${shellWord(safeJson(input))}`,
    ),
  );
}

const resultToJson = ({ case: each, passed, came, decidedBy, problems }: CaseResult): object =>
  withoutUndefined({
    type: 'case',
    id: each.id,
    passed,
    expected: each.expected.word,
    came,
    ruleId: decidedBy?.ruleId,
    message: decidedBy?.message,
    problems,
    source: each.source,
    line: each.line,
  });
