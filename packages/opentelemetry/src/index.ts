/** Traces and metrics of calls through OpenTelemetry. Needs the package `@opentelemetry/api` and an SDK of the host. */
export { openTelemetry } from './open-telemetry.ts';
export type { OpenTelemetryOptions } from './open-telemetry.ts';
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
} from 'quittance/internal/runtime/telemetry';
