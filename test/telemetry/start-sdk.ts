/** Starts the SDK in a process of the tests, as `NODE_OPTIONS='--import …'` of an operator does. */
import { context, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';

context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
// The exporter reads its address from the variables of OpenTelemetry.
const spanProcessors = [new SimpleSpanProcessor({ exporter: new OTLPTraceExporter() })];
trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors }));
