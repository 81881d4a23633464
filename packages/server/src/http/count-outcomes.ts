/** Counts calls by outcome, under the names that charts use. */
import type { CallTally } from 'quittance/internal/ledger/call-tally';
import { latencyOfBin } from 'quittance/internal/ledger/call-tally';
import { outcomeWord } from 'quittance/internal/view/outcome-words';
import type { OutcomeCounts, Percentiles } from './api/stats.ts';

export type MutableCounts = { -readonly [Name in keyof OutcomeCounts]: OutcomeCounts[Name] };

export const noOutcomeCounts = (): MutableCounts => ({
  succeeded: 0,
  failed: 0,
  timedOut: 0,
  denied: 0,
  indeterminate: 0,
  open: 0,
});

/** The name that a call is counted under. */
export function countedOutcome({ outcome, code }: Pick<CallTally, 'outcome' | 'code'>): keyof OutcomeCounts {
  if (outcome === '') return 'open';
  const word = outcomeWord({ type: outcome, code });
  return word === 'timed_out' ? 'timedOut' : word;
}

/** Counts calls by duration. */
export class Latencies {
  readonly #bins = new Map<number, number>();
  #count = 0;

  add(bin: number, calls: number): void {
    if (bin < 0) return;
    this.#bins.set(bin, (this.#bins.get(bin) ?? 0) + calls);
    this.#count += calls;
  }

  percentile(share: number): number | undefined {
    let left = Math.ceil(this.#count * share);
    if (left === 0) return undefined;
    for (const [bin, calls] of [...this.#bins].toSorted(([one], [other]) => one - other)) {
      left -= calls;
      if (left <= 0) return Math.round(latencyOfBin(bin));
    }
    return undefined;
  }

  toPercentiles(): Percentiles {
    return {
      count: this.#count,
      p50Ms: this.percentile(0.5),
      p90Ms: this.percentile(0.9),
      p95Ms: this.percentile(0.95),
      p99Ms: this.percentile(0.99),
    };
  }
}
