/** One thread of a backtest. It opens the ledger for reading and tries the contracts on the sessions it receives. */
import type { ContractsOptions } from '../../contracts/contracts-options.ts';
import { contractsFromYaml } from '../../contracts/from-yaml.ts';
import type { BacktestSlice } from '../../replay/backtest.ts';
import { backtestSession } from '../../replay/backtest.ts';
import type { BacktestReport } from '../../replay/backtest-report.ts';
import { BacktestTally } from '../../replay/backtest-tally.ts';
import { openLedger } from '../../store/open-ledger.ts';
import type { BeginTask } from '../../threads/work-thread.ts';
import { loadTools } from '../load-tools.ts';

export type BacktestData = {
  readonly ledgerUrl: string;
  readonly paths: readonly string[];
  readonly contractsOptions: Pick<ContractsOptions, 'environment' | 'workingDirectory'>;
  readonly slice: BacktestSlice;
  readonly samples: number;
  /** A module that exports tools. */
  readonly toolsPath?: string | undefined;
};

/** The sessions to judge. */
export type BacktestOrder = readonly string[];

export const begin: BeginTask<BacktestData, BacktestOrder, BacktestReport> = async (data) => {
  const contracts = await contractsFromYaml(data.paths, data.contractsOptions);
  const ledger = await openLedger(data.ledgerUrl, { readOnly: true });
  const tools = data.toolsPath === undefined ? undefined : await loadTools(data.toolsPath);
  return {
    async work(sessionIds, { signal }) {
      const options = { ...data.slice, contracts, tools, samples: data.samples, signal };
      const tally = new BacktestTally(contracts.version, data.samples);
      for (const sessionId of sessionIds)
        if (!signal.aborted) await backtestSession(ledger, sessionId, options, tally);
      return tally.toReport(!signal.aborted);
    },
    async end() {
      await ledger.close();
      contracts.close();
    },
  };
};
