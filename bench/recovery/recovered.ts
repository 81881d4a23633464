/** The cost of one recovery. */
export type Recovered = {
  readonly type: 'recovered';
  readonly calls: number;
  readonly how: Readonly<Record<string, number>>;
  readonly seconds: number;
  readonly cpuSeconds: number;
  /** The part of the event loop's thread. */
  readonly mainCpuSeconds: number;
  readonly peakMb: number;
  /** Calls of other sessions made meanwhile, and the longest wait of one for its tool to start. */
  readonly otherCalls: number;
  readonly longestWaitMs: number;
  readonly longestDelayMs: number;
  /** Entries of the ledger before and after the recovery. */
  readonly entriesBefore: number;
  readonly entriesAfter: number;
};
