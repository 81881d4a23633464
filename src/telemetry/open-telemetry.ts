/**
 * Traces and metrics of calls through OpenTelemetry. Only this file uses the package `@opentelemetry/api`; the other
 * files of this folder import its types. Without an SDK of the host, all of it does nothing.
 *
 * 1. A call gets a span of its own. Its parent is the context that the caller sent with the call, or else the active
 *    span. If both are in one trace, the active span is the parent, because it is nearer.
 * 2. A process that continues a call of another one starts a span in the same trace, with a link to the first. The
 *    first span may never have been exported, if its process was killed; then the link still names it.
 */
import type {
  Context,
  Link,
  MeterProvider,
  Span,
  SpanContext,
  SpanOptions,
  TracerProvider,
} from '@opentelemetry/api';
import {
  context,
  INVALID_SPAN_CONTEXT,
  isSpanContextValid,
  metrics,
  SpanKind,
  trace,
  TraceFlags,
} from '@opentelemetry/api';
import { QuittanceError } from '../base/error.ts';
import { checkKeys } from '../base/check-keys.ts';
import { traceIdsOf } from '../base/traceparent.ts';
import type { CallStart, CallTelemetry, Telemetry } from '../runtime/host/telemetry.ts';
import { CallInstruments } from './call-instruments.ts';
import type { SpanMaker } from './call-span.ts';
import { CallSpan } from './call-span.ts';
import { createSetSpan } from './set-span.ts';
import { UnrecordedCall, UnrecordedSpan } from './unrecorded-call.ts';

export type OpenTelemetryOptions = {
  /** Default: the one that the SDK registered. */
  readonly tracerProvider?: TracerProvider;
  /** Default: the one that the SDK registered before this function is called. `false`: no metrics. */
  readonly meterProvider?: MeterProvider | false;
  /** The address of the console, e.g. `https://quittance.example.org`. Spans then link to their calls. */
  readonly consoleUrl?: string;
};

const scope = 'quittance';
/** Of tools whose span names are kept. */
const mostNames = 1_000;
const internal: SpanOptions = { kind: SpanKind.INTERNAL };

/** Traces and metrics of the calls of a runtime, for its option `telemetry`. Start the SDK first. */
export function openTelemetry(options: OpenTelemetryOptions = {}): Telemetry {
  checkKeys('openTelemetry', options, ['tracerProvider', 'meterProvider', 'consoleUrl']);
  const consoleUrl = readConsoleUrl(options.consoleUrl);
  const tracer = (options.tracerProvider ?? trace).getTracer(scope);
  const { meterProvider = metrics } = options;
  const instruments =
    meterProvider === false ? undefined : new CallInstruments(meterProvider.getMeter(scope));
  const maker: SpanMaker = {
    tracer,
    consoleUrl,
    instruments,
    within: createSetSpan(trace.setSpan, trace.wrapSpanContext(INVALID_SPAN_CONTEXT)),
    run: (within, body) => context.with(within, body),
  };
  const spanNames = new Map<string, string>();
  const contextText = new ContextText();
  const startCall = (start: CallStart): CallTelemetry => {
    const active = context.active();
    const { from, links } = parentOf(start, active);
    const span = tracer.startSpan(
      nameSpan(spanNames, start),
      links === undefined ? internal : { ...internal, links },
      from,
    );
    if (span.isRecording())
      return new CallSpan(maker, { start, span, from, traceparent: traceparentOf(span.spanContext()) });
    return leaveOut(maker, contextText, start, span, from, active);
  };
  return instruments === undefined
    ? { startCall }
    : {
        startCall,
        noteTime: (what, elapsedMs) => instruments.noteTime(what, elapsedMs),
        watchCounts: (read) => instruments.watchCounts(read),
      };
}

function parentOf(
  { parent, continues }: CallStart,
  active: Context,
): { readonly from: Context; readonly links?: Link[] } {
  if (continues !== undefined) {
    const stored = remoteOf(continues);
    return { from: trace.setSpanContext(active, stored), links: [{ context: stored }] };
  }
  if (parent === undefined) return { from: active };
  const sent = remoteOf(parent);
  const near = trace.getSpanContext(active);
  if (near === undefined || !isSpanContextValid(near)) return { from: trace.setSpanContext(active, sent) };
  if (near.traceId === sent.traceId) return { from: active };
  return { from: trace.setSpanContext(active, sent), links: [{ context: near }] };
}

function remoteOf(traceparent: string): SpanContext {
  const { traceId, spanId, isSampled } = traceIdsOf(traceparent);
  return { traceId, spanId, traceFlags: isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE, isRemote: true };
}

/** Undefined without an SDK and without a parent: there is no trace then. */
const traceparentOf = (found: SpanContext | undefined): string | undefined =>
  found !== undefined && isSpanContextValid(found)
    ? `00-${found.traceId}-${found.spanId}-0${found.traceFlags & 3}`
    : undefined;

/** An agent makes many calls within one span, so the text of its context is made once. */
class ContextText {
  #of: SpanContext | undefined;
  #text: string | undefined;

  read(found: SpanContext | undefined): string | undefined {
    if (found === undefined || found !== this.#of) {
      this.#of = found;
      this.#text = traceparentOf(found);
    }
    return this.#text;
  }
}

/**
 * Samplers see the name. Attributes are added to spans that are recorded: to copy them costs as much as to decide. Known
 * tools are few, so their names are kept.
 */
function nameSpan(names: Map<string, string>, { toolName, isKnownTool }: CallStart): string {
  if (!isKnownTool) return 'execute_tool';
  let name = names.get(toolName);
  if (name === undefined) {
    if (names.size >= mostNames) names.clear();
    names.set(toolName, (name = `execute_tool ${toolName}`));
  }
  return name;
}

/**
 * A call that is not recorded. The trace of the caller is stored with it, for its logs may name it. A trace that begins
 * here and is not sampled cannot be found anywhere.
 */
function leaveOut(
  maker: SpanMaker,
  text: ContextText,
  start: CallStart,
  span: Span,
  from: Context,
  active: Context,
): CallTelemetry {
  const parent = trace.getSpanContext(from);
  const traceparent = text.read(parent);
  const own = span.spanContext();
  // The active context may say already that the trace is not sampled. Then the span of the call adds nothing.
  const isKnown =
    parent?.traceId === own.traceId &&
    ((parent.traceFlags | own.traceFlags) & TraceFlags.SAMPLED) === 0 &&
    from === active;
  return isKnown
    ? new UnrecordedCall(maker, start, traceparent)
    : new UnrecordedSpan(maker, start, traceparent, span, from);
}

function readConsoleUrl(given: string | undefined): string | undefined {
  if (given === undefined) return undefined;
  const url = URL.parse(given);
  // It is part of every span, so it must hold nothing secret.
  const isGood =
    url !== null &&
    (url.protocol === 'https:' || url.protocol === 'http:') &&
    `${url.username}${url.password}${url.search}${url.hash}` === '';
  if (!isGood)
    throw new QuittanceError(
      'config.invalid',
      'consoleUrl must be the http or https address of the console without user, password and query, e.g. https://quittance.example.org',
    );
  return given.replace(/\/+$/, '');
}
