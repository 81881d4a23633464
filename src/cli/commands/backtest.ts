import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import type { Ledger } from '../../ledger/ledger.ts';
import { backtest, defaultSamples, sessionsOf } from '../../replay/backtest.ts';
import type { BacktestReport } from '../../replay/backtest-report.ts';
import { recordedDirectory } from '../../replay/recorded-directory.ts';
import { backtestLines, backtestToJson } from '../backtest-lines.ts';
import type { BacktestThreadData } from '../backtest-thread.ts';
import { backtestInThreads } from '../backtest-threads.ts';
import { filterOptions, timesOf } from '../call-query.ts';
import type { CliCommand, Context, Given } from '../command.ts';
import { reads } from '../command.ts';
import { loadOrExplain, needFile } from '../load-or-explain.ts';
import { exitCodes } from '../exit-code.ts';
import { loadTools } from '../load-tools.ts';
import { safeJson } from '../terminal-text.ts';
import { UsageError } from '../usage-error.ts';

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

function readOptions(given: Given, context: Context): BacktestThreadData {
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
async function recorded(ledger: Ledger): Promise<BacktestThreadData['contractsOptions']> {
  const workingDirectory = await recordedDirectory(ledger);
  return workingDirectory === undefined ? {} : { workingDirectory };
}

type Size = { readonly sessions: number; readonly calls: number };

/** Counts the calls without keeping them in memory, for any number of sessions. */
async function measure(ledger: Ledger, { slice }: BacktestThreadData, signal: AbortSignal): Promise<Size> {
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
