/**
 * The metrics of calls. They have the names and labels of the page that `quittance serve` gives Prometheus, so one
 * dashboard shows both. A model may ask for any tool name, so unknown ones share a label.
 */
import type { BatchObservableCallback, Counter, Histogram, Meter, ObservableGauge } from '@opentelemetry/api';
import { storeBounds, toolBounds } from 'quittance/internal/call/tool-bounds';
import { unknownTool } from 'quittance/internal/call/unknown-tool';
import type { CallEnd, CallStart, OpenCounts, RuntimeTime } from 'quittance/internal/runtime/telemetry';

export class CallInstruments {
  readonly #meter: Meter;
  readonly #calls: Counter;
  readonly #duration: Histogram;
  readonly #times: Readonly<Record<RuntimeTime, Histogram>>;
  readonly #held: ObservableGauge;
  readonly #unresolved: ObservableGauge;

  constructor(meter: Meter) {
    this.#meter = meter;
    this.#calls = meter.createCounter('quittance.calls', {
      description: 'Calls by tool, outcome and reason code.',
    });
    this.#duration = meter.createHistogram('quittance.tool.duration', {
      unit: 's',
      description: 'How long tools ran, by tool and outcome.',
      advice: { explicitBucketBoundaries: [...toolBounds] },
    });
    const advice = { explicitBucketBoundaries: [...storeBounds] };
    this.#times = {
      queue: meter.createHistogram('quittance.queue.duration', {
        unit: 's',
        description: 'How long calls of a batch waited for their turn.',
        advice,
      }),
      commit: meter.createHistogram('quittance.commit.duration', {
        unit: 's',
        description: 'How long the ledger took to store an entry.',
        advice,
      }),
    };
    this.#held = meter.createObservableGauge('quittance.confirmations.pending', {
      description: 'Questions that wait for a person, up to 1000.',
    });
    this.#unresolved = meter.createObservableGauge('quittance.calls.unresolved', {
      description: 'Unresolved calls: their effect is unknown.',
    });
  }

  noteEnd(
    { toolName, isKnownTool }: CallStart,
    { outcome, code, bodyMs }: CallEnd & { type: 'settled' },
  ): void {
    const tool = isKnownTool ? toolName : unknownTool;
    this.#calls.add(1, { tool, outcome, code: code ?? '' });
    if (bodyMs !== undefined) this.#duration.record(bodyMs / 1_000, { tool, outcome });
  }

  noteTime(what: RuntimeTime, elapsedMs: number): void {
    this.#times[what].record(elapsedMs / 1_000);
  }

  watchCounts(read: () => Promise<OpenCounts>): () => void {
    const observe: BatchObservableCallback = async (result) => {
      const { held, indeterminate } = await read();
      result.observe(this.#held, held);
      result.observe(this.#unresolved, indeterminate);
    };
    const watched = [this.#held, this.#unresolved];
    this.#meter.addBatchObservableCallback(observe, watched);
    return () => this.#meter.removeBatchObservableCallback(observe, watched);
  }
}
