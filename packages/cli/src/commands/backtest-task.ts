/** One thread of a backtest. It opens the ledger for reading and tries the contracts on the sessions it receives. */
import type { ContractsOptions } from 'quittance/internal/contracts/contracts-options';
import { contractsFromYaml } from 'quittance/internal/contracts/from-yaml';
import type { BacktestSlice } from 'quittance/internal/replay/backtest';
import { backtestSession } from 'quittance/internal/replay/backtest';
import type { BacktestReport } from 'quittance/internal/replay/backtest-report';
import { BacktestTally } from 'quittance/internal/replay/backtest-tally';
import { openLedger } from 'quittance/internal/store/open-ledger';
import type { BeginTask } from 'quittance/internal/threads/work-thread';
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
