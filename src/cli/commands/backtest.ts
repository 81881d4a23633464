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
    'Says which calls would have been decided otherwise than they were: blocked, asked about, redacted, or allowed although they were not, with counts for each rule. Limits and workflows are followed through each session from its beginning. No tool, no hook and no exec condition is run; a question counts as answered with yes unless a person said no then.',
    'Calls are judged by what the ledger shows of them. Where something is hidden, rules see the mask, and it is said how many such calls there were.',
    'Exit code 1 where a call would be decided otherwise.',
  ],
  options: {
    contracts: {
      value: 'FILE',
      help: 'The contracts to try; several are composed, left to right',
      file: true,
      multiple: true,
    },
    tools: {
      value: 'FILE',
      help: 'Hold arguments and outputs against these tools too: a module that exports a list of them',
      file: true,
    },
    ...(since && { since }),
    ...(until && { until }),
    ...(session && { session }),
    ...(tool && { tool }),
    samples: {
      value: 'N',
      help: `How many calls to show of each kind of change; ${defaultSamples} unless told`,
    },
    'working-directory': {
      value: 'PATH',
      help: 'What relative paths start from; nobody knows unless told',
      file: true,
    },
    environment: { value: 'WORD', help: 'What rules see as the environment; production unless told' },
    threads: { value: 'N', help: 'How many threads; as many as the machine has cores, where it pays' },
    json: {
      help: 'JSON instead of text: a line for each kind of change, for each rule, and one with the totals',
    },
  },
  examples: [
    ['quittance backtest --contracts new.yaml --since 7d', 'on the calls of the last week'],
    ['quittance backtest --contracts new.yaml --tool refund --samples 20', 'on those of one tool'],
    ['quittance backtest --contracts new.yaml --tools tools.js', 'and on the schemas of your tools'],
    ['quittance backtest --contracts new.yaml --json | jq \'select(.type == "rule")\'', 'for a program'],
  ],
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
    throw new UsageError('Which contracts?', [`${example} --since 7d`, 'quittance help backtest']);
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

/** Where relative paths started when the ledger was written; `--working-directory` is stronger. */
async function recorded(ledger: Ledger): Promise<BacktestThreadData['contractsOptions']> {
  const workingDirectory = await recordedDirectory(ledger);
  return workingDirectory === undefined ? {} : { workingDirectory };
}

type Size = { readonly sessions: number; readonly calls: number };

/** How much there is to do. Counted without keeping it, however many sessions there are. */
async function measure(ledger: Ledger, { slice }: BacktestThreadData, signal: AbortSignal): Promise<Size> {
  let [sessions, calls] = [0, 0];
  for await (const each of sessionsOf(ledger, slice)) {
    sessions++;
    calls += each.calls;
    if (signal.aborted) break;
  }
  return { sessions, calls };
}

/** A thread takes a while to start: less than a second of work is done sooner without. */
const callsThatPay = 20_000;

const threadsFor = ({ sessions, calls }: Size): number =>
  calls < callsThatPay ? 1 : Math.min(sessions, availableParallelism());

async function print(report: BacktestReport, given: Given, { out, err }: Context): Promise<void> {
  if (given.has('json')) for (const line of backtestToJson(report)) await out.print(safeJson(line));
  else for (const line of backtestLines(report, out)) await out.print(line);
  if (!report.complete)
    await err.say(`Stopped after ${report.calls} calls. This is what was found until then.`);
}
