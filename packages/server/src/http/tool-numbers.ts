/** Numbers per tool from the ledger. */
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import type { ToolMode } from 'quittance/internal/tool/mode';
import type { OutcomeCounts, Percentiles } from './api/stats.ts';
import type { MutableCounts } from './count-outcomes.ts';
import { Latencies, noOutcomeCounts, countedOutcome } from './count-outcomes.ts';
import { readTallies } from 'quittance/internal/ledger/reads';

export type ToolNumbers = {
  readonly toolName: string;
  readonly calls: number;
  readonly costMicros: number;
  readonly mode: ToolMode;
  readonly outcomes: OutcomeCounts;
  readonly latency: Percentiles;
  readonly codes: readonly (readonly [code: string, count: number])[];
};

/** A model may call any name, so only this many are listed, most frequent first. */
export const mostTools = 500;
const mostCodes = 100;

type Counting = {
  calls: number;
  costMicros: number;
  mode: ToolMode;
  readonly outcomes: MutableCounts;
  readonly latencies: Latencies;
  readonly codes: Map<string, number>;
};

export async function readToolNumbers(
  ledger: Pick<OpenLedger, 'query'>,
  only: string | undefined,
): Promise<readonly ToolNumbers[]> {
  const found = new Map<string, Counting>();
  const by = ['toolName', 'mode', 'outcome', 'code', 'bin'] as const;
  for (const tally of await readTallies(ledger, { by, toolName: only })) {
    const { toolName, mode, outcome, code, bin, calls, costMicros } = tally;
    const numbers = found.get(toolName) ?? {
      calls: 0,
      costMicros: 0,
      mode,
      outcomes: noOutcomeCounts(),
      latencies: new Latencies(),
      codes: new Map<string, number>(),
    };
    found.set(toolName, numbers);
    numbers.calls += calls;
    numbers.costMicros += costMicros;
    numbers.outcomes[countedOutcome({ outcome, code })] += calls;
    numbers.latencies.add(bin, calls);
    if (code !== '') numbers.codes.set(code, (numbers.codes.get(code) ?? 0) + calls);
  }
  return [...found]
    .toSorted(([, one], [, other]) => other.calls - one.calls)
    .slice(0, mostTools)
    .map(([toolName, { latencies, codes, ...numbers }]) => ({
      toolName,
      ...numbers,
      latency: latencies.toPercentiles(),
      codes: [...codes].toSorted(([, one], [, other]) => other - one).slice(0, mostCodes),
    }));
}
