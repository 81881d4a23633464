/** The real SDK as a service uses it: spans in batches over OTLP/HTTP, and metrics. */
import { context } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Telemetry } from '@quittance/opentelemetry';
import { openTelemetry } from '@quittance/opentelemetry';

export function startTelemetry(
  receiver: string,
  share: number,
): { readonly telemetry: Telemetry; readonly flush: () => Promise<void> } {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const exporter = new OTLPTraceExporter({ url: `${receiver}/v1/traces` });
  const tracerProvider = new TracerProvider({
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(share) }),
    spanProcessors: [new BatchSpanProcessor({ exporter })],
  });
  const reader = new PeriodicExportingMetricReader({
    exporter: new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE),
    exportIntervalMillis: 5_000,
    exportTimeoutMillis: 5_000,
  });
  const telemetry = openTelemetry({
    tracerProvider,
    meterProvider: new MeterProvider({ readers: [reader] }),
  });
  return { telemetry, flush: () => tracerProvider.forceFlush() };
}
