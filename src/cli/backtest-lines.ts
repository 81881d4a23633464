/** The report of a backtest, for people and for programs. */
import type { JsonObject } from '../base/json.ts';
import type {
  BacktestChange,
  BacktestReport,
  BacktestRule,
  BacktestSample,
} from '../replay/backtest-report.ts';
import { terminalId, terminalText } from './terminal-text.ts';
import type { Column, Row } from './table.ts';
import { layOutTable } from './table.ts';
import type { Style, Terminal } from './terminal.ts';
import { trim, wrap } from './text-width.ts';
import { toJsonWithTimes, withoutUndefined } from './to-json.ts';

/** For example `allow → block` or `output pass → redact`. */
const kindOf = ({ about, before, after }: BacktestChange): string =>
  `${about === 'output' ? 'output ' : ''}${before} → ${after}`;

const colors: Readonly<Record<string, Style>> = {
  block: 'red',
  refused: 'red',
  ask: 'yellow',
  redact: 'yellow',
  warn: 'yellow',
};

const columns: readonly Column[] = [
  { title: 'RULE', min: 16 },
  { title: 'ACTION' },
  { title: 'FIRED', align: 'right' },
  { title: 'DIFFERENT', align: 'right' },
];

export function* backtestLines(report: BacktestReport, out: Terminal): Generator<string, void> {
  for (const change of report.changes) {
    const style = colors[change.after] ?? 'green';
    yield `${out.paint(['bold', style] as Style, kindOf(change))}  ${count(change.count)}`;
    for (const sample of change.samples) yield* sampleLines(sample, out);
    if (change.count > change.samples.length)
      yield out.paint('dim', `  and ${count(change.count - change.samples.length)} more`);
    yield '';
  }
  if (report.rules.length > 0) {
    const rows = report.rules.map(ruleRow);
    const table = layOutTable(columns, rows, Math.min(out.width, 110), out.paint);
    yield table.heading();
    for (const row of rows) yield table.line(row);
    yield '';
  }
  const { different, judged } = report;
  const calls = `${count(judged)} ${judged === 1 ? 'call' : 'calls'} of ${count(report.sessions)} ${report.sessions === 1 ? 'session' : 'sessions'} judged`;
  yield different === 0
    ? `${out.paint(['bold', 'green'], 'Every call would be decided as before.')} ${calls}.`
    : `${out.paint(['bold', 'yellow'], `${count(different)} would be decided differently.`)} ${calls}.`;
  for (const remark of remarks(report))
    for (const line of wrap(remark, out.textWidth)) yield out.paint('dim', line);
}

function* remarks({ notJudged, byKeptForm, unanswered }: BacktestReport): Generator<string, void> {
  const { never_reached_rules: never, erased } = notJudged;
  if (never > 0)
    yield `${count(never)} more never reached the rules: a schema, a deadline or a guard stopped them first.`;
  if (erased > 0) yield `${count(erased)} more could not be judged: their input has been erased.`;
  if (unanswered > 0)
    yield `${count(unanswered)} confirmations expired without a decision. The backtest assumes the same: if a rule still asks, the call does not run, unless the rule allows it on expiry.`;
  if (byKeptForm > 0)
    yield `${count(byKeptForm)} were evaluated in their stored form: rules saw masks instead of redacted values. They may decide differently on the real values.`;
}

const count = (value: number): string => value.toLocaleString('en-US');

const ruleRow = ({ ruleId, action, observed, count: fired, different }: BacktestRule): Row => [
  terminalText(ruleId),
  observed ? { text: `${action}, observed`, style: 'dim' } : { text: action, style: colors[action] ?? 'dim' },
  count(fired),
  different === 0 ? '·' : count(different),
];

function* sampleLines(sample: BacktestSample, out: Terminal): Generator<string, void> {
  const { sessionId, callId, toolName, input, ruleId, message, byKeptForm } = sample;
  const mark = byKeptForm ? out.paint('dim', '  (by its stored form)') : '';
  const width = Math.min(out.width, 160);
  yield `  ${terminalId(callId)}  ${out.paint('dim', terminalId(sessionId))}${mark}`;
  yield `    ${trim(`${terminalId(toolName)} ${terminalText(input)}`, width - 4)}`;
  if (message !== undefined)
    for (const line of wrap(
      terminalText(ruleId === undefined ? message : `${ruleId}: ${message}`),
      out.textWidth - 4,
    ))
      yield `    ${out.paint('dim', line)}`;
}

export function* backtestToJson(report: BacktestReport): Generator<JsonObject, void> {
  const { changes, rules, ...totals } = report;
  for (const change of changes) yield { type: 'change', ...samplesToJson(change) };
  for (const rule of rules) yield { type: 'rule', ...samplesToJson(rule) };
  yield { type: 'totals', ...withoutUndefined(totals) };
}

const samplesToJson = (group: { readonly samples: readonly BacktestSample[] }): JsonObject => ({
  ...withoutUndefined(group),
  samples: group.samples.map((sample) => toJsonWithTimes(sample, 'at')),
});
