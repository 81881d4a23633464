/** Traces and metrics of calls through OpenTelemetry. Needs the package `@opentelemetry/api` and an SDK of the host. */
export { openTelemetry } from './telemetry/open-telemetry.ts';
export type { OpenTelemetryOptions } from './telemetry/open-telemetry.ts';
export type {
  CallEnd,
  CallMoment,
  CallStart,
  CallTelemetry,
  HoldEnd,
  OpenCounts,
  RuntimeTime,
  Telemetry,
  TelemetryDecider,
} from './runtime/telemetry.ts';
