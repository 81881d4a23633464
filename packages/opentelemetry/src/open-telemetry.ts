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
  Attributes,
  Tracer,
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
import { QuittanceError } from 'quittance/internal/base/error';
import { checkKeys } from 'quittance/internal/base/check-keys';
import { traceIdsOf } from 'quittance/internal/base/traceparent';
import type {
  CallStart,
  CallTelemetry,
  Telemetry,
  CallEnd,
  CallMoment,
} from 'quittance/internal/runtime/telemetry';
import { CallInstruments } from './call-instruments.ts';

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

/**
 * A context with another active span. It answers like the one that `trace.setSpan` makes, which copies all values into a
 * new map. Most contexts are only asked for their span, so this one copies when a value is set.
 */

type SetSpan = (from: Context, span: Span) => Context;

/** A `trace.setSpan` whose contexts copy nothing until a value is set. */
export function createSetSpan(setSpan: SetSpan, anySpan: Span): SetSpan {
  const spanKey = findSpanKey(setSpan, anySpan);
  if (spanKey === undefined) return setSpan;
  class WithSpan implements Context {
    readonly #from: Context;
    readonly #span: Span;

    constructor(from: Context, span: Span) {
      this.#from = from;
      this.#span = span;
    }

    getValue(key: symbol): unknown {
      return key === spanKey ? this.#span : this.#from.getValue(key);
    }

    setValue(key: symbol, value: unknown): Context {
      return setSpan(this.#from, this.#span).setValue(key, value);
    }

    deleteValue(key: symbol): Context {
      return setSpan(this.#from, this.#span).deleteValue(key);
    }
  }
  return (from, span) => new WithSpan(from, span);
}

/** The package does not export the key of the span in a context, but a context receives it. */
function findSpanKey(setSpan: SetSpan, anySpan: Span): symbol | undefined {
  let found: symbol | undefined;
  const asked: Context = {
    getValue: () => undefined,
    setValue: (key) => {
      found = key;
      return asked;
    },
    deleteValue: () => asked,
  };
  setSpan(asked, anySpan);
  return found;
}

/**
 * A call whose span is not recorded. Most calls of a busy service are such calls, so they get by with two small objects
 * and no closures.
 */

class Unrecorded {
  readonly traceparent: string | undefined;
  protected readonly maker: SpanMaker;
  private readonly start: CallStart;

  constructor(maker: SpanMaker, start: CallStart, traceparent: string | undefined) {
    this.maker = maker;
    this.start = start;
    this.traceparent = traceparent;
  }

  get isRecording(): false {
    return false;
  }

  get attemptTraceparent(): undefined {
    return undefined;
  }

  note(): void {
    // Nothing is recorded.
  }

  end(end: CallEnd): void {
    if (end.type === 'settled' && end.isFirst) this.maker.instruments?.noteEnd(this.start, end);
  }
}

/** The context of the caller says already that nothing is sampled. */
export class UnrecordedCall extends Unrecorded implements CallTelemetry {
  get runBody(): undefined {
    return undefined;
  }
}

/** The body runs with the span, so that what it starts is not sampled either. */
export class UnrecordedSpan extends Unrecorded implements CallTelemetry {
  private readonly span: Span;
  private readonly from: Context;

  constructor(
    maker: SpanMaker,
    start: CallStart,
    traceparent: string | undefined,
    span: Span,
    from: Context,
  ) {
    super(maker, start, traceparent);
    this.span = span;
    this.from = from;
  }

  runBody<Value>(body: () => Value): Value {
    const { run, within } = this.maker;
    return run(within(this.from, this.span), body);
  }
}

/**
 * The span of one call and its children: hold, attempt, settle. Children and attributes are made only if the span is
 * recorded.
 */

/** What all spans of a runtime share. */
export type SpanMaker = {
  readonly tracer: Tracer;
  readonly consoleUrl: string | undefined;
  readonly instruments: CallInstruments | undefined;
  /** The context with this span as the active one. */
  readonly within: (from: Context, span: Span) => Context;
  readonly run: <Value>(within: Context, body: () => Value) => Value;
};

export type StartedSpan = {
  readonly start: CallStart;
  readonly span: Span;
  readonly from: Context;
  readonly traceparent: string | undefined;
};

/** `SpanStatusCode.ERROR`: importing the value would load the package here. */
const error = 2;

export class CallSpan implements CallTelemetry {
  readonly traceparent: string | undefined;
  readonly isRecording = true;
  readonly #maker: SpanMaker;
  readonly #start: CallStart;
  readonly #span: Span;
  readonly #context: Context;
  readonly #offset: number;
  #hold: Span | undefined;
  #attempt: Span | undefined;
  #attemptContext: Context | undefined;
  #settle: Span | undefined;
  #held = false;
  /** The attempt ends with its body. How it ended is known only when that is stored. */
  #bodyEndedAt: number | undefined;

  constructor(maker: SpanMaker, { start, span, from, traceparent }: StartedSpan) {
    this.#maker = maker;
    this.#start = start;
    this.#span = span;
    this.#context = maker.within(from, span);
    this.#offset = Date.now() - performance.now();
    this.traceparent = traceparent;
  }

  /** One clock for all spans of the call: the SDK starts each on a whole millisecond of its own. */
  #now(): number {
    return this.#offset + performance.now();
  }

  note(moment: CallMoment): void {
    switch (moment.type) {
      case 'described':
        return this.#describe(moment);
      case 'judged':
        return this.#judge(moment);
      case 'held':
        this.#held = true;
        this.#hold ??= this.#child('hold');
        return;
      case 'decided':
        this.#hold?.setAttribute('quittance.decision', moment.decision);
        return this.#endHold();
      case 'attempt_started':
        return this.#startAttempt(moment);
      case 'body_ended':
        this.#bodyEndedAt = this.#now();
        this.#settle ??= this.#child('settle');
        return;
      case 'settling':
        this.#settle ??= this.#child('settle');
        return;
      case 'attempt_ended':
        return this.#endAttempt(moment);
      case 'recalled':
        this.#span.setAttribute('quittance.recalled', moment.how);
        if (moment.from !== undefined) this.#link(moment.from);
        return;
    }
  }

  #describe({ sessionId, turnId, callId, path, mode }: CallMoment & { type: 'described' }): void {
    const { consoleUrl } = this.#maker;
    this.#span.setAttributes({
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': this.#start.toolName,
      'gen_ai.tool.call.id': callId,
      'gen_ai.tool.type': 'function',
      'gen_ai.conversation.id': sessionId,
      'quittance.session.id': sessionId,
      'quittance.turn.id': turnId,
      'quittance.mode': mode,
      ...(this.#start.continues !== undefined && { 'quittance.resumed': true }),
      ...(consoleUrl !== undefined && path !== undefined && { 'quittance.call.url': consoleUrl + path }),
    });
  }

  #judge({ decision, by, waited, policyVersion }: CallMoment & { type: 'judged' }): void {
    if (policyVersion !== undefined) this.#span.setAttribute('quittance.policy.version', policyVersion);
    for (const { gate, elapsedUs } of waited)
      this.#span.addEvent(
        'quittance.gate.waited',
        {
          'quittance.gate': gate,
          'quittance.elapsed_us': elapsedUs,
        },
        this.#now(),
      );
    if (decision === 'allow' || by === undefined) return;
    this.#span.addEvent(decision === 'deny' ? 'quittance.gate.denied' : 'quittance.gate.asked', {
      'quittance.decider.type': by.type,
      'quittance.decider.name': by.name,
    });
  }

  #startAttempt({ attempt, startedMsAgo }: CallMoment & { type: 'attempt_started' }): void {
    // The lease of a worker may end without a report. Then the next worker has the call.
    this.#closeAttempt();
    this.#attempt = this.#child('attempt', { 'quittance.attempt': attempt }, startedMsAgo);
    this.#attemptContext = this.#maker.within(this.#context, this.#attempt);
  }

  #endAttempt({ code, isFinal }: CallMoment & { type: 'attempt_ended' }): void {
    if (code !== undefined && this.#attempt !== undefined) {
      this.#attempt.setAttribute('error.type', code);
      this.#attempt.setStatus({ code: error, message: code });
    }
    this.#closeAttempt();
    this.#settle?.setAttribute('quittance.final', isFinal);
    this.#settle?.end(this.#now());
    this.#settle = undefined;
  }

  #closeAttempt(): void {
    this.#attempt?.end(this.#bodyEndedAt ?? this.#now());
    this.#attempt = undefined;
    this.#attemptContext = undefined;
    this.#bodyEndedAt = undefined;
  }

  #endHold(): void {
    this.#hold?.end(this.#now());
    this.#hold = undefined;
  }

  readonly runBody = <Value>(run: () => Value): Value =>
    this.#maker.run(this.#attemptContext ?? this.#context, run);

  get attemptTraceparent(): string | undefined {
    const found = this.#attempt?.spanContext();
    return found === undefined ? undefined : `00-${found.traceId}-${found.spanId}-0${found.traceFlags & 3}`;
  }

  end(end: CallEnd): void {
    this.#finish(end);
    this.#span.end(this.#now());
    if (end.type === 'settled' && end.isFirst) this.#maker.instruments?.noteEnd(this.#start, end);
  }

  #finish(end: CallEnd): void {
    this.#endHold();
    this.#closeAttempt();
    this.#settle?.end(this.#now());
    if (end.type === 'left') {
      this.#span.setAttribute('quittance.outcome', 'pending');
      return;
    }
    const { outcome, code, attempts } = end;
    this.#span.setAttributes({ 'quittance.outcome': outcome, 'quittance.attempts': attempts });
    if (this.#held) this.#span.setAttribute('quittance.held', true);
    if (code === undefined) return;
    this.#span.setAttribute('error.type', code);
    // A denial is a decision, not a failure.
    if (outcome === 'ToolFailure' || outcome === 'ToolTimeout')
      this.#span.setStatus({ code: error, message: code });
  }

  #child(name: string, attributes: Attributes = {}, startedMsAgo = 0): Span {
    const startTime = this.#now() - startedMsAgo;
    return this.#maker.tracer.startSpan(name, { attributes, startTime }, this.#context);
  }

  #link(traceparent: string): void {
    const { traceId, spanId, isSampled } = traceIdsOf(traceparent);
    const own = this.#span.spanContext();
    if (own.traceId === traceId && own.spanId === spanId) return;
    this.#span.addLink?.({ context: { traceId, spanId, traceFlags: isSampled ? 1 : 0, isRemote: true } });
  }
}
