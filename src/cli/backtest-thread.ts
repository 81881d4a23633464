/** One thread of a backtest. It opens the ledger for reading and tries the contracts on the sessions it receives. */
import type { MessagePort } from 'node:worker_threads';
import { parentPort, workerData } from 'node:worker_threads';
import type { ContractsOptions } from '../contracts/contracts-options.ts';
import { contractsFromYaml } from '../contracts/from-yaml.ts';
import type { BacktestSlice } from '../replay/backtest.ts';
import { backtestSession } from '../replay/backtest.ts';
import type { BacktestReport } from '../replay/backtest-report.ts';
import { BacktestTally } from '../replay/backtest-tally.ts';
import { openLedger } from '../store/open-ledger.ts';
import { loadTools } from './load-tools.ts';

export type BacktestThreadData = {
  readonly ledgerUrl: string;
  readonly paths: readonly string[];
  readonly contractsOptions: Pick<ContractsOptions, 'environment' | 'workingDirectory'>;
  readonly slice: BacktestSlice;
  readonly samples: number;
  /** A module that exports tools. */
  readonly toolsPath?: string | undefined;
};

/** A list of sessions to judge; `stop` ends that work at once; `end` ends the thread. */
export type BacktestThreadOrder = readonly string[] | 'stop' | 'end';
export type BacktestThreadAnswer = BacktestReport;

if (parentPort !== null) await serve(parentPort, workerData as BacktestThreadData);

async function serve(port: MessagePort, data: BacktestThreadData): Promise<void> {
  const contracts = await contractsFromYaml(data.paths, data.contractsOptions);
  const ledger = await openLedger(data.ledgerUrl, { readOnly: true });
  const stop = new AbortController();
  const tools = data.toolsPath === undefined ? undefined : await loadTools(data.toolsPath);
  const options = { ...data.slice, contracts, tools, samples: data.samples, signal: stop.signal };
  let working: Promise<void> = Promise.resolve();

  const work = async (sessionIds: readonly string[]): Promise<void> => {
    const tally = new BacktestTally(contracts.version, data.samples);
    for (const sessionId of sessionIds)
      if (!stop.signal.aborted) await backtestSession(ledger, sessionId, options, tally);
    port.postMessage(tally.toReport(!stop.signal.aborted) satisfies BacktestThreadAnswer);
  };

  const end = async (): Promise<void> => {
    await working;
    await ledger.close();
    contracts.close();
    port.close();
  };

  port.on('message', (order: BacktestThreadOrder) => {
    if (order === 'stop') stop.abort();
    else if (order === 'end') void end();
    else {
      const next = working.then(() => work(order));
      working = next;
      // An error ends the thread and reaches its creator as a message.
      next.catch((error: unknown) =>
        setImmediate(() => {
          throw error;
        }),
      );
    }
  });
}
