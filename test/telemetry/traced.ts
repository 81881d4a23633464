/** The real OpenTelemetry SDK with exporters in memory. */
import { context } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import type { MetricData } from '@opentelemetry/sdk-metrics';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import type { ReadableSpan, Sampler, SpanProcessor } from '@opentelemetry/sdk-trace';
import {
  AlwaysOnSampler,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Telemetry } from '@quittance/opentelemetry';
import { openTelemetry } from '@quittance/opentelemetry';

/** The context manager is one for the process: the API finds it by a global. */
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());

export type Traced = {
  readonly telemetry: Telemetry;
  readonly provider: TracerProvider;
  /** Ended spans, in the order of their ends. */
  readonly spans: () => readonly ReadableSpan[];
  readonly named: (name: string) => readonly ReadableSpan[];
  readonly one: (name: string) => ReadableSpan;
  readonly metrics: () => Promise<readonly MetricData[]>;
};

export function trace(
  options: { sampler?: Sampler; consoleUrl?: string; processors?: readonly SpanProcessor[] } = {},
): Traced {
  const exporter = new InMemorySpanExporter();
  const provider = new TracerProvider({
    sampler: options.sampler ?? new AlwaysOnSampler(),
    spanProcessors: [new SimpleSpanProcessor({ exporter }), ...(options.processors ?? [])],
  });
  const metricExporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({
    exporter: metricExporter,
    exportIntervalMillis: 3_600_000,
  });
  const meterProvider = new MeterProvider({ readers: [reader] });
  const telemetry = openTelemetry({
    tracerProvider: provider,
    meterProvider,
    ...(options.consoleUrl !== undefined && { consoleUrl: options.consoleUrl }),
  });
  const spans = (): readonly ReadableSpan[] => exporter.getFinishedSpans();
  const named = (name: string): readonly ReadableSpan[] => spans().filter((span) => span.name === name);
  return {
    telemetry,
    provider,
    spans,
    named,
    one(name) {
      const found = named(name);
      if (found.length !== 1 || found[0] === undefined)
        throw new Error(
          `${found.length} spans are named ${name}: ${spans()
            .map((span) => span.name)
            .join(', ')}`,
        );
      return found[0];
    },
    async metrics() {
      await reader.forceFlush();
      return (
        metricExporter
          .getMetrics()
          .at(-1)
          ?.scopeMetrics.flatMap((each) => each.metrics) ?? []
      );
    },
  };
}
