import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import { backtest, defaultSamples, sessionsOf } from 'quittance/internal/replay/backtest';
import type {
  BacktestReport,
  BacktestChange,
  BacktestRule,
  BacktestSample,
} from 'quittance/internal/replay/backtest-report';
import { recordedDirectory } from 'quittance/internal/replay/recorded-directory';
import { TaskThread, taskModule } from 'quittance/internal/threads/task-thread';
import type { BacktestData, BacktestOrder } from './backtest-task.ts';
import { filterOptions, timesOf } from '../call-query.ts';
import type { CliCommand, Context, Given } from '../command.ts';
import { reads } from '../command.ts';
import { loadOrExplain, needFile } from '../load-or-explain.ts';
import { exitCodes } from '../exit-code.ts';
import { loadTools } from '../load-tools.ts';
import { safeJson, terminalId, terminalText } from '../terminal-text.ts';
import { UsageError } from '../usage-error.ts';
import type { JsonObject } from 'quittance/internal/base/json';
import type { Column, Row } from '../table.ts';
import { layOutTable } from '../table.ts';
import type { Style, Terminal } from '../terminal.ts';
import { trim, wrap } from '../text-width.ts';
import { toJsonWithTimes, withoutUndefined } from '../to-json.ts';
import { BacktestTally } from 'quittance/internal/replay/backtest-tally';

const { since, until, session, tool } = filterOptions;

export const backtestCommand: CliCommand = {
  name: 'backtest',
  summary: 'Try contracts on the calls of a ledger, without running anything',
  about: [
    'Lists the calls that the contracts would decide differently: blocked, held for approval, redacted, or newly allowed, with counts for each rule. Limits and workflows are followed through each session from its start. No tool, hook or exec condition runs. A call that would be held counts as approved, unless a person denied it at the time.',
    'Calls are evaluated in their stored form. Rules see the mask of a redacted value; the report counts such calls.',
    'Exit code 1: at least one call would be decided differently.',
  ],
  options: {
    contracts: {
      value: 'FILE',
      help: 'Contracts to try; several files are composed, left to right',
      file: true,
      multiple: true,
    },
    tools: {
      value: 'FILE',
      help: 'Also check inputs and outputs against these tools: a module that exports a list of them',
      file: true,
    },
    ...(since && { since }),
    ...(until && { until }),
    ...(session && { session }),
    ...(tool && { tool }),
    samples: {
      value: 'N',
      help: `Number of calls to show for each kind of change; default: ${defaultSamples}`,
    },
    'working-directory': {
      value: 'PATH',
      help: 'Folder that relative paths start from; default: unknown',
      file: true,
    },
    environment: { value: 'WORD', help: 'Environment that rules see; default: production' },
    threads: { value: 'N', help: 'Number of threads; default: one per core when the work is large enough' },
    json: {
      help: 'JSON instead of text: one line per kind of change, one per rule, and one with the totals',
    },
  },
  examples: [
    ['quittance backtest --contracts new.yaml --since 7d', 'the calls of the last week'],
    ['quittance backtest --contracts new.yaml --tool refund --samples 20', 'the calls of one tool'],
    ['quittance backtest --contracts new.yaml --tools tools.js', 'also check the schemas of your tools'],
    ['quittance backtest --contracts new.yaml --json | jq \'select(.type == "rule")\'', 'for a program'],
  ],
  effect: reads,
  run: async (given, context) => {
    const data = readOptions(given, context);
    const tools = data.toolsPath === undefined ? undefined : await loadTools(data.toolsPath);
    const contracts = await loadOrExplain(data.paths, data.contractsOptions);
    const report = await context.withLedger(given, async (ledger, meant) => {
      const slice = { ...data.slice, sessionId: meant.text('session'), toolName: meant.text('tool') };
      const size = await measure(ledger, { ...data, slice }, context.signal);
      const progress = context.startProgress('backtest', size.calls);
      const threads = given.count('threads') ?? threadsFor(size);
      const rest = { signal: context.signal, onProgress: (calls: number) => progress.step(calls) };
      try {
        return threads > 1
          ? await backtestInThreads(ledger, {
              ...data,
              contractsOptions: { ...(await recorded(ledger)), ...data.contractsOptions },
              slice,
              ...rest,
              policyVersion: contracts.version,
              threads,
            })
          : await backtest(ledger, { ...slice, ...rest, contracts, tools, samples: data.samples });
      } finally {
        progress.done();
        contracts.close();
      }
    });
    await print(report, given, context);
    return report.different > 0 ? exitCodes.bad : exitCodes.good;
  },
};

function readOptions(given: Given, context: Context): BacktestData {
  const paths = given.list('contracts');
  const example = 'quittance backtest --contracts contracts.yaml';
  if (paths.length === 0)
    throw new UsageError('--contracts is missing.', [`${example} --since 7d`, 'quittance help backtest']);
  for (const path of paths) needFile(path, example);
  const toolsPath = given.text('tools');
  if (toolsPath !== undefined) needFile(toolsPath, `${example} --tools tools.js`);
  const [environment, workingDirectory] = [given.text('environment'), given.text('working-directory')];
  return {
    ledgerUrl: context.ledgerUrl(given),
    paths,
    contractsOptions: {
      ...(environment !== undefined && { environment }),
      ...(workingDirectory !== undefined && { workingDirectory: resolve(workingDirectory) }),
    },
    slice: {
      sessionId: given.text('session'),
      toolName: given.text('tool'),
      ...timesOf(given, context.now()),
    },
    samples: given.count('samples') ?? defaultSamples,
    toolsPath,
  };
}

/** Folder that relative paths started from when the ledger was written. `--working-directory` overrides it. */
async function recorded(ledger: OpenLedger): Promise<BacktestData['contractsOptions']> {
  const workingDirectory = await recordedDirectory(ledger);
  return workingDirectory === undefined ? {} : { workingDirectory };
}

type Size = { readonly sessions: number; readonly calls: number };

/** Counts the calls without keeping them in memory, for any number of sessions. */
async function measure(ledger: OpenLedger, { slice }: BacktestData, signal: AbortSignal): Promise<Size> {
  let [sessions, calls] = [0, 0];
  for await (const each of sessionsOf(ledger, slice)) {
    sessions++;
    calls += each.calls;
    if (signal.aborted) break;
  }
  return { sessions, calls };
}

/** Starting a thread takes time: below about a second of work, a single thread is faster. */
const callsThatPay = 20_000;

const threadsFor = ({ sessions, calls }: Size): number =>
  calls < callsThatPay ? 1 : Math.min(sessions, availableParallelism());

async function print(report: BacktestReport, given: Given, { out, err }: Context): Promise<void> {
  if (given.has('json')) for (const line of backtestToJson(report)) await out.print(safeJson(line));
  else for (const line of backtestLines(report, out)) await out.print(line);
  if (!report.complete)
    await err.say(`Stopped after ${report.calls} calls. The report covers the calls judged so far.`);
}

/** The report of a backtest, for people and for programs. */

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

function* backtestLines(report: BacktestReport, out: Terminal): Generator<string, void> {
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

function* backtestToJson(report: BacktestReport): Generator<JsonObject, void> {
  const { changes, rules, ...totals } = report;
  for (const change of changes) yield { type: 'change', ...samplesToJson(change) };
  for (const rule of rules) yield { type: 'rule', ...samplesToJson(rule) };
  yield { type: 'totals', ...withoutUndefined(totals) };
}

const samplesToJson = (group: { readonly samples: readonly BacktestSample[] }): JsonObject => ({
  ...withoutUndefined(group),
  samples: group.samples.map((sample) => toJsonWithTimes(sample, 'at')),
});

/** Runs a backtest in threads. Sessions are independent, so each thread takes a batch of them at a time. */

type ThreadsOptions = BacktestData & {
  readonly policyVersion: string;
  readonly threads: number;
  readonly signal: AbortSignal;
  readonly onProgress: (calls: number) => void;
};

/** Calls per batch: large enough to justify a message, small enough for an even load. */
const callsAtOnce = 2_000;
const sessionsAtOnce = 500;

export async function backtestInThreads(
  ledger: Pick<OpenLedger, 'query'>,
  options: ThreadsOptions,
): Promise<BacktestReport> {
  const { policyVersion, threads, signal, onProgress, ...data } = options;
  const tally = new BacktestTally(policyVersion, data.samples);
  const batches = batchesOf(ledger, options);
  let isComplete = true;

  const run = async (): Promise<void> => {
    const thread = new TaskThread<BacktestOrder, BacktestReport>({
      module: taskModule('backtest-task', import.meta.url),
      data: data satisfies BacktestData,
    });
    try {
      for (;;) {
        // A generator answers the threads one after the other, in order.
        const batch = signal.aborted ? undefined : await batches.next();
        if (batch === undefined || batch.done === true) break;
        const report = await thread.order(batch.value.sessionIds, { signal });
        tally.merge(report);
        isComplete &&= report.complete;
        onProgress(batch.value.calls);
      }
    } finally {
      await thread.end();
    }
  };

  await Promise.all(Array.from({ length: threads }, run));
  return tally.toReport(isComplete && !signal.aborted);
}

type Batch = { readonly sessionIds: readonly string[]; readonly calls: number };

async function* batchesOf(
  ledger: Pick<OpenLedger, 'query'>,
  { slice }: ThreadsOptions,
): AsyncGenerator<Batch, void, undefined> {
  let sessionIds: string[] = [];
  let calls = 0;
  for await (const session of sessionsOf(ledger, slice)) {
    sessionIds.push(session.sessionId);
    calls += session.calls;
    if (calls < callsAtOnce && sessionIds.length < sessionsAtOnce) continue;
    yield { sessionIds, calls };
    [sessionIds, calls] = [[], 0];
  }
  if (sessionIds.length > 0) yield { sessionIds, calls };
}
