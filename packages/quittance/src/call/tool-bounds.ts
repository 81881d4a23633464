/**
 * The buckets of durations, for the metrics of OpenTelemetry and of the server. The ledger counts durations in bins that
 * grow by a tenth. These bins begin where a bucket ends: near 1, 2, 5, 10, 25 milliseconds and so on, up to five minutes.
 */
export const boundingBins: readonly number[] = [
  1, 8, 17, 25, 34, 41, 49, 58, 65, 72, 82, 89, 97, 107, 116, 124, 133,
];

/** The upper bounds in seconds. Durations are whole milliseconds, so each is the largest one below its bin. */
export const toolBounds: readonly number[] = boundingBins.map((bin) => (Math.ceil(1.1 ** bin) - 1) / 1_000);

/** Upper bounds of the times of queue and ledger, in seconds. */
export const storeBounds: readonly number[] = [
  0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10,
];
