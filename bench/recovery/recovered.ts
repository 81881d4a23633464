/** What one recovery took. */
export type Recovered = {
  readonly type: 'recovered';
  readonly calls: number;
  readonly how: Readonly<Record<string, number>>;
  readonly seconds: number;
  readonly cpuSeconds: number;
  /** Of these, what the thread of the event loop took. */
  readonly mainCpuSeconds: number;
  readonly peakMb: number;
  /** Calls of other sessions made meanwhile, and the longest that one of them waited for its body to begin. */
  readonly otherCalls: number;
  readonly longestWaitMs: number;
  readonly longestDelayMs: number;
  /** Entries of the ledger before the recovery and after it. */
  readonly entriesBefore: number;
  readonly entriesAfter: number;
};
