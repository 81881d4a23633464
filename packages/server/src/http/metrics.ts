/** Counters of the server itself. */
import { storeBounds } from 'quittance/internal/call/tool-bounds';
import type { RuntimeTime } from 'quittance/internal/runtime/telemetry';

/** Bounds for requests, in seconds. */
export const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5] as const;

export type Histogram = {
  readonly bounds: readonly number[];
  /** The observations up to each bound. */
  readonly counts: number[];
  sum: number;
  count: number;
};

const newHistogram = (bounds: readonly number[]): Histogram => ({
  bounds,
  counts: bounds.map(() => 0),
  sum: 0,
  count: 0,
});

function observe(histogram: Histogram, seconds: number): void {
  histogram.sum += seconds;
  histogram.count++;
  for (const [index, bound] of histogram.bounds.entries())
    if (seconds <= bound) histogram.counts[index] = (histogram.counts[index] ?? 0) + 1;
}

export class Metrics {
  /** By method, route and status. The set of routes is fixed, so there are few. */
  readonly #requests = new Map<string, number>();
  readonly #durations = new Map<string, Histogram>();
  /** Tools with their own counter. */
  readonly tools: Set<string> = new Set();
  /** Of the runtime in this process. Other processes have their own. */
  readonly times: Readonly<Record<RuntimeTime, Histogram>> = {
    queue: newHistogram(storeBounds),
    commit: newHistogram(storeBounds),
  };
  #cutOff = 0;

  noteRequest(method: string, route: string, status: number, elapsedMs: number): void {
    const name = `method="${method}",route="${route}",status="${status}"`;
    this.#requests.set(name, (this.#requests.get(name) ?? 0) + 1);
    const key = `method="${method}",route="${route}"`;
    let histogram = this.#durations.get(key);
    if (histogram === undefined) {
      histogram = newHistogram(buckets);
      this.#durations.set(key, histogram);
    }
    observe(histogram, elapsedMs / 1_000);
  }

  /** A time of the runtime behind the server. */
  noteTime(what: RuntimeTime, elapsedMs: number): void {
    observe(this.times[what], elapsedMs / 1_000);
  }

  noteCutOff(): void {
    this.#cutOff++;
  }

  get cutOff(): number {
    return this.#cutOff;
  }

  /** By labels. */
  get requests(): ReadonlyMap<string, number> {
    return this.#requests;
  }

  get durations(): ReadonlyMap<string, Histogram> {
    return this.#durations;
  }
}
