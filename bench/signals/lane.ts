/** The lanes of the run: which signals leave the process while it makes calls. */
/** `telemetry` records every call and sends its spans; `sampled` records one of a hundred. Both keep metrics. */
export const signals = ['webhooks', 'telemetry', 'sampled'] as const;
export type Signal = (typeof signals)[number];

export type Lane = { readonly name: string; readonly signals: readonly Signal[] };

/** Without signals first: the others are compared with it. */
export const lanes: readonly Lane[] = [
  { name: 'without', signals: [] },
  { name: 'webhooks', signals: ['webhooks'] },
  { name: 'telemetry, 1 % sampled', signals: ['sampled'] },
  { name: 'telemetry', signals: ['telemetry'] },
  { name: 'webhooks and telemetry', signals: ['webhooks', 'telemetry'] },
];

/** The task of one process. */
export type LaneErrand = {
  readonly ledger: string;
  readonly signals: readonly Signal[];
  readonly seconds: number;
  /** Calls at a time. */
  readonly inFlight: number;
  /** One of so many calls waits for a person, who approves it at once. */
  readonly heldEvery: number;
  /** The receiver of webhooks and of spans. */
  readonly receiver: string;
};

export type LaneReport = {
  readonly calls: number;
  readonly held: number;
  /** Held calls before the measurement. */
  readonly heldBefore: number;
  readonly elapsedMs: number;
  /** Milliseconds of each call, without the held ones. */
  readonly latencies: readonly number[];
  readonly loopDelays: readonly number[];
  readonly cpuMs: number;
  /** How long signals were behind at the end. */
  readonly drainMs: number;
};
